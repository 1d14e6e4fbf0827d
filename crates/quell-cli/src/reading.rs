//! Reading pictures as the flags say.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::Context;
use quell::{FrameView, Plane, PlaneView};
use quell_io::bands::BandReader;
use quell_io::{Page, Picture, ReadOptions};

use crate::args::{NanPolicy, ReadingArgs};
use crate::nan::{self, Holes};
use crate::report;

/// Reads pictures.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    options: ReadOptions,
    nan: NanPolicy,
}

/// A picture whose samples are all finite.
#[derive(Debug)]
pub(crate) struct Source {
    /// The picture.
    pub(crate) picture: Picture,
    /// Per page, what to put back after filtering.
    pub(crate) holes: Vec<Holes>,
    /// It is not what is in the file.
    pub(crate) changed: bool,
}

impl Reader {
    /// A reader that follows the flags.
    pub(crate) fn new(args: &ReadingArgs) -> Self {
        let mut options =
            ReadOptions { white: args.white, axes: args.axes.clone(), ..ReadOptions::default() };
        options.max_pixels = args.max_pixels.unwrap_or(options.max_pixels);
        Self { options, nan: args.nan }
    }

    /// Reads a picture; the error does not name the file.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Source> {
        match path.metadata() {
            Ok(m) if m.is_dir() => anyhow::bail!("is a folder"),
            Err(e) if e.kind() == ErrorKind::NotFound => anyhow::bail!("no such file"),
            _ => {}
        }
        let mut picture = quell_io::read(path, &self.options)?;
        let pages = picture.pages.len();
        let mut holes = Vec::with_capacity(pages);
        let mut changed = false;
        for (i, page) in picture.pages.iter_mut().enumerate() {
            changed |= self.nan == NanPolicy::Zero && page.frame.view().check_finite().is_err();
            let found = nan::apply(&mut page.frame, self.nan);
            holes.push(if pages == 1 { found? } else { found.with_context(|| format!("page {}", i + 1))? });
        }
        Ok(Source { picture, holes, changed })
    }

    /// A picture that can be read in bands of rows. Whatever is wrong with it is said by [`read`](Self::read).
    pub(crate) fn bands(&self, path: &Path) -> Option<BandReader> {
        BandReader::open(path, &self.options).ok().flatten()
    }

    /// What is done about samples that are no numbers.
    pub(crate) fn nan(&self) -> NanPolicy {
        self.nan
    }

    /// Reads a picture, shows its remarks, and names the file in errors.
    pub(crate) fn open(&self, path: &Path) -> anyhow::Result<Source> {
        let source = self.read(path).with_context(|| report::name(path))?;
        for note in &source.picture.notes {
            report::message(&report::note(path, note));
        }
        Ok(source)
    }
}

/// Bytes of a text file, at most: parameters and covariances have a few hundred.
const LONGEST_TEXT: usize = 1 << 20;

/// A small text file. A pipe is one too, a device that never ends is not; the error does not name the file.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    if path.is_dir() {
        anyhow::bail!("is a folder");
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST_TEXT {
        anyhow::bail!("is no text file of ours: it has more than {} KiB", LONGEST_TEXT >> 10);
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("is not a text file"))
}

/// The factor from the 0..255 scale to the frame's own units.
pub(crate) fn unit(frame: &FrameView<'_>) -> f32 {
    frame.white() / 255.0
}

/// Where a page is seen.
pub(crate) fn alpha(page: &Page) -> Option<PlaneView<'_>> {
    page.alpha.as_ref().map(Plane::view)
}
