//! Numbered pictures as a clip: `frame_%04d.png`.

use std::path::{Path, PathBuf};

use quell::device::SampleFormat;
use quell::{Frame, Layout, Plane, VideoFormat, VideoFrame};

use super::VideoWriteOptions;
use super::info::{Origin, VideoInfo};
use super::{VideoReadOptions, kind};
use crate::atomic::{self, Pending};
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

/// The files of numbered pictures, in order.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let Some(pattern) = Pattern::new(path) else { return Ok(Vec::new()) };
    Ok(pattern.numbers()?.into_iter().map(|n| pattern.path(n)).collect())
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
    pub(crate) fn open(path: &Path, clip: &VideoReadOptions) -> Result<Self> {
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
        let options =
            ReadOptions { max_pixels: clip.max_pixels, white: clip.white, ..ReadOptions::default() };
        let (page, picture) = read(&pattern.path(next), &options).map_err(|e| at(&pattern, next, e))?;
        let mut info = VideoInfo::new(format_of(&page));
        info.rate = clip.rate;
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
        self.read(self.next, frame)?;
        self.next += 1;
        Ok(true)
    }

    /// Reads a frame by its place, the first one being 0.
    pub(crate) fn read_at(&self, place: u64, frame: &mut VideoFrame) -> Result<()> {
        match self.info.origin {
            Origin::Pictures(_, first) => self.read(first + place, frame),
            _ => Ok(()),
        }
    }

    fn read(&self, number: u64, frame: &mut VideoFrame) -> Result<()> {
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
        Ok(())
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
        (Some(page), 0) => match page.samples {
            SampleType::U8 | SampleType::U16 | SampleType::F32 => Ok((page, picture)),
            other => Err(Error::Unsupported(format!("{} samples are not supported in a clip", other.name()))),
        },
        (_, n) => Err(Error::Decode(format!("has {} pages, a frame has one", n + 1))),
    }
}

fn format_of(page: &Page) -> VideoFormat {
    let sample = match page.samples {
        SampleType::U8 => SampleFormat::U8,
        SampleType::U16 => SampleFormat::U16,
        // Other types are refused when they are read.
        _ => SampleFormat::F32,
    };
    let frame = &page.frame;
    let layout = if frame.channels() == 1 { Layout::Mono } else { Layout::Rgb };
    VideoFormat { width: frame.width(), height: frame.height(), layout, sample, white: frame.white() }
}

/// Writes numbered pictures one by one; each is complete or not there. Those that would replace another wait for the
/// last: a clip that cannot be read to its end must not be half replaced.
pub(crate) struct SequenceWriter {
    pattern: Pattern,
    next: u64,
    format: VideoFormat,
    kind: Format,
    metadata: Metadata,
    options: WriteOptions,
    /// Where each picture comes from, if that is a picture.
    source: Option<Pattern>,
    notes: Vec<String>,
    held: Vec<Pending>,
    remove_rest: bool,
}

impl SequenceWriter {
    /// Numbers go on from the first of the input, or begin with 1.
    pub(crate) fn create(path: &Path, info: &VideoInfo, options: &VideoWriteOptions) -> Result<Self> {
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
        let pictures = options.pictures.clone();
        let source = match &info.origin {
            Origin::Pictures(..) => pictures.source.as_deref().and_then(Pattern::new),
            _ => None,
        };
        Ok(Self {
            pattern,
            next,
            format: info.format,
            kind,
            metadata,
            options: pictures,
            source,
            notes: Vec::new(),
            held: Vec::new(),
            remove_rest: options.remove_rest,
        })
    }

    /// Takes a file for the next picture, as it is.
    pub(crate) fn copy(&mut self, from: &Path) -> Result<()> {
        crate::copy(from, &self.pattern.path(self.next))?;
        self.next += 1;
        Ok(())
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
        let path = self.pattern.path(self.next);
        let source = self.source.as_ref().map(|s| s.path(self.next)).or(self.options.source.clone());
        let (remarks, pending) = atomic::prepare(&path, source.as_deref(), |to| {
            crate::encode(&picture, self.kind, &self.options, to)
        })?;
        match pending {
            Some(pending) if pending.replaces() => self.held.push(pending.set_aside()?),
            Some(pending) => pending.commit()?,
            None => {}
        }
        for remark in remarks {
            if !self.notes.contains(&remark) {
                self.notes.push(remark);
            }
        }
        self.next += 1;
        Ok(())
    }

    /// Whether pictures wait to replace others.
    pub(crate) fn holds_back(&self) -> bool {
        !self.held.is_empty()
    }

    /// Puts those that waited in their places.
    pub(crate) fn finish(mut self) -> Result<Vec<String>> {
        let replaced = self.holds_back();
        for pending in self.held.drain(..) {
            pending.commit()?;
        }
        if replaced {
            self.rest()?;
        }
        Ok(self.notes)
    }

    /// Pictures that follow the last one without a gap are of an earlier, longer result, since this one replaced the
    /// beginning of it: together they would pass for one clip.
    fn rest(&mut self) -> Result<()> {
        let numbers = self.pattern.numbers()?;
        let from = numbers.partition_point(|n| *n < self.next);
        let rest = numbers[from..].iter().zip(self.next..).take_while(|(n, want)| *n == want);
        let rest: Vec<u64> = rest.map(|(n, _)| *n).collect();
        let (Some(first), Some(last)) = (rest.first(), rest.last()) else { return Ok(()) };
        let names = match (self.pattern.name(*first), self.pattern.name(*last)) {
            (first, last) if first == last => first,
            (first, last) => format!("{first} to {last}"),
        };
        if self.remove_rest {
            for number in &rest {
                std::fs::remove_file(self.pattern.path(*number))?;
            }
            self.notes.push(format!("{names} removed: left from an earlier, longer result"));
        } else {
            self.notes.push(format!("{names} left from an earlier, longer result; --force removes them"));
        }
        Ok(())
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
