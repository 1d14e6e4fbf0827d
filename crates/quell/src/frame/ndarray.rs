//! `ndarray` in and out (feature `ndarray`): contiguous arrays are borrowed, results are given away.
//!
//! | array | becomes | cost |
//! |---|---|---|
//! | `(H, W)` | [`FrameView::from_array2`] | borrowed |
//! | `(1, H, W)` or `(3, H, W)`, planes first | [`FrameView::from_array3`] | borrowed |
//! | `(H, W, 1)` or `(H, W, 3)`, channels last | [`Frame::from_array3_interleaved`] | copied |

use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis};

use super::{Frame, FrameView, PlaneView};
use crate::{Error, Result};

impl<'a> FrameView<'a> {
    /// Borrows a grey picture of shape `(H, W)`; `white` as in [`Frame::new`].
    ///
    /// The array must be in standard layout. A slice of a larger array is not: the samples between its rows
    /// may belong to someone else, so they cannot be borrowed along with it; copy it with
    /// `as_standard_layout`.
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use quell::{Denoiser, FrameView, bm3d::Profile};
    ///
    /// let noisy = Array2::<f32>::from_elem((16, 24), 100.0);
    /// let frame = FrameView::from_array2(noisy.view(), 255.0)?;
    /// let clean = Denoiser::bm3d(Profile::Normal).sigma(25.0).build()?.denoise(frame)?.into_array2()?;
    /// assert_eq!(clean.dim(), (16, 24));
    ///
    /// let left = noisy.slice(s![.., ..12]);
    /// assert!(FrameView::from_array2(left, 255.0).is_err());
    /// let left = left.as_standard_layout();
    /// assert_eq!(FrameView::from_array2(left.view(), 255.0)?.width(), 12);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn from_array2(array: ArrayView2<'a, f32>, white: f32) -> Result<Self> {
        Self::new(vec![plane(array)?], white)
    }

    /// Borrows a picture of shape `(1, H, W)` or `(3, H, W)`; each plane must be in standard layout.
    ///
    /// ```
    /// use ndarray::Array3;
    /// use quell::FrameView;
    ///
    /// let rgb = Array3::<f32>::zeros((3, 10, 20));
    /// let frame = FrameView::from_array3(rgb.view(), 1.0)?;
    /// assert_eq!((frame.width(), frame.height(), frame.channels()), (20, 10, 3));
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn from_array3(array: ArrayView3<'a, f32>, white: f32) -> Result<Self> {
        let (planes, h, w) = array.dim();
        if !matches!(planes, 1 | 3) {
            let hint =
                if matches!(w, 1 | 3) { ": channels last, use Frame::from_array3_interleaved" } else { "" };
            return Err(Error::Shape(format!(
                "an array of shape ({planes}, {h}, {w}) is not (1, H, W) or (3, H, W){hint}"
            )));
        }
        let planes = (0..planes).map(|c| plane(array.index_axis_move(Axis(0), c)));
        Self::new(planes.collect::<Result<_>>()?, white)
    }
}

fn plane(array: ArrayView2<'_, f32>) -> Result<PlaneView<'_>> {
    let (h, w) = array.dim();
    let strides = (array.strides()[0], array.strides()[1]);
    let samples = array.to_slice().ok_or_else(|| {
        Error::Shape(format!(
            "an array of shape ({h}, {w}) with strides {strides:?} cannot be borrowed: call as_standard_layout"
        ))
    })?;
    PlaneView::new(w, h, w, samples)
}

impl Frame {
    /// Copies a picture of shape `(H, W, 1)` or `(H, W, 3)`, of any layout, into planes.
    ///
    /// ```
    /// use ndarray::Array3;
    /// use quell::Frame;
    ///
    /// let pixels = Array3::from_shape_fn((2, 4, 3), |(y, x, c)| (100 * c + 10 * y + x) as f32);
    /// let frame = Frame::from_array3_interleaved(pixels.view(), 255.0)?;
    /// assert_eq!(frame.planes()[2].row(1), [210.0, 211.0, 212.0, 213.0]);
    /// assert_eq!(frame.to_array3_interleaved()?, pixels);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn from_array3_interleaved(array: ArrayView3<'_, f32>, white: f32) -> Result<Self> {
        let (h, w, channels) = array.dim();
        if !matches!(channels, 1 | 3) {
            let hint = if matches!(h, 1 | 3) { ": planes first, use FrameView::from_array3" } else { "" };
            return Err(Error::Shape(format!(
                "an array of shape ({h}, {w}, {channels}) is not (H, W, 1) or (H, W, 3){hint}"
            )));
        }
        let planes = array.axis_iter(Axis(2));
        let planes = planes.map(|p| super::Plane::from_vec(w, h, p.iter().copied().collect()));
        Self::new(planes.collect::<Result<_>>()?, white)
    }

    /// A grey frame as an array of shape `(H, W)`, without a copy; refused for colour.
    pub fn into_array2(self) -> Result<Array2<f32>> {
        let (w, h, channels) = (self.width(), self.height(), self.channels());
        let mut planes = self.into_planes();
        match (planes.pop(), planes.pop()) {
            (Some(grey), None) => Array2::from_shape_vec((h, w), grey.into_vec()).map_err(shape),
            _ => Err(Error::Shape(format!("{channels} planes are not one array: use into_array3"))),
        }
    }

    /// An array of shape `(1, H, W)` or `(3, H, W)`.
    pub fn into_array3(self) -> Result<Array3<f32>> {
        let dim = (self.channels(), self.height(), self.width());
        let mut planes = self.into_planes().into_iter().map(super::Plane::into_vec);
        let mut samples = planes.next().unwrap_or_default();
        planes.for_each(|p| samples.extend(p));
        Array3::from_shape_vec(dim, samples).map_err(shape)
    }

    /// An array of shape `(H, W, 1)` or `(H, W, 3)`.
    pub fn to_array3_interleaved(&self) -> Result<Array3<f32>> {
        let dim = (self.height(), self.width(), self.channels());
        Array3::from_shape_vec(dim, self.to_interleaved()).map_err(shape)
    }
}

