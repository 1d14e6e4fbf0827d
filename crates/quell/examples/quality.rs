//! Mean PSNR over folders of pictures by the standard protocol: float Gaussian noise, neither rounded nor
//! clipped, PSNR on the float result. `--draws N` repeats every picture with N draws of the noise, `--each` prints every
//! picture.
//!
//!     cargo run --release --example quality -- [--method bm3d] [--sigma 15,25,50] [--profile normal] [--draws 1] [--set name=value]… FOLDER…
//!
//! `--auto` compares the estimated deviation with the known one, float and clipped to 8 bits, as a table in Markdown;
//! `--relative 0.9,1,1.1` what a wrong deviation costs, so many times the true one.
//!
//!     cargo run --release --example quality -- --auto --sigma 5,10,15,25,35,50 [--each] FOLDER…

use std::error::Error;
use std::path::{Path, PathBuf};

use quell::metrics::psnr;
use quell::noise::{Estimator, add_gaussian, measure};
use quell::{DenoiserBuilder, Frame, Method};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sigmas, mut sets, mut folders) = (vec![25.0f32], Vec::new(), Vec::new());
    let (mut method, mut profile) = ("bm3d".to_owned(), None);
    let (mut auto, mut relative) = (false, Vec::new());
    let (mut each, mut threads, mut repeat, mut draws) = (false, 0, 1, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--sigma" => sigmas = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--method" => method = value()?,
            "--profile" => profile = Some(value()?),
            "--set" => sets.push(value()?),
            "--threads" => threads = value()?.parse()?,
            "--repeat" => repeat = value()?.parse()?,
            "--draws" => draws = value()?.parse()?,
            "--each" => each = true,
            "--auto" => auto = true,
            "--relative" => relative = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    let method = Method::named(&method, profile.as_deref())?;
    if auto || !relative.is_empty() {
        return Guess { method, threads, draws, each, relative }.compare(&folders, &sigmas);
    }
    for folder in &folders {
        for &sigma in &sigmas {
            let mut builder = DenoiserBuilder::new(method).sigma(sigma).threads(threads);
            for set in &sets {
                let (name, value) = set.split_once('=').ok_or("--set name=value")?;
                builder = builder.set(name, value);
            }
            let denoiser = builder.build()?;
            let (mut sum, mut count, mut seconds) = (0.0, 0, 0.0);
            let paths = pictures(folder)?;
            for (index, path) in paths.iter().enumerate().cycle().take(paths.len() * draws) {
                let clean = read(path)?;
                let noisy =
                    add_gaussian(&clean, sigma.into(), (1000 * (1 + count / paths.len()) + index) as u64)?;
                let (mut result, mut best) = (None, f64::MAX);
                for _ in 0..repeat {
                    let start = cpu_seconds();
                    result = Some(denoiser.denoise(&noisy)?);
                    best = best.min(cpu_seconds() - start);
                }
                seconds += best;
                let result = result.ok_or("--repeat must be at least 1")?;
                let db = psnr(&clean, &result)?.all;
                if each {
                    println!("  {:<24} {db:.3}", path.file_name().unwrap_or_default().to_string_lossy());
                }
                sum += db;
                count += 1;
            }
            println!(
                "{} sigma {sigma} {} {}: mean {:.3} dB over {count} runs, {seconds:.4} CPU s",
                folder.file_name().unwrap_or_default().to_string_lossy(),
                method.profile(),
                sets.join(" "),
                sum / count as f64
            );
        }
    }
    Ok(())
}

/// What it costs not to know the deviation.
struct Guess {
    method: Method,
    threads: usize,
    draws: usize,
    each: bool,
    /// Deviations to filter for, in true ones; the estimated one where there are none.
    relative: Vec<f32>,
}

impl Guess {
    fn compare(&self, folders: &[PathBuf], sigmas: &[f32]) -> Result<(), Box<dyn Error>> {
        println!("PSNR in dB with the deviation that was guessed, less that with the true one\n");
        println!(
            "| folder | samples | sigma | guess | mean | worst | where |\n|---|---|---|---|---|---|---|"
        );
        for folder in folders {
            let clean: Vec<(String, Frame)> = pictures(folder)?
                .iter()
                .map(|p| Ok((p.file_stem().unwrap_or_default().to_string_lossy().into(), read(p)?)))
                .collect::<Result<_, Box<dyn Error>>>()?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            for (clipped, &sigma) in
                [false, true].into_iter().flat_map(|c| sigmas.iter().map(move |s| (c, s)))
            {
                self.row(
                    &clean,
                    sigma,
                    clipped,
                    &format!("| {name} | {}", if clipped { "8 bits" } else { "float" }),
                )?;
            }
        }
        Ok(())
    }

    /// A line of the table for every guess.
    fn row(
        &self,
        clean: &[(String, Frame)],
        sigma: f32,
        clipped: bool,
        head: &str,
    ) -> Result<(), Box<dyn Error>> {
        let guesses = self.relative.len().max(1);
        let mut gains: Vec<Vec<(f64, &str)>> = vec![Vec::new(); guesses];
        for draw in 0..self.draws {
            for (index, (name, clean)) in clean.iter().enumerate() {
                let mut noisy = add_gaussian(clean, sigma.into(), (1000 * (1 + draw) + index) as u64)?;
                if clipped {
                    let samples = noisy.planes_mut().iter_mut().flat_map(|p| p.as_mut_slice());
                    samples.for_each(|v| *v = v.round().clamp(0.0, 255.0));
                }
                let known = self.psnr(clean, &noisy, sigma)?;
                for (guess, gains) in gains.iter_mut().enumerate() {
                    let guessed = match self.relative.get(guess) {
                        Some(times) => times * sigma,
                        None => measure(&noisy.view(), None, Estimator::Auto)?.worth_removing(),
                    };
                    let gain = self.psnr(clean, &noisy, guessed)? - known;
                    if self.each {
                        println!("  {name:<16} {:+6.1} % {gain:+.3}", 100.0 * (guessed / sigma - 1.0));
                    }
                    gains.push((gain, name));
                }
            }
        }
        for (guess, gains) in gains.iter().enumerate() {
            let guess = self.relative.get(guess).map_or("auto".to_owned(), |times| format!("x {times}"));
            let mean = gains.iter().map(|(gain, _)| gain).sum::<f64>() / gains.len() as f64;
            let (worst, place) =
                gains.iter().min_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no pictures there")?;
            println!("{head} | {sigma} | {guess} | {mean:+.3} | {worst:+.3} | {place} |");
        }
        Ok(())
    }

    fn psnr(&self, clean: &Frame, noisy: &Frame, sigma: f32) -> Result<f64, Box<dyn Error>> {
        if sigma <= 0.0 {
            return Ok(psnr(clean, noisy)?.all);
        }
        let denoiser = DenoiserBuilder::new(self.method).sigma(sigma).threads(self.threads).build()?;
        Ok(psnr(clean, &denoiser.denoise(noisy)?)?.all)
    }
}

fn pictures(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
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

/// Time that the threads of this process have spent on a processor (0 where the system does not tell).
fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = tasks.flatten().filter_map(|t| {
        let text = std::fs::read_to_string(t.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() * 1e-9
}
