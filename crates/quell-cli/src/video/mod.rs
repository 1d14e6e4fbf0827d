//! `quell CLIP`: one clip read, filtered and written, frame by frame.

mod compare;
mod grain;
mod part;
mod pipeline;

pub(crate) use part::Part;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use quell::{Cancel, ClipNoise, FrameView, Layout, Plane};
use quell_io::WriteOptions;
use quell_io::video::{
    Shortfall, VideoInfo, VideoKind, VideoReadOptions, VideoReader, VideoWriteOptions, VideoWriter,
};
use serde::Serialize;

use crate::args::DenoiseArgs;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::job::Job;
use crate::progress::Bars;
use crate::range::Used;
use crate::report::{self, count, name};
use part::Reading;

/// How clips are read and written.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClipOptions {
    /// How to read.
    pub(crate) reading: VideoReadOptions,
    /// How to write.
    pub(crate) writing: VideoWriteOptions,
    /// Only these frames.
    part: Option<Part>,
    /// Before and after, side by side.
    compare: bool,
    /// Where the grain that was removed is described.
    grain_table: Option<PathBuf>,
}

impl ClipOptions {
    /// As the flags say; `pictures` is how pictures are written.
    pub(crate) fn set(&mut self, args: &DenoiseArgs, pictures: &WriteOptions) {
        self.reading.max_pixels = args.reading.max_pixels.unwrap_or(self.reading.max_pixels);
        self.reading.rate = args.rate;
        self.reading.white = args.reading.white;
        self.writing.pictures = pictures.clone();
        self.writing.encode = args.encode.clone();
        self.writing.remove_rest = args.force;
        (self.part, self.compare) = (args.frames, args.compare);
        self.grain_table.clone_from(&args.grain_table);
    }
}

/// What is known of a clip that is done.
#[derive(Debug, Serialize)]
pub(crate) struct Clip {
    width: usize,
    height: usize,
    layout: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u32>,
    frames: u64,
    /// Frames a second of the clip.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    /// Noise of the first plane on the 0..255 scale; nothing if there is none.
    sigma: Option<f32>,
    /// Noise of every plane.
    sigmas: Vec<Option<f32>>,
    estimated: bool,
    method: String,
    profile: String,
    device: String,
    seconds: f64,
    /// Frames a second that were filtered.
    fps: f64,
    /// It is the input, byte for byte.
    copied: bool,
    pub(crate) notes: Vec<String>,
    /// How many of the notes were said before the work.
    #[serde(skip)]
    pub(crate) said: usize,
    #[serde(skip)]
    shape: String,
}

