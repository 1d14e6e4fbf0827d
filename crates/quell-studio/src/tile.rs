//! Rectangles of samples, as the page gets them: in the type of the file, channels interleaved.

use std::ops::Range;

use quell::FrameView;
use quell_io::{Format, SampleType};
use rayon::prelude::*;

use crate::Problem;

/// A rectangle: columns from `x`, rows from `y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Area {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Area {
    pub(crate) fn new(columns: Range<usize>, rows: Range<usize>) -> Self {
        Self { x: columns.start, y: rows.start, width: columns.len(), height: rows.len() }
    }

    pub(crate) fn columns(&self) -> Range<usize> {
        self.x..self.x + self.width
    }

    pub(crate) fn rows(&self) -> Range<usize> {
        self.y..self.y + self.height
    }

    pub(crate) fn pixels(&self) -> usize {
        self.width * self.height
    }

    /// What of it lies in a picture of this size.
    pub(crate) fn within(&self, width: usize, height: usize) -> Self {
        let clip = |range: Range<usize>, end: usize| range.start.min(end)..range.end.min(end);
        Self::new(clip(self.columns(), width), clip(self.rows(), height))
    }

    /// The smallest rectangle that holds both.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let hull = |a: Range<usize>, b: Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        Self::new(hull(self.columns(), other.columns()), hull(self.rows(), other.rows()))
    }

    /// The pixels that pixels of a level are the means of.
    pub(crate) fn of_level(&self, level: u32) -> Self {
        Self {
            x: self.x << level,
            y: self.y << level,
            width: self.width << level,
            height: self.height << level,
        }
    }
}

/// What pixels are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    pub(crate) white: f32,
    /// How a file stores them.
    pub(crate) stored: SampleType,
    /// The largest value that integers are clipped to.
    pub(crate) most: f32,
}

impl Shape {
    /// Of a picture as a file of this format stores it.
    pub(crate) fn new(
        (width, height, channels): (usize, usize, usize),
        white: f32,
        stored: SampleType,
        format: Option<Format>,
    ) -> Self {
        let most = match stored {
            // PNM says which value is the largest.
            SampleType::U8 if format == Some(Format::Pnm) => white.min(255.0),
            SampleType::U16 if format == Some(Format::Pnm) => white.min(65535.0),
            SampleType::U8 => 255.0,
            SampleType::U16 => 65535.0,
            _ => f32::INFINITY,
        };
        Self { width, height, channels, white, stored, most }
    }

    /// All of it.
    pub(crate) fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.width, height: self.height }
    }

    /// Size at a level.
    pub(crate) fn at_level(&self, level: u32) -> (usize, usize) {
        (self.width.div_ceil(1 << level), self.height.div_ceil(1 << level))
    }

    /// The name of the type that samples are sent in.
    pub(crate) fn samples(&self) -> &'static str {
        match self.stored {
            SampleType::U8 => "u8",
            SampleType::U16 => "u16",
            _ => "f32",
        }
    }

    /// Bytes of so many pixels as they are kept.
    pub(crate) fn bytes(&self, pixels: usize) -> u64 {
        let sample = match self.stored {
            SampleType::U8 => 1,
            SampleType::U16 => 2,
            _ => 4,
        };
        (pixels * self.channels * sample) as u64
    }

    /// No samples, of the type that they are kept in.
    pub(crate) fn room(&self, samples: usize) -> Samples {
        match self.stored {
            SampleType::U8 => Samples::U8(Vec::with_capacity(samples)),
            SampleType::U16 => Samples::U16(Vec::with_capacity(samples)),
            _ => Samples::F32(Vec::with_capacity(samples)),
        }
    }

    /// A value as files store it in 8 bits.
    fn u8(&self, v: f32) -> u8 {
        (v.clamp(0.0, self.most) + 0.5) as u8
    }

    /// In 16 bits.
    fn u16(&self, v: f32) -> u16 {
        (v.clamp(0.0, self.most) + 0.5) as u16
    }

    /// In other types: integers are whole, and as large as can be stored.
    fn other(&self) -> fn(f32) -> f32 {
        match self.stored {
            SampleType::I16 => |v| whole(v.clamp(-32768.0, 32767.0)),
            SampleType::U32 => |v| whole(v.clamp(0.0, u32::MAX as f32)),
            SampleType::I32 => |v| whole(v.clamp(i32::MIN as f32, i32::MAX as f32)),
            SampleType::F16 => |v| half::f16::from_f32(v).to_f32(),
            _ => |v| v,
        }
    }

    /// Appends values as files store them: rounded and clipped where they are integers.
    pub(crate) fn store(&self, values: impl Iterator<Item = f32>, to: &mut Samples) {
        match to {
            Samples::U8(to) => to.extend(values.map(|v| self.u8(v))),
            Samples::U16(to) => to.extend(values.map(|v| self.u16(v))),
            Samples::F32(to) => to.extend(values.map(self.other())),
        }
    }

    /// All samples of a picture as its file stores them.
    pub(crate) fn interleaved(&self, frame: &FrameView<'_>) -> Samples {
        match self.stored {
            SampleType::U8 => Samples::U8(interleaved(frame, |v| self.u8(v))),
            SampleType::U16 => Samples::U16(interleaved(frame, |v| self.u16(v))),
            _ => Samples::F32(interleaved(frame, self.other())),
        }
    }
}

