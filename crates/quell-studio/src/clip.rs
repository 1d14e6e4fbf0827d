//! Clips: frames where one stands, filtered with those around them, and shown as RGB.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quell::device::{SampleFormat, Samples as Plane};
use quell::{ClipNoise, Control, Denoiser, Layout, VideoFormat, VideoFrame};
use quell_io::SampleType;
use quell_io::video::{VideoInfo, VideoReadOptions, VideoReader, sample};

use crate::Problem;
use crate::page::Page;
use crate::settings::Noise;
use crate::tile::Shape;

/// Bytes of frames that are kept.
const KEPT: usize = 64 << 20;
/// Frames spread over a clip that tell its noise, as on the command line.
const LOOKS: usize = 9;

/// A clip.
pub(crate) struct Clip {
    path: PathBuf,
    info: VideoInfo,
    frames: usize,
    notes: Vec<String>,
    state: Mutex<State>,
}

struct State {
    /// Where it is read, and the number of its next frame.
    reader: Option<(VideoReader, usize)>,
    /// The last frames that were read or shown.
    kept: VecDeque<(usize, Arc<VideoFrame>)>,
    shown: Option<(usize, Arc<Page>)>,
}

impl Clip {
    pub(crate) fn open(path: &Path) -> Result<Self, Problem> {
        let mut reader = VideoReader::open(path, &VideoReadOptions::default())?;
        let (info, notes) = (reader.info().clone(), reader.notes().to_vec());
        let frames = match reader.frames() {
            Some(frames) => frames as usize,
            None => {
                let (mut frame, mut count) = (info.format.frame(), 0);
                while reader.next(&mut frame)? {
                    count += 1;
                }
                count
            }
        };
        if frames == 0 {
            return Err(Problem::sense("the clip has no frames"));
        }
        let state = Mutex::new(State { reader: None, kept: VecDeque::new(), shown: None });
        Ok(Self { path: path.to_owned(), info, frames, notes, state })
    }

    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.info.rate.map(|(n, d)| f64::from(n) / f64::from(d))
    }

    /// Of frames as they are shown.
    pub(crate) fn shape(&self) -> Shape {
        let VideoFormat { width, height, layout, sample, white } = self.info.format;
        let stored = match sample {
            SampleFormat::U8 => SampleType::U8,
            SampleFormat::U16 => SampleType::U16,
            _ => SampleType::F32,
        };
        let most = if stored == SampleType::F32 { f32::INFINITY } else { white };
        Shape { most, ..Shape::new((width, height, layout.planes()), white, stored, None) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        // Of what is kept at most: it changes with every frame.
        (KEPT.min(self.frames * self.info.format.frame_bytes())) as u64
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame as it is stored. From the one that was read last on they come quickly.
    fn frame(&self, index: usize) -> Result<Arc<VideoFrame>, Problem> {
        let mut state = self.state();
        if let Some((_, frame)) = state.kept.iter().find(|(i, _)| *i == index) {
            return Ok(frame.clone());
        }
        let (mut reader, mut next) = match state.reader.take() {
            Some((reader, next)) if next <= index => (reader, next),
            _ => (VideoReader::open(&self.path, &VideoReadOptions::default())?, 0),
        };
        let most = (KEPT / self.info.format.frame_bytes().max(1)).max(8);
        loop {
            let mut frame = self.info.format.frame();
            if !reader.next(&mut frame)? {
                return Err(Problem::sense(format!("the clip ends before frame {index}")));
            }
            next += 1;
            let frame = Arc::new(frame);
            state.kept.push_back((next - 1, frame.clone()));
            if state.kept.len() > most {
                state.kept.pop_front();
            }
            if next > index {
                state.reader = Some((reader, next));
                return Ok(frame);
            }
        }
    }

    /// A frame as it is shown.
    pub(crate) fn page(&self, index: usize) -> Result<Arc<Page>, Problem> {
        if let Some((_, page)) = self.state().shown.as_ref().filter(|(i, _)| *i == index) {
            return Ok(page.clone());
        }
        let page = Arc::new(self.show(&*self.frame(index)?));
        self.state().shown = Some((index, page.clone()));
        Ok(page)
    }

    /// What frames spread over the clip tell of its noise.
    pub(crate) fn noise(&self, denoiser: &Denoiser, noise: &Noise) -> Result<ClipNoise, Problem> {
        let mut found = denoiser.clip_noise(self.info.format);
        match noise {
            Noise::Auto => {
                let reader = VideoReader::open(&self.path, &VideoReadOptions::default())?;
                let mut failed = None;
                sample(&self.path, &reader, LOOKS, |frame| {
                    if let Err(e) = found.add(frame) {
                        failed.get_or_insert(e);
                    }
                });
                failed.map_or(Ok(found), |e| Err(e.into()))
            }
            Noise::Region { .. } => {
                Err(Problem::sense("noise is measured in a part of pictures only; this is a clip")
                    .hint("measure it in a frame that was saved as a picture, and use that as a profile"))
            }
            Noise::Sigma { .. } | Noise::Profile { .. } => Ok(found),
        }
    }

    /// A frame of the result, as it is shown; filtered with the frames around it.
    pub(crate) fn filtered(
        &self,
        index: usize,
        denoiser: &Denoiser,
        noise: &ClipNoise,
        control: &Control,
    ) -> Result<Page, Problem> {
        let mut stream = denoiser.stream_with_noise(noise.clone(), control.clone())?;
        let (past, future) = stream.window();
        let first = index.saturating_sub(past);
        let last = (index + future).min(self.frames - 1);
        let mut next = first;
        for i in first..=last {
            control.check()?;
            if let Some(clean) = stream.push((*self.frame(i)?).clone())? {
                if next == index {
                    return Ok(self.show(&clean));
                }
                next += 1;
            }
        }
        while let Some(clean) = stream.flush()? {
            if next == index {
                return Ok(self.show(&clean));
            }
            next += 1;
        }
        Err(Problem::sense(format!("frame {index} did not come out")))
    }

    /// Planes of a frame as interleaved RGB, or grey.
    fn show(&self, frame: &VideoFrame) -> Page {
        let (format, shape) = (&self.info.format, self.shape());
        let planes: Vec<Plane<'_>> = frame.planes.iter().map(|plane| plane.view()).collect();
        let mut out = shape.room(shape.width * shape.height * shape.channels);
        let full = self.info.extra.iter().any(|word| word == "XCOLORRANGE=FULL");
        let to_rgb = ToRgb::new(format, full);
        let (across, down) = format.layout.subsampling();
        let chroma_width = format.plane_size(1).0;
        for y in 0..format.height {
            match format.layout {
                Layout::Mono => {
                    shape.store((0..format.width).map(|x| get(&planes[0], y * format.width + x)), &mut out)
                }
                Layout::Rgb => {
                    let pixel = |x: usize| planes.iter().map(move |p| get(p, y * format.width + x));
                    shape.store((0..format.width).flat_map(pixel), &mut out);
                }
                _ => {
                    let pixel = |x: usize| {
                        let at = y / down * chroma_width + x / across;
                        let luma = get(&planes[0], y * format.width + x);
                        to_rgb.pixel(luma, get(&planes[1], at), get(&planes[2], at))
                    };
                    shape.store((0..format.width).flat_map(pixel), &mut out);
                }
            }
        }
        Page::new(shape, out)
    }
}

fn get(plane: &Plane<'_>, i: usize) -> f32 {
    match plane {
        Plane::U8(v) => v[i].into(),
        Plane::U16(v) => v[i].into(),
        Plane::F32(v) => v[i],
    }
}

/// From luma and colour differences to red, green and blue.
struct ToRgb {
    black: f32,
    luma: f32,
    middle: f32,
    chroma: f32,
    /// Weights of red and blue in luma.
    weights: (f32, f32),
}

impl ToRgb {
    /// BT.709 where frames are large, else BT.601.
    fn new(format: &VideoFormat, full: bool) -> Self {
        let (white, step) = (format.white, (format.white + 1.0) / 256.0);
        let weights = if format.height >= 720 { (0.2126, 0.0722) } else { (0.299, 0.114) };
        let middle = (white + 1.0) / 2.0;
        if full {
            return Self { black: 0.0, luma: 1.0, middle, chroma: 1.0, weights };
        }
        Self {
            black: 16.0 * step,
            luma: white / (219.0 * step),
            middle,
            chroma: white / (224.0 * step),
            weights,
        }
    }

    fn pixel(&self, y: f32, u: f32, v: f32) -> [f32; 3] {
        let (red, blue) = self.weights;
        let y = (y - self.black) * self.luma;
        let (u, v) = ((u - self.middle) * self.chroma, (v - self.middle) * self.chroma);
        let (r, b) = (y + 2.0 * (1.0 - red) * v, y + 2.0 * (1.0 - blue) * u);
        [r, (y - red * r - blue * b) / (1.0 - red - blue), b]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_stays_grey_and_red_is_red() {
        let format = VideoFormat::with_bits(4, 4, Layout::Yuv420, 8).unwrap();
        let to = ToRgb::new(&format, false);
        let near = |rgb: [f32; 3], want: [f32; 3]| rgb.iter().zip(want).all(|(a, b)| (a - b).abs() < 2.0);
        assert!(near(to.pixel(235.0, 128.0, 128.0), [255.0; 3]));
        assert!(near(to.pixel(16.0, 128.0, 128.0), [0.0; 3]));
        assert!(near(to.pixel(81.0, 90.0, 240.0), [255.0, 0.0, 0.0]));
        let full = ToRgb::new(&format, true);
        assert!(near(full.pixel(255.0, 128.0, 128.0), [255.0; 3]));
    }
}