fn shape(e: ndarray::ShapeError) -> Error {
    Error::Shape(e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::s;

    fn numbered() -> Array3<f32> {
        Array3::from_shape_fn((3, 4, 5), |(c, y, x)| (100 * c + 10 * y + x) as f32)
    }

    #[test]
    fn contiguous_arrays_are_borrowed_not_copied() {
        let array = numbered();
        let frame = FrameView::from_array3(array.view(), 255.0).unwrap();
        assert_eq!(frame.planes()[1].row(0).as_ptr(), array.slice(s![1, 0, ..]).as_ptr());
        let rows = array.slice(s![2, 1..3, ..]);
        let frame = FrameView::from_array2(rows, 255.0).unwrap();
        assert_eq!((frame.height(), frame.planes()[0].row(1)), (2, &[220.0, 221.0, 222.0, 223.0, 224.0][..]));
    }

    #[test]
    fn planes_may_lie_apart() {
        let array = Array3::from_shape_fn((6, 2, 2), |(c, y, x)| (c * 4 + y * 2 + x) as f32);
        let frame = FrameView::from_array3(array.slice(s![..;2, .., ..]), 255.0).unwrap();
        assert_eq!(frame.planes()[2].row(1), [18.0, 19.0]);
    }

    #[test]
    fn other_layouts_are_refused_with_the_remedy() {
        let array = Array2::<f32>::zeros((6, 8));
        for view in [array.t(), array.slice(s![.., 1..5]), array.slice(s![..;-1, ..])] {
            let e = FrameView::from_array2(view, 255.0).unwrap_err();
            assert!(matches!(e, Error::Shape(_)));
            assert!(e.to_string().ends_with("call as_standard_layout"), "{e}");
            let copy = view.as_standard_layout();
            let frame = FrameView::from_array2(copy.view(), 255.0).unwrap();
            assert_eq!((frame.height(), frame.width()), view.dim());
        }
    }

    #[test]
    fn wrong_shapes_point_to_the_right_call() {
        let text = |e: Result<Frame>| e.unwrap_err().to_string();
        let (first, last) = (Array3::<f32>::zeros((3, 8, 9)), Array3::<f32>::zeros((8, 9, 3)));
        assert!(text(Frame::from_array3_interleaved(first.view(), 1.0)).contains("FrameView::from_array3"));
        let planes = FrameView::from_array3(last.view(), 1.0).map(|f| f.to_frame());
        assert!(text(planes).contains("from_array3_interleaved"));
        assert!(FrameView::from_array2(Array2::<f32>::zeros((0, 4)).view(), 1.0).is_err());
        assert!(FrameView::from_array2(Array2::<f32>::zeros((2, 4)).view(), -1.0).is_err());
    }

    #[test]
    fn arrays_come_back() {
        let array = numbered();
        let frame = FrameView::from_array3(array.view(), 255.0).unwrap().to_frame();
        assert_eq!(frame.clone().into_array3().unwrap(), array);
        assert!(frame.clone().into_array2().unwrap_err().to_string().contains("into_array3"));
        let pixels = frame.to_array3_interleaved().unwrap();
        assert_eq!(pixels[(3, 4, 2)], array[(2, 3, 4)]);
        // A view that is not contiguous is copied right too.
        assert_eq!(
            Frame::from_array3_interleaved(array.view().permuted_axes([1, 2, 0]), 255.0).unwrap(),
            frame
        );
        let grey = array.index_axis(Axis(0), 1);
        let back = FrameView::from_array2(grey, 255.0).unwrap().to_frame().into_array2().unwrap();
        assert_eq!(back, grey);
    }
}
