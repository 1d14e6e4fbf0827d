//! Makes the sample pictures, and the picture of the README from them.
//!
//!     cargo run --release -p quell --example sample                                   # samples/*.png
//!     cargo run --release -p quell --example sample -- --montage docs/images/before-after.png

mod brush;
mod scene;

use std::error::Error;
use std::path::{Path, PathBuf};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use quell::bm3d::Profile;
use quell::{Denoiser, Frame, metrics, noise};

/// Noise of the sample, 0..255 scale.
const SIGMA: f64 = 25.0;
const SEED: u64 = 1;

/// Points per pixel and side.
const SUBPIXELS: usize = 4;

/// The part that the montage shows: left, top, width, height.
const CROP: (usize, usize, usize, usize) = (172, 60, 272, 230);
/// White pixels between the panels.
const GAP: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut folder, mut montage) = (PathBuf::from("samples"), None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--montage" => montage = Some(PathBuf::from(args.next().ok_or("--montage needs a file")?)),
            flag if flag.starts_with('-') => {
                return Err(format!("{flag}: no such flag, only --montage FILE").into());
            }
            _ => folder = arg.into(),
        }
    }
    let clean = eight_bits(&render()?)?;
    let noisy = eight_bits(&noise::add_gaussian(&clean, SIGMA, SEED)?)?;
    std::fs::create_dir_all(&folder)?;
    save(&folder.join("harbour.png"), &clean)?;
    save(&folder.join("noisy.png"), &noisy)?;
    if let Some(path) = montage {
        let result =
            eight_bits(&Denoiser::bm3d(Profile::Normal).sigma(SIGMA as f32).build()?.denoise(&noisy)?)?;
        save(&path, &side_by_side(&[&noisy, &result, &clean])?)?;
        for (name, frame) in [("noisy", &noisy), ("quell", &result)] {
            println!("{name}: {:.2} dB", metrics::psnr(&clean, frame)?.all);
        }
    }
    Ok(())
}

/// The scene, each pixel the mean of a grid of points.
fn render() -> quell::Result<Frame> {
    let (width, height) = scene::SIZE;
    let mut samples = Vec::with_capacity(width * height * 3);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let mut sum = [0.0; 3];
        for i in 0..SUBPIXELS * SUBPIXELS {
            let offset = |i: usize| (i as f32 + 0.5) / SUBPIXELS as f32;
            let c = scene::colour(x as f32 + offset(i % SUBPIXELS), y as f32 + offset(i / SUBPIXELS));
            sum.iter_mut().zip(c).for_each(|(s, c)| *s += c);
        }
        samples.extend(sum.map(|s| s / (SUBPIXELS * SUBPIXELS) as f32));
    }
    Frame::from_interleaved(width, height, 3, &samples, 255.0)
}

/// Rounded and clipped, as a file stores it.
fn eight_bits(frame: &Frame) -> quell::Result<Frame> {
    let mut out = frame.clone();
    for plane in out.planes_mut() {
        plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, 255.0));
    }
    Ok(out)
}

/// The same crop of each picture, from left to right.
fn side_by_side(frames: &[&Frame]) -> quell::Result<Frame> {
    let (left, top, width, height) = CROP;
    let mut samples = Vec::new();
    for y in top..top + height {
        for (i, frame) in frames.iter().enumerate() {
            samples.extend(std::iter::repeat_n(255.0, if i > 0 { 3 * GAP } else { 0 }));
            samples
                .extend((left..left + width).flat_map(|x| frame.planes().iter().map(move |p| p.row(y)[x])));
        }
    }
    let total = frames.len() * (width + GAP) - GAP;
    Frame::from_interleaved(total, height, 3, &samples, 255.0)
}

fn save(path: &Path, frame: &Frame) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::with_capacity(frame.width() * frame.height() * 3);
    for y in 0..frame.height() {
        for x in 0..frame.width() {
            bytes.extend(frame.planes().iter().map(|p| p.row(y)[x] as u8));
        }
    }
    let mut png = Vec::new();
    PngEncoder::new_with_quality(&mut png, CompressionType::Best, FilterType::Adaptive).write_image(
        &bytes,
        frame.width() as u32,
        frame.height() as u32,
        ExtendedColorType::Rgb8,
    )?;
    std::fs::write(path, &png)?;
    println!("{}: {} KiB", path.display(), png.len() / 1024);
    Ok(())
}
