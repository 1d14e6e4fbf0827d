//! What the isoline filters reach, picture by picture or as means.
//!
//! `--protocol paper` is that of Perrot et al.: noise added, clipped and rounded to 8 bits; PSNR with the maximum of the
//! clean picture as peak; MSSIM after a 2 x 2 mean and decimation. `--protocol float` (the default) is the usual one.
//! Colour pictures are filtered in opponent space. `--clipped` leaves what clipping did to the mean of the noise. `--set`
//! values are tried one after the other if there are several.
//!
//!     cargo run --release --example isoline_quality -- [--variant line,two-round] [--sigma 25] [--protocol paper]
//!         [--set threshold=4,6] [--draws 1] [--each] [--grey] [--reference] [--clipped] [--repeat 10 --threads 2] FOLDER…

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::device::cpu::Cpu;
use quell::device::{DeviceOptions, picture};
use quell::isoline::{PARAMETERS, Params, Plan, Variant, reference};
use quell::metrics::{psnr, ssim};
use quell::noise::{add_gaussian, undo_clipping};
use quell::{ColorMode, Control, Frame, Plane};

struct Options {
    paper: bool,
    each: bool,
    grey: bool,
    reference: bool,
    clipped: bool,
    draws: u64,
    repeat: usize,
}

/// Of one picture with one draw of the noise.
#[derive(Clone, Copy, Default)]
struct Score {
    noisy: f64,
    result: f64,
    mssim: f64,
    milliseconds: f64,
    /// Milliseconds that threads have spent on a processor.
    processor: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sigmas, mut folders, mut threads) = (vec![25.0f32], Vec::new(), 0);
    let mut variants = vec![Variant::TwoRound];
    let mut grid: Vec<Vec<(String, String)>> = vec![Vec::new()];
    let mut options = Options {
        paper: false,
        each: false,
        grey: false,
        reference: false,
        clipped: false,
        draws: 1,
        repeat: 1,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--sigma" => sigmas = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--variant" => variants = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--protocol" => options.paper = value()? == "paper",
            "--set" => {
                let set = value()?;
                let (name, values) = set.split_once('=').ok_or("--set name=value")?;
                let values: Vec<_> = values.split(',').map(|v| (name.to_owned(), v.to_owned())).collect();
                let each = |g: Vec<_>| {
                    values.iter().map(move |v| [g.clone(), vec![v.clone()]].concat()).collect::<Vec<_>>()
                };
                grid = grid.into_iter().flat_map(each).collect();
            }
            "--threads" => threads = value()?.parse()?,
            "--repeat" => options.repeat = value()?.parse()?,
            "--draws" => options.draws = value()?.parse()?,
            "--each" => options.each = true,
            "--grey" => options.grey = true,
            "--reference" => options.reference = true,
            "--clipped" => options.clipped = true,
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    let cpu = Cpu::new(DeviceOptions { threads, ..DeviceOptions::default() })?;
    for folder in &folders {
        let pictures = pictures(folder)?;
        for &sigma in &sigmas {
            for &variant in &variants {
                for sets in &grid {
                    measure(&cpu, &options, folder, &pictures, sigma, variant, sets)?;
                }
            }
        }
    }
    Ok(())
}

fn measure(
    cpu: &Cpu,
    options: &Options,
    folder: &Path,
    pictures: &[PathBuf],
    sigma: f32,
    variant: Variant,
    sets: &[(String, String)],
) -> Result<(), Box<dyn Error>> {
    let mut scores = Vec::new();
    for draw in 1..=options.draws {
        for (index, path) in pictures.iter().enumerate() {
            let clean = read(path, options.grey)?;
            let mut noisy = add_gaussian(&clean, sigma.into(), 1000 * draw + index as u64)?;
            if options.paper {
                noisy = rounded(&noisy)?;
            }
            let mut params = Params::of(variant, sigma, clean.channels());
            for (name, value) in sets {
                let parameter = PARAMETERS.iter().find(|p| p.name == name);
                parameter.ok_or(format!("no parameter {name}"))?.set(&mut params, value)?;
            }
            let mut score = Score { milliseconds: f64::MAX, processor: f64::MAX, ..Score::default() };
            let mut result = None;
            for _ in 0..options.repeat {
                let (start, before) = (Instant::now(), cpu_seconds());
                result = Some(denoise(cpu, options, &params, &noisy, sigma)?);
                score.milliseconds = score.milliseconds.min(start.elapsed().as_secs_f64() * 1e3);
                score.processor = score.processor.min((cpu_seconds() - before) * 1e3);
            }
            let result = result.ok_or("--repeat must be at least 1")?;
            let peak = |frame: &Frame| {
                let most = frame.planes().iter().flat_map(Plane::as_slice).fold(0.0f32, |a, &b| a.max(b));
                if options.paper { 20.0 * (f64::from(most) / 255.0).log10() } else { 0.0 }
            };
            score.noisy = psnr(&clean, &noisy)?.all + peak(&clean);
            score.result = psnr(&clean, &result)?.all + peak(&clean);
            if options.paper {
                score.mssim = ssim(&halved(&clean)?, &halved(&result)?)?.all;
            }
            if options.each {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                println!("  {name:<14} {:.2} -> {:.2} dB, {:.3}", score.noisy, score.result, score.mssim);
            }
            scores.push(score);
        }
    }
    let mean = |f: fn(&Score) -> f64| scores.iter().map(f).sum::<f64>() / scores.len() as f64;
    let least = scores.iter().map(|s| s.result - s.noisy).fold(f64::MAX, f64::min);
    let sets: Vec<String> = sets.iter().map(|(n, v)| format!(" {n}={v}")).collect();
    println!(
        "{} sigma {sigma} {}{}: {:.3} -> {:.3} dB, least gain {least:.3}, MSSIM {:.4}, {:.2} ms ({:.2} CPU ms)",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        variant.name(),
        sets.concat(),
        mean(|s| s.noisy),
        mean(|s| s.result),
        mean(|s| s.mssim),
        mean(|s| s.milliseconds),
        mean(|s| s.processor),
    );
    Ok(())
}

