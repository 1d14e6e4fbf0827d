//! Mean PSNR over folders of pictures by the standard protocol: float Gaussian noise, neither rounded nor
//! clipped, PSNR on the float result.
//!
//!     cargo run --release --example quality -- [--sigma 15,25,50] [--profile normal] [--set name=value]… FOLDER…

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::bm3d::Profile;
use quell::{Denoiser, Frame, Plane};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sigmas, mut profile, mut sets, mut folders) = (vec![25.0f32], Profile::Normal, Vec::new(), Vec::new());
    let (mut each, mut threads) = (false, 0);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--sigma" => sigmas = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--profile" => profile = value()?.parse()?,
            "--set" => sets.push(value()?),
            "--threads" => threads = value()?.parse()?,
            "--each" => each = true,
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    for folder in &folders {
        for &sigma in &sigmas {
            let mut builder = Denoiser::bm3d(profile).sigma(sigma).threads(threads);
            for set in &sets {
                let (name, value) = set.split_once('=').ok_or("--set name=value")?;
                builder = builder.set(name, value);
            }
            let denoiser = builder.build()?;
            let (mut sum, mut count, mut seconds) = (0.0, 0, 0.0);
            for (index, path) in pictures(folder)?.iter().enumerate() {
                let clean = read(path)?;
                let noisy = degrade(&clean, sigma, 1000 + index as u64);
                let start = Instant::now();
                let result = denoiser.denoise(&noisy)?;
                seconds += start.elapsed().as_secs_f64();
                let db = psnr(&clean, &result);
                if each {
                    println!("  {:<24} {db:.3}", path.file_name().unwrap_or_default().to_string_lossy());
                }
                sum += db;
                count += 1;
            }
            println!(
                "{} sigma {sigma} {} {}: mean {:.3} dB over {count} pictures, {seconds:.2} s",
                folder.file_name().unwrap_or_default().to_string_lossy(),
                profile.name(),
                sets.join(" "),
                sum / count as f64
            );
        }
    }
    Ok(())
}

fn pictures(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    all.retain(|p| p.extension().is_some_and(|e| e == "png"));
    all.sort();
    Ok(all)
}

fn read(path: &Path) -> Result<Frame, Box<dyn Error>> {
    let picture = image::open(path)?;
    let (w, h) = (picture.width() as usize, picture.height() as usize);
    let (channels, data) = match picture {
        image::DynamicImage::ImageLuma8(p) => (1, p.into_raw()),
        other => (3, other.into_rgb8().into_raw()),
    };
    let data: Vec<f32> = data.into_iter().map(f32::from).collect();
    Ok(Frame::from_interleaved(w, h, channels, &data, 255.0)?)
}

fn degrade(clean: &Frame, sigma: f32, seed: u64) -> Frame {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    for _ in 0..100 {
        uniform();
    }
    let planes = clean
        .planes()
        .iter()
        .map(|p| {
            let data = p
                .as_slice()
                .iter()
                .map(|&v| {
                    let g = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
                    (f64::from(v) + f64::from(sigma) * g) as f32
                })
                .collect();
            Plane::from_vec(p.width(), p.height(), data).expect("same size")
        })
        .collect();
    Frame::new(planes, clean.white()).expect("same size")
}

fn psnr(a: &Frame, b: &Frame) -> f64 {
    let (mut sum, mut n) = (0.0, 0);
    for (a, b) in a.planes().iter().zip(b.planes()) {
        sum += a.as_slice().iter().zip(b.as_slice()).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>();
        n += a.as_slice().len();
    }
    10.0 * (255.0f64.powi(2) * n as f64 / sum).log10()
}
