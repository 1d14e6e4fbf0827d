//! What was made before: a record in every output folder of a batch, so that the next run leaves out what is done.
//!
//! An output is done when it was made from this input with these settings by this version, and is still as quell left
//! it. Input, settings and output stand in the record as hashes: of size, time of change and samples of the content for
//! files, of everything that was typed for settings. Whatever is unknown, damaged or different is made again, so nothing
//! is lost with a record, nor by two quells that write to it at once.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use quell::Device;
use quell::device::DeviceOptions;
use serde::{Deserialize, Serialize};

use crate::args::{DenoiseArgs, EngineArgs, Given, Known, ReadingArgs};
use crate::report::name;

/// Hidden, one for each folder.
const FILE: &str = ".quell-done";
const HEAD: &str = "# What quell made in this folder, and from what. Without this file it is made again.";
/// Larger ones are no records.
const MOST: u64 = 1 << 26;
/// How a file is sampled: so many blocks of so many bytes, spread over it. Smaller files are read as a whole.
const BLOCKS: u64 = 16;
const BLOCK: u64 = 1 << 14;

/// What is known of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// It has to be made.
    Nothing,
    /// It was made just so.
    Same,
    /// It was made just so, but somebody changed it since.
    Changed,
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    output: String,
    input: String,
    settings: String,
    made: String,
}

/// The records of a run with its settings.
#[derive(Debug)]
pub(crate) struct Records {
    /// `None`: they cannot be known again, and nothing is recorded.
    settings: Option<String>,
    folders: Mutex<HashMap<PathBuf, HashMap<String, Entry>>>,
}

impl Records {
    /// For these settings.
    pub(crate) fn new(args: &DenoiseArgs) -> Self {
        Self { settings: settings(args), folders: Mutex::default() }
    }

    /// What is known of an output.
    pub(crate) fn before(&self, input: &Path, output: &Path) -> Before {
        let Some(settings) = &self.settings else { return Before::Nothing };
        let (folder, key) = split(output);
        let mut folders = self.folders();
        let record = folders.entry(folder.clone()).or_insert_with(|| load(&folder));
        let Some(entry) = record.get(&key).filter(|e| e.settings == *settings) else {
            return Before::Nothing;
        };
        if identity(input).as_ref() != Some(&entry.input) {
            return Before::Nothing;
        }
        match identity(output) {
            Some(made) if made == entry.made => Before::Same,
            Some(_) => Before::Changed,
            None => Before::Nothing,
        }
    }

