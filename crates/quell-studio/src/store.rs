//! Results: which blocks of them are there, and how much memory they may take.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::tile::{Area, Pixels, Samples, Shape};
use crate::{Kind, Problem};

/// Side of a block: what is computed and kept together.
pub(crate) const BLOCK: usize = 64;

/// What is looked at: a frame of a file, with some settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) file: u64,
    pub(crate) frame: usize,
    pub(crate) key: Arc<str>,
}

/// The result of a view, as far as it is computed.
pub(crate) struct Sheet {
    shape: Shape,
    across: usize,
    blocks: RwLock<Vec<Option<Samples>>>,
    /// Bytes of the blocks that are there.
    bytes: AtomicU64,
    /// When it was asked for last.
    used: AtomicU64,
}

impl Sheet {
    fn new(shape: Shape) -> Self {
        let (across, down) = (shape.width.div_ceil(BLOCK), shape.height.div_ceil(BLOCK));
        let blocks = RwLock::new(vec![None; across * down]);
        Self { shape, across, blocks, bytes: AtomicU64::new(0), used: AtomicU64::new(0) }
    }

    /// Bytes that it takes, with the table of its blocks.
    fn size(&self) -> u64 {
        let blocks = self.across * self.shape.height.div_ceil(BLOCK);
        self.bytes.load(Ordering::Relaxed) + (blocks * size_of::<Option<Samples>>()) as u64
    }

    /// The blocks that an area touches, as columns and rows of blocks.
    fn touched(&self, area: Area) -> (Range<usize>, Range<usize>) {
        let area = area.within(self.shape.width, self.shape.height);
        let blocks = |range: Range<usize>| range.start / BLOCK..range.end.div_ceil(BLOCK);
        (blocks(area.columns()), blocks(area.rows()))
    }

    /// The smallest rectangle of whole blocks that holds what is missing of an area; nothing if all of it is there.
    pub(crate) fn missing(&self, area: Area) -> Option<Area> {
        let (columns, rows) = self.touched(area);
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut hull: Option<Area> = None;
        for y in rows {
            let is_missing = |x: &usize| blocks[y * self.across + x].is_none();
            let (first, last) = (columns.clone().find(is_missing), columns.clone().rfind(is_missing));
            if let (Some(first), Some(last)) = (first, last) {
                let line = Area::new(first * BLOCK..(last + 1) * BLOCK, y * BLOCK..(y + 1) * BLOCK);
                hull = Some(hull.map_or(line, |hull| hull.with(&line)));
            }
        }
        hull.map(|hull| hull.within(self.shape.width, self.shape.height))
    }

    /// The first pixel of the first block of an area that is missing, by rows.
    pub(crate) fn first_missing(&self, area: Area) -> Option<(usize, usize)> {
        let (columns, rows) = self.touched(area);
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = rows.flat_map(|y| columns.clone().map(move |x| (x, y)));
        let first = all.find(|(x, y)| blocks[y * self.across + x].is_none());
        first.map(|(x, y)| (x * BLOCK, y * BLOCK))
    }

    /// The share of it that is there.
    pub(crate) fn done(&self) -> f64 {
        let all = self.shape.bytes(self.shape.width * self.shape.height);
        self.bytes.load(Ordering::Relaxed) as f64 / all as f64
    }

    /// Bytes when all of it is there.
    pub(crate) fn whole_bytes(&self) -> u64 {
        self.shape.bytes(self.shape.width * self.shape.height)
    }

    /// Puts the result of an area of whole blocks into its place; `planes` has rows of `stride` samples, from `first` on.
    pub(crate) fn put(&self, area: Area, planes: &[&[f32]], stride: usize, first: (usize, usize)) {
        let (columns, rows) = self.touched(area);
        for by in rows {
            for bx in columns.clone() {
                let at = Area::new(bx * BLOCK..(bx + 1) * BLOCK, by * BLOCK..(by + 1) * BLOCK)
                    .within(self.shape.width, self.shape.height);
                let mut block = self.shape.room(at.pixels() * planes.len());
                for y in at.rows() {
                    let start = (y - area.y + first.1) * stride + at.x - area.x + first.0;
                    match planes {
                        [grey] => {
                            self.shape.store(grey[start..start + at.width].iter().copied(), &mut block);
                        }
                        planes => {
                            let pixels = start..start + at.width;
                            self.shape
                                .store(pixels.flat_map(|i| planes.iter().map(move |p| p[i])), &mut block);
                        }
                    }
                }
                self.fill(by * self.across + bx, block, at.pixels());
            }
        }
    }

    /// Puts a whole result into its place that has been stored already.
    pub(crate) fn put_stored(&self, all: &dyn Pixels) -> Result<(), Problem> {
        let (columns, rows) = self.touched(self.shape.area());
        for by in rows {
            for bx in columns.clone() {
                let at = Area::new(bx * BLOCK..(bx + 1) * BLOCK, by * BLOCK..(by + 1) * BLOCK)
                    .within(self.shape.width, self.shape.height);
                let mut block = self.shape.room(at.pixels() * self.shape.channels);
                for y in at.rows() {
                    all.row(y, at.columns(), &mut block)?;
                }
                self.fill(by * self.across + bx, block, at.pixels());
            }
        }
        Ok(())
    }

    /// Every block that is there.
    pub(crate) fn each(&self, mut take: impl FnMut(&Samples)) {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner).iter().flatten().for_each(&mut take);
    }

    fn fill(&self, index: usize, block: Samples, pixels: usize) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        if blocks[index].replace(block).is_none() {
            self.bytes.fetch_add(self.shape.bytes(pixels), Ordering::Relaxed);
        }
    }
}

