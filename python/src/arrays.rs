//! NumPy arrays as planes of samples.
//!
//! Every array here has three axes, channels, rows and columns, in any order in memory. Planes whose rows follow each
//! other without gaps are borrowed; others, such as the channels of `(H, W, 3)`, are copied in and out. The package has
//! seen to it that they are aligned, that what is written may be, and that it is not what is read.

use std::borrow::Cow;

use numpy::ndarray::{ArrayView2, ArrayView3, ArrayViewMut3, Axis};
use numpy::{PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use quell::device::{Samples, SamplesMut};
use quell::{FrameView, PlaneView};

/// An array that is read.
#[derive(FromPyObject)]
pub(crate) enum Input<'py> {
    U8(Bound<'py, PyArray3<u8>>),
    U16(Bound<'py, PyArray3<u16>>),
    F32(Bound<'py, PyArray3<f32>>),
}

/// The same without the interpreter.
pub(crate) enum View<'a> {
    U8(ArrayView3<'a, u8>),
    U16(ArrayView3<'a, u16>),
    F32(ArrayView3<'a, f32>),
}

impl Input<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        // SAFETY: the array is kept alive by `self`, and nobody here writes to it. Whoever does in another thread gets
        // samples of both, as from NumPy's own functions.
        unsafe {
            match self {
                Self::U8(a) => View::U8(a.as_array()),
                Self::U16(a) => View::U16(a.as_array()),
                Self::F32(a) => View::F32(a.as_array()),
            }
        }
    }
}

/// One plane, borrowed or copied.
#[derive(Clone)]
pub(crate) enum Plane<'a> {
    U8(Cow<'a, [u8]>),
    U16(Cow<'a, [u16]>),
    F32(Cow<'a, [f32]>),
}

impl<'a> View<'a> {
    /// Columns and rows.
    pub(crate) fn size(&self) -> (usize, usize) {
        let shape = match self {
            Self::U8(a) => a.dim(),
            Self::U16(a) => a.dim(),
            Self::F32(a) => a.dim(),
        };
        (shape.2, shape.1)
    }

    /// Every plane.
    pub(crate) fn planes(&self) -> Vec<Plane<'a>> {
        fn of<'a, T: Copy, P>(array: ArrayView3<'a, T>, wrap: fn(Cow<'a, [T]>) -> P) -> Vec<P> {
            let plane = |c| wrap(gathered(array.index_axis_move(Axis(0), c)));
            (0..array.dim().0).map(plane).collect()
        }
        match self {
            Self::U8(a) => of(*a, Plane::U8),
            Self::U16(a) => of(*a, Plane::U16),
            Self::F32(a) => of(*a, Plane::F32),
        }
    }
}

fn gathered<T: Copy>(plane: ArrayView2<'_, T>) -> Cow<'_, [T]> {
    match plane.to_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(plane.iter().copied().collect()),
    }
}

impl Plane<'_> {
    /// As they are stored.
    pub(crate) fn samples(&self) -> Samples<'_> {
        match self {
            Self::U8(v) => Samples::U8(v),
            Self::U16(v) => Samples::U16(v),
            Self::F32(v) => Samples::F32(v),
        }
    }

    /// As floats.
    pub(crate) fn floats(&self) -> Cow<'_, [f32]> {
        match self {
            Self::F32(v) => Cow::Borrowed(v),
            other => Cow::Owned(other.samples().to_floats(1.0)),
        }
    }
}

/// Calls `with` for the picture as the engine's estimators want it.
pub(crate) fn with_frame<R>(
    planes: &[Plane<'_>],
    size: (usize, usize),
    white: f32,
    with: impl FnOnce(FrameView<'_>) -> quell::Result<R>,
) -> quell::Result<R> {
    let floats: Vec<Cow<'_, [f32]>> = planes.iter().map(Plane::floats).collect();
    let views = floats.iter().map(|plane| PlaneView::new(size.0, size.1, size.0, plane));
    with(FrameView::new(views.collect::<quell::Result<_>>()?, white)?)
}

/// An array that is written.
#[derive(FromPyObject)]
pub(crate) enum Output<'py> {
    U8(Bound<'py, PyArray3<u8>>),
    U16(Bound<'py, PyArray3<u16>>),
    F32(Bound<'py, PyArray3<f32>>),
}

/// The same without the interpreter.
pub(crate) enum ViewMut<'a> {
    U8(ArrayViewMut3<'a, u8>),
    U16(ArrayViewMut3<'a, u16>),
    F32(ArrayViewMut3<'a, f32>),
}

impl Output<'_> {
    pub(crate) fn view(&mut self) -> ViewMut<'_> {
        // SAFETY: as above; what is read is another array.
        unsafe {
            match self {
                Self::U8(a) => ViewMut::U8(a.as_array_mut()),
                Self::U16(a) => ViewMut::U16(a.as_array_mut()),
                Self::F32(a) => ViewMut::F32(a.as_array_mut()),
            }
        }
    }
}

impl ViewMut<'_> {
    /// Calls `write` with room for every plane.
    pub(crate) fn write<R>(
        &mut self,
        write: impl FnOnce(&mut [SamplesMut<'_>]) -> quell::Result<R>,
    ) -> quell::Result<R> {
        match self {
            Self::U8(a) => scattered(a, |v| SamplesMut::U8(v), write),
            Self::U16(a) => scattered(a, |v| SamplesMut::U16(v), write),
            Self::F32(a) => scattered(a, |v| SamplesMut::F32(v), write),
        }
    }
}

/// Planes that cannot be borrowed are written to memory of their own and copied from there.
fn scattered<T: Copy + Default, R>(
    array: &mut ArrayViewMut3<'_, T>,
    wrap: for<'v> fn(&'v mut [T]) -> SamplesMut<'v>,
    write: impl FnOnce(&mut [SamplesMut<'_>]) -> quell::Result<R>,
) -> quell::Result<R> {
    if array.outer_iter_mut().all(|mut plane| plane.as_slice_mut().is_some()) {
        let planes = array.outer_iter_mut().filter_map(|plane| plane.into_slice());
        return write(&mut planes.map(wrap).collect::<Vec<_>>());
    }
    let (channels, height, width) = array.dim();
    let mut planes = vec![vec![T::default(); width * height]; channels];
    let done = write(&mut planes.iter_mut().map(|plane| wrap(plane)).collect::<Vec<_>>())?;
    for (mut to, from) in array.outer_iter_mut().zip(&planes) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
    Ok(done)
}
