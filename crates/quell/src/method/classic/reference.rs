//! The classic filters in plain `f64`, to be read beside the formulas of [`Filter`]. Slow; every fast path is tested
//! against it.

use std::f64::consts::PI;

use super::{Filter, Plan};
use crate::nlm::fold;
use crate::{Plane, PlaneView};

/// A plane of `f64`.
#[derive(Clone)]
struct Grid {
    width: usize,
    height: usize,
    data: Vec<f64>,
}

impl Grid {
    /// From a function of column and row.
    fn new(width: usize, height: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Self { width, height, data: (0..width * height).map(|i| f(i % width, i / width)).collect() }
    }

    fn at(&self, x: usize, y: usize) -> f64 {
        self.data[y * self.width + x]
    }

    /// Beyond the borders as in a mirror.
    fn mirrored(&self, x: isize, y: isize) -> f64 {
        self.at(fold(x, self.width), fold(y, self.height))
    }

    /// The same size, another value at every pixel.
    fn map(&self, f: impl Fn(usize, usize) -> f64) -> Self {
        Self::new(self.width, self.height, f)
    }

    fn to_plane(&self) -> Plane {
        let mut plane = Plane::zeros(self.width, self.height);
        plane.as_mut_slice().iter_mut().zip(&self.data).for_each(|(to, v)| *to = *v as f32);
        plane
    }
}

