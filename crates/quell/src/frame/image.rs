//! The `image` crate's buffers in and out (feature `image`).
//!
//! Grey and RGB buffers of `u8`, `u16` and `f32` become frames with the white level of their type (255,
//! 65535, 1), and frames become buffers: scaled to the white level of the buffer, and for whole numbers
//! rounded and clamped. Alpha is refused: whoever has it decides what becomes of it.
//!
//! ```
//! use image::{DynamicImage, RgbImage};
//! use quell::{Denoiser, Frame, bm3d::Profile};
//!
//! let noisy = RgbImage::from_pixel(16, 16, image::Rgb([90, 120, 150]));
//! let frame = Frame::try_from(&noisy)?;
//! let clean = Denoiser::bm3d(Profile::Normal).sigma(10.0).build()?.denoise(&frame)?;
//! let clean = RgbImage::try_from(&clean)?;
//! assert_eq!(clean.get_pixel(3, 3), noisy.get_pixel(3, 3));
//!
//! let any: DynamicImage = noisy.into();
//! assert_eq!(Frame::try_from(&any)?, frame);
//! # Ok::<(), quell::Error>(())
//! ```

use std::ops::Deref;

use image::{DynamicImage, ImageBuffer, Luma, Pixel, Rgb};

use super::{Frame, Plane};
use crate::{Error, Result};

/// A sample type and its white level.
trait Sample: Copy + Into<f32> {
    const WHITE: f32;
    /// The nearest value of this type.
    fn nearest(v: f32) -> Self;
}

impl Sample for u8 {
    const WHITE: f32 = 255.0;
    fn nearest(v: f32) -> Self {
        // The cast clamps.
        v.round() as Self
    }
}

impl Sample for u16 {
    const WHITE: f32 = 65535.0;
    fn nearest(v: f32) -> Self {
        v.round() as Self
    }
}

impl Sample for f32 {
    const WHITE: f32 = 1.0;
    fn nearest(v: f32) -> Self {
        v
    }
}

fn from_buffer<P, C>(buffer: &ImageBuffer<P, C>) -> Result<Frame>
where
    P: Pixel<Subpixel: Sample>,
    C: Deref<Target = [P::Subpixel]>,
{
    let (w, h, channels) = (buffer.width() as usize, buffer.height() as usize, P::CHANNEL_COUNT as usize);
    // A buffer's container may be longer than its picture.
    let samples = &buffer.as_raw()[..w * h * channels];
    let planes = (0..channels).map(|c| {
        Plane::from_vec(w, h, samples.iter().skip(c).step_by(channels).map(|&v| v.into()).collect())
    });
    Frame::new(planes.collect::<Result<_>>()?, P::Subpixel::WHITE)
}

fn to_buffer<P>(frame: &Frame) -> Result<ImageBuffer<P, Vec<P::Subpixel>>>
where
    P: Pixel<Subpixel: Sample>,
{
    let (w, h, channels) = (frame.width(), frame.height(), P::CHANNEL_COUNT as usize);
    if frame.channels() != channels {
        return Err(Error::Shape(format!(
            "a frame of {} planes does not fit into a buffer of {channels} channels",
            frame.channels()
        )));
    }
    let scale = P::Subpixel::WHITE / frame.white();
    let mut samples = Vec::with_capacity(w * h * channels);
    for i in 0..w * h {
        samples.extend(frame.planes().iter().map(|p| P::Subpixel::nearest(p.as_slice()[i] * scale)));
    }
    let sides = u32::try_from(w).ok().zip(u32::try_from(h).ok());
    sides
        .and_then(|(w, h)| ImageBuffer::from_raw(w, h, samples))
        .ok_or_else(|| Error::Shape(format!("{w} x {h} pixels: too large for an image buffer")))
}

macro_rules! buffers {
    ($($pixel:ident<$sample:ty>),+) => {$(
        impl<C: Deref<Target = [$sample]>> TryFrom<&ImageBuffer<$pixel<$sample>, C>> for Frame {
            type Error = Error;
            fn try_from(buffer: &ImageBuffer<$pixel<$sample>, C>) -> Result<Self> {
                from_buffer(buffer)
            }
        }

        impl TryFrom<&Frame> for ImageBuffer<$pixel<$sample>, Vec<$sample>> {
            type Error = Error;
            fn try_from(frame: &Frame) -> Result<Self> {
                to_buffer(frame)
            }
        }
    )+};
}

buffers!(Luma<u8>, Luma<u16>, Luma<f32>, Rgb<u8>, Rgb<u16>, Rgb<f32>);

/// Grey and RGB pictures of every depth; alpha is refused.
impl TryFrom<&DynamicImage> for Frame {
    type Error = Error;
    fn try_from(image: &DynamicImage) -> Result<Self> {
        match image {
            DynamicImage::ImageLuma8(b) => b.try_into(),
            DynamicImage::ImageLuma16(b) => b.try_into(),
            DynamicImage::ImageRgb8(b) => b.try_into(),
            DynamicImage::ImageRgb16(b) => b.try_into(),
            DynamicImage::ImageRgb32F(b) => b.try_into(),
            other if other.color().has_alpha() => Err(Error::Unsupported(format!(
                "a picture with alpha ({:?}): drop it with to_luma8, to_rgb8 or the like, or filter it apart",
                other.color()
            ))),
            other => Err(Error::Unsupported(format!("pictures of type {:?}", other.color()))),
        }
    }
}