/// Rows that a thread stores at once.
const BAND: usize = 64;

fn interleaved<T: Copy + Default + Send>(frame: &FrameView<'_>, store: impl Fn(f32) -> T + Sync) -> Vec<T> {
    let (width, planes) = (frame.width(), frame.planes());
    let line = width * planes.len();
    let mut out = vec![T::default(); line * frame.height()];
    out.par_chunks_mut(line * BAND).enumerate().for_each(|(band, rows)| {
        for (y, to) in rows.chunks_exact_mut(line).enumerate() {
            for (c, plane) in planes.iter().enumerate() {
                let from = plane.row(band * BAND + y);
                to[c..].iter_mut().step_by(planes.len()).zip(from).for_each(|(to, v)| *to = store(*v));
            }
        }
    });
    out
}

/// As integers are written.
fn whole(v: f32) -> f32 {
    (f64::from(v) + 0.5).floor() as f32
}

/// Samples, channels interleaved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Samples {
    U8(Vec<u8>),
    U16(Vec<u16>),
    F32(Vec<f32>),
}

impl Samples {
    /// Sample `i`.
    pub(crate) fn get(&self, i: usize) -> f32 {
        match self {
            Self::U8(v) => v[i].into(),
            Self::U16(v) => v[i].into(),
            Self::F32(v) => v[i],
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::F32(v) => v.len(),
        }
    }

    /// Appends some of `from`, which has the same type.
    pub(crate) fn extend(&mut self, from: &Self, range: Range<usize>) {
        match (self, from) {
            (Self::U8(to), Self::U8(from)) => to.extend_from_slice(&from[range]),
            (Self::U16(to), Self::U16(from)) => to.extend_from_slice(&from[range]),
            (Self::F32(to), Self::F32(from)) => to.extend_from_slice(&from[range]),
            (to, from) => range.for_each(|i| to.push(from.get(i))),
        }
    }

    fn push(&mut self, v: f32) {
        match self {
            Self::U8(to) => to.push(v as u8),
            Self::U16(to) => to.push(v as u16),
            Self::F32(to) => to.push(v),
        }
    }

    /// Adds samples to sums.
    fn add_to(&self, sums: &mut [f32], columns: usize, channels: usize) {
        fn add<T: Copy + Into<f32>>(from: &[T], sums: &mut [f32], columns: usize, channels: usize) {
            for (pixels, sums) in from.chunks(columns * channels).zip(sums.chunks_exact_mut(channels)) {
                for pixel in pixels.chunks_exact(channels) {
                    sums.iter_mut().zip(pixel).for_each(|(sum, v)| *sum += (*v).into());
                }
            }
        }
        match self {
            Self::U8(v) => add(v, sums, columns, channels),
            Self::U16(v) => add(v, sums, columns, channels),
            Self::F32(v) => add(v, sums, columns, channels),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::U8(v) => v.clear(),
            Self::U16(v) => v.clear(),
            Self::F32(v) => v.clear(),
        }
    }

