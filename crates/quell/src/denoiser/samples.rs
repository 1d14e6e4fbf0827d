//! Samples as they lie in memory: the entry for video frames, batches, and pictures on the device.

use super::{Denoiser, Known, Resolved};
use crate::device::{DeviceSamples, Input, SampleFormat, Samples, SamplesMut, Timing};
use crate::frame::{check_samples, check_white, typical_range};
use crate::method::Subject;
use crate::noise::Ends;
use crate::{Control, Error, Result};

impl Denoiser {
    /// Denoises samples as they lie in memory, for video frames and batches: the quickest way from host to host, since a
    /// GPU gets and returns no more bytes than there are. One plane is grey, three are red, green and blue; the noise
    /// must be known ([`sigma`](crate::DenoiserBuilder::sigma)). Integers are rounded, and clipped
    /// to `0..=white`.
    ///
    /// May be called from several threads at once; on a GPU that is what keeps it busy, with
    /// [`at_once`](crate::device::Backend::at_once) frames in work. What is in `to` after an error is undefined.
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
        let plan = self.job(width, height, white, from)?.plan;
        if let Some(n) = to.iter().map(SamplesMut::len).find(|n| *n != width * height) {
            return Err(Error::Shape(format!("{n} samples cannot take a {width} x {height} plane")));
        }
        self.backend.open(&plan)?.frame(&Input { planes: from, guide: &[] }, to, control)
    }

    /// The same for a picture in the memory of a CUDA device; the result is left there, complete on return. Samples are
    /// taken to lie in `0..=white` but for the tails of the noise, and floats to be finite: nobody looks at them first, and
    /// what clipping did to the noise is not undone.
    /// BM3D does this, but for [`ColorMode::Luma`](crate::ColorMode::Luma). `to` may be `from` where the picture goes
    /// through in one tile.
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
        // Nobody looks at them, so nothing is known to be clipped.
        let none = Some(Ends::default());
        let plan = self.plan_samples(width, height, white, &formats, none, || (0.0, white))?.plan;
        self.backend.open(&plan)?.lent(from, to, control)
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
        let plan = self.job(width, height, white, from)?.plan;
        let window = plan.window();
        // Every frame of the window is the same picture: how long it takes does not depend on that.
        let frames = vec![Input { planes: from, guide: &[] }; window.past + 1 + window.future];
        self.backend.time(&plan, &frames, repeat)
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
        self.plan_samples(width, height, white, &formats, None, || range(from))
    }

    /// The job for samples of known noise. `range` is asked only where the type does not keep them in `0..=white`;
    /// `clipped` tells where the noise was clipped, if that is known.
    fn plan_samples(
        &self,
        width: usize,
        height: usize,
        white: f32,
        formats: &[SampleFormat],
        clipped: Option<Ends>,
        range: impl FnOnce() -> (f32, f32),
    ) -> Result<Resolved> {
        let channels = formats.len();
        if channels != 1 && channels != 3 {
            return Err(Error::Shape(format!(
                "{channels} planes: 1 (grey) or 3 (red, green, blue) are needed"
            )));
        }
        check_white(white)?;
        if !self.correlation(channels, white)?.is_none() {
            return Err(Error::Unsupported(
                "samples are filtered for white noise: use frames or a stream".into(),
            ));
        }
        let Some(model) = self.spec.noise.known() else {
            return Err(Error::parameter("sigma", "auto", "must be given for samples"));
        };
        let bounded = |f: &SampleFormat| match f {
            SampleFormat::U8 | SampleFormat::U16 => white >= f.white(),
            SampleFormat::F32 => false,
        };
        let range = if formats.iter().all(bounded) { (0.0, white) } else { range() };
        let known = Known::new(model, white);
        let subject = Subject { range, clipped, ..Subject::new(width, height, channels, white) };
        self.plan(known, subject)
    }
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
