//! What is measured on: pictures and clips that were given, and otherwise what quell ships and draws.

use std::path::{Path, PathBuf};

use quell::{Frame, Plane};
use quell_io::{Format, ReadOptions};
use sha2::{Digest, Sha256};

use crate::catalogue::On;
use crate::published::Published;
use crate::{Error, Result, scene};

/// The sides of what is cut out of pictures when time is short.
const QUICK: usize = 256;
/// And how many of them are looked at.
const QUICK_PICTURES: usize = 2;
/// Names of the noisy and the clean photograph of a pair.
const PAIRS: [(&str, &str); 4] =
    [("_real", "_mean"), ("_noisy", "_clean"), ("_NOISY", "_GT"), ("-noisy", "-clean")];

/// Pictures and clips.
#[derive(Clone, Debug, Default)]
pub struct Material {
    pictures: Vec<PathBuf>,
    clips: Vec<PathBuf>,
    pairs: Vec<(PathBuf, PathBuf)>,
    /// The key of a known set, if it is one.
    set: Option<String>,
    quick: bool,
    /// What is to be said of it.
    pub notes: Vec<String>,
}

/// A picture by name; of a pair with its noisy twin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) clean: Frame,
    pub(crate) noisy: Option<Frame>,
}

impl Material {
    /// Files and folders; without any, what quell ships and draws. `quick` takes little of it.
    pub fn new(inputs: &[PathBuf], quick: bool) -> Result<Self> {
        let mut all = Self { quick, ..Self::default() };
        let mut files = Vec::new();
        for input in inputs {
            if input.is_dir() {
                files.extend(files_of(input)?);
            } else if input.is_file() {
                files.push(input.clone());
            } else {
                return Err(Error::Material {
                    path: input.clone(),
                    why: "there is no such file or folder".into(),
                });
            }
        }
        let clip = |p: &Path| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("y4m"));
        let (clips, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|p| clip(p));
        all.clips = clips;
        let (pictures, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|p| Format::from_path(p).is_some());
        if !others.is_empty() {
            all.notes.push(format!("{} files are no pictures and are left out", others.len()));
        }
        let twin = |noisy: &Path| {
            let (stem, extension) = (noisy.file_stem()?.to_str()?, noisy.extension()?.to_str()?);
            PAIRS.iter().find_map(|(n, c)| {
                let begin = stem.strip_suffix(n)?;
                Some(noisy.with_file_name(format!("{begin}{c}.{extension}"))).filter(|p| p.is_file())
            })
        };
        for path in pictures {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match twin(&path) {
                Some(clean) => all.pairs.push((path, clean)),
                None if PAIRS.iter().any(|(_, c)| name.ends_with(c)) => {}
                None => all.pictures.push(path),
            }
        }
        all.recognise()?;
        if inputs.is_empty() {
            all.notes
                .push("a photograph that quell ships and a drawn picture; --input takes your own".into());
        }
        Ok(all)
    }

    /// Whether all pictures together are a set that is known.
    fn recognise(&mut self) -> Result<()> {
        let published = Published::new();
        let of_size = published.sets().iter().filter(|(_, s)| s.files == self.pictures.len());
        let of_size: Vec<_> = of_size.collect();
        if of_size.is_empty() {
            return Ok(());
        }
        let mut all = Sha256::new();
        for path in &self.pictures {
            all.update(Sha256::digest(std::fs::read(path).map_err(Error::file(path))?));
        }
        let found: String = all.finalize().iter().map(|b| format!("{b:02x}")).collect();
        for (key, set) in of_size {
            if set.sha256 == found {
                self.notes.push(format!("{}: its checksum is the known one", set.name));
                self.set = Some(key.clone());
            }
        }
        Ok(())
    }

    /// The key of the set that these pictures are, in whole and as they are.
    pub(crate) fn set(&self) -> Option<&str> {
        self.set.as_deref().filter(|_| !self.quick)
    }

    /// The clip to look at, if one was given.
    pub(crate) fn clip(&self) -> Option<&Path> {
        self.clips.first().map(PathBuf::as_path)
    }

    /// Names of the pictures for an experiment; none, if it cannot be made with what there is.
    pub(crate) fn names(&self, on: On) -> Vec<String> {
        let stem = |p: &PathBuf| p.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut names: Vec<String> = match on {
            On::Drawn => Vec::new(),
            On::Clip => vec![self.clips.first().map_or_else(|| "drawn".into(), stem)],
            On::Pairs => self.pairs.iter().map(|(noisy, _)| stem(noisy)).collect(),
            On::Pictures | On::Colours if self.pictures.is_empty() => vec!["harbour".into(), "drawn".into()],
            On::Pictures | On::Colours => self.pictures.iter().map(stem).collect(),
        };
        names.truncate(if self.quick { QUICK_PICTURES } else { usize::MAX });
        names
    }

    /// One of them, in whole or a part of it; nothing where it has no colours and they are needed.
    pub(crate) fn subject(&self, on: On, index: usize) -> Result<Option<Subject>> {
        let Some(name) = self.names(on).get(index).cloned() else { return Ok(None) };
        let cut = |frame: Frame| if self.quick { centre(&frame, QUICK) } else { Ok(frame) };
        if on == On::Pairs {
            let (noisy, clean) = &self.pairs[index];
            let (noisy, clean) = (cut(read(noisy)?)?, cut(read(clean)?)?);
            return Ok(Some(Subject { name, clean, noisy: Some(noisy) }));
        }
        let channels = if on == On::Colours { 3 } else { 1 };
        let frame = match (self.pictures.get(index), &*name) {
            (Some(path), _) => read(path)?,
            (None, "harbour") => harbour()?,
            _ => scene::draw(512, 512, channels)?,
        };
        let frame = match (on, frame.channels()) {
            (On::Colours, 3) | (On::Pictures, 1) => frame,
            (On::Pictures, _) => luma(&frame)?,
            _ => return Ok(None),
        };
        Ok(Some(Subject { name, clean: cut(frame)?, noisy: None }))
    }
}