impl Pixels for Sheet {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn row(&self, y: usize, columns: Range<usize>, to: &mut Samples) -> Result<(), Problem> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut x = columns.start;
        while x < columns.end {
            let bx = x / BLOCK;
            let end = columns.end.min((bx + 1) * BLOCK);
            let block = blocks[y / BLOCK * self.across + bx].as_ref();
            let block = block.ok_or_else(|| Problem::new(Kind::Failed, "a block is not there"))?;
            let width = BLOCK.min(self.shape.width - bx * BLOCK);
            let at = |x: usize| (y % BLOCK * width + x - bx * BLOCK) * self.shape.channels;
            to.extend(block, at(x)..at(end));
            x = end;
        }
        Ok(())
    }
}

/// All results.
pub(crate) struct Store {
    sheets: Mutex<HashMap<View, Arc<Sheet>>>,
    clock: AtomicU64,
    /// What was said on the command line.
    limit: Option<u64>,
}

/// Results that may be looked at side by side.
const CANDIDATES: usize = 4;
/// The least limit, where none is given.
const LEAST: u64 = 192 << 20;

impl Store {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { sheets: Mutex::default(), clock: AtomicU64::new(1), limit }
    }

    /// What results and the opened files may take together, where the largest file has so many bytes.
    pub(crate) fn limit(&self, largest: u64) -> u64 {
        // A picture, and two results of it.
        self.limit.unwrap_or_else(|| LEAST.max(3 * largest))
    }

    /// Bytes of all results.
    pub(crate) fn used(&self) -> u64 {
        let sheets = self.sheets.lock().unwrap_or_else(PoisonError::into_inner);
        sheets.values().map(|sheet| sheet.size()).sum()
    }

    /// The result of a view; an empty one, if there is none.
    pub(crate) fn sheet(&self, view: &View, shape: Shape) -> Arc<Sheet> {
        let mut sheets = self.sheets.lock().unwrap_or_else(PoisonError::into_inner);
        let sheet = sheets.entry(view.clone()).or_insert_with(|| Arc::new(Sheet::new(shape)));
        sheet.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        sheet.clone()
    }

    /// Forgets results that were not asked for in the longest time, until what is left takes no more than `room` bytes.
    /// The last of those that are `wanted` stay: they are looked at.
    pub(crate) fn shrink(&self, room: u64, wanted: impl Fn(&View) -> bool) {
        let mut sheets = self.sheets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut used: u64 = sheets.values().map(|sheet| sheet.size()).sum();
        let mut newest: Vec<(u64, View)> =
            sheets.iter().map(|(view, sheet)| (sheet.used.load(Ordering::Relaxed), view.clone())).collect();
        newest.sort_by_key(|(when, _)| std::cmp::Reverse(*when));
        let mut kept = 0;
        newest.retain(|(_, view)| {
            let stays = kept < CANDIDATES && wanted(view);
            kept += usize::from(stays);
            !stays
        });
        while let Some((_, view)) = newest.pop().filter(|_| used > room) {
            used -= sheets.remove(&view).map_or(0, |sheet| sheet.size());
        }
    }

    /// Forgets the results of a file.
    pub(crate) fn forget(&self, file: u64) {
        self.sheets.lock().unwrap_or_else(PoisonError::into_inner).retain(|view, _| view.file != file);
    }
}

#[cfg(test)]
mod tests {
    use quell_io::SampleType;

    use super::*;

    fn shape() -> Shape {
        Shape::new((150, 100, 1), 255.0, SampleType::U8, None)
    }

    #[test]
    fn what_is_missing_is_told_by_blocks() {
        let sheet = Sheet::new(shape());
        let corner = Area { x: 70, y: 10, width: 20, height: 20 };
        assert_eq!(sheet.missing(corner), Some(Area { x: 64, y: 0, width: 64, height: 64 }));
        let block = Area { x: 64, y: 0, width: 64, height: 64 };
        let plane: Vec<f32> = (0..70 * 80).map(|i| (i % 70) as f32).collect();
        sheet.put(block, &[&plane], 70, (3, 5));
        assert_eq!(sheet.missing(corner), None);
        let mut row = shape().room(3);
        sheet.row(7, 126..128, &mut row).unwrap();
        assert_eq!(row, Samples::U8(vec![65, 66]));
        assert!(sheet.row(7, 127..129, &mut row).is_err());
        assert_eq!(sheet.missing(shape().area()), Some(shape().area()));
        assert_eq!(sheet.first_missing(shape().area()), Some((0, 0)));
        assert_eq!(sheet.first_missing(Area { x: 100, y: 0, width: 50, height: 9 }), Some((128, 0)));
        assert_eq!(sheet.first_missing(corner), None);
        assert!((sheet.done() - 4096.0 / 15000.0).abs() < 1e-9);
    }

    #[test]
    fn the_oldest_results_go_first_and_the_last_candidates_stay() {
        let store = Store::new(Some(1000));
        let view = |key: &str| View { file: 1, frame: 0, key: key.into() };
        for key in ["a", "b", "c", "d", "e", "f"] {
            let all = vec![0.0; 15000];
            store.sheet(&view(key), shape()).put(shape().area(), &[&all], 150, (0, 0));
        }
        store.sheet(&view("a"), shape());
        let one = store.used() / 6;
        assert!((15000..16000).contains(&one));
        let is_there = |key: &str| store.sheets.lock().unwrap().contains_key(&view(key));
        store.shrink(5 * one, |_| true);
        assert!(store.used() == 5 * one && !is_there("b") && is_there("a"));
        store.shrink(0, |_| true);
        assert!(store.used() == 4 * one && !is_there("c"));
        store.shrink(0, |view| *view.key == *"d");
        assert!(store.used() == one && is_there("d"));
        store.forget(1);
        assert_eq!(store.used(), 0);
    }
}
