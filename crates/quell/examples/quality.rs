//! Mean PSNR over folders of pictures by the standard protocol: float Gaussian noise, neither rounded nor
//! clipped, PSNR on the float result. `--draws N` repeats every picture with N draws of the noise.
//!
//!     cargo run --release --example quality -- [--method bm3d] [--sigma 15,25,50] [--profile normal] [--draws 1] [--set name=value]… FOLDER…

use std::error::Error;
use std::path::{Path, PathBuf};

use quell::metrics::psnr;
use quell::noise::add_gaussian;
use quell::{DenoiserBuilder, Frame, Method};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sigmas, mut sets, mut folders) = (vec![25.0f32], Vec::new(), Vec::new());
    let (mut method, mut profile) = ("bm3d".to_owned(), None);
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
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    let method = Method::named(&method, profile.as_deref())?;
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
