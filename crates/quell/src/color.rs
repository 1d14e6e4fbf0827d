//! Colour spaces for filtering, with what each does to the noise (REFERENCE: DAB07 eq. 13, LEB12 sec. 5).

use serde::{Deserialize, Serialize};

use crate::{Error, Plane, PlaneView};

/// How the three channels of a colour picture are filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorMode {
    /// Opponent space; patches are grouped once, on the first channel. The best choice for white noise.
    #[default]
    Opp,
    /// YCbCr; patches are grouped once, on luma.
    YCbCr,
    /// Each channel on its own, as a grey picture.
    Independent,
    /// Opponent space, but only luma is filtered; colour is left as it is.
    Luma,
}

impl ColorMode {
    /// Every mode, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Opp, Self::YCbCr, Self::Independent, Self::Luma];

    /// The name used on the command line and in plan files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opp => "opp",
            Self::YCbCr => "ycbcr",
            Self::Independent => "independent",
            Self::Luma => "luma",
        }
    }

    /// The forward matrix; channel 0 is the one that patches are grouped on.
    pub fn matrix(self) -> [[f64; 3]; 3] {
        const T: f64 = 1.0 / 3.0;
        match self {
            Self::Opp | Self::Luma => [[T, T, T], [0.5, 0.0, -0.5], [0.25, -0.5, 0.25]],
            Self::YCbCr => [[0.299, 0.587, 0.114], [-0.168737, -0.331263, 0.5], [0.5, -0.418688, -0.081313]],
            Self::Independent => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        }
    }

    /// Standard deviation of each channel's noise for unit noise in red, green and blue: the row norms.
    pub fn noise_gain(self) -> [f64; 3] {
        self.matrix().map(|row| row.iter().map(|v| v * v).sum::<f64>().sqrt())
    }

    /// RGB planes to this space.
    pub fn forward(self, rgb: &[PlaneView<'_>]) -> Vec<Plane> {
        apply(&self.matrix(), rgb)
    }

    /// From this space back to RGB.
    pub fn inverse(self, planes: &[Plane]) -> Vec<Plane> {
        let views: Vec<_> = planes.iter().map(Plane::view).collect();
        apply(&self.inverse_matrix(), &views)
    }

    /// The matrix of the way back.
    pub(crate) fn inverse_matrix(self) -> [[f64; 3]; 3] {
        invert(&self.matrix())
    }
}

impl std::str::FromStr for ColorMode {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == s)
            .ok_or_else(|| Error::parameter("color", s, "one of opp, ycbcr, independent, luma"))
    }
}

fn apply(m: &[[f64; 3]; 3], planes: &[PlaneView<'_>]) -> Vec<Plane> {
    let (w, h) = (planes[0].width(), planes[0].height());
    m.iter()
        .map(|row| {
            let [a, b, c] = row.map(|v| v as f32);
            let mut out = Plane::zeros(w, h);
            for y in 0..h {
                let (r, g, bl) = (planes[0].row(y), planes[1].row(y), planes[2].row(y));
                for (o, ((r, g), bl)) in out.row_mut(y).iter_mut().zip(r.iter().zip(g).zip(bl)) {
                    *o = a * r + b * g + c * bl;
                }
            }
            out
        })
        .collect()
}

/// Inverse by cofactors; the matrices above are all far from singular.
fn invert(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let cof = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]
    };
    let det: f64 = (0..3).map(|c| m[0][c] * cof(0, c)).sum();
    std::array::from_fn(|r| std::array::from_fn(|c| cof(c, r) / det))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_noise_factors() {
        let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 5e-6);
        assert!(close(ColorMode::Opp.noise_gain(), [0.57735, std::f64::consts::FRAC_1_SQRT_2, 0.61237]));
        assert!(close(ColorMode::YCbCr.noise_gain(), [0.66856, 0.62306, 0.65720]));
    }

    #[test]
    fn every_space_comes_back() {
        let rgb: Vec<Plane> = (0..3)
            .map(|c| Plane::from_vec(3, 1, (0..3).map(|i| (40 * c + 70 * i) as f32).collect()).unwrap())
            .collect();
        let views: Vec<_> = rgb.iter().map(Plane::view).collect();
        for mode in ColorMode::ALL {
            let back = mode.inverse(&mode.forward(&views));
            for (a, b) in rgb.iter().zip(&back) {
                assert!(a.as_slice().iter().zip(b.as_slice()).all(|(x, y)| (x - y).abs() < 1e-3), "{mode:?}");
            }
        }
    }
}