    /// As bytes, the lower ones first.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::U8(v) => v,
            Self::U16(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F32(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
}

/// Where rows of pixels can be had.
pub(crate) trait Pixels: Sync {
    fn shape(&self) -> Shape;

    /// Appends some pixels of a row.
    fn row(&self, y: usize, columns: Range<usize>, to: &mut Samples) -> Result<(), Problem>;
}

/// A rectangle of a level, which has to lie in it: means of 2^level x 2^level pixels, fewer at the right and the bottom.
pub(crate) fn tile(from: &dyn Pixels, level: u32, area: Area) -> Result<Samples, Problem> {
    let shape = from.shape();
    let fine = area.of_level(level).within(shape.width, shape.height);
    if level == 0 {
        let mut out = shape.room(area.pixels() * shape.channels);
        for y in fine.rows() {
            from.row(y, fine.columns(), &mut out)?;
        }
        return Ok(out);
    }
    let side = 1usize << level;
    let line = |y: usize| -> Result<Samples, Problem> {
        let rows = y << level..((y + 1) << level).min(shape.height);
        let mut sums = vec![0.0f32; area.width * shape.channels];
        let mut row = shape.room(fine.width * shape.channels);
        for y in rows.clone() {
            row.clear();
            from.row(y, fine.columns(), &mut row)?;
            row.add_to(&mut sums, side, shape.channels);
        }
        let mut out = shape.room(sums.len());
        let count = |x: usize| (rows.len() * side.min(fine.width - x * side)) as f32;
        let means = sums.iter().enumerate().map(|(i, sum)| sum / count(i / shape.channels));
        shape.store(means, &mut out);
        Ok(out)
    };
    let lines: Vec<Samples> = area.rows().into_par_iter().map(line).collect::<Result<_, _>>()?;
    let mut out = shape.room(area.pixels() * shape.channels);
    for line in &lines {
        out.extend(line, 0..area.width * shape.channels);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ramp(Shape);

    impl Pixels for Ramp {
        fn shape(&self) -> Shape {
            self.0
        }

        fn row(&self, y: usize, columns: Range<usize>, to: &mut Samples) -> Result<(), Problem> {
            self.0.store(columns.flat_map(|x| [x as f32, y as f32, 7.0]), to);
            Ok(())
        }
    }

    #[test]
    fn levels_are_means_and_edges_of_what_is_there() {
        let shape = Shape::new((10, 5, 3), 255.0, SampleType::U8, None);
        let ramp = Ramp(shape);
        assert_eq!(shape.at_level(2), (3, 2));
        let all = tile(&ramp, 2, Area { x: 0, y: 0, width: 3, height: 2 }).unwrap();
        // Columns 0 to 3 are 1.5 in the mean, rounded up; the last ones 8.5.
        assert_eq!(all, Samples::U8(vec![2, 2, 7, 6, 2, 7, 9, 2, 7, 2, 4, 7, 6, 4, 7, 9, 4, 7]));
        let one = tile(&ramp, 0, Area { x: 8, y: 4, width: 2, height: 1 }).unwrap();
        assert_eq!(one, Samples::U8(vec![8, 4, 7, 9, 4, 7]));
    }

    #[test]
    fn integers_are_stored_as_files_have_them() {
        let shape = |stored| Shape::new((1, 1, 1), 100.0, stored, Some(Format::Pnm));
        let stored = |shape: Shape, v: f32| {
            let mut to = shape.room(1);
            shape.store([v].into_iter(), &mut to);
            to.get(0)
        };
        assert_eq!([-3.0, 7.5, 300.0].map(|v| stored(shape(SampleType::U8), v)), [0.0, 8.0, 100.0]);
        assert_eq!([-3.5, 7.5].map(|v| stored(shape(SampleType::I16), v)), [-3.0, 8.0]);
        assert_eq!(stored(shape(SampleType::F32), 0.3), 0.3);
    }
}
