//! BM3D with a basic estimate of the caller's own: pass 2 alone.

use super::{Denoiser, Resolved};
use crate::method::{Frames, Work};
use crate::{ColorMode, Control, Error, Frame, FrameView, Plane, PlaneView, Result, bm3d};

impl Denoiser {
    /// Denoises a picture by pass 2 of BM3D alone: `pilot`, in the units of the picture, takes the place of what pass 1
    /// makes. Patches are grouped by it, and it tells how much of every coefficient is picture. It may come from another
    /// method, from another exposure of the same scene, or from deblurring.
    ///
    /// The noise is white, or of a known power spectrum; what clipping did to it is not undone.
    ///
    /// ```
    /// use quell::{Control, Denoiser, Frame, Plane, bm3d::Profile};
    /// let noisy = Frame::grey(Plane::from_vec(32, 32, (0..1024).map(|i| 100.0 + (i % 7) as f32).collect())?, 255.0)?;
    /// let both = Denoiser::bm3d(Profile::Normal).sigma(10.0).build()?;
    /// let first = Denoiser::bm3d(Profile::Normal).sigma(10.0).set("passes", 1).build()?;
    /// let pilot = first.denoise(&noisy)?;
    /// assert_eq!(both.refine(&noisy, &pilot, &Control::new())?, both.denoise(&noisy)?);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn refine<'a, 'b>(
        &self,
        frame: impl Into<FrameView<'a>>,
        pilot: impl Into<FrameView<'b>>,
        control: &Control,
    ) -> Result<Frame> {
        let frame = frame.into();
        match self.resolve(frame.clone())? {
            Some(resolved) => self.refine_resolved(frame, pilot, &resolved, control),
            None => Ok(frame.to_frame()),
        }
    }

    /// The same for the picture that `resolved` was made for.
    pub fn refine_resolved<'a, 'b>(
        &self,
        frame: impl Into<FrameView<'a>>,
        pilot: impl Into<FrameView<'b>>,
        resolved: &Resolved,
        control: &Control,
    ) -> Result<Frame> {
        let (frame, pilot) = (frame.into(), pilot.into());
        let (work, color) = second_pass(resolved)?;
        pilot.check_finite()?;
        let window = resolved.plan.window();
        for (what, given) in [("the picture", &frame), ("the pilot", &pilot)] {
            let size = (given.width(), given.height(), given.channels());
            if size != (window.width, window.height, window.planes) {
                let (w, h, n) = (window.width, window.height, window.planes);
                return Err(Error::Shape(format!("{what} is not of {w} x {h} pixels in {n} channels")));
            }
        }
        let white = frame.white();
        let [noisy, basic] = [&frame, &pilot].map(|f| channels(f, 255.0 / f.white(), color));
        let pass = |noisy: &[PlaneView<'_>], basic: &[PlaneView<'_>]| {
            self.backend.refine(work, noisy, basic, control)
        };
        let (views, pilots) = (views(&noisy), views(&basic));
        let mut clean = match color {
            Some(ColorMode::Independent) => {
                let each = views.iter().zip(&pilots).map(|(&noisy, &basic)| pass(&[noisy], &[basic]));
                each.collect::<Result<Vec<_>>>()?.concat()
            }
            _ => pass(&views[..work.channels()], &pilots[..work.channels()])?,
        };
        // What is not filtered of colours stays.
        clean.extend(noisy.iter().skip(clean.len()).cloned());
        if let Some(mode) = color.filter(|mode| *mode != ColorMode::Independent) {
            clean = mode.inverse(&clean);
        }
        let scale = white / 255.0;
        clean.iter_mut().flat_map(Plane::as_mut_slice).for_each(|v| *v *= scale);
        Frame::new(clean, white)
    }
}

/// The work of a plan that can be begun with pass 2, and its colours.
fn second_pass(resolved: &Resolved) -> Result<(&bm3d::Plan, Option<ColorMode>)> {
    let (plan, front) = (&resolved.plan, resolved.plan.front());
    let refused = |what: &str| Err(Error::Unsupported(format!("a pilot is for {what}")));
    let Work::Bm3d(work) = plan.work() else { return refused("BM3D") };
    if work.passes.len() < 2 {
        return refused("pass 2, and there is one pass only");
    }
    if front.curve.is_some() || plan.coarser().is_some() {
        return refused("noise that is the same everywhere and of one size: give its deviation");
    }
    if *plan.frames() != Frames::One {
        return refused("pictures, not for frames of a video");
    }
    if !front.mix.is_none() {
        return refused("results as they are: without detail and grain");
    }
    Ok((work, front.color))
}

