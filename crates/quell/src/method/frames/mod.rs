//! Frames around one that it is averaged with, along the motion of blocks, before a method that knows nothing of video
//! filters it: with less noise, and knowing of every pixel how much is left.

pub mod reference;

use serde::Serialize;

use super::parameter::within;
use crate::isoline::Square;
use crate::{Error, Result};

/// What a pixel of motion must gain at every pixel of a block, in deviations of the noise.
const STEP_COST: f64 = 0.01;

/// What a change of brightness must be more than, in deviations of what noise alone makes of it.
const FAINT: f64 = 3.0;

/// How different a block may be that has become brighter, but for that, in units of what noise alone makes of it.
const ALIKE: f64 = 2.0;

/// How far blocks may move between frames.
pub(super) const MOTION: usize = 16;

/// How different another frame may be, in units of the noise variance.
pub(super) const THRESHOLD: f32 = 0.22;

/// Frames before one and after it, where nothing else is said.
pub(super) const AROUND: usize = 2;

/// Of how many frames each pixel that is filtered is the average.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Frames {
    /// Of one: itself.
    #[default]
    One,
    /// Frames are averaged first, and then filtered as [`Counted`](Self::Counted) ones.
    Averaged(Window),
    /// A plane beside the channels says it of every pixel: with n there, a group whose reference patch has its middle
    /// there has n times less noise variance.
    Counted,
}

/// Frames that are averaged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Before the present one.
    pub past: usize,
    /// After it.
    pub future: usize,
    /// How; white is 255.
    pub averaging: Averaging,
}

impl Window {
    /// So many frames around one, with noise of deviation `sigma` in channel 0, on the 0..255 scale.
    pub fn new(past: usize, future: usize, sigma: f32) -> Self {
        Self::with(past, future, MOTION, THRESHOLD, sigma)
    }

    /// The same with blocks that move up to `motion` pixels, and frames that may differ by `threshold`.
    pub(super) fn with(past: usize, future: usize, motion: usize, threshold: f32, sigma: f32) -> Self {
        let averaging = Averaging::new(motion, threshold, 255.0, f64::from(sigma).powi(2));
        Self { past, future, averaging }
    }
}

/// What is true of the parameters of every method that averages.
pub(super) fn validate(past: usize, future: usize, motion: usize, threshold: f32) -> Result<()> {
    within("past", past, 0..=Frames::MOST)?;
    within("future", future, 0..=Frames::MOST)?;
    if motion > 32 || !motion.is_multiple_of(Averaging::SCALE) {
        return Err(Error::parameter("motion", motion, "must be from 0 to 32 in steps of 4"));
    }
    within("frame-threshold", threshold, 0.001..=1000.0)
}

impl Frames {
    /// Most frames before one and after it.
    pub const MOST: usize = 8;

    /// The frames around one, if there are any.
    pub(crate) fn window(&self) -> Option<&Window> {
        match self {
            Self::Averaged(window) => Some(window),
            _ => None,
        }
    }
}

