//! What it gains to take the correlation of noise into account: PSNR of NL-means on every PNG of the folders given, for
//! noise of every kernel or covariance, with the correlation ignored, known, and estimated, at the profile's h and at the
//! best h for each.
//!
//! ```text
//! cargo run --release --example correlated -- [--profile normal] [--sigma 25] [--kernel g1,g2] [--softness 0,1,3] [--covariance] FOLDER...
//! ```
//! `--covariance` makes noise correlated between channels instead (colour pictures).

use std::path::{Path, PathBuf};
use std::time::Instant;

use quell::device::{Backend, DeviceOptions, Input, Samples, SamplesMut, open};
use quell::metrics::psnr;
use quell::nlm::{Params, Plan, Profile};
use quell::noise::correlated::{Correlation, Covariance, CovarianceSource, Kernel, PsdSource, Whitening};
use quell::{Control, Device, Frame, Plane};

type AnyError = Box<dyn std::error::Error>;

/// h over the profile's.
const H: [f32; 6] = [0.63, 0.8, 1.0, 1.25, 1.6, 2.0];
/// Where the profile's own is.
const OWN: usize = 2;

/// Covariances of deviation 1: what they are like, and the rows.
const COVARIANCES: [(&str, [[f64; 3]; 3]); 3] = [
    ("alike", [[1.0, 0.8, 0.6], [0.8, 1.0, 0.8], [0.6, 0.8, 1.0]]),
    ("unequal", [[1.6, 0.35, 0.2], [0.35, 0.5, 0.3], [0.2, 0.3, 1.4]]),
    ("chroma", [[1.2, -0.4, 0.1], [-0.4, 0.6, -0.4], [0.1, -0.4, 1.2]]),
];

/// Noise to make, and its name.
struct Case {
    name: String,
    kernel: Kernel,
    covariance: Option<Covariance>,
}

fn main() -> Result<(), AnyError> {
    let (mut profile, mut sigma, mut folders) = (Profile::Normal, 25.0_f32, Vec::new());
    let (mut kernels, mut softness, mut colour) = (Kernel::ALL.to_vec(), vec![1.0], false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--profile" => profile = value()?.parse()?,
            "--sigma" => sigma = value()?.parse()?,
            "--kernel" => kernels = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--softness" => softness = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--covariance" => colour = true,
            _ => folders.push(PathBuf::from(arg)),
        }
    }
    if folders.is_empty() {
        eprintln!("hint: correlated FOLDER... also measures the gain, on the PNG pictures there");
        return times();
    }
    let device = open(Device::Cpu, DeviceOptions::default())?;
    let pictures = folders.iter().map(|f| read_all(f)).collect::<Result<Vec<_>, _>>()?.concat();
    let name = profile.name();
    println!(
        "{} pictures, sigma {sigma}, profile {name}; dB at the profile's h, best h (over it)\n",
        pictures.len()
    );
    println!(
        "| noise | softness | ignored | known | estimated | estimated, sigma too |\n|---|---|---|---|---|---|"
    );
    for case in cases(&kernels, colour)? {
        for &softness in &softness {
            let mut sums = [[0.0; H.len()]; 4];
            for (i, clean) in pictures.iter().enumerate() {
                let noisy =
                    case.kernel.add(clean, sigma.into(), case.covariance.as_ref(), 1000 + i as u64)?;
                let params = profile.params(sigma, clean.channels());
                for (sums, guide) in sums.iter_mut().zip(guides(&case, &noisy, sigma, softness)?) {
                    for (sum, h) in sums.iter_mut().zip(H) {
                        let params = Params { h: params.h * h, ..params.clone() };
                        *sum += filtered(device.as_ref(), clean, &noisy, guide.as_ref(), &params, sigma)?;
                    }
                }
            }
            let cells: Vec<String> = sums.iter().map(|s| cell(s, pictures.len())).collect();
            println!("| {} | {softness} | {} |", case.name, cells.join(" | "));
        }
    }
    Ok(())
}

/// Best of several runs, in milliseconds, on every core: estimating and planning, and the guide of a frame.
fn times() -> Result<(), AnyError> {
    println!("| picture | resolve (auto) | guide |\n|---|---|---|");
    for (w, h, channels) in [(512, 512, 1), (512, 512, 3), (1920, 1080, 1), (1920, 1080, 3)] {
        let flat = Frame::new(vec![Plane::zeros(w, h); channels], 255.0)?;
        let noisy = Kernel::G1w.add(&flat, 25.0, None, 0)?;
        let auto = Correlation { covariance: Some(CovarianceSource::Auto), psd: Some(PsdSource::Auto) };
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            let start = Instant::now();
            let whitening = auto.resolve(&noisy.view(), None)?;
            best[0] = best[0].min(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            whitening.guide(noisy.view().planes())?;
            best[1] = best[1].min(start.elapsed().as_secs_f64() * 1e3);
        }
        println!("| {w} x {h}, {channels} channels | {:.1} | {:.1} |", best[0], best[1]);
    }
    Ok(())
}