/// As deep as the white level says: 8 bits for 255, 16 bits for 65535, else `f32` RGB (also for grey:
/// there is no grey float variant).
impl TryFrom<&Frame> for DynamicImage {
    type Error = Error;
    fn try_from(frame: &Frame) -> Result<Self> {
        let grey = frame.channels() == 1;
        Ok(match frame.white() {
            u8::WHITE if grey => Self::ImageLuma8(to_buffer(frame)?),
            u8::WHITE => Self::ImageRgb8(to_buffer(frame)?),
            u16::WHITE if grey => Self::ImageLuma16(to_buffer(frame)?),
            u16::WHITE => Self::ImageRgb16(to_buffer(frame)?),
            _ if grey => {
                let plane = &frame.planes()[0];
                let planes = vec![plane.clone(), plane.clone(), plane.clone()];
                Self::ImageRgb32F(to_buffer(&Frame::new(planes, frame.white())?)?)
            }
            _ => Self::ImageRgb32F(to_buffer(frame)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GrayImage, Rgb32FImage, RgbImage};

    type Grey16 = ImageBuffer<Luma<u16>, Vec<u16>>;

    #[test]
    fn every_buffer_comes_back() {
        fn round_trip<P: Pixel<Subpixel: Sample + PartialEq + std::fmt::Debug>>(samples: &[P::Subpixel]) {
            let n = samples.len() as u32 / u32::from(P::CHANNEL_COUNT);
            let buffer = ImageBuffer::<P, _>::from_raw(n / 2, 2, samples.to_vec()).unwrap();
            let frame = from_buffer(&buffer).unwrap();
            assert_eq!((frame.white(), frame.width()), (P::Subpixel::WHITE, n as usize / 2));
            assert_eq!(to_buffer::<P>(&frame).unwrap().into_raw(), samples);
        }
        let bytes: Vec<u8> = (0..=255).chain(0..44).collect();
        let words: Vec<u16> = (0..300).map(|i| i * 218).collect();
        let floats: Vec<f32> = (0..300).map(|i| i as f32 / 150.0 - 0.5).collect();
        round_trip::<Luma<u8>>(&bytes);
        round_trip::<Rgb<u8>>(&bytes);
        round_trip::<Luma<u16>>(&words);
        round_trip::<Rgb<u16>>(&words);
        round_trip::<Luma<f32>>(&floats);
        round_trip::<Rgb<f32>>(&floats);
    }

    #[test]
    fn channels_go_to_their_planes() {
        let buffer = RgbImage::from_raw(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let frame = Frame::try_from(&buffer).unwrap();
        let planes: Vec<_> = frame.planes().iter().map(Plane::as_slice).collect();
        assert_eq!(planes, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    }

    #[test]
    fn whole_numbers_are_rounded_and_clamped_and_floats_are_not() {
        let samples = vec![-7.0, 0.49, 0.51, 254.5, 255.4, 900.0];
        let frame = Frame::grey(Plane::from_vec(6, 1, samples).unwrap(), 255.0).unwrap();
        assert_eq!(GrayImage::try_from(&frame).unwrap().into_raw(), [0, 0, 1, 255, 255, 255]);
        let deep = Grey16::try_from(&frame).unwrap().into_raw();
        assert_eq!(deep, [0, 126, 131, 65407, 65535, 65535]);
        let float = ImageBuffer::<Luma<f32>, _>::try_from(&frame).unwrap().into_raw();
        assert!(float[0] < 0.0 && float[5] > 3.5, "{float:?}");
    }

    #[test]
    fn the_number_of_channels_must_fit() {
        let grey = Frame::grey(Plane::zeros(2, 2), 255.0).unwrap();
        let e = RgbImage::try_from(&grey).unwrap_err();
        assert_eq!(e.to_string(), "a frame of 1 planes does not fit into a buffer of 3 channels");
        assert!(Frame::try_from(&GrayImage::new(0, 3)).is_err());
    }

    #[test]
    fn dynamic_images_keep_their_depth() {
        for image in [
            DynamicImage::new_luma8(3, 2),
            DynamicImage::new_luma16(3, 2),
            DynamicImage::new_rgb8(3, 2),
            DynamicImage::new_rgb16(3, 2),
            DynamicImage::new_rgb32f(3, 2),
        ] {
            let frame = Frame::try_from(&image).unwrap();
            assert_eq!(DynamicImage::try_from(&frame).unwrap(), image);
        }
        let float = Frame::grey(Plane::from_vec(1, 1, vec![0.25]).unwrap(), 0.5).unwrap();
        let want = Rgb32FImage::from_pixel(1, 1, Rgb([0.5; 3]));
        assert_eq!(DynamicImage::try_from(&float).unwrap(), want.into());
    }

    #[test]
    fn alpha_is_refused_with_the_remedy() {
        for image in [DynamicImage::new_luma_a8(2, 2), DynamicImage::new_rgba16(2, 2)] {
            let e = Frame::try_from(&image).unwrap_err();
            assert!(matches!(e, Error::Unsupported(_)));
            assert!(e.to_string().contains("alpha") && e.to_string().contains("to_rgb8"), "{e}");
        }
    }
}