/// The channels that BM3D filters, and those that it leaves.
fn channels(frame: &FrameView<'_>, scale: f32, color: Option<ColorMode>) -> Vec<Plane> {
    let scaled = |plane: &PlaneView<'_>| {
        let mut plane = plane.to_plane();
        plane.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        plane
    };
    let planes: Vec<Plane> = frame.planes().iter().map(scaled).collect();
    match color {
        None | Some(ColorMode::Independent) => planes,
        Some(mode) => mode.forward(&views(&planes)),
    }
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::{Profile, reference};
    use crate::noise::correlated::{Correlation, Psd, PsdSource};
    use crate::noise::{Curve, Model};
    use crate::{Cancel, DenoiserBuilder, Device};

    /// A scene with noise, and another estimate of it than pass 1 would make.
    fn scene(channels: usize, white: f32) -> (Frame, Frame) {
        let mut seed = 1_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(seed >> 8) as f32 / 16_777_216.0 - 0.5
        };
        let (w, h) = (75, 61);
        let clean = |c: usize, x: usize, y: usize| {
            90.0 + 20.0 * c as f32 + 60.0 * ((x / 12 + y / 9) % 2) as f32 + 0.4 * x as f32
        };
        let mut plane = |c: usize, amount: f32, shift: usize| {
            let sample = |i: usize| (clean(c, i % w + shift, i / w) + amount * random()) * white / 255.0;
            Plane::from_vec(w, h, (0..w * h).map(sample).collect()).unwrap()
        };
        let noisy = (0..channels).map(|c| plane(c, 70.0, 0)).collect();
        let pilot = (0..channels).map(|c| plane(c, 6.0, 1)).collect();
        (Frame::new(noisy, white).unwrap(), Frame::new(pilot, white).unwrap())
    }

    fn builder(profile: Profile) -> DenoiserBuilder {
        Denoiser::bm3d(profile).sigma(20.0).device(Device::Cpu)
    }

    /// Against the reference, on the 0..255 scale.
    fn off(denoiser: &Denoiser, channels: usize, white: f32) -> f32 {
        let (noisy, pilot) = scene(channels, white);
        let got = denoiser.refine(&noisy, &pilot, &Control::new()).unwrap();
        let resolved = denoiser.resolve(&noisy).unwrap().unwrap();
        let (work, color) = second_pass(&resolved).unwrap();
        let [noisy, pilot] = [noisy, pilot].map(|f| super::channels(&f.view(), 255.0 / white, color));
        let n = work.channels();
        let mut want = reference::pass(&work.passes[1], &views(&noisy)[..n], Some(&views(&pilot)[..n]));
        want.extend(noisy[n..].iter().cloned());
        let want = color.map_or(want.clone(), |mode| mode.inverse(&want));
        let pairs = got.planes().iter().zip(&want).flat_map(|(a, b)| a.as_slice().iter().zip(b.as_slice()));
        pairs.map(|(a, b)| (a * 255.0 / white - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn a_pilot_takes_the_place_of_pass_1() {
        for profile in [Profile::Fast, Profile::Normal, Profile::Original, Profile::Vn] {
            let denoiser = builder(profile).build().unwrap();
            assert!(off(&denoiser, 1, 255.0) < 0.02, "{profile:?}");
        }
        for (color, white) in [("opp", 1.0), ("ycbcr", 255.0), ("luma", 4095.0)] {
            let denoiser = builder(Profile::Fast).set("color", color).build().unwrap();
            assert!(off(&denoiser, 3, white) < 0.02, "{color}");
        }
    }

    #[test]
    fn planes_on_their_own_have_pilots_of_their_own() {
        let denoiser = builder(Profile::Fast).set("color", "independent").build().unwrap();
        let (noisy, pilot) = scene(3, 255.0);
        let all = denoiser.refine(&noisy, &pilot, &Control::new()).unwrap();
        for c in 0..3 {
            let [one, basic] = [&noisy, &pilot].map(|f| Frame::grey(f.planes()[c].clone(), 255.0).unwrap());
            let clean = denoiser.refine(&one, &basic, &Control::new()).unwrap();
            assert_eq!(clean.planes()[0], all.planes()[c]);
        }
    }

    #[test]
    fn correlated_noise_may_have_a_pilot() {
        let (w, h) = (75, 61);
        let power = |i: usize| 400.0 * (w * h) as f32 * if i % w < 20 || i % w > 55 { 1.8 } else { 0.1 };
        let psd = Psd::new(Plane::from_vec(w, h, (0..w * h).map(power).collect()).unwrap()).unwrap();
        let correlation = Correlation { psd: Some(PsdSource::Known(psd)), covariance: None };
        let denoiser = builder(Profile::Np).correlation(correlation).build().unwrap();
        assert!(off(&denoiser, 1, 255.0) < 0.02);
    }

    #[test]
    fn pilots_that_cannot_be_are_refused() {
        let (noisy, pilot) = scene(1, 255.0);
        let said = |builder: DenoiserBuilder| {
            let denoiser = builder.device(Device::Cpu).build().unwrap();
            denoiser.refine(&noisy, &pilot, &Control::new()).unwrap_err().to_string()
        };
        assert!(said(Denoiser::nlm(crate::nlm::Profile::Fast).sigma(20.0)).contains("BM3D"));
        assert!(said(builder(Profile::Fast).set("passes", 1)).contains("pass 2"));
        assert!(said(builder(Profile::Fast).grain(0.2)).contains("grain"));
        let curve = Model::curve(Curve::poisson_gauss(0.5, 1.0).unwrap());
        assert!(said(builder(Profile::Fast).noise(curve)).contains("everywhere"));
        let denoiser = builder(Profile::Fast).build().unwrap();
        let (_, colours) = scene(3, 255.0);
        let e = denoiser.refine(&noisy, &colours, &Control::new()).unwrap_err();
        assert_eq!(e.to_string(), "the pilot is not of 75 x 61 pixels in 1 channels");
        let mut broken = pilot.planes()[0].clone();
        broken.as_mut_slice()[7] = f32::NAN;
        let broken = Frame::grey(broken, 255.0).unwrap();
        assert!(denoiser.refine(&noisy, &broken, &Control::new()).is_err());
        let cancel = Cancel::new();
        cancel.cancel();
        let control = Control::new().with_cancel(cancel);
        assert!(matches!(denoiser.refine(&noisy, &pilot, &control), Err(Error::Cancelled)));
    }
}
