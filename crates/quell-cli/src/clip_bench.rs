//! `quell bench --clip`: table 1 of Goossens et al. on a clip of your own: frames per second and PSNR for every window
//! and number of past frames, beside what they published.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use quell::device::{Backend, DeviceInfo, Kind, SampleBuffer, SampleFormat, Samples};
use quell::metrics::psnr;
use quell::{Cancel, Control, Denoiser, Error, Frame, Layout, Plane, VideoFormat, VideoFrame, nlm, noise};
use quell_io::video::{VideoReadOptions, VideoReader};

use crate::args::BenchArgs;
use crate::failure::{Exit, Failure};
use crate::gpu_bench::median;
use crate::report;
use crate::table::{Cell, Style, Table};

/// Half the window, frames before, milliseconds per frame on the authors' GPU, and on their processor where they say:
/// 720 x 480 pixels in colour, patches of 9 x 9.
const PUBLISHED: [(usize, usize, f64, Option<f64>); 16] = [
    (2, 0, 10.00, Some(4021.0)),
    (2, 1, 14.37, None),
    (2, 2, 19.69, None),
    (2, 3, 24.79, None),
    (3, 0, 19.06, Some(7505.0)),
    (3, 1, 32.92, None),
    (3, 2, 46.67, None),
    (3, 3, 60.31, None),
    (5, 0, 54.17, Some(18230.0)),
    (5, 1, 97.81, None),
    (5, 2, 141.35, None),
    (5, 3, 184.48, None),
    (10, 0, 231.56, Some(50857.0)),
    (10, 1, 424.27, None),
    (10, 2, 615.73, None),
    (10, 3, 805.83, None),
];

/// The size that the published times are for.
const PUBLISHED_SIZE: (usize, usize) = (720, 480);

/// Seconds that a row is measured for, at least.
const LEAST_SECONDS: f64 = 0.3;

/// Runs the command.
pub(crate) fn run(
    args: &BenchArgs,
    path: &Path,
    backend: &Arc<dyn Backend>,
    info: &DeviceInfo,
    cancel: &Cancel,
) -> anyhow::Result<Exit> {
    let Some(sigma) = args.engine.noise.sigma() else {
        return Err(Failure::usage("--sigma auto: noise is added to the clip, so it is known").into());
    };
    let clip = Clip::new(path, sigma, args.sample, args.seed)?;
    let (width, height) = (clip.format.width, clip.format.height);
    report::message(&format!(
        "{}: {}; {width} x {height} RGB, {} frames, sigma {}, {} samples, patches of 9 x 9",
        info.name,
        info.description,
        clip.clean.len(),
        report::short(sigma),
        args.sample.name()
    ));
    let columns = ["window", "past", "kernels_ms", "ms", "fps", "psnr", "published_ms", "times_faster"];
    let mut table = Table::new(&columns);
    for (radius, past, gpu_ms, cpu_ms) in PUBLISHED {
        let mut builder = Denoiser::nlm(nlm::Profile::Goossens).sigma(sigma);
        for (name, value) in &args.engine.sets {
            builder = builder.set(name, value);
        }
        let builder = builder.set("search", 2 * radius + 1).set("past", past);
        let denoiser = builder.build_on(backend.clone())?;
        let kernels = clip.kernels(&denoiser, args.repeat.unwrap_or(20) as usize)?;
        let measured = clip.filter(&denoiser, cancel)?;
        let published = if info.kind == Kind::Cpu { cpu_ms } else { Some(gpu_ms) };
        // Theirs is for one size: other sizes are scaled by the number of pixels.
        let pixels = (PUBLISHED_SIZE.0 * PUBLISHED_SIZE.1) as f64 / (width * height) as f64;
        table.push(vec![
            Cell::Text(format!("{0} x {0}", 2 * radius + 1)),
            Cell::Count(past),
            Cell::number(kernels, 3),
            Cell::Number(measured.ms, 3),
            Cell::Number(1e3 / measured.ms, 1),
            Cell::Number(measured.psnr, 2),
            Cell::number(published, 2),
            Cell::number(published.map(|p| p / (measured.ms * pixels)), 1),
        ]);
    }
    table.print(if args.json { Style::Json } else { Style::Text })?;
    Ok(Exit::Done)
}

/// A clip in colour, with noise and without.
struct Clip {
    format: VideoFormat,
    clean: Vec<Frame>,
    noisy: Vec<VideoFrame>,
}

/// What a row showed.
struct Measured {
    /// Of a frame, from host to host.
    ms: f64,
    /// Mean over the frames.
    psnr: f64,
}

