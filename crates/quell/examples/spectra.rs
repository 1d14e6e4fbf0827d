//! BM3D on correlated noise of a known spectrum: PSNR on the PNG pictures of the folders given (the middle 256 x 256 pixels
//! of each, in grey), for every kernel and deviation, beside BM3D that takes the noise for white and NL-means that knows the
//! spectrum; and the time of BM3D on one thread.
//!
//! ```text
//! cargo run --release --example spectra -- [--profile normal] [--sigma 10,25,50] [--kernel g1,g2] [--set lambda=3] [--write OUT] FOLDER...
//! ```
//! `--write` leaves pictures and spectra in a folder, for `bench/spectra.py` to try another program on the same samples.

use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::bm3d::Profile;
use quell::metrics::psnr;
use quell::noise::correlated::{Correlation, Kernel, PsdSource};
use quell::{Denoiser, DenoiserBuilder, Frame, Plane};

type AnyError = Box<dyn std::error::Error>;

const SIDE: usize = 256;

fn main() -> Result<(), AnyError> {
    let (mut profile, mut sigmas, mut folders) = (Profile::Normal, vec![10.0_f32, 25.0, 50.0], Vec::new());
    let mut kernels = vec![Kernel::G1, Kernel::G2, Kernel::G3, Kernel::G4];
    let (mut write, mut sets) = (None, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--profile" => profile = value()?.parse()?,
            "--sigma" => sigmas = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--kernel" => kernels = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--set" => sets.push(value()?),
            "--write" => write = Some(PathBuf::from(value()?)),
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    let pictures = folders.iter().map(|f| read_all(f)).collect::<Result<Vec<_>, _>>()?.concat();
    if pictures.is_empty() {
        eprintln!("hint: spectra FOLDER... measures on the PNG pictures there");
        return Ok(());
    }
    let mut bm3d = Denoiser::bm3d(profile).threads(1);
    for set in &sets {
        let (name, value) = set.split_once('=').ok_or("--set needs name=value")?;
        bm3d = bm3d.set(name, value);
    }
    println!("{} pictures, profile {}; dB, mean\n", pictures.len(), profile.name());
    println!(
        "| noise | sigma | noisy | taken for white | spectrum known | estimated | nlm, known | ms |\n|---|---|---|---|---|---|---|---|"
    );
    for kernel in kernels {
        let psd = kernel.psd(SIDE, SIDE, 1.0)?;
        let known = Correlation { psd: Some(PsdSource::Known(psd.clone())), ..Correlation::default() };
        let auto = Correlation { psd: Some(PsdSource::Auto), ..Correlation::default() };
        for &sigma in &sigmas {
            let nlm = Denoiser::nlm(Default::default());
            let builders = [
                bm3d.clone().sigma(sigma),
                bm3d.clone().sigma(sigma).correlation(known.clone()),
                bm3d.clone().sigma(sigma).correlation(auto.clone()),
                nlm.sigma(sigma).correlation(known.clone()),
            ];
            let denoisers =
                builders.into_iter().map(DenoiserBuilder::build).collect::<Result<Vec<_>, _>>()?;
            let (mut sums, mut before, mut ms) = ([0.0; 4], 0.0, 0.0);
            for (i, clean) in pictures.iter().enumerate() {
                let noisy = kernel.add(clean, sigma.into(), None, 1000 + i as u64)?;
                before += psnr(clean, &noisy)?.all;
                for (which, (sum, denoiser)) in sums.iter_mut().zip(&denoisers).enumerate() {
                    let start = Instant::now();
                    let result = denoiser.denoise(&noisy)?;
                    if which == 1 {
                        ms += start.elapsed().as_secs_f64() * 1e3;
                    }
                    *sum += psnr(clean, &result)?.all;
                }
                if let Some(folder) = &write {
                    raw(&folder.join(format!("{i}.clean")), clean)?;
                    raw(&folder.join(format!("{i}.{}.{sigma}.noisy", kernel.name())), &noisy)?;
                    let spectrum = Frame::grey(psd.plane().clone(), 1.0)?;
                    raw(&folder.join(format!("{}.psd", kernel.name())), &spectrum)?;
                }
            }
            let mean = |v: f64| v / pictures.len() as f64;
            let cells: Vec<String> = sums.iter().map(|&v| format!("{:.2}", mean(v))).collect();
            let (name, before, ms) = (kernel.name(), mean(before), mean(ms));
            println!("| {name} | {sigma} | {before:.2} | {} | {ms:.0} |", cells.join(" | "));
        }
    }
    Ok(())
}

/// Samples as little-endian floats.
fn raw(file: &Path, frame: &Frame) -> std::io::Result<()> {
    let bytes: Vec<u8> = frame.planes()[0].as_slice().iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(file, bytes)
}

fn read_all(folder: &Path) -> Result<Vec<Frame>, AnyError> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|p| p.extension().is_some_and(|e| e == "png"));
    files.sort();
    let frames = files.iter().map(|f| middle(f)).collect::<Result<Vec<_>, _>>()?;
    Ok(frames.into_iter().flatten().collect())
}

/// The middle of a picture in grey, unless it is too small.
fn middle(file: &Path) -> Result<Option<Frame>, AnyError> {
    let picture = image::open(file)?.to_luma8();
    let (w, h, side) = (picture.width(), picture.height(), SIDE as u32);
    if w < side || h < side {
        return Ok(None);
    }
    let (left, top) = ((w - side) / 2, (h - side) / 2);
    let places = (0..side * side).map(|i| (left + i % side, top + i / side));
    let samples = places.map(|(x, y)| f32::from(picture.get_pixel(x, y)[0])).collect();
    Ok(Some(Frame::grey(Plane::from_vec(SIDE, SIDE, samples)?, 255.0)?))
}
