//! One picture in memory, as its file stores it: channels interleaved.

use std::ops::Range;

use quell::{Frame, Plane, PlaneView};
use quell_io::Page as FilePage;
use rayon::prelude::*;

use crate::Problem;
use crate::tile::{Area, Pixels, Samples, Shape};

/// A picture.
pub(crate) struct Page {
    shape: Shape,
    samples: Samples,
    /// Where it is seen, if not everywhere.
    alpha: Option<Plane>,
    /// Whether the file has alpha.
    has_alpha: bool,
}

impl Page {
    /// A page of a file.
    pub(crate) fn of_file(shape: Shape, page: FilePage) -> Self {
        let has_alpha = page.alpha.is_some();
        let even = |alpha: &Plane| alpha.as_slice().iter().all(|v| *v == alpha.as_slice()[0]);
        // Noise is not looked for where nothing is seen; opaque pictures are seen everywhere.
        let opaque = |alpha: &Plane| even(alpha) && alpha.as_slice()[0] >= page.samples.white();
        let alpha = page.alpha.filter(|alpha| !opaque(alpha));
        Self { shape, samples: shape.interleaved(&page.frame.view()), alpha, has_alpha }
    }

    /// Samples that are there already.
    pub(crate) fn new(shape: Shape, samples: Samples) -> Self {
        Self { shape, samples, alpha: None, has_alpha: false }
    }

    /// What its pixels are like.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Its samples.
    pub(crate) fn samples(&self) -> &Samples {
        &self.samples
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
        frame(self.planes(area), area, self.shape.white)
    }

    /// The same as planes of samples.
    pub(crate) fn planes(&self, area: Area) -> Vec<Vec<f32>> {
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

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let pixels = self.shape.width * self.shape.height;
        self.shape.bytes(pixels) + self.alpha.as_ref().map_or(0, |_| 4 * pixels as u64)
    }
}

/// Planes of samples as the engine takes pictures.
pub(crate) fn frame(planes: Vec<Vec<f32>>, area: Area, white: f32) -> Result<Frame, Problem> {
    let plane = |data| Plane::from_vec(area.width, area.height, data);
    let planes = planes.into_iter().map(plane).collect::<quell::Result<_>>()?;
    Ok(Frame::new(planes, white)?)
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
