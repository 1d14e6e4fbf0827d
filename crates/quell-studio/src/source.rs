//! What was opened: the samples of a file, as it stores them.

use std::ops::Range;
use std::path::Path;

use quell::{Frame, FrameView, Plane, PlaneView};
use quell_io::video::VideoKind;
use quell_io::{Camera, Page as FilePage, Picture};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::tile::{Area, Pixels, Samples, Shape};
use crate::{Problem, Program};

/// A file that is open.
pub(crate) enum Source {
    /// A picture in memory.
    Picture(Pages),
}

/// The pages of a picture.
pub(crate) struct Pages {
    pub(crate) pages: Vec<Page>,
    pub(crate) camera: Camera,
    pub(crate) notes: Vec<String>,
}

/// One page.
pub(crate) struct Page {
    shape: Shape,
    samples: Samples,
    /// Where it is seen, if not everywhere.
    alpha: Option<Plane>,
    /// Whether the file has alpha.
    has_alpha: bool,
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(program: &dyn Program, path: &Path) -> Result<Self, Problem> {
        if VideoKind::of_file(path).is_some() {
            return Err(Problem::sense("clips cannot be opened yet"));
        }
        let Picture { pages, metadata, format, notes, .. } = program.read(path)?;
        if pages.is_empty() {
            return Err(Problem::sense("the file holds no picture"));
        }
        let shape = |page: &FilePage| {
            let frame = &page.frame;
            let size = (frame.width(), frame.height(), frame.channels());
            Shape::new(size, frame.white(), page.samples, Some(format))
        };
        let pages = pages.into_iter().map(|page| Page::new(shape(&page), page)).collect();
        Ok(Self::Picture(Pages { pages, camera: metadata.camera(), notes }))
    }

    /// Pages of a picture or frames of a clip.
    pub(crate) fn frames(&self) -> usize {
        match self {
            Self::Picture(pages) => pages.pages.len(),
        }
    }

    /// Of a frame.
    pub(crate) fn shape(&self, frame: usize) -> Result<Shape, Problem> {
        Ok(match self {
            Self::Picture(pages) => pages.page(frame)?.shape,
        })
    }

    /// What the page is told of it.
    pub(crate) fn describe(&self) -> Result<Value, Problem> {
        let shape = self.shape(0)?;
        let Self::Picture(Pages { pages, camera, notes }) = self;
        let camera = camera.name.as_ref().map(|name| match camera.iso {
            Some(iso) => format!("{name} ISO {iso}"),
            None => name.clone(),
        });
        Ok(json!({
            "width": shape.width,
            "height": shape.height,
            "channels": shape.channels,
            "alpha": pages[0].has_alpha(),
            "frames": self.frames(),
            "rate": null,
            "samples": shape.samples(),
            "white": shape.white,
            "tiled": false,
            "camera": camera,
            "notes": notes,
        }))
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Picture(pages) => pages.pages.iter().map(Page::bytes).sum(),
        }
    }

    /// A rectangle of a level.
    pub(crate) fn tile(&self, frame: usize, level: u32, area: Area) -> Result<Samples, Problem> {
        match self {
            Self::Picture(pages) => crate::tile::tile(pages.page(frame)?, level, area),
        }
    }

    /// A rectangle as planes of floats, one after the other.
    pub(crate) fn planes(&self, frame: usize, area: Area) -> Result<Vec<Vec<f32>>, Problem> {
        match self {
            Self::Picture(pages) => Ok(pages.page(frame)?.planes(area)),
        }
    }
}

impl Pages {
    /// A page by its number.
    pub(crate) fn page(&self, frame: usize) -> Result<&Page, Problem> {
        self.pages.get(frame).ok_or_else(|| Problem::missing(format!("there is no page {}", frame + 1)))
    }
}

impl Page {
    fn new(shape: Shape, page: FilePage) -> Self {
        let has_alpha = page.alpha.is_some();
        let opaque = |alpha: &Plane| alpha.as_slice().iter().all(|v| *v == alpha.as_slice()[0]);
        // Noise is not looked for where nothing is seen; what is the same everywhere is seen everywhere.
        let alpha = page.alpha.filter(|alpha| !opaque(alpha));
        let samples = interleaved(&page.frame.view(), &shape);
        Self { shape, samples, alpha, has_alpha }
    }

