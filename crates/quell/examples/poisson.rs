//! PSNR of BM3D on pictures with Poisson-Gauss noise: known curve, estimated curve, and one estimated deviation.
//!
//! `cargo run --release -p quell --example poisson -- FOLDER/01.png FOLDER/02.png`, after it perhaps `--peaks 1,10`.
//! A clean picture is scaled to a largest value of PEAK photons, noise of `Poisson(y) + N(0, (PEAK/10)^2)` comes on it.

use quell::noise::{self, Curve, Estimator};
use quell::{Denoiser, Frame, Plane, bm3d::Profile, metrics};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut peaks = vec![1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0];
    let mut pictures = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--peaks" {
            let list = arguments.next().ok_or("--peaks needs numbers")?;
            peaks = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
        } else {
            pictures.push(argument);
        }
    }
    println!("picture            peak    known  estimated  one sigma   found a (1)   b (true)");
    for path in &pictures {
        for &peak in &peaks {
            one(path, peak)?;
        }
    }
    Ok(())
}

fn one(path: &str, peak: f32) -> Result<(), Failure> {
    let picture = image::open(path)?.to_luma8();
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let highest = picture.iter().copied().max().unwrap_or(1).max(1);
    let photons = picture.iter().map(|v| f32::from(*v) / f32::from(highest) * peak).collect();
    let clean = Frame::grey(Plane::from_vec(width, height, photons)?, peak)?;
    let (unit, s) = (255.0 / peak, peak / 10.0);
    let (mut known, mut estimated, mut plain) = (0.0, 0.0, 0.0);
    let (mut gain, mut floor) = (0.0, 0.0);
    let seeds = 3;
    for seed in 0..seeds {
        let noisy = noise::add_poisson_gaussian(&clean, 1.0, s.into(), seed)?;
        let bm3d = || Denoiser::bm3d(Profile::Normal);
        let psnr = |denoiser: Denoiser| -> Result<f64, Failure> {
            Ok(metrics::psnr(&clean, &denoiser.denoise(&noisy)?)?.all)
        };
        known += psnr(bm3d().noise_curve(Curve::poisson_gauss(unit, s * s * unit * unit)?).build()?)?;
        let found = noise::estimate_curve(&noisy.view(), None)?.ok_or("no noise found")?;
        let (a, b) = found.curve.gain_and_floor().ok_or("not a line")?;
        (gain, floor) = (gain + a / unit, floor + b / unit / unit);
        estimated += psnr(bm3d().noise_curve(found.curve).build()?)?;
        plain += psnr(bm3d().estimate_sigma(Estimator::Ponomarenko).build()?)?;
    }
    let (n, name) = (seeds as f64, path.rsplit('/').next().unwrap_or(path));
    println!(
        "{name:18} {peak:4} {:8.2} {:10.2} {:10.2} {:13.3} {:10.3} ({:.3})",
        known / n,
        estimated / n,
        plain / n,
        gain / n as f32,
        floor / n as f32,
        s * s
    );
    Ok(())
}