    /// Records an output that was made just now from an input that was `input` before it was read.
    pub(crate) fn add(&self, input: String, output: &Path) -> io::Result<()> {
        let (Some(settings), Some(made)) = (self.settings.clone(), identity(output)) else { return Ok(()) };
        let (folder, key) = split(output);
        let line = serde_json::to_string(&Entry { output: key, input, settings, made })?;
        let path = folder.join(FILE);
        // One writer at a time; other processes append whole lines, too.
        let _alone = self.folders();
        let head = match fs::symlink_metadata(&path) {
            Ok(m) if !m.is_file() => return Err(io::Error::other("is no file")),
            Ok(_) => "",
            Err(_) => HEAD,
        };
        // The end of the line comes first: the one before may have been cut off.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)?
            .write_all(format!("{head}\n{line}").as_bytes())
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<PathBuf, HashMap<String, Entry>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder of an output, and what it is called there.
fn split(output: &Path) -> (PathBuf, String) {
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (folder.to_owned(), output.file_name().map(|n| name(Path::new(n))).unwrap_or_default())
}

/// The record of a folder; lines that are none are left out, and of several for one output the last counts.
fn load(folder: &Path) -> HashMap<String, Entry> {
    let path = folder.join(FILE);
    let is_record = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= MOST);
    let Some(bytes) = is_record.then(|| fs::read(&path).ok()).flatten() else { return HashMap::new() };
    let text = String::from_utf8_lossy(&bytes);
    let entries = || text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
    let record: HashMap<String, Entry> = entries().map(|e| (e.output.clone(), e)).collect();
    if entries().count() > 2 * record.len() + 100 {
        tidy(&path, &record);
    }
    record
}

/// Writes a record without what is out of date. What another process adds meanwhile is lost: it is made again.
fn tidy(path: &Path, record: &HashMap<String, Entry>) {
    let mut lines: Vec<String> = record.values().filter_map(|e| serde_json::to_string(e).ok()).collect();
    lines.sort();
    // A record that stays long does no harm.
    let _ = quell_io::save(path, format!("{HEAD}\n{}", lines.join("\n")).as_bytes());
}

/// What can be told of a file without reading all of it, or of all files of numbered pictures; `None` if it is empty or
/// cannot be read.
pub(crate) fn identity(path: &Path) -> Option<String> {
    let files = quell_io::video::files(path).ok().filter(|f| !f.is_empty())?;
    let blocks = (BLOCKS / files.len() as u64).max(1);
    let mut hash = Fnv::new();
    for path in &files {
        let mut file = File::open(path).ok()?;
        let meta = file.metadata().ok().filter(|m| m.is_file() && m.len() > 0)?;
        let time = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        hash.add(&meta.len().to_le_bytes());
        hash.add(&time.as_nanos().to_le_bytes());
        if files.len() > 1 {
            hash.add(path.file_name()?.as_encoded_bytes());
        }
        sample(&mut file, meta.len(), blocks, &mut hash).ok()?;
    }
    Some(hash.text())
}

fn sample(file: &mut File, length: u64, blocks: u64, hash: &mut Fnv) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut block = |at: u64, most: u64, hash: &mut Fnv| {
        bytes.clear();
        file.seek(SeekFrom::Start(at))?;
        Read::by_ref(file).take(most).read_to_end(&mut bytes)?;
        hash.add(&bytes);
        io::Result::Ok(())
    };
    if length <= blocks * BLOCK {
        return block(0, length, hash);
    }
    // The first and the last are the beginning and the end.
    (0..blocks).try_for_each(|i| block((length - BLOCK) * i / (blocks - 1).max(1), BLOCK, hash))
}

/// Everything that was typed, but for what never changes a result (or, as the device, only its last bits); of files,
/// what is in them.
fn settings(args: &DenoiseArgs) -> Option<String> {
    let engine = EngineArgs {
        params: None,
        noise_cov: None,
        noise_psd: None,
        device: Device::Auto,
        options: DeviceOptions::default(),
        ..args.engine.clone()
    };
    let counts = DenoiseArgs {
        inputs: Vec::new(),
        output: None,
        in_place: false,
        recursive: false,
        force: false,
        json: false,
        quiet: false,
        jobs: None,
        engine,
        reading: ReadingArgs { max_pixels: None, ..args.reading.clone() },
        ..args.clone()
    };
    let mut hash = Fnv::new();
    hash.add(env!("CARGO_PKG_VERSION").as_bytes());
    hash.add(format!("{counts:?}").as_bytes());
    // The texts of the other files are among the arguments.
    hash.add(&match &args.engine.noise_psd {
        None => b"none".to_vec(),
        Some(Known::Auto) => b"auto".to_vec(),
        Some(Known::File(path)) => content(path)?,
    });
    if let Given::Picture(path) = &args.engine.noise {
        hash.add(&content(path)?);
    }
    Some(hash.text())
}

/// Of a file; a pipe can be read only once, and not here.
fn content(path: &Path) -> Option<Vec<u8>> {
    path.is_file().then(|| fs::read(path).ok()).flatten()
}

/// FNV-1a with 128 bits: files that differ by chance do not collide.
struct Fnv(u128);