/// Filters the planes of a picture.
pub fn run(plan: &Plan, planes: &[PlaneView<'_>]) -> Vec<Plane> {
    let read = |p: &PlaneView<'_>| Grid::new(plan.width, plan.height, |x, y| p.row(y)[x].into());
    let planes: Vec<Grid> = planes.iter().map(read).collect();
    let each = |f: &dyn Fn(usize, &Grid) -> Grid| planes.iter().enumerate().map(|(c, p)| f(c, p)).collect();
    let filtered: Vec<Grid> = match &plan.filter {
        Filter::Gauss { g } => each(&|_, y| gauss(g, y)),
        Filter::Bilateral { g, scale } => bilateral(g, scale, &planes),
        Filter::Tv { lambda, iterations } => each(&|c, y| total_variation(lambda[c].into(), *iterations, y)),
        Filter::Wiener { g } => each(&|c, y| wiener(g, plan.sigma[c].into(), y)),
    };
    filtered.iter().map(Grid::to_plane).collect()
}

/// Displacements and what `g` says of them.
fn window(g: &[f32]) -> impl Iterator<Item = (isize, isize, f64)> {
    let r = g.len() as isize - 1;
    let at = |i: isize| f64::from(g[i.unsigned_abs()]);
    (-r..=r).flat_map(move |j| (-r..=r).map(move |i| (i, j, at(i) * at(j))))
}

fn gauss(g: &[f32], y: &Grid) -> Grid {
    y.map(|x0, y0| window(g).map(|(i, j, w)| w * y.mirrored(x0 as isize + i, y0 as isize + j)).sum())
}

/// Tomasi and Manduchi 1998, eq. 5 with the Gaussians of sec. 2.1; colours by their common distance.
fn bilateral(g: &[f32], scale: &[f32], planes: &[Grid]) -> Vec<Grid> {
    let mut out = planes.to_vec();
    for (x, y) in (0..planes[0].height).flat_map(|y| (0..planes[0].width).map(move |x| (x, y))) {
        let (mut sums, mut total) = (vec![0.0; planes.len()], 0.0);
        for (i, j, near) in window(g) {
            let there: Vec<f64> = planes.iter().map(|p| p.mirrored(x as isize + i, y as isize + j)).collect();
            let parts = planes.iter().zip(&there).zip(scale);
            let u: f64 = parts.map(|((p, v), s)| (f64::from(*s) * (v - p.at(x, y))).powi(2)).sum();
            let weight = near * (-u).exp();
            sums.iter_mut().zip(&there).for_each(|(sum, v)| *sum += weight * v);
            total += weight;
        }
        for (to, sum) in out.iter_mut().zip(sums) {
            to.data[y * to.width + x] = sum / total;
        }
    }
    out
}

/// Chambolle 2004, eq. 9, for the problem of Rudin, Osher and Fatemi 1992.
fn total_variation(lambda: f64, iterations: usize, y: &Grid) -> Grid {
    let step = f64::from(Filter::STEP);
    let mut p = [y.map(|_, _| 0.0), y.map(|_, _| 0.0)];
    for _ in 0..iterations {
        let d = divergence(&p);
        let v = gradient(&y.map(|i, j| d.at(i, j) - y.at(i, j) / lambda));
        let length = |i, j| v[0].at(i, j).hypot(v[1].at(i, j));
        let next =
            |n: usize| y.map(|i, j| (p[n].at(i, j) + step * v[n].at(i, j)) / (1.0 + step * length(i, j)));
        p = [next(0), next(1)];
    }
    let d = divergence(&p);
    y.map(|i, j| y.at(i, j) - lambda * d.at(i, j))
}

/// Differences to the next column and row, 0 in the last ones (Chambolle 2004, sec. 2).
fn gradient(v: &Grid) -> [Grid; 2] {
    let (w, h) = (v.width, v.height);
    [
        v.map(|x, y| if x + 1 < w { v.at(x + 1, y) - v.at(x, y) } else { 0.0 }),
        v.map(|x, y| if y + 1 < h { v.at(x, y + 1) - v.at(x, y) } else { 0.0 }),
    ]
}

/// The negative adjoint of [`gradient`].
fn divergence([p, q]: &[Grid; 2]) -> Grid {
    let (w, h) = (p.width, p.height);
    p.map(|x, y| {
        let here = |v: &Grid, inside: bool| if inside { v.at(x, y) } else { 0.0 };
        let left = if x > 0 { p.at(x - 1, y) } else { 0.0 };
        let above = if y > 0 { q.at(x, y - 1) } else { 0.0 };
        here(p, x + 1 < w) - left + here(q, y + 1 < h) - above
    })
}

/// The Wiener filter (Lim 1990, sec. 9.2) with the smoothed periodogram in the place of the spectrum. The mean is no
/// signal: it stays, and is not smoothed into its neighbours.
fn wiener(g: &[f32], sigma: f64, y: &Grid) -> Grid {
    let c = cosine(y, false);
    let power = c.map(|k, l| if (k, l) == (0, 0) { 0.0 } else { c.at(k, l).powi(2) });
    let smooth = gauss(g, &power);
    let gain = |k, l| if (k, l) == (0, 0) { 1.0 } else { (1.0 - sigma * sigma / smooth.at(k, l)).max(0.0) };
    cosine(&c.map(|k, l| c.at(k, l) * gain(k, l)), true)
}

/// The orthonormal cosine transform of type II by its definition, or its inverse.
fn cosine(v: &Grid, inverse: bool) -> Grid {
    let basis = |n: usize| {
        Grid::new(n, n, |j, k| {
            let scale = if k == 0 { 1.0 } else { 2.0 };
            (scale / n as f64).sqrt() * (PI * (j as f64 + 0.5) * k as f64 / n as f64).cos()
        })
    };
    let (across, down) = (basis(v.width), basis(v.height));
    let of = |b: &Grid, k: usize, j: usize| if inverse { b.at(k, j) } else { b.at(j, k) };
    let rows = v.map(|k, y| (0..v.width).map(|x| of(&across, k, x) * v.at(x, y)).sum());
    v.map(|k, l| (0..v.height).map(|y| of(&down, l, y) * rows.at(k, y)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::classic::{Params, Profile};
    use crate::metrics::largest;

    fn filter(profile: Profile, sigma: f32, plane: &Plane) -> Plane {
        let params = profile.params(sigma, 1);
        let plan = Plan::new(&params, (plane.width(), plane.height()), 255.0, &[sigma]).unwrap();
        run(&plan, &[plane.view()]).remove(0)
    }

    fn plane(width: usize, height: usize, f: impl Fn(usize, usize) -> f32) -> Plane {
        Plane::from_vec(width, height, (0..width * height).map(|i| f(i % width, i / width)).collect())
            .unwrap()
    }

    /// Samples without any order, about a mean of 100.
    fn random(width: usize, height: usize) -> Plane {
        plane(width, height, |x, y| 50.0 + ((x * 7919 + y * 104_729) % 101) as f32)
    }

    fn mean(plane: &Plane) -> f64 {
        plane.as_slice().iter().map(|&v| f64::from(v)).sum::<f64>() / plane.as_slice().len() as f64
    }

    fn far(a: &Plane, b: &Plane) -> f32 {
        largest(a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()))
    }

    #[test]
    fn constant_pictures_are_unchanged() {
        for profile in Profile::ALL {
            for (w, h) in [(1, 1), (1, 7), (13, 9)] {
                let flat = plane(w, h, |_, _| 123.25);
                assert!(far(&filter(profile, 25.0, &flat), &flat) < 1e-4, "{profile:?}, {w} x {h}");
            }
        }
    }

    #[test]
    fn the_mean_is_preserved() {
        let noisy = random(17, 12);
        // Not by the bilateral filter, whose weights are not symmetric once they are divided by their sum.
        for profile in [Profile::Gauss, Profile::Tv, Profile::Wiener] {
            let found = filter(profile, 25.0, &noisy);
            assert!(far(&found, &noisy) > 5.0);
            assert!((mean(&found) - mean(&noisy)).abs() < 1e-4, "{profile:?}: {}", mean(&found));
        }
    }

    #[test]
    fn edges_are_kept_by_bilateral_and_total_variation_only() {
        let step = plane(24, 10, |x, _| if x < 12 { 40.0 } else { 200.0 });
        let contrast = |p: &Plane| p.row(5)[12] - p.row(5)[11];
        assert!(far(&filter(Profile::Bilateral, 15.0, &step), &step) < 0.1);
        // Total variation takes contrast from regions, the less the larger they are: lambda perimeter / area.
        let found = filter(Profile::Tv, 15.0, &step);
        assert!(far(&found, &step) < 2.0 && contrast(&found) > 156.0, "{}", contrast(&found));
        let params = Params { iterations: 2000, ..Profile::Tv.params(15.0, 1) };
        let plan = Plan::new(&params, (24, 10), 255.0, &[15.0]).unwrap();
        let Filter::Tv { lambda, .. } = &plan.filter else { panic!("not total variation") };
        let minimum = run(&plan, &[step.view()]).remove(0);
        assert!((contrast(&minimum) - (160.0 - 2.0 * lambda[0] / 12.0)).abs() < 0.01);
        assert!(contrast(&filter(Profile::Gauss, 15.0, &step)) < 120.0);
    }

    #[test]
    fn without_noise_the_wiener_filter_changes_nothing() {
        let picture = random(19, 14);
        assert!(far(&filter(Profile::Wiener, 1e-3, &picture), &picture) < 1e-3);
        assert!(
            far(&filter(Profile::Wiener, 1000.0, &picture), &plane(19, 14, |_, _| mean(&picture) as f32))
                < 1e-3
        );
    }

    #[test]
    fn one_pixel_spreads_as_the_gaussian() {
        let point = plane(15, 15, |x, y| f32::from(u8::from((x, y) == (7, 7))));
        let params = Params { spread: 1.5, radius: 4, ..Profile::Gauss.params(25.0, 1) };
        let found = run(&Plan::new(&params, (15, 15), 255.0, &[25.0]).unwrap(), &[point.view()]).remove(0);
        let ratio = found.row(8)[9] / found.row(7)[7];
        assert!((ratio - (-5.0_f32 / 4.5).exp()).abs() < 1e-5);
        assert_eq!((found.row(7)[11] > 0.0, found.row(7)[12]), (true, 0.0));
    }

    #[test]
    fn colours_are_told_apart_together_by_the_bilateral_filter() {
        // Only blue has the edge; the noise of the others is averaged on either side of it.
        let blue = plane(12, 5, |x, _| if x < 6 { 0.0 } else { 255.0 });
        let red = plane(12, 5, |x, _| if x < 6 { 10.0 } else { 20.0 });
        let plan = Plan::new(&Profile::Bilateral.params(10.0, 3), (12, 5), 255.0, &[10.0; 3]).unwrap();
        let found = run(&plan, &[red.view(), red.view(), blue.view()]);
        assert!(far(&found[0], &red) < 0.01);
        assert!(far(&filter(Profile::Bilateral, 10.0, &red), &red) > 1.0);
    }
}
