//! `quell degrade CLEAN -o OUT`: noise made to order.

use std::path::Path;

use anyhow::Context;
use quell::noise::add_poisson_gaussian;
use quell::noise::correlated::{Covariance, Kernel};
use quell::{Frame, Plane};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};

use crate::args::DegradeArgs;
use crate::expand::identity;
use crate::failure::{Exit, Failure};
use crate::reading::{Reader, unit};
use crate::report::{self, name};

/// Runs the command.
pub(crate) fn run(args: &DegradeArgs) -> anyhow::Result<Exit> {
    if identity(&args.clean) == identity(&args.output) {
        return Err(Failure::usage(format!("{} would overwrite the input", name(&args.output))).into());
    }
    let format = Format::from_path(&args.output);
    if args.float {
        check_float("--float", &args.output)?;
    }
    if let Some(path) = &args.psd {
        check_float("--write-psd", path)?;
    }
    let noise = Noise::new(args)?;
    let reader = Reader::new(&args.reading);
    let mut source = reader.open(&args.clean)?;
    source.picture.notes.clear();
    for (i, page) in source.picture.pages.iter_mut().enumerate() {
        // Each page has noise of its own.
        degrade(page, args, &noise, args.seed.wrapping_add(i as u64)).with_context(|| name(&args.clean))?;
        crate::nan::restore(&mut page.frame, &source.holes[i]);
    }
    if let (Some(path), Some(page)) = (&args.psd, source.picture.pages.first()) {
        write_psd(path, &noise, page).with_context(|| format!("cannot write {}", name(path)))?;
    }
    let writing = WriteOptions { source: Some(args.clean.clone()), ..WriteOptions::default() };
    let remarks = quell_io::write(&args.output, &source.picture, &writing)
        .with_context(|| format!("cannot write {}", name(&args.output)))?;
    for remark in remarks {
        report::message(&format!("note: {}: {remark}", name(&args.output)));
    }
    let always_float = matches!(format, Some(Format::Pfm | Format::Exr));
    if !always_float && source.picture.pages.iter().any(|p| p.samples != SampleType::F32) {
        let remark = "the noise is rounded and clipped; --float with .tif or .npy keeps every value";
        report::message(&format!("note: {}: {remark}", name(&args.output)));
    }
    Ok(Exit::Done)
}

fn check_float(flag: &str, path: &Path) -> Result<(), Failure> {
    if matches!(Format::from_path(path), Some(Format::Tiff | Format::Npy | Format::Pfm | Format::Exr)) {
        return Ok(());
    }
    Err(Failure::usage(format!("{flag}: {} cannot hold float samples", name(path)))
        .hint("use .tif, .npy, .pfm or .exr"))
}

/// The noise that was asked for, on the 0..255 scale.
struct Noise {
    sigma: f64,
    kernel: Kernel,
    covariance: Option<Covariance>,
}

impl Noise {
    fn new(args: &DegradeArgs) -> anyhow::Result<Self> {
        let covariance = args.covariance.as_deref().map(read_covariance).transpose()?;
        let of_covariance = || covariance.map_or(0.0, |c| c.variance().sqrt());
        let sigma = args.sigma.map_or_else(of_covariance, f64::from);
        Ok(Self { sigma, kernel: args.kernel, covariance })
    }
}

/// Three rows of three numbers.
fn read_covariance(path: &Path) -> anyhow::Result<Covariance> {
    let text = crate::reading::text(path).with_context(|| name(path))?;
    text.parse().with_context(|| name(path))
}

/// The spectrum of the noise of a page, as a picture of floats.
fn write_psd(path: &Path, noise: &Noise, page: &Page) -> anyhow::Result<()> {
    let psd = noise.kernel.psd(page.frame.width(), page.frame.height(), noise.sigma.powi(2))?;
    let samples = SampleType::F32;
    let page = Page { frame: Frame::grey(psd.into_plane(), samples.white())?, alpha: None, samples };
    let format = Format::from_path(path).unwrap_or(Format::Npy);
    let picture = Picture { pages: vec![page], metadata: Metadata::default(), format, notes: Vec::new() };
    quell_io::write(path, &picture, &WriteOptions::default())?;
    Ok(())
}

fn degrade(page: &mut Page, args: &DegradeArgs, noise: &Noise, seed: u64) -> quell::Result<()> {
    if args.float && page.samples != SampleType::F32 {
        let factor = SampleType::F32.white() / page.frame.white();
        page.frame = Frame::new(
            page.frame.planes().iter().map(|p| scaled(p, factor)).collect::<quell::Result<_>>()?,
            SampleType::F32.white(),
        )?;
        page.alpha = page.alpha.as_ref().map(|a| scaled(a, factor)).transpose()?;
        page.samples = SampleType::F32;
    }
    let unit = f64::from(unit(&page.frame.view()));
    let sigma = noise.sigma * unit;
    page.frame = match args.poisson {
        Some(gain) => add_poisson_gaussian(&page.frame, f64::from(gain) * unit, sigma, seed)?,
        None => noise.kernel.add(&page.frame, sigma, noise.covariance.as_ref(), seed)?,
    };
    Ok(())
}

fn scaled(plane: &Plane, factor: f32) -> quell::Result<Plane> {
    let data = plane.as_slice().iter().map(|v| v * factor).collect();
    Plane::from_vec(plane.width(), plane.height(), data)
}