fn cases(kernels: &[Kernel], colour: bool) -> Result<Vec<Case>, AnyError> {
    if !colour {
        let case = |&kernel: &Kernel| Case { name: kernel.name().into(), kernel, covariance: None };
        return Ok(kernels.iter().map(case).collect());
    }
    let mut cases = Vec::new();
    for kernel in [Kernel::White, Kernel::G1w] {
        for (name, rows) in COVARIANCES {
            let name = format!("{name} {}", kernel.name());
            cases.push(Case { name, kernel, covariance: Some(Covariance::new(rows)?) });
        }
    }
    Ok(cases)
}

/// Ignored, known, estimated with a known level, all estimated.
fn guides(case: &Case, noisy: &Frame, sigma: f32, softness: f64) -> Result<[Option<Whitening>; 4], AnyError> {
    let psd = case.kernel.psd(noisy.width(), noisy.height(), 1.0)?;
    let spatial = case.covariance.is_none() || case.kernel != Kernel::White;
    let known = Correlation {
        covariance: case.covariance.map(CovarianceSource::Known),
        psd: spatial.then_some(PsdSource::Known(psd)),
    };
    let auto = Correlation {
        covariance: case.covariance.map(|_| CovarianceSource::Auto),
        psd: spatial.then_some(PsdSource::Auto),
    };
    let guide = |c: &Correlation, sigma| c.resolve(&noisy.view(), sigma)?.with_softness(softness);
    Ok([None, Some(guide(&known, Some(sigma))?), Some(guide(&auto, Some(sigma))?), Some(guide(&auto, None)?)])
}

fn filtered(
    device: &dyn Backend,
    clean: &Frame,
    noisy: &Frame,
    whitening: Option<&Whitening>,
    params: &Params,
    sigma: f32,
) -> Result<f64, AnyError> {
    let guide = whitening.map(|w| w.guide(noisy.view().planes())).transpose()?.unwrap_or_default();
    let level = if guide.is_empty() { sigma } else { 1.0 };
    let size = (noisy.width(), noisy.height());
    let mut plan = Plan::new(params, size, noisy.channels(), guide.len(), 255.0, level)?;
    if let Some(w) = whitening {
        plan = plan.with_guide_noise(w.noise());
    }
    let samples =
        |planes: &[Plane]| -> Vec<Vec<f32>> { planes.iter().map(|p| p.as_slice().to_vec()).collect() };
    let (planes, guide) = (samples(noisy.planes()), samples(&guide));
    let planes: Vec<Samples<'_>> = planes.iter().map(|p| Samples::F32(p)).collect();
    let guide: Vec<Samples<'_>> = guide.iter().map(|p| Samples::F32(p)).collect();
    let mut out = vec![Plane::zeros(size.0, size.1); noisy.channels()];
    let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
    let mut sequence = device.open(&plan.clone().into())?;
    sequence.push(&Input { planes: &planes, guide: &guide }, &Control::default())?;
    sequence.pull(&mut to, &Control::default())?;
    Ok(psnr(clean, &Frame::new(out, 255.0)?)?.all)
}

/// At the profile's h, and at the best.
fn cell(sums: &[f64; H.len()], count: usize) -> String {
    let best = (0..H.len()).fold(0, |b, i| if sums[i] > sums[b] { i } else { b });
    let db = |i: usize| sums[i] / count as f64;
    format!("{:.2}, {:.2} ({})", db(OWN), db(best), H[best])
}

fn read_all(folder: &Path) -> Result<Vec<Frame>, AnyError> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|p| p.extension().is_some_and(|e| e == "png"));
    files.sort();
    files.iter().map(|f| read(f)).collect()
}

fn read(file: &Path) -> Result<Frame, AnyError> {
    let picture = image::open(file)?;
    let (w, h) = (picture.width() as usize, picture.height() as usize);
    let channels = if picture.color().has_color() { 3 } else { 1 };
    let bytes = if channels == 3 { picture.to_rgb8().into_raw() } else { picture.to_luma8().into_raw() };
    let samples: Vec<f32> = bytes.into_iter().map(f32::from).collect();
    Ok(Frame::from_interleaved(w, h, channels, &samples, 255.0)?)
}
