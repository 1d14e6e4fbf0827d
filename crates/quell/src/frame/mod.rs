//! Pictures in memory: planar `f32` samples with a white level.

#[cfg(feature = "image")]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
mod plane;

pub use plane::{Plane, PlaneView};

use rayon::prelude::*;

use crate::{Error, Result};

/// An owned picture: one plane (grey) or three (red, green, blue) of equal size.
///
/// Samples may lie outside `0..=white`: float noise and highlights are kept, never clipped.
///
/// ```
/// use quell::{Frame, Plane};
/// let grey = Frame::grey(Plane::from_vec(4, 2, vec![0.5; 8])?, 1.0)?;
/// assert_eq!((grey.width(), grey.height(), grey.channels()), (4, 2, 1));
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    planes: Vec<Plane>,
    white: f32,
}

impl Frame {
    /// A frame from one or three planes of the same size; `white` is the sample value of white
    /// (255 for 8-bit pictures, 65535 for 16-bit ones, usually 1.0 for float ones).
    pub fn new(planes: Vec<Plane>, white: f32) -> Result<Self> {
        FrameView::new(planes.iter().map(Plane::view).collect(), white)?;
        Ok(Self { planes, white })
    }

    /// A grey frame.
    pub fn grey(plane: Plane, white: f32) -> Result<Self> {
        Self::new(vec![plane], white)
    }

    /// Splits interleaved samples (`RGBRGB…` for three channels) into planes.
    ///
    /// ```
    /// use quell::Frame;
    /// let rgb = Frame::from_interleaved(2, 1, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 255.0)?;
    /// assert_eq!(rgb.planes()[1].as_slice(), [2.0, 5.0]);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn from_interleaved(
        width: usize,
        height: usize,
        channels: usize,
        data: &[f32],
        white: f32,
    ) -> Result<Self> {
        if channels == 0 || data.len() != width * height * channels {
            return Err(Error::Shape(format!(
                "{} samples cannot be a {width} x {height} picture of {channels} channels",
                data.len()
            )));
        }
        let planes = (0..channels)
            .map(|c| Plane::from_vec(width, height, data[c..].iter().step_by(channels).copied().collect()))
            .collect::<Result<_>>()?;
        Self::new(planes, white)
    }

    /// Samples pixel by pixel, channels interleaved.
    pub fn to_interleaved(&self) -> Vec<f32> {
        let n = self.width() * self.height();
        let mut out = Vec::with_capacity(n * self.channels());
        for i in 0..n {
            out.extend(self.planes.iter().map(|p| p.as_slice()[i]));
        }
        out
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.planes[0].width()
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.planes[0].height()
    }

    /// Number of planes: 1 or 3.
    pub fn channels(&self) -> usize {
        self.planes.len()
    }

    /// The sample value of white.
    pub fn white(&self) -> f32 {
        self.white
    }

    /// The planes.
    pub fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// The planes, to write into.
    pub fn planes_mut(&mut self) -> &mut [Plane] {
        &mut self.planes
    }

    /// Gives the planes away.
    pub fn into_planes(self) -> Vec<Plane> {
        self.planes
    }

    /// A borrowed view of the whole frame.
    pub fn view(&self) -> FrameView<'_> {
        FrameView { planes: self.planes.iter().map(Plane::view).collect(), white: self.white }
    }
}

/// A borrowed picture: what every method reads. Rows may be strided, so a crop costs nothing.
#[derive(Clone, Debug)]
pub struct FrameView<'a> {
    planes: Vec<PlaneView<'a>>,
    white: f32,
}

impl<'a> FrameView<'a> {
    /// A view of one or three borrowed planes of the same size.
    pub fn new(planes: Vec<PlaneView<'a>>, white: f32) -> Result<Self> {
        let n = planes.len();
        if n != 1 && n != 3 {
            return Err(Error::Shape(format!("{n} planes: a frame has 1 (grey) or 3 (red, green, blue)")));
        }
        let size = (planes[0].width(), planes[0].height());
        if let Some(p) = planes.iter().find(|p| (p.width(), p.height()) != size) {
            return Err(Error::Shape(format!(
                "planes of different sizes: {} x {} and {} x {}",
                size.0,
                size.1,
                p.width(),
                p.height()
            )));
        }
        check_white(white)?;
        Ok(Self { planes, white })
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.planes[0].width()
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.planes[0].height()
    }

    /// Number of planes: 1 or 3.
    pub fn channels(&self) -> usize {
        self.planes.len()
    }

    /// The sample value of white.
    pub fn white(&self) -> f32 {
        self.white
    }

    /// The planes.
    pub fn planes(&self) -> &[PlaneView<'a>] {
        &self.planes
    }

    /// Copies the samples into a frame of their own.
    pub fn to_frame(&self) -> Frame {
        Frame { planes: self.planes.iter().map(PlaneView::to_plane).collect(), white: self.white }
    }

    /// The range that all but about a thousandth of the samples at either end lie in, from a regular selection of
    /// them: hot pixels do not count.
    pub fn range(&self) -> (f32, f32) {
        let (w, h) = (self.width(), self.height());
        typical_range(w * h * self.channels(), |i| self.planes[i / (w * h)].row(i / w % h)[i % w])
    }

