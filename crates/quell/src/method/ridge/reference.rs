//! Context ridge in plain `f64`, to be read beside the formulas of [`Plan`]. Slow; every fast path is tested against it.

use super::Plan;
use crate::bm3d::reference::count_at;
use crate::method::group::Guide;
use crate::{Plane, PlaneView, bm3d};

/// The places of the patches of a group, columns and rows.
pub type Group = Vec<(usize, usize)>;

/// Runs the plan: all rounds at one size.
pub fn run(plan: &Plan, noisy: &[PlaneView<'_>]) -> Vec<Plane> {
    run_counted(plan, noisy, None)
}

/// The same for averages of so many frames each pixel ([`Frames::Counted`](crate::method::Frames::Counted)).
pub fn run_counted(plan: &Plan, noisy: &[PlaneView<'_>], counts: Option<&PlaneView<'_>>) -> Vec<Plane> {
    let mut x = bm3d::reference::run_counted(&plan.pilot, noisy, counts).last;
    let mut z: Vec<Plane> = noisy.iter().map(PlaneView::to_plane).collect();
    let mut found = Vec::new();
    for index in 0..plan.rounds.len() {
        if let Some(new) = groups(plan, index, &x[0].view(), &z[0].view()) {
            found = new;
        }
        (x, z) = round_counted(plan, index, &found, noisy, (&x, &z), counts);
    }
    z
}

/// The first estimate of every channel.
pub fn pilot(plan: &Plan, noisy: &[PlaneView<'_>]) -> Vec<Plane> {
    bm3d::reference::run(&plan.pilot, noisy).last
}

/// The groups of a round, by rows and columns of its grid, where patches are grouped anew.
pub fn groups(plan: &Plan, index: usize, x: &PlaneView<'_>, z: &PlaneView<'_>) -> Option<Vec<Group>> {
    let round = &plan.rounds[index];
    let search = round.search.as_ref()?;
    let guide = guide(x, z, round.blend, plan.margin);
    let all = Guide::new(search.clone(), &guide.view());
    let xs = search.grid(guide.width());
    let places = search.grid(guide.height()).into_iter().flat_map(|y| xs.iter().map(move |&x| (x, y)));
    let group = |(x, y): (usize, usize)| {
        let mut matches = all.matches(x, y);
        plan.size.cut(&mut matches);
        let there =
            |m: &bm3d::Match| (x.wrapping_add_signed(m.dx as isize), y.wrapping_add_signed(m.dy as isize));
        matches.iter().map(there).collect()
    };
    Some(places.map(group).collect())
}

/// What is compared: `z + blend (x - z)`, with its border repeated `margin` times.
pub fn guide(x: &PlaneView<'_>, z: &PlaneView<'_>, blend: f32, margin: usize) -> Plane {
    let (w, h) = (z.width() + 2 * margin, z.height() + 2 * margin);
    let inside = |i: usize, n: usize| i.saturating_sub(margin).min(n - 1);
    let mut out = Plane::zeros(w, h);
    for y in 0..h {
        let row = inside(y, z.height());
        for (column, to) in out.row_mut(y).iter_mut().enumerate() {
            let column = inside(column, z.width());
            let (a, b) = (x.row(row)[column], z.row(row)[column]);
            *to = b + blend * (a - b);
        }
    }
    out
}

/// One round over all groups: the next `x` and `z` of every channel.
pub fn round(
    plan: &Plan,
    index: usize,
    groups: &[Group],
    noisy: &[PlaneView<'_>],
    x: &[Plane],
    z: &[Plane],
) -> (Vec<Plane>, Vec<Plane>) {
    round_counted(plan, index, groups, noisy, (x, z), None)
}

/// The same for averages of frames.
pub fn round_counted(
    plan: &Plan,
    index: usize,
    groups: &[Group],
    noisy: &[PlaneView<'_>],
    (x, z): (&[Plane], &[Plane]),
    counts: Option<&PlaneView<'_>>,
) -> (Vec<Plane>, Vec<Plane>) {
    let tau = f64::from(plan.rounds[index].tau);
    let most = most(plan);
    let channel = |c: usize| {
        let sigma = f64::from(plan.sigma[c]);
        let residue = residue(&noisy[c], &z[c].view());
        let (w, n) = (plan.width, plan.patch);
        let mut sums = vec![[0.0; 3]; w * plan.height];
        for group in groups {
            let k = group.len() as f64;
            let (xs, zs) = (patches(&x[c], group, n), patches(&z[c], group, n));
            let square: f64 = group.iter().map(|&place| box_mean(&residue, place, n)).sum::<f64>() / k;
            // The first patch is the reference.
            let count = group.first().map_or(1.0, |&place| count_at(counts, place, n));
            let t = (1.0 - (square * count).sqrt() / sigma).max(tau + 1e-6);
            let ridge = f64::from(plan.ridge(c, group.len(), t as f32)) / count;
            let (estimate, variance) = regress(&xs, &zs, ridge, plan.center);
            let (weight, stays) = (k / most / (1.0 + variance), (tau / t).min(0.999));
            let kept = weight * (1.0 - stays);
            for (patch, &(px, py)) in estimate.iter().zip(group) {
                for (i, v) in patch.iter().enumerate() {
                    let [numerator, all, new] = &mut sums[(py + i / n) * w + px + i % n];
                    (*numerator, *all, *new) = (*numerator + kept * v, *all + weight, *new + kept);
                }
            }
        }
        let old = z[c].as_slice().iter().map(|&v| f64::from(v));
        let next = sums.iter().zip(old).map(|(&[numerator, all, new], old)| {
            ((numerator / new) as f32, ((numerator + old * (all - new)) / all) as f32)
        });
        let (x, z) = next.unzip();
        (plane(plan, x), plane(plan, z))
    };
    (0..noisy.len()).map(channel).unzip()
}

/// The most patches of a group.
fn most(plan: &Plan) -> f64 {
    plan.rounds.iter().filter_map(|r| r.search.as_ref()).map(|s| s.group).max().unwrap_or(1) as f64
}

fn plane(plan: &Plan, data: Vec<f32>) -> Plane {
    Plane::from_vec(plan.width, plan.height, data).unwrap_or_else(|_| unreachable!("same size as the input"))
}

fn residue(y: &PlaneView<'_>, z: &PlaneView<'_>) -> Vec<Vec<f64>> {
    let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
    y.rows().zip(z.rows()).map(|(a, b)| a.iter().zip(b).map(square).collect()).collect()
}

fn box_mean(values: &[Vec<f64>], (x, y): (usize, usize), n: usize) -> f64 {
    values[y..y + n].iter().flat_map(|row| &row[x..x + n]).sum::<f64>() / (n * n) as f64
}

fn patches(plane: &Plane, group: &Group, n: usize) -> Vec<Vec<f64>> {
    bm3d::reference::extract(&plane.view(), group, n)
}

/// `Xh`, and `|I - D A|^2`.
fn regress(x: &[Vec<f64>], z: &[Vec<f64>], ridge: f64, center: bool) -> (Vec<Vec<f64>>, f64) {
    let n = x[0].len();
    let (xm, zm) = if center { (mean(x), mean(z)) } else { (vec![0.0; n], vec![0.0; n]) };
    let (x, z) = (less(x, &xm), less(z, &zm));
    let mut a = product(&x, &x);
    let ridge = ridge.max(1e-6 * (0..n).map(|i| a[i][i]).sum::<f64>());
    (0..n).for_each(|i| a[i][i] += ridge);
    invert(&mut a);
    let right = product(&x, &z);
    let q: Vec<Vec<f64>> = a.iter().map(|row| row_times(row, &right)).collect();
    let estimate = x.iter().map(|row| row_times(row, &q).iter().zip(&zm).map(|(v, m)| v + m).collect());
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    let variance = (0..n * n).map(|e| (unit(e / n, e % n) - ridge * a[e / n][e % n]).powi(2)).sum();
    (estimate.collect(), variance)
}

/// The mean row.
fn mean(rows: &[Vec<f64>]) -> Vec<f64> {
    (0..rows[0].len()).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64).collect()
}

fn less(rows: &[Vec<f64>], mean: &[f64]) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row.iter().zip(mean).map(|(v, m)| v - m).collect()).collect()
}

/// `A' B`, where rows are given.
fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |i: usize, j: usize| a.iter().zip(b).map(|(a, b)| a[i] * b[j]).sum();
    (0..a[0].len()).map(|i| (0..b[0].len()).map(|j| entry(i, j)).collect()).collect()
}

fn row_times(row: &[f64], matrix: &[Vec<f64>]) -> Vec<f64> {
    (0..matrix[0].len()).map(|j| row.iter().zip(matrix).map(|(v, m)| v * m[j]).sum()).collect()
}

/// Inverts a symmetric positive matrix in place, without pivots.
fn invert(a: &mut [Vec<f64>]) {
    for p in 0..a.len() {
        let pivot = 1.0 / a[p][p];
        a[p][p] = 1.0;
        a[p].iter_mut().for_each(|v| *v *= pivot);
        let row = a[p].clone();
        for (i, other) in a.iter_mut().enumerate().filter(|(i, _)| *i != p) {
            debug_assert_ne!(i, p);
            let factor = std::mem::take(&mut other[p]);
            other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
        }
    }
}

/// The regression of noisy patches on themselves: estimates, and the weight of each.
pub(in crate::method) fn regress_on_itself(
    noisy: &[Vec<f64>],
    sigma: f64,
    alpha: f64,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (k, means) = (noisy.len(), mean(noisy));
    let (rows, alpha2) = (less(noisy, &means), alpha * alpha);
    let noise = means.len() as f64 * sigma * sigma;
    let dot = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum::<f64>();
    let mut b: Vec<Vec<f64>> = (0..k).map(|i| (0..k).map(|j| dot(i, j)).collect()).collect();
    (0..k).for_each(|i| b[i][i] += alpha2 * noise);
    invert(&mut b);
    for (i, row) in b.iter_mut().enumerate() {
        row.iter_mut().for_each(|v| *v *= -(1.0 + alpha2) * noise);
        row[i] += 1.0;
    }
    let one = |row: &Vec<f64>| {
        let norm = row.iter().map(|v| v * v).sum::<f64>() + (1.0 - 1.0 / alpha2.powi(2)) / k as f64;
        let estimate = row_times(row, &rows).iter().zip(&means).map(|(v, m)| v + m).collect();
        (estimate, 1.0 / norm.max(1.0 / k as f64))
    };
    b.iter().map(one).unzip()
}
