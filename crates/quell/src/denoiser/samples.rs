//! Samples as they lie in memory: the entry for video frames, batches, and pictures on the device.

use super::{Denoiser, Guide, Job, Resolved, Shape, Sigma, isoline_sequence};
use crate::device::{
    Backend, DeviceSamples, Encoding, Input, SampleFormat, Samples, SamplesMut, Sequence, Timing,
};
use crate::frame::{check_samples, check_white, typical_range};
use crate::{ColorMode, Control, Error, Result, bm3d};

impl Denoiser {
    /// Denoises samples as they lie in memory, for video frames and batches: the quickest way from host to host, since a
    /// GPU gets and returns no more bytes than there are. One plane is grey, three are red, green and blue; the noise
    /// must be known ([`sigma`](crate::DenoiserBuilder::sigma), in the units of the samples). Integers are rounded, and clipped
    /// to `0..=white`.
    ///
    /// May be called from several threads at once; on a GPU that is what keeps it busy, with
    /// [`lanes`](crate::device::Backend::lanes) frames in work. What is in `to` after an error is undefined.
    ///
    /// ```
    /// use quell::device::{Samples, SamplesMut};
    /// use quell::{Control, Denoiser, bm3d::Profile};
    ///
    /// let denoiser = Denoiser::bm3d(Profile::Fast).sigma(8.0).build()?;
    /// let (width, height, white) = (64, 48, 255.0);
    /// let frames: Vec<Vec<u8>> = (0..4).map(|i| vec![100 + i; width * height]).collect();
    /// let mut clean = vec![vec![0u8; width * height]; frames.len()];
    /// std::thread::scope(|threads| {
    ///     for (frame, clean) in frames.iter().zip(&mut clean) {
    ///         let denoiser = &denoiser;
    ///         threads.spawn(move || {
    ///             let (from, mut to) = ([Samples::U8(frame)], [SamplesMut::U8(clean)]);
    ///             denoiser.denoise_samples(width, height, white, &from, &mut to, &Control::new())
    ///         });
    ///     }
    /// });
    /// assert_eq!(clean[3], frames[3]);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn denoise_samples(
        &self,
        width: usize,
        height: usize,
        white: f32,
        from: &[Samples<'_>],
        to: &mut [SamplesMut<'_>],
        control: &Control,
    ) -> Result<()> {
        same_number(from.len(), to.len())?;
        let job = self.job(width, height, white, from)?.job;
        if let Some(n) = to.iter().map(SamplesMut::len).find(|n| *n != width * height) {
            return Err(Error::Shape(format!("{n} samples cannot take a {width} x {height} plane")));
        }
        match &job {
            Job::Bm3d { params, plan } => {
                bm3d_samples(&*self.backend, params.color, plan, white, from, to, control)
            }
            Job::Nlm { plan, .. } => one_frame(&mut *self.backend.nlm(plan)?, from, to, control),
            Job::Isoline { plan, .. } => {
                one_frame(&mut *isoline_sequence(&*self.backend, plan)?, from, to, control)
            }
        }
    }

    /// The same for a picture in the memory of a CUDA device; the result is left there, complete on return. Samples are
    /// taken to lie in `0..=white` but for the tails of the noise, and floats to be finite: nobody looks at them first.
    /// Three planes are filtered on their own ([`ColorMode::Independent`]); other colours are not offered here. `to` may
    /// be `from` where the picture goes through in one tile.
    pub fn denoise_device(
        &self,
        width: usize,
        height: usize,
        white: f32,
        from: &[DeviceSamples],
        to: &[DeviceSamples],
        control: &Control,
    ) -> Result<()> {
        same_number(from.len(), to.len())?;
        from.iter().chain(to).try_for_each(|s| s.check(width))?;
        let formats: Vec<SampleFormat> = from.iter().map(DeviceSamples::format).collect();
        let job = self.plan_samples(width, height, white, &formats, || (0.0, white))?.job;
        let encoding = |color| Encoding { white, color };
        let Job::Bm3d { params, plan } = &job else {
            return Err(Error::Unsupported("pictures in device memory are filtered by BM3D only".into()));
        };
        match (from.len(), params.color) {
            (1, _) => self.backend.bm3d_device(plan, from, encoding(None), to, control),
            (_, ColorMode::Independent) => {
                std::iter::zip(from, to).enumerate().try_for_each(|(i, (from, to))| {
                    let control = control.section(i, 3);
                    self.backend.bm3d_device(plan, &[*from], encoding(None), &[*to], &control)
                })
            }
            (_, mode) => self.backend.bm3d_device(plan, from, encoding(Some(mode)), to, control),
        }
    }

    /// Measures the device alone, from device memory to device memory, on samples as
    /// [`denoise_samples`](Self::denoise_samples) takes them. Not every device can tell.
    pub fn time_samples(
        &self,
        width: usize,
        height: usize,
        white: f32,
        from: &[Samples<'_>],
        repeat: usize,
    ) -> Result<Timing> {
        let job = self.job(width, height, white, from)?.job;
        let (params, plan) = match &job {
            Job::Bm3d { params, plan } => (params, plan),
            Job::Nlm { plan, .. } => {
                // Every frame of the window is the same picture: how long it takes does not depend on that.
                let frames = vec![Input { planes: from, guide: &[] }; plan.past + 1 + plan.future];
                return self.backend.nlm_timed(plan, &frames, repeat);
            }
            Job::Isoline { plan, .. } => {
                let frames = vec![Input { planes: from, guide: &[] }; plan.past + 1 + plan.future];
                return self.backend.isoline_timed(plan, &frames, repeat);
            }
        };
        let color = (from.len() == 3).then_some(params.color);
        if color == Some(ColorMode::Independent) {
            return Err(Error::Unsupported("channels on their own are timed one by one, as grey".into()));
        }
        self.backend.bm3d_timed(plan, from, Encoding { white, color }, repeat)
    }

    /// The job for samples in host memory.
    fn job(&self, width: usize, height: usize, white: f32, from: &[Samples<'_>]) -> Result<Resolved> {
        let formats: Vec<SampleFormat> = from.iter().map(Samples::format).collect();
        let pixels = width.checked_mul(height).filter(|n| *n > 0);
        if let Some(n) = from.iter().map(Samples::len).find(|n| Some(*n) != pixels) {
            return Err(Error::Shape(format!("{n} samples cannot be a {width} x {height} plane")));
        }
        check_white(white)?;
        check_finite(width, white, from)?;
        self.plan_samples(width, height, white, &formats, || range(from))
    }

    /// The job for samples of known noise. `range` is asked only where the type does not keep them in `0..=white`.
    fn plan_samples(
        &self,
        width: usize,
        height: usize,
        white: f32,
        formats: &[SampleFormat],
        range: impl FnOnce() -> (f32, f32),
    ) -> Result<Resolved> {
        let channels = formats.len();
        if channels != 1 && channels != 3 {
            return Err(Error::Shape(format!(
                "{channels} planes: 1 (grey) or 3 (red, green, blue) are needed"
            )));
        }
        check_white(white)?;
        if !self.spec.correlation.is_none() {
            return Err(Error::Unsupported(
                "samples are filtered for white noise: use frames or a stream".into(),
            ));
        }
        let Sigma::Known(sigma) = self.spec.sigma else {
            return Err(Error::parameter("sigma", "auto", "must be given for samples"));
        };
        let bounded = |f: &SampleFormat| match f {
            SampleFormat::U8 | SampleFormat::U16 => white >= f.white(),
            SampleFormat::F32 => false,
        };
        let range = if formats.iter().all(bounded) { (0.0, white) } else { range() };
        self.plan(sigma, &Shape { width, height, channels, guide: Guide::Own, white, range })
    }
}

/// Filters samples by BM3D: grey, colours in the space they ask for, or every plane on its own.
pub(crate) fn bm3d_samples(
    backend: &dyn Backend,
    color: ColorMode,
    plan: &bm3d::Plan,
    white: f32,
    from: &[Samples<'_>],
    to: &mut [SamplesMut<'_>],
    control: &Control,
) -> Result<()> {
    let encoding = |color| Encoding { white, color };
    match (from.len(), color) {
        (1, _) => backend.bm3d_samples(plan, from, encoding(None), to, control),
        (_, ColorMode::Independent) => {
            std::iter::zip(from, to).enumerate().try_for_each(|(i, (from, to))| {
                let (from, to) = (std::slice::from_ref(from), std::slice::from_mut(to));
                backend.bm3d_samples(plan, from, encoding(None), to, &control.section(i, 3))
            })
        }
        (_, mode) => backend.bm3d_samples(plan, from, encoding(Some(mode)), to, control),
    }
}

/// Filters a video of one frame.
fn one_frame(
    sequence: &mut dyn Sequence,
    from: &[Samples<'_>],
    to: &mut [SamplesMut<'_>],
    control: &Control,
) -> Result<()> {
    sequence.push(&Input { planes: from, guide: &[] }, control)?;
    sequence.pull(to, control)
}

fn same_number(from: usize, to: usize) -> Result<()> {
    if from == to { Ok(()) } else { Err(Error::Shape(format!("{from} planes cannot become {to}"))) }
}

/// As [`FrameView::check_finite`](crate::FrameView::check_finite), of float samples.
fn check_finite(width: usize, white: f32, planes: &[Samples<'_>]) -> Result<()> {
    for (plane, samples) in planes.iter().enumerate() {
        let Samples::F32(values) = samples else { continue };
        check_samples(values, white, |i| (plane, i % width, i / width))?;
    }
    Ok(())
}

/// As [`FrameView::range`](crate::FrameView::range).
fn range(planes: &[Samples<'_>]) -> (f32, f32) {
    let n = planes[0].len();
    typical_range(planes.len() * n, |i| planes[i / n].get(i % n))
}
