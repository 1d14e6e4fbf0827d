//! What `quell IN` does without flags to real photographs, to clean pictures and to white noise, as PSNR of 8-bit results.
//!
//!     cargo run --release -p quell-io --example real -- [--profile normal] FOLDER…   # pairs NAME_real.* and NAME_mean.*
//!     cargo run --release -p quell-io --example real -- --clean FOLDER…              # result against the picture itself
//!     cargo run --release -p quell-io --example real -- --white 5,25,50 FOLDER…      # auto against known sigma
//!
//! `white` is the result of the estimator of white noise alone, `auto` that of the default.

use std::error::Error;
use std::path::{Path, PathBuf};

use quell::metrics::psnr;
use quell::noise::{Estimator, add_gaussian};
use quell::{Denoiser, DenoiserBuilder, Device, Frame, Method};

type Anyhow<T> = Result<T, Box<dyn Error>>;

enum Task {
    Pairs,
    Clean,
    White(Vec<f32>),
}

fn main() -> Anyhow<()> {
    let (mut task, mut profile, mut folders) = (Task::Pairs, None, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--clean" => task = Task::Clean,
            "--white" => task = Task::White(value()?.split(',').map(str::parse).collect::<Result<_, _>>()?),
            "--profile" => profile = Some(value()?),
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    let method = Method::named("bm3d", profile.as_deref())?;
    let builder = move || DenoiserBuilder::new(method).device(Device::Cpu);
    for folder in &folders {
        println!("{}", folder.display());
        match &task {
            Task::Pairs => pairs(folder, &builder)?,
            Task::Clean => clean(folder, &builder)?,
            Task::White(sigmas) => white(folder, sigmas, &builder)?,
        }
    }
    Ok(())
}

fn pairs(folder: &Path, builder: &dyn Fn() -> DenoiserBuilder) -> Anyhow<()> {
    let (old, auto) = denoisers(builder)?;
    println!("| picture | noisy | white | auto | gain | found |\n|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for path in files(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((stem, _)) = name.split_once("_real.") else { continue };
        let truth = load(&path.with_file_name(name.replace("_real.", "_mean.")))?;
        let noisy = load(&path)?;
        let (before, (result, found)) = (filter(&old, &noisy)?.0, filter(&auto, &noisy)?);
        let row = [&noisy, &before, &result].map(|f| psnr(&truth, f).map_or(f64::NAN, |p| p.all));
        println!(
            "| {stem} | {:.2} | {:.2} | {:.2} | {:+.2} | {found} |",
            row[0],
            row[1],
            row[2],
            row[2] - row[0]
        );
        rows.push(row);
    }
    let mean = |i: usize| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64;
    let worst = rows.iter().map(|r| r[2] - r[0]).fold(f64::INFINITY, f64::min);
    let gain = mean(2) - mean(0);
    println!(
        "| mean of {} | {:.2} | {:.2} | {:.2} | {gain:+.2} | worst {worst:+.2} |",
        rows.len(),
        mean(0),
        mean(1),
        mean(2)
    );
    Ok(())
}

fn clean(folder: &Path, builder: &dyn Fn() -> DenoiserBuilder) -> Anyhow<()> {
    let (old, auto) = denoisers(builder)?;
    println!("| picture | white | auto | found |\n|---|---|---|---|");
    let mut rows = Vec::new();
    for path in files(folder)? {
        let Ok(picture) = load(&path) else { continue };
        let job = auto.resolve(&picture)?;
        let before = psnr(&picture, &filter(&old, &picture)?.0)?.all;
        let camera = job.is_some_and(|job| job.noise.developed().is_some());
        let (after, found) = if camera {
            let (result, found) = filter(&auto, &picture)?;
            (psnr(&picture, &result)?.all, found)
        } else {
            (before, String::new())
        };
        if camera || after < 50.0 {
            println!(
                "| {} | {before:.1} | {after:.1} | {found} |",
                path.file_stem().unwrap_or_default().display()
            );
        }
        rows.push([before, after]);
    }
    let sorted = |i: usize| {
        let mut all: Vec<f64> = rows.iter().map(|r| r[i]).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    for (name, all) in [("white", sorted(0)), ("auto", sorted(1))] {
        println!("{name}: {} pictures, worst {:.1}, median {:.1}", all.len(), all[0], all[all.len() / 2]);
    }
    Ok(())
}

fn white(folder: &Path, sigmas: &[f32], builder: &dyn Fn() -> DenoiserBuilder) -> Anyhow<()> {
    let (old, auto) = denoisers(builder)?;
    println!("| sigma | mean of auto - known | worst | taken for a camera's |\n|---|---|---|---|");
    for &sigma in sigmas {
        let known = builder().sigma(sigma).build()?;
        let (mut differences, mut cameras) = (Vec::new(), 0);
        for (i, path) in files(folder)?.iter().enumerate() {
            let Ok(picture) = load(path) else { continue };
            let noisy = rounded(add_gaussian(&picture, f64::from(sigma), 1000 + i as u64)?);
            let camera = auto.resolve(&noisy)?.is_some_and(|job| job.noise.developed().is_some());
            cameras += i32::from(camera);
            let found = psnr(&picture, &filter(if camera { &auto } else { &old }, &noisy)?.0)?.all;
            differences.push(found - psnr(&picture, &filter(&known, &noisy)?.0)?.all);
        }
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        let worst = differences.iter().copied().fold(f64::INFINITY, f64::min);
        println!("| {sigma} | {mean:+.3} | {worst:+.3} | {cameras} of {} |", differences.len());
    }
    Ok(())
}

/// By white noise alone, and by the default.
fn denoisers(builder: &dyn Fn() -> DenoiserBuilder) -> quell::Result<(Denoiser, Denoiser)> {
    Ok((builder().estimate_sigma(Estimator::Ponomarenko).build()?, builder().build()?))
}

/// The result as 8 bits have it, and what was found.
fn filter(denoiser: &Denoiser, noisy: &Frame) -> quell::Result<(Frame, String)> {
    let Some(job) = denoiser.resolve(noisy)? else { return Ok((noisy.clone(), "no noise".into())) };
    let result = denoiser.run_resolved(noisy, &job, &quell::Control::new())?;
    let words = match job.noise.developed() {
        Some(c) => format!("{:.1}, grain {:.1}, confidence {:.2}", job.sigma255, c.grain, c.confidence),
        None => format!("{:.1}, white", job.sigma255),
    };
    Ok((rounded(result), words))
}

fn rounded(mut frame: Frame) -> Frame {
    let white = frame.white();
    for plane in frame.planes_mut() {
        plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, white));
    }
    frame
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    all.sort();
    Ok(all)
}

fn load(path: &Path) -> Anyhow<Frame> {
    let mut pages = quell_io::read(path, &quell_io::ReadOptions::default())?.pages;
    if pages.is_empty() {
        return Err("no picture".into());
    }
    Ok(pages.swap_remove(0).frame)
}
