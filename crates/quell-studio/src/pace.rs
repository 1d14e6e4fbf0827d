//! How much is computed at once: enough to be quick, little enough to be lost without regret.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::{BLOCK, View};
use crate::tile::Area;

/// How long a piece of work should take: it is lost when it is not wanted any more.
const PIECE: Duration = Duration::from_millis(400);
/// Side of a piece, at least.
const LEAST_SIDE: usize = 4 * BLOCK;
/// Pixels that a piece reads, at most, its halo included: filters take about a hundred bytes for each.
const READ: usize = 5 << 19;

/// How fast views were computed, in pixels a second: told by the last piece.
#[derive(Default)]
pub(crate) struct Pace {
    pub(crate) last: Option<(Arc<str>, f64)>,
    /// When the page was told of progress.
    pub(crate) reported: Option<Instant>,
}

impl Pace {
    /// That of a view.
    pub(crate) fn of(&self, view: &View) -> Option<f64> {
        self.last.as_ref().filter(|(key, _)| *key == view.key).map(|(_, pace)| *pace)
    }

    /// A part of an area, from `first` on, that takes about as long as a piece should and is large beside its halo.
    pub(crate) fn piece(&self, view: &View, area: Area, first: (usize, usize), halo: usize) -> Area {
        let around = |n: usize| n + 2 * halo;
        let whole = around(area.width) * around(area.height) <= READ;
        let pixels = self.of(view).map_or(usize::MAX, |pace| (pace * PIECE.as_secs_f64()) as usize);
        if whole && area.pixels() / 2 <= pixels {
            return area;
        }
        let blocks = |n: usize| (n / BLOCK * BLOCK).max(LEAST_SIDE);
        let side = blocks((READ as f64).sqrt() as usize - (2 * halo).min(1 << 10));
        let columns = area.columns().end - first.0;
        // No crumbs.
        let width = if columns <= side * 5 / 4 { columns } else { side };
        let most = blocks((READ / around(width)).saturating_sub(2 * halo));
        let least = blocks(halo + halo / 2).min(most);
        let height = blocks(pixels / width.max(1)).clamp(least, most);
        let rows = area.rows().end - first.1;
        let height = if rows <= height * 5 / 4 { rows } else { height };
        Area { x: first.0, y: first.1, width, height }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View { file: 1, frame: 0, key: "k".into() }
    }

    #[test]
    fn what_is_seen_is_computed_at_once_and_the_rest_in_pieces() {
        let mut pace = Pace::default();
        let seen = Area { x: 1984, y: 1472, width: 1216, height: 832 };
        assert_eq!(pace.piece(&view(), seen, (1984, 1472), 218), seen);
        let all = Area { x: 0, y: 0, width: 6000, height: 4000 };
        for (halo, speed) in
            [(50, None), (218, Some(2e6)), (218, Some(1e4)), (50, Some(1e9)), (2000, Some(1e6))]
        {
            pace.last = speed.map(|speed| ("k".into(), speed));
            let piece = pace.piece(&view(), all, (0, 64), halo);
            assert!(piece.y == 64 && piece.width >= LEAST_SIDE && piece.height >= LEAST_SIDE, "{piece:?}");
            let read = (piece.width + 2 * halo) * (piece.height + 2 * halo);
            assert!(read <= READ || halo == 2000, "{piece:?} reads {read}");
            assert!(piece.width.is_multiple_of(BLOCK) && piece.height.is_multiple_of(BLOCK), "{piece:?}");
        }
        let last = pace.piece(&view(), all, (5888, 3968), 50);
        assert_eq!((last.columns().end, last.rows().end), (6000, 4000));
    }
}
