//! `quell bench` on a GPU: kernels alone, and a stream of frames from host to host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context;
use quell::device::{DeviceInfo, SampleBuffer, SampleFormat, Samples, SamplesMut, Timing};
use quell::metrics::psnr;
use quell::{Cancel, Control, Denoiser, Error, Frame, Layout, Plane, VideoFormat};
use quell_io::WriteOptions;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::BenchArgs;
use crate::bench::material;
use crate::engine::Engine;
use crate::failure::{Exit, Failure};
use crate::report::{self, name};
use crate::table::{Cell, Style, Table};

/// Runs, if not said otherwise.
const RUNS: u32 = 20;
/// Frames of a stream, if not said otherwise.
const FRAMES: usize = 100;
/// Different frames that a stream goes through in turn.
const DIFFERENT: usize = 4;

/// What one profile and size showed; the JSON object of `--json`.
#[derive(Debug, Serialize)]
struct Measured {
    profile: &'static str,
    width: usize,
    height: usize,
    channels: usize,
    sigma: f32,
    sample: &'static str,
    device: String,
    description: String,
    driver: String,
    /// Kernels from device memory to device memory, each run; nothing where the device cannot tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    total_ms: Vec<f32>,
    median_ms: Option<f64>,
    mpix_per_s: Option<f64>,
    /// Each stage's median.
    stages_ms: Map<String, Value>,
    device_bytes: Option<u64>,
    /// One frame alone, host to host: the median.
    host_ms: f64,
    stream_frames: usize,
    stream_fps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    psnr: Option<f64>,
}

/// Runs the command on a device that is no processor.
pub(crate) fn run(
    args: &BenchArgs,
    engines: &[Engine],
    info: &DeviceInfo,
    cancel: &Cancel,
) -> anyhow::Result<Exit> {
    let Some(sigma) = args.engine.noise.sigma() else {
        return Err(Failure::usage("--sigma auto: a stream has frames of known noise")
            .hint("give a number, or measure with --device cpu")
            .into());
    };
    let columns = [
        "profile",
        "size",
        "kernels_ms",
        "mpix_per_s",
        "host_ms",
        "stream_fps",
        "device_mb",
        "psnr",
        "stages_ms",
    ];
    let mut table = Table::new(&columns);
    for (mut picture, clean) in material(args)? {
        let frame = &picture.pages.first().context("the file holds no picture")?.frame;
        let mut result = None;
        for engine in engines {
            let (measured, filtered) = measure(args, engine, info, frame, clean.as_ref(), sigma, cancel)?;
            if args.json {
                report::json(&measured)?;
            } else {
                table.push(row(&measured));
            }
            result = Some(filtered);
        }
        if let (Some(output), Some(result)) = (&args.output, result) {
            picture.pages[0].frame = result;
            quell_io::write(output, &picture, &WriteOptions::default())
                .with_context(|| format!("cannot write {}", name(output)))?;
        }
    }
    if !args.json {
        report::message(&format!(
            "{}: {}, {}; sigma {}, {} samples, median of {}",
            info.name,
            info.description,
            info.driver,
            report::short(sigma),
            args.sample.name(),
            args.repeat.unwrap_or(RUNS)
        ));
        table.print(Style::Text)?;
    }
    Ok(Exit::Done)
}

