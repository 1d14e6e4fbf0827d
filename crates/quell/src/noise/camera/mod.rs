//! Noise of developed photographs, which the estimators of white noise do not see: demosaicking, noise reduction and JPEG
//! have taken its high frequencies away and left the grain that is seen (docs/noise.md, "Camera noise").
//!
//! Blocks of 16 x 16 samples are sorted by brightness; of each brightness the quietest ones by their lowest frequencies
//! tell how alike they are at the next ones. Noise scatters as chance does, texture scatters more. Of the brightnesses
//! that look like noise the spectrum is read; a spectrum that falls is a camera's.

mod bins;
mod blocks;
mod decision;

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::estimate::seen;
use crate::{FrameView, Plane, PlaneView, Result};

/// Sides of a picture are at least so many blocks: fewer places tell nothing of how they scatter.
const LEAST: usize = 3 * blocks::SIDE;

/// What was found of the noise of a developed photograph. Levels are in units of the samples; white noise would have its
/// deviation in every band.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CameraNoise {
    /// The level that BM3D is to filter for. Of colour pictures whose channels are equal it is that of luma as BM3D counts
    /// it, the root of 3 times that of one channel.
    pub sigma: f32,
    /// How sure that is, 0 to 1; `sigma` is the less the less sure.
    pub confidence: f32,
    /// Root of the power density of luma in five bands, from 0.05 to 0.44 cycles per pixel.
    pub luma: [f32; 5],
    /// The same of colour.
    pub chroma: Option<[f32; 5]>,
    /// Size of the grain in pixels, 1 to 4: half the wave at which the power of luma has halved.
    pub grain: f32,
    /// Brightness, and the level of luma between 0.1 and 0.15 cycles per pixel there.
    pub curve: Vec<(f32, f32)>,
}

/// Noise of a developed photograph; `None` if it is white, absent or in doubt, and of pictures with a side below 48 pixels.
/// Where `alpha` is 0 nothing is looked at, unless it is 0 everywhere.
///
/// ```
/// use quell::{Frame, Plane, noise};
/// // White noise is not a developed photograph's.
/// let grey = Frame::grey(Plane::from_vec(256, 256, vec![100.0; 65536])?, 255.0)?;
/// let noisy = noise::add_gaussian(&grey, 20.0, 0)?;
/// assert_eq!(noise::camera(&noisy.view(), None)?, None);
/// // Each sample the mean of nine, as smoothing leaves it.
/// let p = &noisy.planes()[0];
/// let mean = |i: usize| (0..9).map(|k| p.row((i / 254) + k / 3)[i % 254 + k % 3]).sum::<f32>() / 9.0;
/// let soft = Frame::grey(Plane::from_vec(254, 254, (0..254 * 254).map(mean).collect())?, 255.0)?;
/// let found = noise::camera(&soft.view(), None)?.unwrap();
/// assert!(found.grain > 2.0 && found.sigma > 10.0);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn camera(frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Result<Option<CameraNoise>> {
    frame.check_finite()?;
    let alpha = alpha.map(|a| seen(frame, a)).transpose()?.flatten();
    Ok(find(frame, alpha.as_ref()))
}

/// The same of samples that are finite, and an alpha channel that tells something.
pub(super) fn find(frame: &FrameView<'_>, alpha: Option<&PlaneView<'_>>) -> Option<CameraNoise> {
    if frame.width().min(frame.height()) < LEAST {
        return None;
    }
    let equal = frame.channels() == 3 && has_equal_planes(frame);
    let grey = frame.channels() == 1 || equal;
    let found = {
        let colour = blocks::Colour::new(frame, grey);
        let bins = bins::bins(blocks::survey(frame, alpha, grey), |block| colour.energy(block));
        decision::decide(&bins, grey)?
    };
    Some(found.scaled(frame.white() / 255.0, if equal { 3.0_f32.sqrt() } else { 1.0 }))
}

/// Roots of the mean energy in five bands, of planes that hold nothing but noise, on the 0..255 scale: luma and two channels
/// of colour, or one for all; nothing of planes smaller than a block.
pub(super) fn spectra(channels: &[Plane]) -> Option<[[f32; 5]; 3]> {
    let of = |plane: &Plane| {
        let frame = FrameView::new(vec![plane.view()], 255.0).ok()?;
        let blocks = blocks::survey(&frame, None, true);
        let count = blocks.len() as f32;
        // A grey plane counts as three equal ones there.
        let mean = |band: usize| blocks.iter().map(|b| b.energy[band] / 3.0).sum::<f32>() / count;
        (count > 0.0).then(|| std::array::from_fn(|band| mean(band).sqrt()))
    };
    let first = of(channels.first()?)?;
    let other = |c: usize| channels.get(c).map_or(Some(first), of);
    Some([first, other(1)?, other(2)?])
}

fn has_equal_planes(frame: &FrameView<'_>) -> bool {
    let (first, others) = (&frame.planes()[0], &frame.planes()[1..]);
    (0..frame.height()).into_par_iter().all(|y| others.iter().all(|p| p.row(y) == first.row(y)))
}

impl CameraNoise {
    /// Of noise whose spectrum is known, by five bands, on the 0..255 scale.
    pub(super) fn of_spectrum(luma: [f32; 5], chroma: Option<[f32; 5]>) -> Self {
        let exact = luma.map(f64::from);
        let sigma = (decision::steepness(&exact) * exact[1]) as f32;
        let grain = decision::grain(&exact) as f32;
        Self { sigma, confidence: 1.0, luma, chroma, grain, curve: Vec::new() }
    }

    /// The level of luma between 0.1 and 0.15 cycles per pixel, where it is seen and measured best.
    pub fn luma_level(&self) -> f32 {
        self.luma[1]
    }

    /// That of colour, which lies lower; nothing where JPEG has left none to measure.
    pub fn chroma_level(&self) -> Option<f32> {
        self.chroma.map(|bands| bands[0].max(bands[1])).filter(|level| *level > 0.1 * self.luma[1])
    }

    /// In other units; `luma` is what BM3D counts besides.
    pub(crate) fn scaled(mut self, unit: f32, luma: f32) -> Self {
        self.sigma *= unit * luma;
        self.luma.iter_mut().chain(self.chroma.iter_mut().flatten()).for_each(|v| *v *= unit);
        self.curve.iter_mut().for_each(|(brightness, level)| {
            *brightness *= unit;
            *level *= unit;
        });
        self
    }
}