fn denoise(cpu: &Cpu, options: &Options, params: &Params, noisy: &Frame, sigma: f32) -> quell::Result<Frame> {
    let size = (noisy.width(), noisy.height());
    let run = |planes: &[Plane], sigmas: &[f32]| {
        let plan = Plan::new(params, size, noisy.white(), sigmas)?;
        let views: Vec<_> = planes.iter().map(Plane::view).collect();
        if options.reference {
            return Ok(reference::run(&plan, &views));
        }
        picture(cpu, &plan.clone().into(), &views, &[], &Control::new())
    };
    let planes = if noisy.channels() == 1 {
        run(noisy.planes(), &[sigma])?
    } else {
        let views: Vec<_> = noisy.planes().iter().map(Plane::view).collect();
        let gains = ColorMode::Opp.noise_gain().map(|g| g as f32 * sigma);
        ColorMode::Opp.inverse(&run(&ColorMode::Opp.forward(&views), &gains)?)
    };
    let mut denoised = Frame::new(planes, noisy.white())?;
    if !options.clipped && !params.variant.is_blind() {
        undo_clipping(noisy, &mut denoised, sigma)?;
    }
    Ok(denoised)
}

/// Clipped to 0..255 and rounded.
fn rounded(frame: &Frame) -> quell::Result<Frame> {
    let round = |p: &Plane| {
        let samples = p.as_slice().iter().map(|v| v.round().clamp(0.0, 255.0)).collect();
        Plane::from_vec(p.width(), p.height(), samples)
    };
    Frame::new(frame.planes().iter().map(round).collect::<quell::Result<_>>()?, frame.white())
}

/// Means of 2 x 2 pixels, every second one.
fn halved(frame: &Frame) -> quell::Result<Frame> {
    let halve = |p: &Plane| {
        let (w, h) = (p.width() / 2, p.height() / 2);
        let at = |y: usize, x: usize| p.row(y)[x];
        let pixels = (0..h).flat_map(|y| (0..w).map(move |x| (2 * y, 2 * x)));
        let mean = |(y, x)| (at(y, x) + at(y, x + 1) + at(y + 1, x) + at(y + 1, x + 1)) / 4.0;
        Plane::from_vec(w, h, pixels.map(mean).collect())
    };
    Frame::new(frame.planes().iter().map(halve).collect::<quell::Result<_>>()?, frame.white())
}

fn pictures(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    all.retain(|p| p.extension().is_some_and(|e| e == "png"));
    all.sort();
    Ok(all)
}

fn read(path: &Path, grey: bool) -> Result<Frame, Box<dyn Error>> {
    let picture = image::open(path)?;
    let (w, h) = (picture.width() as usize, picture.height() as usize);
    let (channels, data) = match picture {
        image::DynamicImage::ImageLuma8(p) => (1, p.into_raw()),
        other if grey => (1, other.into_luma8().into_raw()),
        other => (3, other.into_rgb8().into_raw()),
    };
    let data: Vec<f32> = data.into_iter().map(f32::from).collect();
    Ok(Frame::from_interleaved(w, h, channels, &data, 255.0)?)
}

/// Time that the threads of this process have spent on a processor (0 where the system does not tell).
fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = tasks.flatten().filter_map(|t| {
        let text = std::fs::read_to_string(t.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() * 1e-9
}