fn measure(
    args: &BenchArgs,
    engine: &Engine,
    info: &DeviceInfo,
    frame: &Frame,
    clean: Option<&Frame>,
    sigma: f32,
    cancel: &Cancel,
) -> anyhow::Result<(Measured, Frame)> {
    let (width, height) = (frame.width(), frame.height());
    let repeat = args.repeat.unwrap_or(RUNS) as usize;
    let stored = Stored::new(frame, args.sample);
    let denoiser = engine.denoiser();
    let control = Control::new().with_cancel(cancel.clone());
    // The first run compiles and allocates; its result is the one that is looked at.
    let mut out = stored.clone();
    stored.denoise(denoiser, &mut out, &control)?;
    let result = out.to_frame(frame.white())?;
    let mut host: Vec<f32> = Vec::with_capacity(repeat);
    for _ in 0..repeat {
        let started = Instant::now();
        stored.denoise(denoiser, &mut out, &control)?;
        host.push(started.elapsed().as_secs_f32() * 1e3);
    }
    let samples = stored.samples();
    let timing = match denoiser.time_samples(width, height, stored.white(), &samples, repeat) {
        Err(Error::Unsupported(why)) => {
            report::message(&format!("note: {why}"));
            None
        }
        other => Some(other?),
    };
    let frames = args.stream.unwrap_or(FRAMES);
    let different: Vec<Stored> = (0..DIFFERENT).map(|i| stored.shifted(i)).collect();
    let fps = || match engine.method() {
        "nlm" => video(denoiser, &different, frames, cancel),
        _ => stream(denoiser, &different, frames, cancel),
    };
    let stream_fps = (frames > 0).then(fps).transpose()?;
    let Timing { total_ms, stages, device_bytes } = timing.clone().unwrap_or_default();
    let median_ms = timing.is_some().then(|| median(&total_ms));
    let measured = Measured {
        profile: engine.profile(),
        width,
        height,
        channels: frame.channels(),
        sigma,
        sample: args.sample.name(),
        device: info.name.clone(),
        description: info.description.clone(),
        driver: info.driver.clone(),
        median_ms,
        mpix_per_s: median_ms.map(|ms| (width * height) as f64 / 1e3 / ms),
        stages_ms: stages.into_iter().map(|(stage, ms)| (stage, Value::from(ms))).collect(),
        total_ms,
        device_bytes: timing.map(|_| device_bytes),
        host_ms: median(&host),
        stream_frames: frames,
        stream_fps,
        psnr: clean.map(|c| psnr(c, &result)).transpose()?.map(|q| q.all),
    };
    Ok((measured, result))
}

pub(crate) fn median(values: &[f32]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => f64::from(sorted[n / 2]),
        n => f64::from(sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn row(m: &Measured) -> Vec<Cell> {
    let stages: Vec<String> = m
        .stages_ms
        .iter()
        .map(|(stage, ms)| format!("{stage} {:.3}", ms.as_f64().unwrap_or(f64::NAN)))
        .collect();
    let colours = if m.channels == 3 { " RGB" } else { "" };
    vec![
        Cell::Text(m.profile.to_owned()),
        Cell::Text(format!("{} x {}{colours}", m.width, m.height)),
        Cell::number(m.median_ms, 3),
        Cell::number(m.mpix_per_s, 0),
        Cell::Number(m.host_ms, 3),
        Cell::number(m.stream_fps, 0),
        Cell::number(m.device_bytes.map(|b| b as f64 / 1e6), 0),
        Cell::number(m.psnr, 2),
        if stages.is_empty() { Cell::Missing } else { Cell::Text(stages.join(", ")) },
    ]
}

/// Frames per second, host to host, with as many frames in work as the device likes.
pub(crate) fn stream(
    denoiser: &Denoiser,
    frames: &[Stored],
    count: usize,
    cancel: &Cancel,
) -> anyhow::Result<f64> {
    let control = Control::new().with_cancel(cancel.clone());
    let lanes = denoiser.backend().at_once().min(count).max(1);
    // Everything that happens once per lane is done before the clock starts.
    let ready = std::sync::Barrier::new(lanes + 1);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..lanes)
            .map(|lane| {
                let (ready, next, control) = (&ready, &next, &control);
                scope.spawn(move || -> quell::Result<()> {
                    let mut out = frames[0].clone();
                    let warm = frames[lane % frames.len()].denoise(denoiser, &mut out, control);
                    ready.wait();
                    warm?;
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= count {
                            return Ok(());
                        }
                        frames[at % frames.len()].denoise(denoiser, &mut out, control)?;
                    }
                })
            })
            .collect();
        ready.wait();
        let started = Instant::now();
        for lane in running {
            lane.join().map_err(|_| anyhow::anyhow!("a thread of the stream ended unexpectedly"))??;
        }
        Ok(count as f64 / started.elapsed().as_secs_f64())
    })
}

