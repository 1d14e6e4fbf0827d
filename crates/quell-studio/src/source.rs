//! What was opened: the samples of a file, as it stores them.

use std::path::Path;
use std::sync::Arc;

use quell_io::video::VideoKind;
use quell_io::{Camera, Page as FilePage, Picture};
use serde_json::{Value, json};

use crate::clip::Clip;
use crate::giant::Giant;
use crate::page::Page;
use crate::tile::{Area, Samples, Shape};
use crate::{Problem, Program};

/// A file that is open.
pub(crate) enum Source {
    /// A picture in memory.
    Picture(Pages),
    /// A picture that is read in parts.
    Giant(Box<Giant>),
    /// A clip, read frame by frame.
    Clip(Box<Clip>),
}

/// The pages of a picture.
pub(crate) struct Pages {
    pages: Vec<Arc<Page>>,
    camera: Camera,
    notes: Vec<String>,
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(program: &dyn Program, path: &Path) -> Result<Self, Problem> {
        if VideoKind::of_file(path).is_some() {
            return Ok(Self::Clip(Box::new(Clip::open(path)?)));
        }
        if let Some(reader) = program.bands(path) {
            return Ok(Self::Giant(Box::new(Giant::new(reader))));
        }
        let Picture { pages, metadata, format, notes, .. } = program.read(path)?;
        if pages.is_empty() {
            return Err(Problem::sense("the file holds no picture"));
        }
        let page = |page: FilePage| {
            let frame = &page.frame;
            let size = (frame.width(), frame.height(), frame.channels());
            let shape = Shape::new(size, frame.white(), page.samples, Some(format));
            Arc::new(Page::of_file(shape, page))
        };
        let pages = pages.into_iter().map(page).collect();
        Ok(Self::Picture(Pages { pages, camera: metadata.camera(), notes }))
    }

    /// Pages of a picture or frames of a clip.
    pub(crate) fn frames(&self) -> usize {
        match self {
            Self::Picture(pages) => pages.pages.len(),
            Self::Giant(_) => 1,
            Self::Clip(clip) => clip.frames(),
        }
    }

    /// Of a frame.
    pub(crate) fn shape(&self, frame: usize) -> Result<Shape, Problem> {
        if frame >= self.frames() {
            return Err(Problem::missing(format!("there is no frame {frame}: there are {}", self.frames())));
        }
        Ok(match self {
            Self::Picture(pages) => pages.pages[frame].shape(),
            Self::Giant(giant) => giant.shape(),
            Self::Clip(clip) => clip.shape(),
        })
    }

    /// A frame in memory.
    pub(crate) fn page(&self, frame: usize) -> Result<Arc<Page>, Problem> {
        self.shape(frame)?;
        match self {
            Self::Picture(pages) => Ok(pages.pages[frame].clone()),
            Self::Giant(_) => Err(Problem::sense("the picture is too large for this: it is read in parts")),
            Self::Clip(clip) => clip.page(frame),
        }
    }

    /// The camera that took it.
    pub(crate) fn camera(&self) -> Camera {
        match self {
            Self::Picture(pages) => pages.camera.clone(),
            Self::Giant(giant) => giant.camera(),
            Self::Clip(_) => Camera::default(),
        }
    }

    /// What the page is told of it.
    pub(crate) fn describe(&self) -> Result<Value, Problem> {
        let shape = self.shape(0)?;
        let camera = self.camera();
        let camera = camera.name.map(|name| match camera.iso {
            Some(iso) => format!("{name} ISO {iso}"),
            None => name,
        });
        let (alpha, notes, rate) = match self {
            Self::Picture(pages) => (pages.pages[0].has_alpha(), pages.notes.clone(), None),
            Self::Giant(giant) => (giant.has_alpha(), giant.notes(), None),
            Self::Clip(clip) => (false, clip.notes(), clip.rate()),
        };
        Ok(json!({
            "width": shape.width,
            "height": shape.height,
            "channels": shape.channels,
            "alpha": alpha,
            "frames": self.frames(),
            "rate": rate,
            "samples": shape.samples(),
            "white": shape.white,
            "tiled": matches!(self, Self::Giant(_)),
            "camera": camera,
            "notes": notes,
        }))
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Picture(pages) => pages.pages.iter().map(|page| page.bytes()).sum(),
            Self::Giant(giant) => giant.bytes(),
            Self::Clip(clip) => clip.bytes(),
        }
    }

    /// A rectangle of a level.
    pub(crate) fn tile(&self, frame: usize, level: u32, area: Area) -> Result<Samples, Problem> {
        match self {
            Self::Giant(giant) => giant.tile(level, area),
            _ => crate::tile::tile(&*self.page(frame)?, level, area),
        }
    }

    /// A rectangle as planes of floats, one after the other.
    pub(crate) fn planes(&self, frame: usize, area: Area) -> Result<Vec<Vec<f32>>, Problem> {
        match self {
            Self::Giant(giant) => giant.planes(area),
            _ => Ok(self.page(frame)?.planes(area)),
        }
    }
}
