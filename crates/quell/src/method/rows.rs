//! Any rows of a picture as a part of it, for callers whose own pieces decide where it is cut.

use std::ops::Range;

use super::{Part, Plan};
use crate::{Error, Result};

impl Plan {
    /// The part whose result is these rows, wherever they begin and end: chunks of a file, perhaps. It reads as far around
    /// as those of [`parts`](Self::parts) do, from where the plan allows.
    ///
    /// ```
    /// use quell::{Plan, bm3d};
    /// let plan: Plan = bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), 64, 1000, &[20.0])?.into();
    /// let part = plan.part_of(501..777)?;
    /// assert_eq!(part.write(), 501..777);
    /// assert!(part.read().start < 501 - plan.halo() && part.read().end > 777 + plan.halo());
    /// assert!(plan.part_of(900..1001).is_err());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn part_of(&self, rows: Range<usize>) -> Result<Part> {
        let (height, margin, grid) = (self.window().height, self.margin(), self.row_grid());
        if rows.is_empty() || rows.end > height {
            let Range { start, end } = rows;
            return Err(Error::Shape(format!(
                "rows {start}..{end} are no part of a picture of {height} rows"
            )));
        }
        let first = rows.start.saturating_sub(margin) / grid * grid;
        Ok(Part { height, read: first..rows.end.saturating_add(margin).min(height), write: rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::{self, Profile};

    #[test]
    fn the_rows_of_a_part_make_the_same_part() {
        for profile in [Profile::Fast, Profile::Normal, Profile::Lc, Profile::Vn] {
            let plan: Plan = bm3d::Plan::new(&profile.params(20.0), 64, 3000, &[20.0]).unwrap().into();
            for part in plan.parts(500) {
                assert_eq!(plan.part_of(part.write()).unwrap(), part);
            }
        }
    }

    #[test]
    fn rows_beyond_the_picture_are_refused() {
        let plan: Plan = bm3d::Plan::new(&Profile::Fast.params(20.0), 64, 100, &[20.0]).unwrap().into();
        let backwards = std::ops::Range { start: 60, end: 50 };
        for rows in [0..101, 40..40, 100..101, backwards, 0..usize::MAX] {
            assert!(plan.part_of(rows).is_err());
        }
        assert_eq!(plan.part_of(0..100).unwrap().read(), 0..100);
    }
}