    /// The first NaN or infinity as an error (contract 8: they never spread), and the first sample that would become
    /// one when squares are added up.
    pub fn check_finite(&self) -> Result<()> {
        let (width, height) = (self.width(), self.height());
        // Bands of some hundred thousand samples: it is memory that takes the time.
        let band = (BAND / width.max(1)).max(1);
        let bands: Vec<(usize, usize)> =
            (0..self.channels()).flat_map(|p| (0..height).step_by(band).map(move |y| (p, y))).collect();
        let check = |&(plane, from): &(usize, usize)| {
            (from..height.min(from + band))
                .try_for_each(|y| check_samples(self.planes[plane].row(y), self.white, |x| (plane, x, y)))
        };
        if bands.len() < 2 {
            return bands.iter().try_for_each(check);
        }
        // The first in order, whatever thread comes first.
        bands.par_iter().map(check).find_first(Result::is_err).unwrap_or(Ok(()))
    }
}

/// Samples that a thread looks at before it asks for more.
const BAND: usize = 1 << 18;

/// White is between one in this number and this number.
const WHITE: f32 = 1e15;

/// Samples are at most so many times white. The filters add up squares of some hundred samples on a scale of 255.
const TIMES: f32 = 1e12;

/// Samples that are checked at once.
const CHUNK: usize = 1024;

/// Refuses white levels that squares of samples would overflow or vanish with.
pub(crate) fn check_white(white: f32) -> Result<()> {
    if !(white.is_finite() && white > 0.0) {
        return Err(Error::parameter("white", white, "the white level must be a positive number"));
    }
    if !(1.0 / WHITE..=WHITE).contains(&white) {
        let reason =
            "the white level must lie between 1e-15 and 1e15; multiply the samples by a constant first";
        return Err(Error::parameter("white", format!("{white:e}"), reason));
    }
    Ok(())
}

/// The first of the samples that cannot be computed with as an error; `place` gives its plane, column and row.
pub(crate) fn check_samples(
    samples: &[f32],
    white: f32,
    place: impl Fn(usize) -> (usize, usize, usize),
) -> Result<()> {
    let limit = (white * TIMES).min(WHITE * 10.0);
    // One comparison for both: NaN is not within the limit either. Whole chunks first, without a branch for every sample.
    let is_fine = |v: &f32| v.abs() <= limit;
    let bad = |chunk: &[f32]| !chunk.iter().fold(true, |fine, v| fine & is_fine(v));
    let Some(chunk) = samples.chunks(CHUNK).position(bad) else { return Ok(()) };
    let Some(i) = (chunk * CHUNK..samples.len()).find(|i| !is_fine(&samples[*i])) else { return Ok(()) };
    let ((plane, x, y), value) = (place(i), samples[i]);
    Err(if value.is_finite() {
        Error::Huge { plane, x, y, value, white }
    } else {
        Error::NotFinite { plane, x, y, value }
    })
}

/// The range of `count` samples as [`FrameView::range`] has it; `sample` gives one by its number.
pub(crate) fn typical_range(count: usize, sample: impl Fn(usize) -> f32) -> (f32, f32) {
    const ENOUGH: usize = 1 << 16;
    // An odd stride does not fall in step with even widths.
    let stride = (count / ENOUGH).max(1) | 1;
    let mut samples: Vec<f32> = (0..count).step_by(stride).map(sample).collect();
    let tail = samples.len() / 1000;
    let low = *samples.select_nth_unstable_by(tail, f32::total_cmp).1;
    let last = samples.len() - 1 - tail;
    (low, *samples.select_nth_unstable_by(last, f32::total_cmp).1)
}

impl<'a> From<&'a Frame> for FrameView<'a> {
    fn from(f: &'a Frame) -> Self {
        f.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(value: f32, white: f32) -> Result<Frame> {
        Frame::grey(Plane::from_vec(3, 2, vec![0.0, 0.0, 0.0, 0.0, value, 0.0])?, white)
    }

    #[test]
    fn samples_whose_squares_are_not_numbers_are_named() {
        for value in [1e13, -1e13, 1e37, f32::MAX] {
            let e = frame(value, 1.0).unwrap().view().check_finite().unwrap_err();
            assert!(matches!(e, Error::Huge { plane: 0, x: 1, y: 1, value: v, .. } if v == value), "{e}");
        }
        assert!(matches!(
            frame(f32::NAN, 1.0).unwrap().view().check_finite(),
            Err(Error::NotFinite { x: 1, y: 1, .. })
        ));
        // Radiances of the sun, and the smallest floats.
        for value in [1e9, -1e9, 1e-45, 0.0] {
            frame(value, 1.0).unwrap().view().check_finite().unwrap();
        }
        frame(1e14, 1e15).unwrap().view().check_finite().unwrap();
    }

    #[test]
    fn white_levels_out_of_proportion_are_refused_with_the_remedy() {
        for white in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(frame(0.0, white).unwrap_err().to_string().contains("must be a positive number"));
        }
        for white in [1e-16, 1e16, 1e-40, 1e37] {
            assert!(frame(0.0, white).unwrap_err().to_string().contains("multiply the samples"));
        }
        for white in [1e-15, 1.0, 65535.0, 1e15] {
            frame(0.0, white).unwrap();
        }
    }
}