/// Filters one clip.
pub(crate) fn filter(
    job: &Job,
    engine: &Engine,
    options: &ClipOptions,
    bars: &Bars,
    quiet: bool,
    cancel: &Cancel,
) -> anyhow::Result<Clip> {
    let started = Instant::now();
    check_input(&job.input)?;
    let mut reading = options.reading.clone();
    reading.rgb = VideoKind::of_name(&job.output) == Some(VideoKind::Pictures);
    let reader = VideoReader::open(&job.input, &reading)?;
    let info = reader.info().clone();
    let mut early = reader.notes().to_vec();
    let known = early.len();
    let pictures = VideoKind::of_file(&job.input) == Some(VideoKind::Pictures);
    if options.reading.white.is_some() && !pictures {
        early.push(format!("--white is for pictures: white is {} here", info.format.white));
    }
    let (noise, used) = look(job, engine, &reader)?;
    early.extend(used.note(pictures));
    if !quiet {
        early.iter().for_each(|note| bars.message(&report::note(&job.input, note)));
    }
    let clean = noise.frames() > 0 && noise.sigma().iter().all(|s| *s == 0.0) && !engine.correlated();
    let live = [&job.input, &job.output].into_iter().any(|p| VideoKind::of_name(p) == Some(VideoKind::Pipe));
    let ahead = if live || clean { 0 } else { engine.frames_ahead() };
    let mut stream = engine.stream(noise, cancel)?.ahead(ahead);
    let mut grain = options.grain_table.as_ref().map(|_| grain::Grain::new(&info)).transpose()?;
    let cannot = || format!("cannot write {}", name(&job.output));
    let mut writing = options.writing.clone();
    // The sound of the whole clip does not fit to a part of it.
    writing.pictures.source = Some(job.input.clone()).filter(|_| options.part.is_none());
    let copied = clean
        && options.part.is_none()
        && options.grain_table.is_none()
        && quell_io::video::copy(&job.input, &job.output, &info, &writing).with_context(cannot)?;
    let done = if copied {
        let read = reader.notes().to_vec();
        pipeline::Finished { frames: reader.frames().unwrap_or(0), read, written: Vec::new(), short: None }
    } else {
        let writer = VideoWriter::create(&job.output, &info, &writing)
            .map_err(|e| explain(e, &info, &job.output))
            .with_context(cannot)?;
        let frames = options.part.map_or(reader.frames(), |part| part.len(reader.frames()));
        let bar = bars.clip(&name(&job.input), frames);
        let (past, future) = stream.window();
        let reading = options.part.map_or_else(Reading::all, |part| part.reading(past, future));
        let shown = |n| bar.frames(n);
        let done = match (&mut grain, options.compare) {
            (None, false) => pipeline::run(reader, reading, &mut stream, writer, cancel, shown),
            (None, true) => {
                let mut compared = compare::Compared::new(&mut stream, info.format);
                pipeline::run(reader, reading, &mut compared, writer, cancel, shown)
            }
            (Some(grain), _) => {
                let mut grained = grain::Grained::new(&mut stream, grain);
                pipeline::run(reader, reading, &mut grained, writer, cancel, shown)
            }
        };
        drop(bar);
        match done {
            Ok(done) => done,
            Err(pipeline::Error::Read(e)) => return Err(e.into()),
            Err(pipeline::Error::Filter(e)) => return Err(e.into()),
            Err(pipeline::Error::Write(e)) => return Err(anyhow::Error::new(e).context(cannot())),
        }
    };
    if let Some((short, kept)) = done.short {
        return Err(damaged(&short, kept, job).into());
    }
    if let (Some(path), Some(grain)) = (&options.grain_table, grain) {
        grain.write(path)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let scale = 255.0 / info.format.white;
    let sigmas: Vec<Option<f32>> =
        stream.sigma().iter().map(|s| Some(s * scale).filter(|s| *s > 0.0)).collect();
    // The first of the reader's remarks are said already.
    let read = &done.read[known..];
    let said = early.len();
    Ok(Clip {
        width: info.format.width,
        height: info.format.height,
        layout: info.format.layout.name(),
        bits: info.bits(),
        frames: done.frames,
        rate: info.rate.map(|(n, d)| f64::from(n) / f64::from(d)),
        sigma: sigmas.first().copied().flatten(),
        sigmas,
        estimated: engine.estimates(),
        method: engine.method().to_owned(),
        profile: engine.profile().to_owned(),
        device: engine.device().name,
        seconds,
        fps: done.frames as f64 / seconds.max(1e-9),
        copied,
        notes: [&early, read, &done.written].concat(),
        said,
        shape: info.describe(),
    })
}

/// Frames spread over a clip that tell its noise.
const LOOKS: usize = 9;

/// What frames spread over a clip tell, where they can be had before it is filtered and are of use.
fn look(job: &Job, engine: &Engine, reader: &VideoReader) -> anyhow::Result<(ClipNoise, Used)> {
    let format = reader.info().format;
    let (mut noise, mut used) = (engine.clip_noise(format), Used::new(format.white));
    let ranges = Used::matters(format.white);
    if !engine.estimates() && !ranges {
        return Ok((noise, used));
    }
    let mut failed = None;
    quell_io::video::sample(&job.input, reader, LOOKS, |frame| {
        let mut see = || -> quell::Result<()> {
            if ranges {
                let (width, height) = format.plane_size(0);
                let plane = Plane::from_vec(width, height, frame.planes[0].view().to_floats(1.0))?;
                used.add(&FrameView::new(vec![plane.view()], format.white)?);
            }
            if engine.estimates() { noise.add(frame) } else { Ok(()) }
        };
        if let Err(e) = see() {
            failed.get_or_insert(e);
        }
    });
    match failed {
        Some(e) => Err(e.into()),
        None => Ok((noise, used)),
    }
}

/// An input that is damaged or cut off is an error, whatever was made of it.
fn damaged(short: &Shortfall, kept: bool, job: &Job) -> Failure {
    let output = name(&job.output);
    let result = match kept {
        _ if VideoKind::of_name(&job.output) == Some(VideoKind::Pipe) => String::new(),
        true => format!("; {output} has what could be read"),
        false => format!("; {output} is left as it was"),
    };
    Failure::new(format!("{short}{result}"))
}

/// The messages that pictures have.
fn check_input(path: &Path) -> anyhow::Result<()> {
    let files = matches!(VideoKind::of_name(path), Some(VideoKind::Y4m | VideoKind::Container));
    if files && !path.exists() {
        anyhow::bail!("no such file");
    }
    Ok(())
}

/// What else could be written where the layout does not allow it.
fn explain(error: quell_io::Error, info: &VideoInfo, output: &Path) -> anyhow::Error {
    let hint = match (&error, info.format.layout, VideoKind::of_name(output)) {
        (quell_io::Error::Encode(_), Layout::Rgb, Some(VideoKind::Y4m | VideoKind::Pipe)) => {
            "numbered pictures such as clean_%04d.png can hold it, and .mkv or .mp4 by ffmpeg"
        }
        (
            quell_io::Error::Encode(_),
            Layout::Yuv420 | Layout::Yuv422 | Layout::Yuv444,
            Some(VideoKind::Pictures),
        ) => "name a .y4m, .mkv or .mp4 file; a clip that ffmpeg decodes is converted",
        _ => return error.into(),
    };
    Failure::new(error.to_string()).hint(hint).into()
}

impl Clip {
    /// `clip.y4m: 352 x 288 4:2:0, 8 bits, 300 frames, sigma 12.1 (estimated) -> clip.quell.y4m, 4.10 s, 73.2 fps`.
    pub(crate) fn describe(&self, job: &Job) -> String {
        format!(
            "{}: {}, {}, {} -> {}, {}, {} fps",
            name(&job.input),
            self.shape,
            count(self.frames as usize, "frame"),
            self.noise(),
            name(&job.output),
            report::seconds(self.seconds),
            report::short(self.fps as f32)
        )
    }

    /// `sigma 24.8 (estimated)`; of several planes `sigma 24.8, 6.1, 5.9 (estimated)`.
    fn noise(&self) -> String {
        let how = if self.estimated { " (estimated)" } else { "" };
        let mut values: Vec<String> = self.sigmas.iter().map(|s| report::short(s.unwrap_or(0.0))).collect();
        if self.sigmas.iter().all(Option::is_none) {
            let done = if self.copied { "copied" } else { "not filtered" };
            return format!("no noise found, {done}");
        }
        values.dedup();
        format!("sigma {}{how}", values.join(", "))
    }
}
