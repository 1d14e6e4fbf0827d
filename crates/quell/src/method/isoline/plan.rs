//! A plan: parameters resolved for one picture size and its noise, the same for every device.

use serde::Serialize;

use super::{Params, Patterns, Variant};
use crate::Result;
use crate::method::Averaging;

/// How soft the choice between two directions is, in units of the noise in a line's energy. With a hard choice, two
/// directions of all but equal energy would give different pictures on different devices.
const SOFTNESS: f64 = 0.2;

/// What a device is to compute. Samples are in their own units. Plane 0 (luma) decides; the others follow it.
///
/// Samples outside of a picture are those of its edge, at every step: each step makes whole pictures of the last one's.
/// `box` is the mean over a [`Square`]. `P[d]` is the segment of direction `d` and `|P|` its pixels (three times as many with thickness 3); `P+[d]` is the
/// line of both directions `d` and `d + D/2` with their start, of `N = 2 l + 1` pixels, never thick.
///
/// ```text
/// pool(z; level c, guide u):             for every direction d, segments one after the other from p:
///     lambda_k = lambda_(k-1) + slope (mean of u_0 over P[d] at the k-th start - c)^2
///     w_k      = max(0, 1 - lambda_k)
///     result   = (z(p) + sum w_k (sum of z over P[d])) / (1 + sum w_k |P|)         in every plane
///
/// choose(E):                              over the first half of the directions, in order:
///     t = clamp(1/2 + sharpness (E_0[d] - e_0), 0, 1);  e += t (E[d] - e),  m += t (M[d] - m)   from e = E[0], m = M[0]
///
/// pooled     y1 = pool(z; g(z_0), z_0)
/// line       r = z - y1;  M[d] = mean of r over P+[d];  E[d] = box(M[d]^2);  choose;  t = box((r - m)^2)
///            y2 = y1 + m max(0, 1 - line_noise / e) + (r - m) max(0, 1 - pixel_noise / t)
/// two-round  p = y2 + mix (pool(z; y2_0, y2_0) - y2)
///            s = g(p);  r = z - s;  q = p - s;  E, M of q as above, and with them m_r of r;  t = box((q - m)^2)
///            result = share p + (1 - share) (s + m_r e / (e + line_noise) + (r - m_r) t / (t + pixel_noise))
/// ```
///
/// With frames before (`past`) or after (`future`) the present one, `z` is first averaged over them, along the motion of
/// blocks, and every pixel has its own number `n` of frames ([`Averaging`]).
///
/// All the rest is as above with n times less noise: `slope` of both poolings is multiplied by `n(p)`, `line_noise` and
/// `pixel_noise` are divided by it.
///
/// The paper's filters are in [`reference`](super::reference).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Deviation of the noise in each plane.
    pub sigma: Vec<f32>,
    /// The sample value of white.
    pub white: f32,
    /// Which filter.
    pub variant: Variant,
    /// The segments.
    pub patterns: Patterns,
    /// Most segments of a line.
    pub segments: usize,
    /// Pixels across a segment, 1 or 3.
    pub thickness: usize,
    /// Largest turn from one segment to the next.
    pub turn: usize,
    /// The paper's Tmax.
    pub threshold: f32,
    /// The paper's T2max.
    pub edge_threshold: f32,
    /// First pooling, on the noisy picture.
    pub pool: Pooling,
    /// What is put back of the first residual.
    pub restore: Restoring,
    /// Second pooling, on the first result; its blur is that of `s`.
    pub pilot_pool: Pooling,
    /// What is put back in the second round.
    pub pilot_restore: Restoring,
    /// The part of the second pooling in the pilot `p`.
    pub mix: f32,
    /// The part of the pilot in the result.
    pub share: f32,
    /// Frames before the present one that it is averaged with.
    pub past: usize,
    /// Frames after it.
    pub future: usize,
    /// How it is averaged with them.
    pub averaging: Averaging,
}

/// One pooling of segments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pooling {
    /// `g`: the Gaussian that finds a pixel's level.
    pub blur: Blur,
    /// From squared differences of levels to lambda.
    pub slope: f32,
}

/// What is put back of a residual. Noise is a variance in each plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Restoring {
    /// What the box is.
    pub square: Square,
    /// How decided the choice of a direction is.
    pub sharpness: f32,
    /// Noise of the mean of a line.
    pub line_noise: Vec<f32>,
    /// Noise of a pixel less its line.
    pub pixel_noise: Vec<f32>,
}