impl Fnv {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// With its length, so that a byte cannot move from one part to the next.
    fn add(&mut self, bytes: &[u8]) {
        for b in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    fn text(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("quell-done-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn records(settings: &str) -> Records {
        Records { settings: Some(settings.to_owned()), folders: Mutex::default() }
    }

    /// Sets content and time of a file.
    fn put(path: &Path, content: &[u8]) {
        fs::write(path, content).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH).unwrap();
    }

    #[test]
    fn an_output_is_done_only_for_its_input_and_settings_and_as_it_was_left() {
        let folder = folder("is");
        let (input, output) = (folder.join("a"), folder.join("b"));
        put(&input, b"in");
        assert_eq!(records("s").before(&input, &output), Before::Nothing);
        put(&output, b"out");
        assert_eq!(records("s").before(&input, &output), Before::Nothing);
        records("s").add(identity(&input).unwrap(), &output).unwrap();
        let before = || records("s").before(&input, &output);
        assert_eq!(before(), Before::Same);
        assert_eq!(records("t").before(&input, &output), Before::Nothing);
        for content in [&b"In"[..], b"in and more"] {
            put(&input, content);
            assert_eq!(before(), Before::Nothing);
        }
        put(&input, b"in");
        // Same size, same time.
        put(&output, b"oUt");
        assert_eq!(before(), Before::Changed);
        put(&output, b"");
        assert_eq!(before(), Before::Nothing);
        fs::remove_file(&output).unwrap();
        assert_eq!(before(), Before::Nothing);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_record_costs_what_is_damaged_and_nothing_else() {
        let folder = folder("damaged");
        let (input, record) = (folder.join("a"), folder.join(FILE));
        put(&input, b"in");
        let output = |i: u8| folder.join(format!("out{i}"));
        for i in 0..3 {
            put(&output(i), &[i + 1]);
            records("s").add(identity(&input).unwrap(), &output(i)).unwrap();
        }
        let before = |i| records("s").before(&input, &output(i));
        assert_eq!([0, 1, 2].map(before), [Before::Same; 3]);
        // The last line is cut off, and one more is added behind it.
        let bytes = fs::read(&record).unwrap();
        fs::write(&record, &bytes[..bytes.len() - 20]).unwrap();
        records("s").add(identity(&input).unwrap(), &output(1)).unwrap();
        assert_eq!([0, 1, 2].map(before), [Before::Same, Before::Same, Before::Nothing]);
        for rubbish in [&b"\xff\xfe\0"[..], b"[]", b"{\"output\":1}", b""] {
            fs::write(&record, rubbish).unwrap();
            assert_eq!([0, 1, 2].map(before), [Before::Nothing; 3]);
        }
        fs::remove_file(&record).unwrap();
        fs::create_dir(&record).unwrap();
        assert_eq!(before(0), Before::Nothing);
        assert!(records("s").add(identity(&input).unwrap(), &output(0)).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_record_does_not_grow_with_every_run() {
        let folder = folder("long");
        let (input, output) = (folder.join("a"), folder.join("b"));
        put(&input, b"in");
        put(&output, b"out");
        for _ in 0..500 {
            records("s").add(identity(&input).unwrap(), &output).unwrap();
        }
        assert_eq!(records("s").before(&input, &output), Before::Same);
        assert!(fs::metadata(folder.join(FILE)).unwrap().len() < 1000);
        assert_eq!(records("s").before(&input, &output), Before::Same);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn large_files_are_known_by_their_beginning_middle_and_end() {
        let folder = folder("large");
        let path = folder.join("a");
        let mut content = vec![7; (BLOCKS * BLOCK * 4) as usize];
        put(&path, &content);
        let first = identity(&path).unwrap();
        let last = content.len() - 1;
        let middle = (content.len() - BLOCK as usize) * 7 / 15 + 5;
        for at in [0, middle, last] {
            content[at] = 8;
            put(&path, &content);
            assert_ne!(identity(&path).unwrap(), first, "{at}");
            content[at] = 7;
        }
        put(&path, &content);
        assert_eq!(identity(&path).unwrap(), first);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn numbered_pictures_are_known_by_all_of_them() {
        let folder = folder("numbered");
        let pattern = folder.join("f_%02d.png");
        assert_eq!(identity(&pattern), None);
        for i in 1..4 {
            put(&folder.join(format!("f_0{i}.png")), &[i]);
        }
        let first = identity(&pattern).unwrap();
        put(&folder.join("f_02.png"), &[9]);
        let second = identity(&pattern).unwrap();
        fs::remove_file(folder.join("f_03.png")).unwrap();
        assert!(first != second && identity(&pattern).unwrap() != second);
        fs::remove_dir_all(folder).unwrap();
    }
}
