//! NL-means on the processor: tile by tile, and in a tile displacement by displacement (Goossens et al.).
//!
//! - `grid`: tiles and lanes; `samples`: frames by rows, tiles by lanes
//! - `distance` -> `weight` -> `sums`: what happens for the few displacements of a sweep, row by row
//! - `share`: the second sweep where whole patches are averaged
//! - `tile`: a tile from samples to result; `sequence`: frames and the pairs of them

mod aligned;
#[allow(clippy::needless_range_loop, reason = "a displacement indexes several arrays at once")]
mod distance;
mod frame;
mod grid;
mod samples;
mod sequence;
mod share;
#[allow(clippy::needless_range_loop, reason = "a displacement indexes several arrays at once")]
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod weight;

pub(super) use sequence::NlmSequence;

/// Calls a function with the number of displacements as its last generic argument.
macro_rules! by_count {
    ($count:expr, $f:ident::<$($t:tt),*>($($arg:expr),* $(,)?)) => {
        match $count {
            1 => $f::<$($t,)* 1>($($arg),*),
            2 => $f::<$($t,)* 2>($($arg),*),
            3 => $f::<$($t,)* 3>($($arg),*),
            4 => $f::<$($t,)* 4>($($arg),*),
            k => unreachable!("a sweep of {k} displacements"),
        }
    };
}
use by_count;
