//! Collaborative filtering of any patch size with any transforms, by matrices. The fallback of
//! [`filter8`](super::filter8): readable, not fast.

use super::filter8::FilterUnit;
use super::matching::Window;
use super::unit::Source;
use crate::bm3d::reference::GroupFilter;

/// Filters the groups of a unit for one channel.
pub(super) fn filter_unit(job: FilterUnit<'_>) {
    let FilterUnit { pass, unit, groups, noisy, basic, sigma, scratch: _, numerator, denominator } = job;
    let (n, region) = (pass.patch, &unit.region);
    let window = Window { radius: pass.radius };
    let filter = GroupFilter::new(pass);
    let extract = |plane: &Source<'_>, at: &[(usize, usize)]| -> Vec<Vec<f64>> {
        let patch = |&(x, y): &(usize, usize)| {
            (0..n).flat_map(|i| plane.row(y + i, x..x + n).iter().map(|&v| f64::from(v))).collect()
        };
        at.iter().map(patch).collect()
    };
    let mut i = 0;
    for &y in &unit.ys {
        for &x in &unit.xs {
            let at: Vec<(usize, usize)> = groups
                .group(i)
                .iter()
                .map(|&key| {
                    let (dy, dx) = window.displacement(key);
                    (x.wrapping_add_signed(dx as isize), y.wrapping_add_signed(dy as isize))
                })
                .collect();
            i += 1;
            let pilot = basic.as_ref().map(|b| extract(b, &at));
            let (patches, weight) = filter.apply(&at, extract(&noisy, &at), pilot, sigma.into());
            for (patch, (px, py)) in patches.iter().zip(at) {
                for (row, samples) in patch.chunks_exact(n).enumerate() {
                    let start = (py + row - region.y.start) * region.width() + px - region.x.start;
                    for (c, v) in samples.iter().enumerate() {
                        let k = weight as f32 * pass.kaiser[row] * pass.kaiser[c];
                        numerator[start + c] += k * *v as f32;
                        denominator[start + c] += k;
                    }
                }
            }
        }
    }
}
