//! Some of a picture: rows and columns that are filtered without the others, those of the picture of half the size, and the
//! plans for them.

use std::ops::Range;

use super::plan::{Plan, Window};

/// A rectangle of a picture that is filtered without the rest: often some rows, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub(crate) rows: Span,
    pub(crate) columns: Span,
}

/// What is given and what is wanted along one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The side of the whole picture.
    pub(crate) whole: usize,
    /// What is given.
    pub(crate) read: Range<usize>,
    /// What of that is wanted: what becomes of the rest is undefined.
    pub(crate) write: Range<usize>,
}

impl Part {
    /// The rows of the picture that have to be given.
    pub fn read(&self) -> Range<usize> {
        self.rows.read.clone()
    }

    /// The rows of the picture that are wanted.
    pub fn write(&self) -> Range<usize> {
        self.rows.write.clone()
    }

    /// The same, counted from the first row that is given.
    pub fn kept(&self) -> Range<usize> {
        self.rows.kept()
    }

    /// The columns of the picture that have to be given.
    pub fn read_columns(&self) -> Range<usize> {
        self.columns.read.clone()
    }

    /// The columns of the picture that are wanted.
    pub fn write_columns(&self) -> Range<usize> {
        self.columns.write.clone()
    }

    /// The same, counted from the first column that is given.
    pub fn kept_columns(&self) -> Range<usize> {
        self.columns.kept()
    }

    /// The same where `reach` pixels around are wanted, too.
    pub(super) fn wider(&self, reach: usize) -> Self {
        Self { rows: self.rows.wider(reach), columns: self.columns.wider(reach) }
    }

    /// The same where no more than `margin` rows around are given, from a multiple of `grid`. Columns stay: rows are what is
    /// cheap to leave out.
    pub(super) fn narrower(&self, margin: usize, grid: usize) -> Self {
        let Span { whole, read, write } = &self.rows;
        let around = Span::around(*whole, write.clone(), margin, grid);
        let read = around.read.start.max(read.start)..around.read.end.min(read.end);
        Self { rows: Span { read, ..around }, ..self.clone() }
    }

    /// What of the picture of half the size lies in it, and what results depend on.
    pub(super) fn coarser(&self) -> Self {
        Self { rows: self.rows.coarser(), columns: self.columns.coarser() }
    }
}

impl Span {
    /// All of a side.
    pub(super) fn all(whole: usize) -> Self {
        Self { whole, read: 0..whole, write: 0..whole }
    }

    /// What is wanted, and `margin` around it, from a multiple of `grid`.
    pub(super) fn around(whole: usize, write: Range<usize>, margin: usize, grid: usize) -> Self {
        let first = write.start.saturating_sub(margin) / grid * grid;
        Self { whole, read: first..write.end.saturating_add(margin).min(whole), write }
    }

    fn kept(&self) -> Range<usize> {
        self.write.start - self.read.start..self.write.end - self.read.start
    }

    fn wider(&self, reach: usize) -> Self {
        let (start, end) = (self.write.start.saturating_sub(reach), self.write.end.saturating_add(reach));
        Self { write: start.max(self.read.start)..end.min(self.read.end), ..self.clone() }
    }

    fn coarser(&self) -> Self {
        let (whole, read) = (self.whole / 2, self.read.start / 2..self.read.end / 2);
        let start = (self.write.start / 2).saturating_sub(COARSE_REACH).max(read.start);
        let end = (self.write.end.div_ceil(2) + COARSE_REACH).min(read.end);
        Self { whole, write: start..end, read }
    }
}

