//! Making noise that is correlated, for tests and measurements: the kernels of Mäkinen, Azzari and Foi (2020).

use rustfft::num_complex::Complex32;

use super::fourier::{Fourier, smooth};
use super::{Covariance, Psd};
use crate::noise::add_gaussian;
use crate::{Error, Frame, FrameView, Plane, Result};

/// A kernel that white noise is convolved with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// None: the noise stays white.
    #[default]
    White,
    /// A horizontal triangle of 31 taps: streaks.
    G1,
    /// `cos(r)` under a Gaussian of deviation 10: rings of one wavelength in all directions.
    G2,
    /// `cos(x + y)` under the same Gaussian: diagonal stripes.
    G3,
    /// Pink noise: power falls with the frequency as `c / (f + c)`, c = 0.01 cycles per pixel.
    G4,
    /// A Gaussian of deviation 1: soft noise, as resizing and demosaicking leave it. Not of the paper.
    Soft,
    /// [`G1`](Self::G1) with a fifth of its power white.
    G1w,
    /// [`G2`](Self::G2) with a fifth of its power white.
    G2w,
    /// [`G3`](Self::G3) with a fifth of its power white.
    G3w,
    /// [`G4`](Self::G4) with a fifth of its power white.
    G4w,
}

/// Part of the power that is white in the `w` kernels.
const WHITE: f64 = 0.2;
/// Half the side of the kernels that go on for ever: beyond it they are below a ten-thousandth.
const RADIUS: isize = 45;

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 10] = [
        Self::White,
        Self::Soft,
        Self::G1,
        Self::G2,
        Self::G3,
        Self::G4,
        Self::G1w,
        Self::G2w,
        Self::G3w,
        Self::G4w,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Soft => "soft",
            Self::G1 => "g1",
            Self::G2 => "g2",
            Self::G3 => "g3",
            Self::G4 => "g4",
            Self::G1w => "g1w",
            Self::G2w => "g2w",
            Self::G3w => "g3w",
            Self::G4w => "g4w",
        }
    }

    /// The power spectrum of such noise for pictures of this size, with this variance per pixel.
    pub fn psd(self, width: usize, height: usize, variance: f64) -> Result<Psd> {
        let size = (width, height);
        let (pure, white) = match self {
            Self::White | Self::Soft | Self::G1 | Self::G2 | Self::G3 | Self::G4 => (self, 0.0),
            Self::G1w => (Self::G1, WHITE),
            Self::G2w => (Self::G2, WHITE),
            Self::G3w => (Self::G3, WHITE),
            Self::G4w => (Self::G4, WHITE),
        };
        let gauss = |x: isize, y: isize| (-((x * x + y * y) as f64) / 200.0).exp();
        let coloured = match pure {
            Self::G1 => convolution(size, 15, 0, |x, _| 16.0 - x.abs() as f64)?,
            Self::G2 => {
                convolution(size, RADIUS, RADIUS, |x, y| (x as f64).hypot(y as f64).cos() * gauss(x, y))?
            }
            Self::G3 => convolution(size, RADIUS, RADIUS, |x, y| ((x + y) as f64).cos() * gauss(x, y))?,
            // |F|^2 of a Gaussian of deviation 1.
            Self::Soft => {
                Psd::sampled(size, 1.0, |x, y| (-(std::f64::consts::TAU * x.hypot(y)).powi(2)).exp())?
            }
            Self::G4 => Psd::sampled(size, 1.0, |x, y| 0.01 / (x.hypot(y) + 0.01))?,
            _ => return Psd::sampled(size, variance, |_, _| 1.0),
        };
        let n = (width * height) as f64;
        let scale = (1.0 - white) * variance / coloured.variance();
        let mut power = coloured.into_plane();
        for v in power.as_mut_slice() {
            *v = (f64::from(*v) * scale + white * variance * n) as f32;
        }
        Psd::new(power)
    }

    /// Adds such noise of deviation `sigma`, in the frame's units. Channels are independent, or have the correlations of
    /// `covariance`, which then also says how the noise is dealt to them; `sigma` is the root of their mean variance.
    ///
    /// The same seed gives the same noise up to the rounding of the Fourier transforms, which differ between processors;
    /// white noise without covariance is [`add_gaussian`]'s to the last bit.
    pub fn add<'a>(
        self,
        frame: impl Into<FrameView<'a>>,
        sigma: f64,
        covariance: Option<&Covariance>,
        seed: u64,
    ) -> Result<Frame> {
        let frame = frame.into();
        frame.check_finite()?;
        let (width, height, channels) = (frame.width(), frame.height(), frame.channels());
        if covariance.is_some() && channels != 3 {
            return Err(Error::Shape(format!(
                "a covariance of 3 channels cannot be that of a picture with {channels}"
            )));
        }
        if self == Self::White && covariance.is_none() {
            return add_gaussian(frame, sigma, seed);
        }
        // The convolution is periodic; what is kept is not.
        let margin = RADIUS as usize;
        let canvas = (smooth(width + margin), smooth(height + margin));
        let flat = Frame::new(vec![Plane::zeros(canvas.0, canvas.1); channels], 1.0)?;
        let mut noise = add_gaussian(&flat, sigma, seed)?.into_planes();
        if self != Self::White {
            let fourier = Fourier::new(canvas.0, canvas.1);
            let response: Vec<f32> = self
                .psd(canvas.0, canvas.1, 1.0)?
                .resampled(canvas.0, canvas.1)
                .iter()
                .map(|v| v.sqrt())
                .collect();
            for plane in &mut noise {
                let samples = plane.as_slice().iter().map(|&v| Complex32::new(v, 0.0)).collect();
                let filtered = fourier.filter(samples, &response);
                plane.as_mut_slice().iter_mut().zip(filtered).for_each(|(o, v)| *o = v.re);
            }
        }
        let unit = |i: usize| std::array::from_fn(|j| f64::from(u8::from(i == j)));
        let root = covariance.map_or_else(|| std::array::from_fn(unit), |c| c.with_variance(1.0).root());
        let mut out = frame.to_frame();
        for (i, plane) in out.planes_mut().iter_mut().enumerate() {
            for y in 0..height {
                for (x, v) in plane.row_mut(y).iter_mut().enumerate() {
                    let mixed =
                        noise.iter().zip(&root[i]).map(|(n, w)| w * f64::from(n.row(y)[x])).sum::<f64>();
                    *v = (f64::from(*v) + mixed) as f32;
                }
            }
        }
        Ok(out)
    }
}

/// `|DFT|^2` of a kernel that reaches `across` and `down` from its middle; in pictures smaller than it, it wraps around,
/// which samples its spectrum.
fn convolution(
    (width, height): (usize, usize),
    across: isize,
    down: isize,
    kernel: impl Fn(isize, isize) -> f64,
) -> Result<Psd> {
    let mut taps = vec![Complex32::default(); width * height];
    for (x, y) in (-down..=down).flat_map(|y| (-across..=across).map(move |x| (x, y))) {
        let at = y.rem_euclid(height as isize) as usize * width + x.rem_euclid(width as isize) as usize;
        taps[at].re += kernel(x, y) as f32;
    }
    let spectrum = Fourier::new(width, height).forward(taps);
    let power = (0..width * height).map(|i| spectrum[i % width * height + i / width].norm_sqr()).collect();
    Psd::new(Plane::from_vec(width, height, power)?)
}

impl std::str::FromStr for Kernel {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|k| k.name() == s).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::parameter("noise kernel", s, format!("one of {names}"))
        })
    }
}