/// The average over frames. Motion is found in whole numbers, the same on all devices: first in steps of 4 pixels, then near
/// what was found. Plane 0 decides; the others follow it. Samples outside of a picture are those of its edge.
///
/// ```text
/// u = mean of z_0 over 3 x 3 pixels;  q = floor(quanta u + 1/2), at least 0 and at most 1023       in every frame
/// h = sum of q over 4 x 4 pixels, which begin at multiples of 4
/// for every other frame t', in the order of time:
///     coarse   for each block of 16 x 16 pixels, from the first corner on, s = (dy, dx) of least (cost, dy, dx), both
///              multiples of 4 up to 4 `coarse` either way, where B is the block and 8 pixels around it:
///              cost = step_cost (|dy| + |dx|) + sum of |h_t'(p + s) - h(p)| over B
///     motion   of the steps s up to 3 pixels either way from that one the least in the same sense,
///              cost = step_cost (|dy| + |dx|) + sum of |q_t'(p + s) - q(p)| over B; no motion if `coarse` is 0
///     b        = how much brighter a block has become: with m_0 the mean of (q_t'(p + s) - q(p)) / quanta over B, and in
///              the other planes m_c that of z_t'(p + s) - z(p), b_c = m_c max(0, 1 - faint / m_c^2); all of them 0 if b_0
///              is, or the sum of |q_t'(p + s) - q(p) - floor(quanta m_0 + 1/2)| over B is more than `alike`
///     e        = mean over 9 x 9 pixels of (u_t'(p + s(p)) - b_0(p) - u(p))^2
///     w_t'     = 1 / (1 + slope max(0, e - noise))^2
/// n = 1 + sum w_t';  z_c becomes (z_c + sum w_t' (z_c,t'(p + s) - b_c)) / n        in every plane
/// ```
///
/// Without b, frames of a fade would be too different to count, or would be counted and make the picture darker.
///
/// An average has n^2 / (1 + sum w_t'^2) times less noise variance: that is what [`Frames::Counted`] is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Averaging {
    /// Steps of [`SCALE`](Self::SCALE) pixels that a block may have moved, either way; 0: no motion is looked for.
    pub coarse: usize,
    /// What a pixel of motion must gain.
    pub step_cost: i32,
    /// Whole numbers in a unit of the samples.
    pub quanta: f32,
    /// What noise alone makes of the squared difference of two frames.
    pub noise: f32,
    /// From what is above it to weights.
    pub slope: f32,
    /// From a sum of whole numbers over a block and what is around it to the mean of the samples.
    pub mean: f32,
    /// The square of a change of that mean that may be noise alone.
    pub faint: f32,
    /// Most that the sum of differences may be, but for that change, of a block that has become brighter.
    pub alike: i32,
}

impl Averaging {
    /// Side of a block.
    pub const BLOCK: usize = 16;
    /// Pixels around a block that its motion is decided on, too.
    pub const AROUND: usize = 8;
    /// Pixels of a coarse step.
    pub const SCALE: usize = 4;
    /// Pixels around the best of the coarse steps that are tried.
    pub const FINE: usize = 3;
    /// Largest whole number.
    pub const MOST: i32 = 1023;
    /// The box in which frames are compared.
    pub const BOX: Square = Square { cell: 1, margin: 4 };

    /// How much of a change of the mean of a block counts: nothing of what noise alone could have made.
    pub(crate) fn change(&self, mean: f32) -> f32 {
        mean * (1.0 - self.faint / (mean * mean)).max(0.0)
    }

    /// The mean of a difference over a block and what is around it, in whole numbers.
    pub(crate) fn rounded(difference: i32) -> i32 {
        let pixels = (Self::BLOCK + 2 * Self::AROUND).pow(2) as i32;
        (difference + pixels / 2).div_euclid(pixels)
    }

    /// Most pixels that a block may have moved, either way.
    pub fn reach(&self) -> usize {
        if self.coarse == 0 { 0 } else { Self::SCALE * self.coarse + Self::FINE }
    }

    /// Rows around a row that its average depends on.
    pub(crate) fn halo(&self) -> usize {
        Self::BLOCK + Self::AROUND + self.reach() + Self::BOX.reach() + 1
    }

    /// Blocks that move up to `motion` pixels, frames that count half or less where they differ by `threshold` times the
    /// `variance` of the noise more than noise does.
    pub(crate) fn new(motion: usize, threshold: f32, white: f32, variance: f64) -> Self {
        let quanta = 4.0 * 255.0 / f64::from(white);
        let pixels = (Self::BLOCK + 2 * Self::AROUND).pow(2) as f64;
        // What noise alone makes of the difference of two means.
        let apart = (2.0 / std::f64::consts::PI * 2.0 / 9.0 * variance).sqrt();
        Self {
            coarse: motion / Self::SCALE,
            step_cost: (STEP_COST * variance.sqrt() * quanta * pixels).round().clamp(1.0, 1e6) as i32,
            quanta: quanta as f32,
            // Both frames have a ninth of the noise.
            noise: (2.0 / 9.0 * variance) as f32,
            slope: (1.0 / (variance * f64::from(threshold))) as f32,
            mean: (1.0 / (quanta * pixels)) as f32,
            faint: (FAINT * FAINT * 2.0 * variance / pixels) as f32,
            alike: (ALIKE * apart * quanta * pixels).round().min(1e9) as i32,
        }
    }
}