impl Plan {
    /// Cuts the picture into parts of about `rows` rows, from the top. A part begins where the plan allows, so that all
    /// that lies on a grid is where it is in the whole picture, and reads as far around as results depend on.
    ///
    /// ```
    /// use quell::{Plan, bm3d};
    /// let plan: Plan = bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), 64, 1000, &[20.0])?.into();
    /// let parts = plan.parts(400);
    /// assert_eq!(parts.iter().map(|p| p.write().len()).sum::<usize>(), 1000);
    /// assert!(parts[1].read().start < parts[1].write().start);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn parts(&self, rows: usize) -> Vec<Part> {
        let height = self.window().height;
        self.cut(height.div_ceil(rows.max(1)), self.halo())
    }

    /// Cuts the picture into `count` parts of nearly equal height that read `margin` rows around.
    pub(crate) fn cut(&self, count: usize, margin: usize) -> Vec<Part> {
        let (grid, Window { width, height, .. }) = (self.grid(), self.window());
        // What depends on the whole picture is not cut.
        let count = if margin >= height { 1 } else { count };
        let at = |i: usize| if i == count { height } else { i * height / count / grid * grid };
        let writes = (0..count).map(|i| at(i)..at(i + 1)).filter(|w| !w.is_empty());
        let rows = |write| Span::around(height, write, margin, grid);
        writes.map(|write| Part { rows: rows(write), columns: Span::all(width) }).collect()
    }

    /// A rectangle of the picture, as the part that gives it: with as much around it as results depend on. What lies
    /// outside of the picture is left out.
    ///
    /// ```
    /// use quell::{Plan, bm3d};
    /// let plan: Plan = bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), 4000, 3000, &[20.0])?.into();
    /// let seen = plan.region(1000..1600, 2800..3200);
    /// assert_eq!((seen.write_columns(), seen.write()), (1000..1600, 2800..3000));
    /// assert!(seen.read_columns().len() < 800 && seen.read().end == 3000);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn region(&self, columns: Range<usize>, rows: Range<usize>) -> Part {
        let Window { width, height, .. } = self.window();
        let span = |whole: usize, write: Range<usize>| {
            let end = write.end.min(whole);
            Span::around(whole, write.start.min(end)..end, self.halo(), self.grid())
        };
        Part { rows: span(height, rows), columns: span(width, columns) }
    }

    /// The plan for a part of the picture.
    #[must_use]
    pub fn of(&self, part: &Part) -> Self {
        let mut plan = self.clone();
        plan.work.planned_mut().set_size(part.columns.read.len(), part.rows.read.len());
        plan.part = Some(part.clone());
        plan
    }

    /// Which part this is, if not all.
    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// The same for who needs `reach` more rows around each one that is wanted.
    pub(crate) fn wider(mut self, reach: usize) -> Self {
        self.part = self.part.map(|part| part.wider(reach));
        self
    }

    /// The plans for the picture itself and for that of half the size, where there are two, and the rows of what is
    /// given that the first one is for.
    pub(crate) fn scales(&self) -> Option<(Self, Range<usize>, Self)> {
        let coarser = self.coarser()?;
        let mut alone = self.clone();
        alone.coarser = None;
        let Some(part) = &self.part else {
            return Some((alone, 0..self.window().height, coarser.clone()));
        };
        // Coarse results depend on many more rows than fine ones.
        let fine = part.wider(FINE_REACH).narrower(alone.halo(), self.grid());
        let (read, first) = (&fine.rows.read, part.rows.read.start);
        let rows = read.start - first..read.end - first;
        Some((alone.of(&fine), rows, coarser.of(&part.coarser())))
    }
}

/// Rows of the picture of half the size, on both sides, that a row depends on: one by blurring, one by interpolation.
pub(super) const COARSE_REACH: usize = 2;
/// Rows of its own size: those that these are the means of.
pub(super) const FINE_REACH: usize = 2 * COARSE_REACH + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d;

    fn fast(width: usize, height: usize) -> Plan {
        bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), width, height, &[20.0]).unwrap().into()
    }

    #[test]
    fn parts_of_several_sizes_hold_what_each_size_depends_on() {
        for height in [1500, 1501, 1503] {
            let [whole, half, quarter] = [1, 2, 4].map(|n| fast(640 / n, height / n));
            let halo = quarter.halo();
            let plan = whole.with_coarser(half.with_coarser(quarter).unwrap()).unwrap();
            assert!(plan.halo() >= 4 * halo && plan.grid() % 4 == 0);
            for part in plan.parts(300) {
                let (mut plan, mut factor) = (plan.of(&part), 1);
                while let Some((fine, rows, coarse)) = plan.scales() {
                    let given = plan.part().unwrap().read();
                    let kept = &fine.part().unwrap().rows;
                    assert_eq!(kept.read, given.start + rows.start..given.start + rows.end);
                    assert!(kept.read.len() == fine.window().height && rows.start % 2 == 0);
                    // Every row that a result depends on, or the border of the picture.
                    for p in [kept, &coarse.part().unwrap().rows] {
                        let last = p.whole;
                        assert!(p.read.start == 0 || p.read.start + halo <= p.write.start, "{p:?}");
                        assert!(p.read.end == last || p.read.end >= p.write.end + halo, "{p:?}");
                    }
                    factor *= 2;
                    let small = &coarse.part().unwrap().rows;
                    assert!(small.write.start * factor <= part.write().start);
                    assert!(small.write.end * factor + factor > part.write().end);
                    plan = coarse;
                }
                assert_eq!(factor, 4);
            }
        }
    }

    #[test]
    fn the_rows_of_a_part_are_that_part() {
        let plan = fast(640, 1500).with_coarser(fast(320, 750)).unwrap();
        for part in plan.parts(300) {
            assert_eq!(plan.region(0..640, part.write()), part);
        }
        let outside = plan.region(600..700, 1490..usize::MAX);
        assert_eq!(
            (outside.write_columns(), outside.write(), outside.read().end),
            (600..640, 1490..1500, 1500)
        );
        assert!(plan.region(700..800, 0..10).write_columns().is_empty());
    }
}
