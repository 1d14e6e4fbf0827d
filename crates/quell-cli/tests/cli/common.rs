//! Pictures, folders and runs of the program for the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quell::{Frame, Plane, noise};
use quell_io::{Format, Metadata, Page, Picture, ReadOptions, SampleType, WriteOptions};

/// What quell keeps of a batch in an output folder.
pub(crate) const RECORD: &str = ".quell-done";

/// A folder of its own for a test, removed afterwards.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quell-cli-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A small noisy picture on the 0..255 scale, stored as the name and type say.
    pub(crate) fn noisy(&self, name: &str, samples: SampleType) -> PathBuf {
        self.save(name, &[noisy(24, 24, 1)], samples)
    }

    /// An 8-bit one.
    pub(crate) fn picture(&self, name: &str) -> PathBuf {
        self.noisy(name, SampleType::U8)
    }

    /// Stores frames on the 0..255 scale as the pages of a file.
    pub(crate) fn save(&self, name: &str, frames: &[Frame], samples: SampleType) -> PathBuf {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).unwrap();
        }
        let pages =
            frames.iter().map(|f| Page { frame: scaled(f, samples.white()), alpha: None, samples }).collect();
        let format = Format::from_path(&path).unwrap();
        let picture = Picture { pages, metadata: Metadata::default(), format, notes: Vec::new() };
        quell_io::write(&path, &picture, &WriteOptions::default()).unwrap();
        path
    }

    /// Runs `quell` in this folder.
    pub(crate) fn quell(&self, args: &[&str]) -> Run {
        Run::of(self.command(args))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        command.current_dir(&self.0).args(args).env_remove("NO_COLOR");
        command
    }

    /// Names of all files but the record of a batch, sorted; folders are walked.
    pub(crate) fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, root, found);
                } else if path.file_name().unwrap() != RECORD {
                    found.push(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.0, &self.0, &mut found);
        found.sort();
        found
    }

    /// All pages of a file, on the 0..255 scale.
    pub(crate) fn load(&self, name: &str) -> Vec<Frame> {
        let picture = quell_io::read(&self.path(name), &ReadOptions::default()).unwrap();
        picture.pages.iter().map(|p| scaled(&p.frame, 255.0)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run printed and how it ended.
pub(crate) struct Run(Output);

impl Run {
    pub(crate) fn of(mut command: Command) -> Self {
        Self(command.output().unwrap())
    }

    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().expect("ended by a signal")
    }

    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.0.stdout).unwrap()
    }

    pub(crate) fn err(&self) -> &str {
        std::str::from_utf8(&self.0.stderr).unwrap()
    }

    /// Ended with this code; no run may panic or print debug output.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.out(), self.err());
        assert!(!self.err().contains("panicked"), "{}", self.err());
        self
    }

    /// Standard error has this text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err().contains(text), "no {text:?} in: {}", self.err());
        self
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.out().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

/// A clean picture with a slope and a square.
pub(crate) fn clean(width: usize, height: usize) -> Frame {
    let value =
        |x: usize, y: usize| 60.0 + x as f32 + if x > width / 2 && y > height / 3 { 80.0 } else { 0.0 };
    let data = (0..height).flat_map(|y| (0..width).map(move |x| value(x, y))).collect();
    Frame::grey(Plane::from_vec(width, height, data).unwrap(), 255.0).unwrap()
}

/// The same with noise of deviation 15.
pub(crate) fn noisy(width: usize, height: usize, seed: u64) -> Frame {
    noise::add_gaussian(&clean(width, height), 15.0, seed).unwrap()
}

/// Three planes of different brightness, with noise.
pub(crate) fn noisy_rgb(width: usize, height: usize) -> Frame {
    let planes = (0..3).map(|c| noisy(width, height, c).into_planes().remove(0)).collect();
    Frame::new(planes, 255.0).unwrap()
}

/// The same picture with another white level.
pub(crate) fn scaled(frame: &Frame, white: f32) -> Frame {
    let factor = white / frame.white();
    let mut frame = Frame::new(frame.planes().to_vec(), white).unwrap();
    for plane in frame.planes_mut() {
        plane.as_mut_slice().iter_mut().for_each(|v| *v *= factor);
    }
    frame
}

/// PSNR of the first page against the clean picture of the same size.
pub(crate) fn psnr(frame: &Frame) -> f64 {
    quell::metrics::psnr(&clean(frame.width(), frame.height()), frame).unwrap().all
}
