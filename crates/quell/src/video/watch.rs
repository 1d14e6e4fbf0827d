//! Watches the noise of a clip while it is filtered: where nothing is known of it before, from the first frame that has
//! some; and behind every cut, where another camera may have been at work.

use super::noise::{ClipNoise, Level};
use super::{VideoFormat, VideoFrame};
use crate::Result;

/// Frames after the first with noise at which a live clip is looked at again, as powers of two: a slow fade is over by
/// the last of them.
const LAST_LOOK: usize = 64;
/// Noise that is so much stronger than what is filtered for, in two frames one after the other, is filtered for; behind a
/// cut, noise that is so much weaker, too, if two frames of these agree within `ALIKE`: those of a fade do not.
const RISE: f32 = 1.5;
const FALLS: [usize; 2] = [4, 12];
const ALIKE: f32 = 1.2;
/// Places of luma that tell a cut, about.
const PLACES: usize = 4096;
/// Their mean difference from frame to frame, of white, behind a cut: more than this, above so many times what it was. A
/// cut that is none costs a look.
const CUT: f32 = 0.06;
const JUMP: f32 = 1.5;

/// The noise of a clip while it is filtered.
#[derive(Debug)]
pub(super) struct Watch {
    noise: ClipNoise,
    /// What is filtered for, once some noise was found.
    level: Option<Level>,
    /// Nothing was known before: the first frames are looked at again.
    live: bool,
    /// Frames since noise was found.
    since: usize,
    /// Two looks, one after the other, have to agree: what the first one saw.
    before: Option<Level>,
    /// Frames since a cut, while it is looked for weaker noise.
    behind: Option<usize>,
    /// What the first look for that saw.
    calm: Option<Level>,
    scene: Scene,
}

impl Watch {
    /// Of a clip of which nothing is known before. Frames are not held back for it.
    pub(super) fn live(noise: ClipNoise) -> Self {
        let scene = Scene::new(&noise.format);
        Self { noise, level: None, live: true, since: 0, before: None, behind: None, calm: None, scene }
    }

    /// Of a clip whose noise was told by some of its frames.
    pub(super) fn known(noise: ClipNoise) -> Self {
        Self { level: Some(noise.level()), ..Self { live: false, ..Self::live(noise) } }
    }

    /// What is filtered for, if anything is known.
    pub(super) fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }

    /// Looks at the next frame, if it is worth while: what is to be filtered for from here on, if that changes.
    pub(super) fn look(&mut self, frame: &VideoFrame) -> Result<Option<Level>> {
        let cut = self.scene.begins(frame);
        let Some(level) = &self.level else {
            let found = self.noise.of_frame(frame)?.level();
            self.level = found.sigma.iter().any(|s| *s > 0.0).then_some(found);
            return Ok(self.level.clone());
        };
        self.since += 1;
        self.behind = if cut { Some(0) } else { self.behind.map(|n| n + 1).filter(|n| *n <= FALLS[1]) };
        if cut {
            (self.before, self.calm) = (None, None);
        }
        let due = self.live && self.since.is_power_of_two() && self.since <= LAST_LOOK;
        let behind = self.behind.is_some_and(|n| n < 2 || FALLS.contains(&n));
        if !due && !behind && self.before.is_none() {
            return Ok(None);
        }
        let found = self.noise.of_frame(frame)?.level();
        let next = match rises(&found, level) {
            true => self.before.take().map_or_else(
                || {
                    self.before = Some(found.clone());
                    None
                },
                |before| risen(&before, &found, level),
            ),
            false => {
                self.before = None;
                let first = self.behind == Some(FALLS[0]);
                let fallen = self.calm.take().and_then(|calm| fallen(&calm, &found, level));
                self.calm = first.then_some(found);
                fallen
            }
        };
        if next.is_some() {
            self.level.clone_from(&next);
        }
        Ok(next)
    }
}

fn any(a: &Level, b: &Level, test: impl Fn(f32, f32) -> bool) -> bool {
    a.sigma.iter().zip(&b.sigma).any(|(a, b)| test(*a, *b))
}

fn rises(now: &Level, level: &Level) -> bool {
    any(now, level, |now, level| now > RISE * level)
}

fn both(a: &Level, b: &Level, of: impl Fn(f32, f32) -> f32) -> Level {
    let sigma = a.sigma.iter().zip(&b.sigma).map(|(a, b)| of(*a, *b)).collect();
    Level { sigma, developed: a.developed && b.developed }
}

/// What is filtered for where two frames have more noise: the lesser of the two, since one may be the odd one out.
fn risen(a: &Level, b: &Level, level: &Level) -> Option<Level> {
    let least = both(a, b, f32::min);
    rises(&least, level).then(|| Level { developed: least.developed, ..both(&least, level, f32::max) })
}

