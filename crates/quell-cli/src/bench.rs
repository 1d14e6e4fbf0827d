//! `quell bench`: time, processor time, memory and quality of the denoiser.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use cpu_time::ProcessTime;
use quell::device::{self, Backend, Kind};
use quell::metrics::{psnr, ssim};
use quell::{Cancel, Control, Denoiser, Frame, Method, noise};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};
use serde::Serialize;

use crate::args::{BenchArgs, EngineArgs};
use crate::clip_bench;
use crate::engine::Engine;
use crate::failure::{Exit, Failure};
use crate::gpu_bench;
use crate::reading::Reader;
use crate::report::{self, name};
use crate::table::{Cell, Style, Table};

/// What one profile showed; the JSON object of `--json`.
#[derive(Debug, Serialize)]
struct Measured {
    profile: &'static str,
    width: usize,
    height: usize,
    channels: usize,
    sigma: Option<f32>,
    threads: usize,
    device: String,
    level: String,
    wall_s: Vec<f64>,
    cpu_s: Vec<f64>,
    mpix_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_fps: Option<f64>,
    /// Of the process so far, the picture included; nothing where the system does not tell.
    peak_rss_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    psnr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssim: Option<f64>,
}

/// Runs of the processor, if not said otherwise.
const RUNS: u32 = 3;

/// Runs the command.
pub(crate) fn run(args: &BenchArgs, cancel: &Cancel) -> anyhow::Result<Exit> {
    let profiles: Vec<Option<String>> = match args.engine.profile.as_deref() {
        Some("all") => {
            let method = Method::named(&args.engine.method, None)?;
            method.profiles().into_iter().map(|p| Some(p.profile().to_owned())).collect()
        }
        one => vec![one.map(str::to_owned)],
    };
    if profiles.len() * args.sizes.len().max(1) > 1 && args.output.is_some() {
        return Err(
            Failure::usage("--output takes the result of one profile and size, not of several").into()
        );
    }
    let of = |profile: &Option<String>| EngineArgs { profile: profile.clone(), ..args.engine.clone() };
    // What the command line gets wrong is said before a device is started.
    profiles.iter().try_for_each(|p| Engine::check(&of(p)).map(|_| ()))?;
    device::on_notice(|line| report::message(&format!("note: {line}")));
    let backend: Arc<dyn Backend> = device::open(args.engine.device, args.engine.options)?.into();
    let info = backend.info();
    if let Some(clip) = &args.clip {
        return clip_bench::run(args, clip, &backend, &info, cancel);
    }
    let engines = profiles.iter().map(|p| Engine::on(&of(p), backend.clone()));
    let engines = engines.collect::<anyhow::Result<Vec<Engine>>>()?;
    if info.kind != Kind::Cpu {
        return gpu_bench::run(args, &engines, &info, cancel);
    }
    let stream = args.stream.unwrap_or(0);
    let columns = ["profile", "size", "seconds", "cpu_s", "mpix_per_s", "fps", "peak_mb", "psnr", "ssim"];
    let mut table = Table::new(&columns);
    for (mut picture, clean) in material(args)? {
        let frame = &picture.pages.first().context("the file holds no picture")?.frame;
        let mut last = None;
        for engine in &engines {
            let denoiser = engine.denoiser();
            let repeat = args.repeat.unwrap_or(RUNS);
            let (mut measured, result) =
                measure(denoiser, engine.profile(), frame, clean.as_ref(), repeat, cancel)?;
            if stream > 0 {
                let stored = gpu_bench::Stored::new(frame, args.sample);
                let denoiser = engine.denoiser();
                measured.stream_fps = Some(gpu_bench::stream(denoiser, &[stored], stream, cancel)?);
            }
            if args.json {
                report::json(&measured)?;
            } else {
                table.push(row(&measured));
            }
            last = Some((measured, result));
        }
        let Some((measured, result)) = last else { continue };
        if !args.json {
            report::message(&format!(
                "{}, {} on {} ({}), {} threads, best of {}",
                report::shape(frame.width(), frame.height(), frame.channels()),
                measured.sigma.map_or("no noise".to_owned(), |s| format!("sigma {}", report::short(s))),
                measured.device,
                measured.level,
                measured.threads,
                measured.wall_s.len()
            ));
        }
        if let Some(output) = &args.output {
            picture.pages[0].frame = result;
            quell_io::write(output, &picture, &WriteOptions::default())
                .with_context(|| format!("cannot write {}", name(output)))?;
        }
    }
    if !args.json {
        table.print(Style::Text)?;
    }
    Ok(Exit::Done)
}

