//! Numbered pictures as a clip: `frame_%04d.png`.

use std::path::{Path, PathBuf};

use quell::device::SampleFormat;
use quell::{Frame, Layout, Plane, VideoFormat, VideoFrame};

use super::info::{Origin, VideoInfo};
use super::kind;
use crate::{Error, Format, Metadata, Page, Picture, ReadOptions, Result, SampleType, WriteOptions};

/// A path with a place for a number: `%d`, or `%04d` for at least four digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    folder: PathBuf,
    before: String,
    digits: usize,
    after: String,
}

impl Pattern {
    /// `None` if there is no such place in the name, or more than one.
    pub(crate) fn new(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (before, rest) = name.split_once('%')?;
        let (digits, after) = rest.split_once('d')?;
        let digits = match digits {
            "" => 1,
            _ => digits.strip_prefix('0')?.parse().ok().filter(|n| (1..=20).contains(n))?,
        };
        if after.contains('%') {
            return None;
        }
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Some(Self { folder, before: before.to_owned(), digits, after: after.to_owned() })
    }

    /// The path of a number.
    pub(crate) fn path(&self, number: u64) -> PathBuf {
        self.folder.join(self.name(number))
    }

    fn name(&self, number: u64) -> String {
        format!("{}{number:0width$}{}", self.before, self.after, width = self.digits)
    }

    /// The numbers for which there are files, in order.
    fn numbers(&self) -> Result<Vec<u64>> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            let number = name
                .to_str()
                .and_then(|n| n.strip_prefix(&self.before)?.strip_suffix(&self.after)?.parse().ok())
                .filter(|n| *self.name(*n) == *name);
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Reads numbered pictures one by one.
#[derive(Debug)]
pub(crate) struct SequenceReader {
    pattern: Pattern,
    next: u64,
    last: u64,
    options: ReadOptions,
    info: VideoInfo,
    notes: Vec<String>,
}

impl SequenceReader {
    /// Finds the pictures, and reads the first.
    pub(crate) fn open(path: &Path, max_pixels: u64, rate: Option<(u32, u32)>) -> Result<Self> {
        let Some(pattern) = Pattern::new(path) else {
            return Err(Error::Decode("the name has no place for a number, such as %04d".to_owned()));
        };
        let numbers = pattern.numbers()?;
        let (Some(&next), Some(&last)) = (numbers.first(), numbers.last()) else {
            return Err(Error::Decode(format!("no such files, {} for one", pattern.name(1))));
        };
        if let Some(gap) = numbers.windows(2).find(|w| w[1] != w[0] + 1) {
            let name = pattern.name(gap[0] + 1);
            return Err(Error::Decode(format!("{name} is missing, but {} is there", pattern.name(gap[1]))));
        }
        let options = ReadOptions { max_pixels, white: None };
        let (page, picture) = read(&pattern.path(next), &options).map_err(|e| at(&pattern, next, e))?;
        let mut info = VideoInfo::new(format_of(&page));
        info.rate = rate;
        let mut notes = picture.notes;
        if page.alpha.is_some() {
            notes.push("the alpha channel is left out".to_owned());
        }
        info.origin = Origin::Pictures(Box::new(picture.metadata), next);
        Ok(Self { pattern, next, last, options, info, notes })
    }

    pub(crate) fn info(&self) -> &VideoInfo {
        &self.info
    }