/// What is filtered for where two frames of a scene have less noise, and the same: the more of the two. Black tells nothing.
fn fallen(a: &Level, b: &Level, level: &Level) -> Option<Level> {
    let most = both(a, b, f32::max);
    let black = a.sigma.iter().chain(&b.sigma).any(|s| *s == 0.0);
    let differ = any(&most, &both(a, b, f32::min), |most, least| most > ALIKE * least);
    let falls = any(&most, level, |most, level| RISE * most < level);
    (falls && !black && !differ).then_some(most)
}

/// Some places of luma, frame by frame, to see where a scene ends.
#[derive(Debug)]
struct Scene {
    places: Vec<usize>,
    white: f32,
    last: Vec<f32>,
    /// The difference of the two frames before.
    usual: f32,
}

impl Scene {
    fn new(format: &VideoFormat) -> Self {
        let step = ((format.width * format.height) as f64 / PLACES as f64).sqrt().ceil().max(1.0) as usize;
        let rows = (step / 2..format.height).step_by(step);
        let places =
            rows.flat_map(|y| (step / 2..format.width).step_by(step).map(move |x| y * format.width + x));
        Self { places: places.collect(), white: format.white, last: Vec::new(), usual: 0.0 }
    }

    /// Whether this frame is the first of a scene.
    fn begins(&mut self, frame: &VideoFrame) -> bool {
        let luma = frame.planes[0].view();
        let now: Vec<f32> = self.places.iter().map(|i| luma.get(*i)).collect();
        let last = std::mem::replace(&mut self.last, now);
        if last.is_empty() {
            return false;
        }
        let sum: f32 = last.iter().zip(&self.last).map(|(a, b)| (a - b).abs()).sum();
        let difference = sum / (self.white * self.places.len().max(1) as f32);
        let cut = difference > CUT + JUMP * self.usual;
        // Behind a cut, too: the frames of a fade are not all the first of a scene.
        self.usual = difference;
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::add_gaussian;
    use crate::{Denoiser, Device, Frame, Layout, Plane, nlm};

    const FORMAT: (usize, usize) = (128, 96);

    fn format() -> VideoFormat {
        VideoFormat::with_bits(FORMAT.0, FORMAT.1, Layout::Mono, 8).unwrap()
    }

    /// A scene of this brightness with some noise.
    fn frame(light: f32, sigma: f32, seed: u64) -> VideoFrame {
        let at = |i: usize| light + 0.2 * (i % FORMAT.0) as f32;
        let plane = Plane::from_vec(FORMAT.0, FORMAT.1, (0..FORMAT.0 * FORMAT.1).map(at).collect()).unwrap();
        let noisy = add_gaussian(&Frame::grey(plane, 255.0).unwrap(), sigma.into(), seed).unwrap();
        let mut frame = format().frame();
        frame.planes[0].view_mut().store(noisy.planes()[0].as_slice(), 1.0, 255.0);
        frame
    }

    fn watch(sigma: f32) -> Watch {
        let denoiser = Denoiser::nlm(nlm::Profile::Fast).device(Device::Cpu).build().unwrap();
        let mut noise = denoiser.clip_noise(format());
        noise.add(&frame(60.0, sigma, 99)).unwrap();
        Watch::known(noise)
    }

    #[test]
    fn another_scene_may_have_more_noise_or_less() {
        // More of it is seen at once, less when the scene is calm.
        for (first, second, after) in [(5.0, 20.0, 1), (20.0, 5.0, FALLS[1])] {
            let mut watch = watch(first);
            for seed in 0..5 {
                assert_eq!(watch.look(&frame(60.0, first, seed)).unwrap(), None);
            }
            for n in 0..20 {
                let level = watch.look(&frame(150.0, second, 10 + n as u64)).unwrap();
                assert_eq!(level.is_some(), n == after, "{n}: {level:?}");
                if let Some(level) = level {
                    assert!((level.sigma[0] / second - 1.0).abs() < 0.15, "{level:?}");
                }
            }
        }
    }

    #[test]
    fn the_weak_noise_of_a_fade_is_not_that_of_the_scene() {
        for frames in [6, 20, 60] {
            let mut watch = watch(15.0);
            for n in 0..80_u64 {
                let light = (n as f32 / frames as f32).min(1.0);
                let seen = watch.look(&frame(120.0 * light, 15.0 * light.max(0.01), n)).unwrap();
                assert_eq!(seen, None, "{frames} frames: {n}");
            }
        }
    }

    #[test]
    fn without_a_cut_noise_does_not_change() {
        let mut watch = watch(10.0);
        for seed in 0..20 {
            // It gets lighter, slowly, and the noise varies.
            let sigma = if seed % 5 == 0 { 4.0 } else { 11.0 };
            assert_eq!(watch.look(&frame(60.0 + 2.0 * seed as f32, sigma, seed)).unwrap(), None);
        }
        // A cut to a scene with about the same noise.
        for seed in 20..25 {
            assert_eq!(watch.look(&frame(160.0, 12.0, seed)).unwrap(), None);
        }
    }
}