/// A drawn picture of a size, as `640x480`.
pub(crate) fn drawn(size: &str) -> Result<Subject> {
    let bad = || Error::Axis { what: size.into(), why: "a size is WIDTHxHEIGHT".into() };
    let (w, h) = size.split_once('x').ok_or_else(bad)?;
    let (w, h) = (w.parse().map_err(|_| bad())?, h.parse().map_err(|_| bad())?);
    Ok(Subject { name: "drawn".into(), clean: scene::draw(w, h, 1)?, noisy: None })
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = std::fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut files: Vec<PathBuf> = list.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_file()).collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::Material { path: folder.into(), why: "the folder is empty".into() });
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Frame> {
    first(quell_io::read(path, &ReadOptions::default())?, path)
}

/// The first page.
fn first(picture: quell_io::Picture, path: &Path) -> Result<Frame> {
    let page = picture.pages.into_iter().next();
    let frame = page
        .map(|p| p.frame)
        .ok_or(Error::Material { path: path.into(), why: "it holds no picture".into() })?;
    on_255(frame)
}

/// Noise and PSNR are on the 0..255 scale throughout.
fn on_255(frame: Frame) -> Result<Frame> {
    let scale = 255.0 / frame.white();
    if scale == 1.0 {
        return Ok(frame);
    }
    let plane =
        |p: &Plane| Plane::from_vec(p.width(), p.height(), p.as_slice().iter().map(|v| v * scale).collect());
    Ok(Frame::new(frame.planes().iter().map(plane).collect::<quell::Result<_>>()?, 255.0)?)
}

/// The photograph that quell ships.
fn harbour() -> Result<Frame> {
    let bytes = include_bytes!("../../../samples/harbour.png");
    first(quell_io::decode(bytes, Some("png"), &ReadOptions::default())?, Path::new("harbour.png"))
}

/// Luma of a picture with colours (BT.601).
fn luma(frame: &Frame) -> Result<Frame> {
    let [r, g, b] = frame.planes() else { return Ok(frame.clone()) };
    let all = r.as_slice().iter().zip(g.as_slice()).zip(b.as_slice());
    let luma = all.map(|((r, g), b)| (0.299 * r + 0.587 * g + 0.114 * b).round()).collect();
    Ok(Frame::grey(Plane::from_vec(frame.width(), frame.height(), luma)?, 255.0)?)
}

/// The middle of a picture, `side` x `side` pixels at most.
pub(crate) fn centre(frame: &Frame, side: usize) -> Result<Frame> {
    let (w, h) = (frame.width().min(side), frame.height().min(side));
    let (left, top) = ((frame.width() - w) / 2, (frame.height() - h) / 2);
    part(frame, left, top, w, h)
}

/// A rectangle of a picture.
pub(crate) fn part(frame: &Frame, left: usize, top: usize, w: usize, h: usize) -> Result<Frame> {
    let cut = |p: &Plane| {
        let rows = (top..top + h).flat_map(|y| p.row(y)[left..left + w].to_vec()).collect();
        Plane::from_vec(w, h, rows)
    };
    Ok(Frame::new(frame.planes().iter().map(cut).collect::<quell::Result<_>>()?, frame.white())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pictures_there_is_what_quell_ships() {
        let material = Material::new(&[], true).unwrap();
        assert_eq!(material.names(On::Pictures), ["harbour", "drawn"]);
        let grey = material.subject(On::Pictures, 0).unwrap().unwrap();
        assert_eq!((grey.clean.width(), grey.clean.height(), grey.clean.channels()), (256, 256, 1));
        let color = material.subject(On::Colours, 1).unwrap().unwrap();
        assert_eq!((color.clean.width(), color.clean.channels()), (256, 3));
        assert!(material.names(On::Pairs).is_empty() && material.set().is_none());
    }

    #[test]
    fn pairs_are_found_by_their_names_and_bad_inputs_are_named() {
        let folder = std::env::temp_dir().join(format!("quell-lab-pairs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["a_real.pgm", "a_mean.pgm", "b.pgm", "readme.txt"] {
            std::fs::write(folder.join(name), b"P5 2 1 255\n\x00\xff").unwrap();
        }
        let material = Material::new(std::slice::from_ref(&folder), false).unwrap();
        assert_eq!(
            (material.names(On::Pairs), material.names(On::Pictures)),
            (vec!["a_real".into()], vec!["b".into()])
        );
        assert!(material.notes[0].contains("1 files"), "{:?}", material.notes);
        std::fs::remove_dir_all(&folder).unwrap();
        let e = Material::new(&[folder], false).unwrap_err().to_string();
        assert!(e.contains("no such file"), "{e}");
    }
}