    pub(crate) fn frames(&self) -> u64 {
        match self.info.origin {
            Origin::Pictures(_, first) => self.last - first + 1,
            _ => 0,
        }
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn next(&mut self, frame: &mut VideoFrame) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        let number = self.next;
        let (page, _) =
            read(&self.pattern.path(number), &self.options).map_err(|e| at(&self.pattern, number, e))?;
        let format = format_of(&page);
        if format != self.info.format {
            let is = VideoInfo::new(format).describe();
            let e = Error::Decode(format!("is {is}, those before it are {}", self.info.describe()));
            return Err(at(&self.pattern, number, e));
        }
        if format.check(frame).is_err() {
            *frame = format.frame();
        }
        for (to, from) in frame.planes.iter_mut().zip(page.frame.planes()) {
            to.view_mut().store(from.as_slice(), 1.0, format.white);
        }
        self.next += 1;
        Ok(true)
    }
}

/// Names the picture in an error.
fn at(pattern: &Pattern, number: u64, e: Error) -> Error {
    match e {
        Error::TooLarge { .. } => e,
        e => Error::Decode(format!("{}: {e}", pattern.name(number))),
    }
}

/// The one page of a picture, and the rest of it.
fn read(path: &Path, options: &ReadOptions) -> Result<(Page, Picture)> {
    let mut picture = crate::read(path, options)?;
    match (picture.pages.pop(), picture.pages.len()) {
        (Some(page), 0) => Ok((page, picture)),
        (_, n) => Err(Error::Decode(format!("has {} pages, a frame has one", n + 1))),
    }
}

fn format_of(page: &Page) -> VideoFormat {
    let sample = match page.samples {
        SampleType::U8 => SampleFormat::U8,
        SampleType::U16 => SampleFormat::U16,
        SampleType::F16 | SampleType::F32 => SampleFormat::F32,
    };
    let frame = &page.frame;
    let layout = if frame.channels() == 1 { Layout::Mono } else { Layout::Rgb };
    VideoFormat { width: frame.width(), height: frame.height(), layout, sample, white: frame.white() }
}

/// Writes numbered pictures one by one; each is complete or not there.
#[derive(Debug)]
pub(crate) struct SequenceWriter {
    pattern: Pattern,
    next: u64,
    format: VideoFormat,
    kind: Format,
    metadata: Metadata,
    options: WriteOptions,
    notes: Vec<String>,
}

impl SequenceWriter {
    /// Numbers go on from the first of the input, or begin with 1.
    pub(crate) fn create(path: &Path, info: &VideoInfo, options: &WriteOptions) -> Result<Self> {
        let Some(pattern) = Pattern::new(path) else {
            return Err(Error::Encode(
                "a picture holds one frame; a place for a number, such as %04d, makes it many".to_owned(),
            ));
        };
        let kind = Format::from_path(path).ok_or_else(|| Error::UnknownExtension(path.to_path_buf()))?;
        let layout = info.format.layout;
        if !matches!(layout, Layout::Mono | Layout::Rgb) {
            return Err(Error::Encode(format!(
                "{} frames cannot be stored as .{} pictures, which are grey or RGB",
                layout.name(),
                kind::extension(path)
            )));
        }
        let (metadata, next) = match &info.origin {
            Origin::Pictures(metadata, first) => ((**metadata).clone(), *first),
            _ => (Metadata::default(), 1),
        };
        let (format, options) = (info.format, options.clone());
        Ok(Self { pattern, next, format, kind, metadata, options, notes: Vec::new() })
    }

    pub(crate) fn write(&mut self, frame: &VideoFrame) -> Result<()> {
        self.format.check(frame)?;
        let VideoFormat { width, height, white, .. } = self.format;
        let planes = frame.planes.iter().map(|p| Plane::from_vec(width, height, p.view().to_floats(1.0)));
        let frame = Frame::new(planes.collect::<quell::Result<_>>()?, white)?;
        let samples = match self.format.sample {
            SampleFormat::U8 => SampleType::U8,
            SampleFormat::U16 => SampleType::U16,
            SampleFormat::F32 => SampleType::F32,
        };
        let picture = Picture {
            pages: vec![Page { frame, alpha: None, samples }],
            metadata: self.metadata.clone(),
            format: self.kind,
            notes: Vec::new(),
        };
        for remark in crate::write(&self.pattern.path(self.next), &picture, &self.options)? {
            if !self.notes.contains(&remark) {
                self.notes.push(remark);
            }
        }
        self.next += 1;
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_one_place_for_a_number() {
        let p = Pattern::new(Path::new("a/f_%04d.png")).unwrap();
        assert_eq!(p.path(7), Path::new("a/f_0007.png"));
        assert_eq!(p.path(12345), Path::new("a/f_12345.png"));
        assert_eq!(Pattern::new(Path::new("%d.png")).unwrap().path(7), Path::new("7.png"));
        for no in ["a/f.png", "a%2d/f.png", "f%4d.png", "f%s.png", "f%d%d.png", "100%.png", "f%0d.png"] {
            assert_eq!(Pattern::new(Path::new(no)), None, "{no}");
        }
    }
}