/// The box of a pixel: the cell of `cell` x `cell` pixels that it is in, and `margin` pixels around that. Pixels of a cell
/// share their lines, which is both quicker and, with less noise in the choice, a little better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Square {
    /// Pixels of a side of a cell; the first cell begins at the first pixel.
    pub cell: usize,
    /// Pixels around it.
    pub margin: usize,
}

impl Square {
    /// Pixels of a side.
    pub fn side(&self) -> usize {
        self.cell + 2 * self.margin
    }

    /// Pixels from a pixel that its box may reach.
    pub fn reach(&self) -> usize {
        self.cell - 1 + self.margin
    }
}

/// Five taps of a Gaussian, of sum 1, for both axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Blur {
    /// The taps.
    pub taps: [f32; 5],
}

impl Blur {
    fn new(deviation: f32) -> Self {
        let tap = |i: i32| (-0.5 * (f64::from(i) / f64::from(deviation)).powi(2)).exp();
        let sum: f64 = (-2..=2).map(tap).sum();
        Self { taps: [-2, -1, 0, 1, 2].map(|i| (tap(i) / sum) as f32) }
    }

    /// What it leaves of the variance of white noise.
    fn variance(&self) -> f64 {
        self.taps.iter().map(|&t| f64::from(t).powi(2)).sum::<f64>().powi(2)
    }
}

impl Plan {
    /// The plan for pictures of this size whose planes have noise of these deviations, in the units of the samples.
    pub fn new(params: &Params, (width, height): (usize, usize), white: f32, sigma: &[f32]) -> Result<Self> {
        params.validate()?;
        let patterns = Patterns::new(params.directions, params.length);
        // Less noise than this is none, and would be lost in `f32`.
        let variance: Vec<f64> = sigma.iter().map(|&s| f64::from(s.max(1e-5 * white)).powi(2)).collect();
        let luma = variance.first().copied().unwrap_or(1.0);
        let line = (2 * params.length + 1) as f64;
        let slope = |noise: f64, threshold: f32| (1.0 / (luma * noise * f64::from(threshold))) as f32;
        let restoring = |window: usize, cell: usize, part: f64| Restoring {
            square: Square { cell, margin: (window - cell) / 2 },
            sharpness: (line / (luma * SOFTNESS)) as f32,
            line_noise: variance.iter().map(|v| (part * v / line) as f32).collect(),
            pixel_noise: variance.iter().map(|v| (part * v * (1.0 - 1.0 / line)) as f32).collect(),
        };
        let blur = Blur::new(params.blur);
        let segment = (params.length * params.thickness) as f64;
        Ok(Self {
            width,
            height,
            sigma: sigma.to_vec(),
            white,
            variant: params.variant,
            segments: (params.max_length - 1) / params.length,
            thickness: params.thickness,
            turn: params.turn,
            threshold: params.threshold,
            edge_threshold: params.edge_threshold,
            pool: Pooling { blur, slope: slope(1.0 / segment + blur.variance(), params.threshold) },
            restore: restoring(params.window, params.cell, 1.0),
            pilot_pool: Pooling {
                blur: Blur::new(params.pilot_blur),
                slope: slope(1.0, params.pilot_threshold),
            },
            pilot_restore: restoring(params.pilot_window, params.pilot_cell, params.pilot_noise.into()),
            mix: params.pilot_mix,
            share: params.pilot_share,
            past: params.past,
            future: params.future,
            averaging: Averaging::new(params.motion, params.frame_threshold, white, luma),
            patterns,
        })
    }

    /// Whether frames are averaged.
    pub fn averages(&self) -> bool {
        self.past + self.future > 0
    }

    /// Planes.
    pub fn channels(&self) -> usize {
        self.sigma.len()
    }

    /// Pixels of a segment, its thickness counted.
    pub fn segment_pixels(&self) -> usize {
        self.patterns.length() * self.thickness
    }

    /// Pixels around a pixel that its result depends on.
    pub fn halo(&self) -> usize {
        let length = self.patterns.length();
        let across = self.thickness / 2;
        let chain = length * self.segments + across;
        let pool = chain.max(2);
        let restore = |r: &Restoring| length + 2 * r.square.reach();
        let frames = if self.averages() { self.averaging.halo() } else { 0 };
        let within = match self.variant {
            // The directions along a line were found from segments, too, which reach as far as the next one.
            Variant::PiLd | Variant::PiPd | Variant::Hybrid => chain,
            Variant::Pooled => pool,
            Variant::Line => pool + restore(&self.restore),
            Variant::TwoRound => 2 * pool + restore(&self.restore) + 2 + restore(&self.pilot_restore),
        };
        within + frames
    }
}