impl Clip {
    fn new(path: &Path, sigma: f32, sample: SampleFormat, seed: u64) -> anyhow::Result<Self> {
        let mut reader = VideoReader::open(path, &VideoReadOptions::default())
            .with_context(|| format!("cannot read {}", crate::report::name(path)))?;
        let stored = reader.info().format;
        let (mut clean, mut frame) = (Vec::new(), stored.frame());
        while reader.next(&mut frame)? {
            clean.push(to_rgb(&stored, &frame)?);
        }
        let format = VideoFormat { layout: Layout::Rgb, sample, white: sample.white(), ..stored };
        let noisy = clean.iter().enumerate().map(|(t, frame)| {
            let noisy = noise::add_gaussian(frame, sigma.into(), seed + t as u64)?;
            let mut out = format.frame();
            for (to, plane) in out.planes.iter_mut().zip(noisy.planes()) {
                to.view_mut().store(plane.as_slice(), format.white / 255.0, format.white);
            }
            Ok(out)
        });
        let noisy = noisy.collect::<quell::Result<_>>()?;
        Ok(Self { format, clean, noisy })
    }

    /// Milliseconds of the kernels for one frame; nothing where the device cannot tell.
    fn kernels(&self, denoiser: &Denoiser, repeat: usize) -> anyhow::Result<Option<f64>> {
        let planes: Vec<Samples<'_>> = self.noisy[0].planes.iter().map(SampleBuffer::view).collect();
        let VideoFormat { width, height, white, .. } = self.format;
        match denoiser.time_samples(width, height, white, &planes, repeat) {
            Ok(timing) => Ok(Some(median(&timing.total_ms))),
            Err(Error::Unsupported(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The whole clip, as often as it takes to measure it.
    fn filter(&self, denoiser: &Denoiser, cancel: &Cancel) -> anyhow::Result<Measured> {
        let control = Control::new().with_cancel(cancel.clone());
        let mut stream = denoiser.stream_with(self.format, control)?;
        let mut quality = Vec::new();
        // The first time is not measured: buffers are taken, kernels compiled; its result is looked at.
        for (frame, clean) in self.noisy.iter().zip(&self.clean) {
            if let Some(out) = stream.push(frame.clone())? {
                quality.push(psnr(clean, &self.to_frame(&out)?)?.all);
            }
        }
        let (mut seconds, mut frames) = (0.0, 0);
        let mut spare = self.noisy[0].clone();
        while seconds < LEAST_SECONDS {
            for frame in &self.noisy {
                spare.clone_from(frame);
                let started = Instant::now();
                let out = stream.push(spare)?;
                seconds += started.elapsed().as_secs_f64();
                frames += 1;
                spare = out.unwrap_or_else(|| self.format.frame());
            }
        }
        let ms = 1e3 * seconds / f64::from(frames);
        Ok(Measured { ms, psnr: quality.iter().sum::<f64>() / quality.len() as f64 })
    }

    fn to_frame(&self, frame: &VideoFrame) -> quell::Result<Frame> {
        let scale = 255.0 / self.format.white;
        let plane = |p: &SampleBuffer| {
            Plane::from_vec(self.format.width, self.format.height, p.view().to_floats(scale))
        };
        Frame::new(frame.planes.iter().map(plane).collect::<quell::Result<_>>()?, 255.0)
    }
}

/// Colours of a frame in 8 bits (BT.601, as clips of this age have it); every chroma sample serves its luma samples.
fn to_rgb(format: &VideoFormat, frame: &VideoFrame) -> quell::Result<Frame> {
    let (width, height) = (format.width, format.height);
    let scale = 255.0 / format.white;
    let planes: Vec<Vec<f32>> = frame.planes.iter().map(|p| p.view().to_floats(scale)).collect();
    if format.layout == Layout::Rgb {
        let planes = planes.into_iter().map(|p| Plane::from_vec(width, height, p));
        return Frame::new(planes.collect::<quell::Result<_>>()?, 255.0);
    }
    let (x_step, y_step) = format.layout.subsampling();
    let chroma_width = format.plane_size(1).0;
    let mut out: [Vec<f32>; 3] = Default::default();
    for i in 0..width * height {
        let at = i / width / y_step * chroma_width + i % width / x_step;
        let luma = 1.164 * (planes[0][i] - 16.0);
        let chroma = |p: usize| planes.get(p).map_or(0.0, |c| c[at] - 128.0);
        let (cb, cr) = (chroma(1), chroma(2));
        let rgb = [luma + 1.596 * cr, luma - 0.392 * cb - 0.813 * cr, luma + 2.017 * cb];
        out.iter_mut().zip(rgb).for_each(|(to, v)| to.push(v.clamp(0.0, 255.0).round()));
    }
    let planes = out.into_iter().map(|p| Plane::from_vec(width, height, p));
    Frame::new(planes.collect::<quell::Result<_>>()?, 255.0)
}
