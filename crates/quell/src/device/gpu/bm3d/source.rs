//! Samples in host memory on their way to the device and back: what travels, and whether halves hold it.

use std::ops::Range;

use rayon::prelude::*;

use super::counts::Counted;
use super::kernels::Kind;
use super::pass::Front;
use super::program::Format;
use super::tensor::HALF_RANGE;
use crate::device::{Samples, SamplesMut};
use crate::{Plane, PlaneView};

type RowIn<'a> = dyn Fn(usize, usize, Range<usize>, &mut [u8]) + 'a;
type RowOut<'a> = dyn FnMut(usize, usize, Range<usize>, &[u8]) + 'a;

/// Samples of a picture, row by row, as they go to the device.
pub(crate) struct Source<'a> {
    pub(crate) format: Format,
    /// All samples are precise enough as halves.
    pub(crate) halves: bool,
    /// Copies samples `x` of row `y` of a channel.
    pub(crate) row: Box<RowIn<'a>>,
    /// They are averages of so many frames, in rows as wide as the picture.
    pub(crate) counted: Option<Counted<'a>>,
}

impl<'a> Source<'a> {
    /// What kernels have to know, where samples go out as `to`.
    pub(crate) fn kind(&self, to: Format, front: Front) -> Kind {
        Kind {
            formats: (self.format, to),
            halves: self.halves,
            color: front.color,
            frames: self.counted.map(|counted| counted.most),
            averaged: false,
        }
    }

    /// The same with counts, if there are any.
    pub(crate) fn with_counts(mut self, counts: Option<&Samples<'a>>) -> Self {
        self.counted = counts.map(|counts| Counted::new(*counts));
        self
    }
}

/// Where samples go that come from the device.
pub(crate) struct Sink<'a> {
    pub(crate) format: Format,
    /// Takes samples `x` of row `y` of a channel.
    pub(crate) row: Box<RowOut<'a>>,
}

/// Planes as the device reads them.
pub(crate) fn planes_source<'a>(planes: &'a [PlaneView<'a>]) -> Source<'a> {
    let row = move |c: usize, y: usize, x: Range<usize>, to: &mut [u8]| {
        let (to, from) = (to.as_chunks_mut().0, &planes[c].row(y)[x]);
        to.iter_mut().zip(from).for_each(|(to, v)| *to = v.to_ne_bytes());
    };
    let halves = planes.iter().flat_map(|p| p.rows()).flatten().all(|v| HALF_RANGE.contains(v));
    Source { format: Format::F32, halves, row: Box::new(row), counted: None }
}

/// Planes that the device writes.
pub(crate) fn planes_sink(planes: &mut [Plane]) -> Sink<'_> {
    let row = |c: usize, y: usize, x: Range<usize>, from: &[u8]| {
        let (to, from) = (&mut planes[c].row_mut(y)[x], from.as_chunks().0);
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = f32::from_ne_bytes(v));
    };
    Sink { format: Format::F32, row: Box::new(row) }
}

/// Samples as the device reads them, in a format that holds every one.
pub(crate) fn samples_source<'a>(
    from: &'a [Samples<'a>],
    format: Format,
    width: usize,
    front: Front,
) -> Source<'a> {
    let row = move |c: usize, y: usize, x: Range<usize>, to: &mut [u8]| {
        let at = y * width + x.start;
        match (from[c], format) {
            (Samples::U8(from), _) => to.copy_from_slice(&from[at..][..to.len()]),
            (Samples::U16(from), _) => {
                let to = to.as_chunks_mut().0;
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = v.to_ne_bytes());
            }
            (Samples::F32(from), Format::U8) => {
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = *v as u8);
            }
            (Samples::F32(from), Format::U16) => {
                let to = to.as_chunks_mut().0;
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = (*v as u16).to_ne_bytes());
            }
            (Samples::F32(from), Format::F32) => {
                let to = to.as_chunks_mut().0;
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = v.to_ne_bytes());
            }
        }
    };
    Source { format, halves: fit_halves(from, format, front), row: Box::new(row), counted: None }
}

/// Samples that the device writes, all of one format.
pub(crate) fn samples_sink<'a>(to: &'a mut [SamplesMut<'_>], format: Format, width: usize) -> Sink<'a> {
    let row = move |c: usize, y: usize, x: Range<usize>, from: &[u8]| {
        let at = y * width + x.start;
        match &mut to[c] {
            SamplesMut::U8(to) => to[at..][..from.len()].copy_from_slice(from),
            SamplesMut::U16(to) => {
                let from = from.as_chunks().0;
                to[at..].iter_mut().zip(from).for_each(|(to, &v)| *to = u16::from_ne_bytes(v));
            }
            SamplesMut::F32(to) => {
                let from = from.as_chunks().0;
                to[at..].iter_mut().zip(from).for_each(|(to, &v)| *to = f32::from_ne_bytes(v));
            }
        }
    };
    Sink { format, row: Box::new(row) }
}

/// The format in which samples travel: floats that are all whole numbers up to white, as those of pictures are, take a
/// quarter or half of their bytes.
pub(crate) fn stored_as(from: &[Samples<'_>], front: Front) -> Format {
    let whole = |most: f32| {
        from.iter().all(|s| match s {
            Samples::F32(v) => v
                .par_chunks(PART)
                .all(|p| p.iter().fold(true, |all, &v| all & (v.trunc() == v && v >= 0.0 && v <= most))),
            _ => false,
        })
    };
    match from.first() {
        Some(Samples::U8(_)) => Format::U8,
        Some(Samples::U16(_)) => Format::U16,
        _ if front.white <= 255.0 && whole(front.white) => Format::U8,
        _ if front.white <= 65535.0 && front.white > 255.0 && whole(front.white) => Format::U16,
        _ => Format::F32,
    }
}

/// Samples that a thread looks at at a time.
const PART: usize = 1 << 14;

/// Whether the channels of all samples are precise enough as halves.
fn fit_halves(from: &[Samples<'_>], format: Format, front: Front) -> bool {
    let fits = |v: f32| HALF_RANGE.contains(&v);
    // Whole numbers lie between black and white, unless white is set lower than their range; so do their luma and, around
    // zero, their chroma.
    let floats = from.iter().any(|s| matches!(s, Samples::F32(_)));
    let most = match format {
        Format::U8 | Format::U16 if floats => front.white,
        Format::U8 => 255.0,
        Format::U16 => 65535.0,
        Format::F32 => f32::INFINITY,
    };
    if most * front.factor <= 255.0 {
        return true;
    }
    let value = |s: &Samples<'_>, i: usize| s.get(i) * front.factor;
    let pixels = from.first().map_or(0, Samples::len);
    let all =
        |good: &(dyn Fn(usize) -> bool + Sync)| (0..pixels).into_par_iter().with_min_len(PART).all(good);
    match (front.color, from) {
        (Some(mode), [r, g, b]) => {
            let rows = mode.matrix().map(|row| row.map(|v| v as f32));
            all(&|i| rows.iter().all(|m| fits(m[0] * value(r, i) + m[1] * value(g, i) + m[2] * value(b, i))))
        }
        _ => from.iter().all(|s| all(&|i| fits(value(s, i)))),
    }
}