/// Frames per second of a video, host to host: one frame after the other, each with those around it.
fn video(denoiser: &Denoiser, frames: &[Stored], count: usize, cancel: &Cancel) -> anyhow::Result<f64> {
    let format = frames[0].video();
    let mut stream = denoiser.stream_with(format, Control::new().with_cancel(cancel.clone()))?;
    let mut seconds = 0.0;
    let mut spare = format.frame();
    // The first frames, which have fewer around them, are not measured.
    let warm = 8 + stream.latency();
    for i in 0..count + warm {
        spare.planes.clone_from(&frames[i % frames.len()].planes);
        let started = Instant::now();
        let out = stream.push(spare)?;
        if i >= warm {
            seconds += started.elapsed().as_secs_f64();
        }
        spare = out.unwrap_or_else(|| format.frame());
    }
    Ok(count as f64 / seconds)
}

/// A picture as its samples are stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    width: usize,
    height: usize,
    format: SampleFormat,
    planes: Vec<SampleBuffer>,
}

impl Stored {
    /// The picture in samples of this type: integers are rounded and clipped, as a camera would.
    pub(crate) fn new(frame: &Frame, format: SampleFormat) -> Self {
        let (width, height) = (frame.width(), frame.height());
        let mut planes = vec![SampleBuffer::new(format, width * height); frame.channels()];
        for (buffer, plane) in planes.iter_mut().zip(frame.planes()) {
            buffer.view_mut().store(plane.as_slice(), format.white() / frame.white(), format.white());
        }
        Self { width, height, format, planes }
    }

    /// The sample value of white.
    pub(crate) fn white(&self) -> f32 {
        self.format.white()
    }

    /// As a frame of a video.
    fn video(&self) -> VideoFormat {
        let layout = if self.planes.len() == 1 { Layout::Mono } else { Layout::Rgb };
        VideoFormat {
            width: self.width,
            height: self.height,
            layout,
            sample: self.format,
            white: self.white(),
        }
    }

    /// The same picture moved down by some rows: another frame that costs as much.
    fn shifted(&self, rows: usize) -> Self {
        let mut other = self.clone();
        let by = rows * self.width % (self.width * self.height);
        for plane in &mut other.planes {
            match plane {
                SampleBuffer::U8(p) => p.rotate_right(by),
                SampleBuffer::U16(p) => p.rotate_right(by),
                SampleBuffer::F32(p) => p.rotate_right(by),
            }
        }
        other
    }

    fn samples(&self) -> Vec<Samples<'_>> {
        self.planes.iter().map(SampleBuffer::view).collect()
    }

    fn denoise(&self, denoiser: &Denoiser, out: &mut Self, control: &Control) -> quell::Result<()> {
        let mut to: Vec<SamplesMut<'_>> = out.planes.iter_mut().map(SampleBuffer::view_mut).collect();
        denoiser.denoise_samples(self.width, self.height, self.white(), &self.samples(), &mut to, control)
    }

    fn to_frame(&self, white: f32) -> quell::Result<Frame> {
        let scale = white / self.white();
        let planes =
            self.samples().into_iter().map(|s| Plane::from_vec(self.width, self.height, s.to_floats(scale)));
        Frame::new(planes.collect::<quell::Result<_>>()?, white)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_the_picture() {
        let data: Vec<f32> = (0..64).map(|i| 4.0 * i as f32).collect();
        let frame = Frame::grey(Plane::from_vec(8, 8, data).unwrap(), 255.0).unwrap();
        for format in SampleFormat::ALL {
            let back = Stored::new(&frame, format).to_frame(255.0).unwrap();
            let pairs = back.planes()[0].as_slice().iter().zip(frame.planes()[0].as_slice());
            assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-3), "{format:?}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_ones() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
    }

    #[test]
    fn a_stream_does_every_frame() {
        let frame = Frame::grey(Plane::from_vec(16, 16, vec![90.0; 256]).unwrap(), 255.0).unwrap();
        let denoiser = Denoiser::bm3d(quell::bm3d::Profile::Fast).sigma(5.0).device(quell::Device::Cpu);
        let stored = Stored::new(&frame, SampleFormat::U8);
        let fps = stream(&denoiser.build().unwrap(), &[stored], 5, &Cancel::new()).unwrap();
        assert!(fps > 0.0 && fps.is_finite());
    }
}