/// Noisy pictures, and the clean ones if they are known.
pub(crate) fn material(args: &BenchArgs) -> anyhow::Result<Vec<(Picture, Option<Frame>)>> {
    let reader = Reader::new(&args.reading);
    let Some(input) = &args.input else {
        return args.sizes.iter().map(|&size| synthetic(args, size)).collect();
    };
    let noisy = reader.open(input)?.picture;
    let clean = match &args.reference {
        Some(path) => reader.open(path)?.picture.pages.into_iter().next().map(|p| p.frame),
        None => None,
    };
    Ok(vec![(noisy, clean)])
}

/// A picture that is made up, with noise and without.
fn synthetic(args: &BenchArgs, (width, height): (usize, usize)) -> anyhow::Result<(Picture, Option<Frame>)> {
    let clean = quell_lab::scene::draw(width, height, if args.rgb { 3 } else { 1 })?;
    let sigma = f64::from(args.engine.noise.sigma().unwrap_or(25.0));
    let noisy = noise::add_gaussian(&clean, sigma, args.seed)?;
    let page = Page { frame: noisy, alpha: None, samples: SampleType::F32 };
    let picture =
        Picture { pages: vec![page], metadata: Metadata::default(), format: Format::Npy, notes: Vec::new() };
    Ok((picture, Some(clean)))
}

fn measure(
    denoiser: &Denoiser,
    profile: &'static str,
    frame: &Frame,
    clean: Option<&Frame>,
    repeat: u32,
    cancel: &Cancel,
) -> anyhow::Result<(Measured, Frame)> {
    let control = Control::new().with_cancel(cancel.clone());
    let (mut wall_s, mut cpu_s) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..repeat {
        // The result of the run before is not part of the memory of this one.
        drop(last.take());
        let (wall, cpu) = (Instant::now(), ProcessTime::try_now()?);
        let denoised = denoiser.run(frame, &control)?;
        wall_s.push(wall.elapsed().as_secs_f64());
        cpu_s.push(cpu.try_elapsed()?.as_secs_f64());
        last = Some(denoised);
    }
    let result = last.context("--repeat 0 measures nothing")?;
    let info = denoiser.device();
    let best = wall_s.iter().copied().fold(f64::INFINITY, f64::min);
    let measured = Measured {
        profile,
        width: frame.width(),
        height: frame.height(),
        channels: frame.channels(),
        sigma: result.resolved.as_ref().map(|r| r.sigma * 255.0 / frame.white()),
        threads: info.units,
        device: info.name,
        level: info.detail,
        mpix_per_s: (frame.width() * frame.height()) as f64 / 1e6 / best,
        wall_s,
        cpu_s,
        stream_fps: None,
        peak_rss_bytes: peak_rss(),
        psnr: clean.map(|c| psnr(c, &result.frame)).transpose()?.map(|q| q.all),
        ssim: clean.and_then(|c| ssim(c, &result.frame).ok()).map(|q| q.all),
    };
    Ok((measured, result.frame))
}

/// The most memory this process ever had.
fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn row(m: &Measured) -> Vec<Cell> {
    let best = |v: &[f64]| v.iter().copied().fold(f64::INFINITY, f64::min);
    vec![
        Cell::Text(m.profile.to_owned()),
        Cell::Text(format!("{} x {}", m.width, m.height)),
        Cell::Number(best(&m.wall_s), 4),
        Cell::Number(best(&m.cpu_s), 4),
        Cell::Number(m.mpix_per_s, 2),
        Cell::number(m.stream_fps, 1),
        Cell::number(m.peak_rss_bytes.map(|b| b as f64 / 1e6), 0),
        Cell::number(m.psnr, 2),
        Cell::number(m.ssim, 4),
    ]
}