    /// What its pixels are like.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the file has alpha.
    pub(crate) fn has_alpha(&self) -> bool {
        self.has_alpha
    }

    /// Where it is seen.
    pub(crate) fn alpha(&self) -> Option<PlaneView<'_>> {
        self.alpha.as_ref().map(Plane::view)
    }

    /// Sample `i` of a plane.
    pub(crate) fn sample(&self, plane: usize, i: usize) -> f32 {
        self.samples.get(i * self.shape.channels + plane)
    }

    /// Whether samples are integers, which are all fit to be computed with.
    pub(crate) fn is_whole(&self) -> bool {
        !matches!(self.samples, Samples::F32(_))
    }

    /// A rectangle as the engine takes pictures.
    pub(crate) fn frame(&self, area: Area) -> Result<Frame, Problem> {
        let plane = |data| Plane::from_vec(area.width, area.height, data);
        let planes = self.planes(area).into_iter().map(plane).collect::<quell::Result<_>>()?;
        Ok(Frame::new(planes, self.shape.white)?)
    }

    fn planes(&self, area: Area) -> Vec<Vec<f32>> {
        let Shape { width, channels, .. } = self.shape;
        let plane = |c: usize| {
            let mut out = vec![0.0; area.pixels()];
            let rows = out.par_chunks_exact_mut(area.width.max(1)).enumerate();
            rows.for_each(|(i, row)| {
                let start = ((area.y + i) * width + area.x) * channels;
                let end = start + area.width * channels;
                match &self.samples {
                    Samples::U8(v) => take(&v[start..end], c, channels, row),
                    Samples::U16(v) => take(&v[start..end], c, channels, row),
                    Samples::F32(v) => take(&v[start..end], c, channels, row),
                }
            });
            out
        };
        (0..channels).map(plane).collect()
    }

    fn bytes(&self) -> u64 {
        let pixels = self.shape.width * self.shape.height;
        self.shape.bytes(pixels) + self.alpha.as_ref().map_or(0, |_| 4 * pixels as u64)
    }
}

/// One channel of a row.
fn take<T: Copy + Into<f32>>(from: &[T], channel: usize, channels: usize, to: &mut [f32]) {
    let from = from.iter().skip(channel).step_by(channels);
    to.iter_mut().zip(from).for_each(|(to, v)| *to = (*v).into());
}

impl Pixels for Page {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn row(&self, y: usize, columns: Range<usize>, to: &mut Samples) -> Result<(), Problem> {
        let at = |x: usize| (y * self.shape.width + x) * self.shape.channels;
        to.extend(&self.samples, at(columns.start)..at(columns.end));
        Ok(())
    }
}

/// The samples of a picture as its file stores them.
pub(crate) fn interleaved(frame: &FrameView<'_>, shape: &Shape) -> Samples {
    let (width, height, planes) = (frame.width(), frame.height(), frame.planes());
    let rows = |range: Range<usize>| {
        let mut out = shape.room(range.len() * width * planes.len());
        for y in range {
            match planes {
                [grey] => shape.store(grey.row(y).iter().copied(), &mut out),
                planes => {
                    let rows: Vec<&[f32]> = planes.iter().map(|p| p.row(y)).collect();
                    shape.store((0..width).flat_map(|x| rows.iter().map(move |row| row[x])), &mut out);
                }
            }
        }
        out
    };
    let bands = height.div_ceil(BAND);
    let mut parts: Vec<Samples> =
        (0..bands).into_par_iter().map(|i| rows(i * BAND..((i + 1) * BAND).min(height))).collect();
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut all = shape.room(width * height * planes.len());
    let mut left = width * height * planes.len();
    for part in parts.drain(..) {
        let len = left.min(BAND * width * planes.len());
        all.extend(&part, 0..len);
        left -= len;
    }
    all
}

/// Rows that a thread stores at once.
const BAND: usize = 64;
