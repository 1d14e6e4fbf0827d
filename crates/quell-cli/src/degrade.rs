//! `quell degrade CLEAN -o OUT`: noise made to order.

use anyhow::Context;
use quell::{Frame, Plane, noise};
use quell_io::{Format, Page, SampleType, WriteOptions};

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
    if args.float && !matches!(format, Some(Format::Tiff | Format::Npy | Format::Pfm | Format::Exr)) {
        return Err(Failure::usage(format!("--float: {} cannot hold float samples", name(&args.output)))
            .hint("use .tif, .npy, .pfm or .exr")
            .into());
    }
    let reader = Reader::new(&args.reading);
    let mut source = reader.open(&args.clean)?;
    source.picture.notes.clear();
    for (i, page) in source.picture.pages.iter_mut().enumerate() {
        // Each page has noise of its own.
        degrade(page, args, args.seed.wrapping_add(i as u64)).with_context(|| name(&args.clean))?;
        crate::nan::restore(&mut page.frame, &source.holes[i]);
    }
    let remarks = quell_io::write(&args.output, &source.picture, &WriteOptions::default())
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

fn degrade(page: &mut Page, args: &DegradeArgs, seed: u64) -> quell::Result<()> {
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
    let sigma = f64::from(args.sigma) * unit;
    page.frame = match args.poisson {
        Some(gain) => noise::add_poisson_gaussian(&page.frame, f64::from(gain) * unit, sigma, seed)?,
        None => noise::add_gaussian(&page.frame, sigma, seed)?,
    };
    Ok(())
}

fn scaled(plane: &Plane, factor: f32) -> quell::Result<Plane> {
    let data = plane.as_slice().iter().map(|v| v * factor).collect();
    Plane::from_vec(plane.width(), plane.height(), data)
}
