//! How well the noise estimators do on real pictures: adds noise of known deviation to every PNG of the
//! folders given, and prints the errors as tables in Markdown, and the time that the estimators take.
//!
//! ```text
//! cargo run --release --example noise_accuracy -- FOLDER... [--verbose]
//! ```

use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::noise::{Estimator, add_gaussian, estimate};
use quell::{Frame, Plane};

type AnyError = Box<dyn std::error::Error>;

const SIGMAS: [f64; 8] = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0];

/// One estimate of one noisy picture.
struct Trial {
    picture: usize,
    sigma: f64,
    relative_error: f64,
}

fn main() -> Result<(), AnyError> {
    let (flags, folders): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let verbose = flags.iter().any(|f| f == "--verbose");
    if folders.is_empty() {
        eprintln!("hint: noise_accuracy FOLDER... also measures errors, on the PNG pictures there");
        return times();
    }
    let files = pictures(&folders)?;
    let frames = files.iter().map(|f| read(f)).collect::<Result<Vec<_>, _>>()?;
    println!("{} pictures, sigma {SIGMAS:?}, relative error of the estimate", frames.len());
    for clipped in [false, true] {
        println!("\n{}\n", if clipped { "Clipped and rounded to 8 bits" } else { "Float, not clipped" });
        println!("| estimator | median | 95 % | worst | where | bias |");
        println!("|---|---|---|---|---|---|");
        for estimator in Estimator::ALL {
            let trials = trials(&frames, estimator, clipped)?;
            println!("{}", table_row(estimator.name(), &trials, &files));
            if verbose {
                details(&trials, &files);
            }
        }
    }
    times()
}

/// Best of several runs on pictures of a few sizes, in milliseconds; `RAYON_NUM_THREADS=1` for one thread.
fn times() -> Result<(), AnyError> {
    const SIZES: [(usize, usize, usize); 4] = [(64, 64, 1), (512, 512, 1), (512, 512, 3), (6000, 4000, 3)];
    println!("\nTime in ms, best of 9\n");
    println!(
        "| estimator | 64 x 64 | 512 x 512 | 512 x 512 colour | 6000 x 4000 colour |\n|---|---|---|---|---|"
    );
    let noisy = |(w, h, channels): (usize, usize, usize)| -> Result<Frame, AnyError> {
        let ramp = Plane::from_vec(w, h, (0..w * h).map(|i| (i % w * 200 / w) as f32).collect())?;
        Ok(add_gaussian(&Frame::new(vec![ramp; channels], 255.0)?, 20.0, 0)?)
    };
    let pictures = SIZES.into_iter().map(noisy).collect::<Result<Vec<_>, _>>()?;
    for estimator in Estimator::ALL {
        print!("| {} |", estimator.name());
        for noisy in &pictures {
            let mut best = f64::INFINITY;
            for _ in 0..9 {
                let start = Instant::now();
                estimate(&noisy.view(), estimator)?;
                best = best.min(start.elapsed().as_secs_f64() * 1e3);
            }
            print!(" {best:.2} |");
        }
        println!();
    }
    Ok(())
}

fn pictures(folders: &[String]) -> Result<Vec<PathBuf>, AnyError> {
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(|e| format!("{folder}: {e}"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() { Err("no PNG files there".into()) } else { Ok(files) }
}

/// An 8-bit frame, grey or colour as the file is.
fn read(path: &Path) -> Result<Frame, AnyError> {
    let picture = image::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (w, h) = (picture.width() as usize, picture.height() as usize);
    let floats = |v: Vec<u8>| v.into_iter().map(f32::from).collect::<Vec<_>>();
    Ok(if picture.color().has_color() {
        Frame::from_interleaved(w, h, 3, &floats(picture.into_rgb8().into_raw()), 255.0)?
    } else {
        Frame::grey(Plane::from_vec(w, h, floats(picture.into_luma8().into_raw()))?, 255.0)?
    })
}

fn trials(frames: &[Frame], estimator: Estimator, clipped: bool) -> Result<Vec<Trial>, AnyError> {
    let mut trials = Vec::new();
    for (picture, frame) in frames.iter().enumerate() {
        for (seed, sigma) in SIGMAS.into_iter().enumerate() {
            let mut noisy = add_gaussian(frame, sigma, seed as u64)?;
            if clipped {
                for plane in noisy.planes_mut() {
                    plane.as_mut_slice().iter_mut().for_each(|v| *v = v.round().clamp(0.0, 255.0));
                }
            }
            let found = estimate(&noisy.view(), estimator)?;
            trials.push(Trial { picture, sigma, relative_error: f64::from(found) / sigma - 1.0 });
        }
    }
    Ok(trials)
}

fn table_row(name: &str, trials: &[Trial], files: &[PathBuf]) -> String {
    let mut sizes: Vec<f64> = trials.iter().map(|t| t.relative_error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let worst = trials.iter().max_by(|a, b| a.relative_error.abs().total_cmp(&b.relative_error.abs()));
    let place = worst.map_or(String::new(), |t| format!("{}, sigma {}", stem(&files[t.picture]), t.sigma));
    let bias = trials.iter().map(|t| t.relative_error).sum::<f64>() / trials.len() as f64;
    format!(
        "| {name} | {:.1} % | {:.1} % | {:.1} % | {place} | {:+.1} % |",
        100.0 * sizes[sizes.len() / 2],
        100.0 * sizes[sizes.len() * 95 / 100],
        100.0 * sizes[sizes.len() - 1],
        100.0 * bias,
    )
}

fn details(trials: &[Trial], files: &[PathBuf]) {
    for of_picture in trials.chunk_by(|a, b| a.picture == b.picture) {
        print!("  {:>16}", stem(&files[of_picture[0].picture]));
        for t in of_picture {
            print!(" {:+6.1}", 100.0 * t.relative_error);
        }
        println!();
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
