//! The GPU as a device that carries out plans: planes, samples as they are stored, measurements.

use super::bm3d::source::{planes_sink, planes_source, samples_sink, samples_source, stored_as};
use super::bm3d::{Format, Front, SLOTS, TensorFilter};
use super::{Gpu, Runtime};
use crate::bm3d::{Match, Plan};
use crate::device::samples::{by_conversion, check_shape};
use crate::device::{
    Backend, DeviceInfo, DeviceSamples, Encoding, Input, SampleFormat, Samples, SamplesMut, Sequence, Timing,
};
use crate::{ColorMode, Control, Error, Plane, PlaneView, Result, isoline, nlm};

impl From<SampleFormat> for Format {
    fn from(format: SampleFormat) -> Self {
        match format {
            SampleFormat::U8 => Self::U8,
            SampleFormat::U16 => Self::U16,
            SampleFormat::F32 => Self::F32,
        }
    }
}

impl<R: Runtime> Backend for Gpu<R> {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn lanes(&self) -> usize {
        SLOTS
    }

    fn bm3d(&self, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
        let mut out: Vec<Plane> = noisy.iter().map(|_| Plane::zeros(plan.width, plan.height)).collect();
        self.run(plan, &planes_source(noisy), &mut planes_sink(&mut out), Front::CHANNELS, control)?;
        Ok(out)
    }

    fn bm3d_samples(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        to: &mut [SamplesMut<'_>],
        control: &Control,
    ) -> Result<()> {
        // Planes of different types are converted here, and what is left of colours whose luma alone is filtered.
        let mixed = from.windows(2).any(|p| p[0].format() != p[1].format())
            || to.windows(2).any(|p| p[0].format() != p[1].format());
        if encoding.color == Some(ColorMode::Luma) || mixed {
            return by_conversion(self, plan, from, encoding, to, control);
        }
        check_shape(plan, encoding, from, to)?;
        let (front, format) = (front(encoding), to.first().map_or(SampleFormat::F32, SamplesMut::format));
        let source = samples_source(from, stored_as(from, front), plan.width, front);
        self.run(plan, &source, &mut samples_sink(to, format.into(), plan.width), front, control)
    }

    fn bm3d_device(
        &self,
        plan: &Plan,
        from: &[DeviceSamples],
        encoding: Encoding,
        to: &[DeviceSamples],
        control: &Control,
    ) -> Result<()> {
        self.run_lent(plan, from, to, front(encoding), control)
    }

    fn bm3d_timed(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        repeat: usize,
    ) -> Result<Timing> {
        let front = front(encoding);
        if front.color == Some(ColorMode::Luma) {
            return Err(Error::Unsupported("luma alone is timed as grey".into()));
        }
        let format = from.first().map_or(SampleFormat::F32, Samples::format).into();
        Ok(self.timed(plan, &samples_source(from, format, plan.width, front), front, repeat)?.into())
    }

    fn bm3d_wiener(
        &self,
        plan: &Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
    ) -> Result<Vec<Plane>> {
        if plan.passes.len() < 2 {
            return Err(Error::Unsupported("the plan has no pass 2".into()));
        }
        self.wiener(plan, noisy, basic)
    }

    /// The tensor kernels hold samples and coefficients in halves.
    fn full_precision(&self, plan: &Plan) -> bool {
        plan.passes.iter().all(|p| TensorFilter::new(p, self.runtime.limits()).is_none())
    }

    fn bm3d_groups(&self, plan: &Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
        self.groups(plan, pass, guide)
    }

    fn nlm(&self, plan: &nlm::Plan) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(self.nlm_frames(plan)?))
    }

    fn isoline(&self, plan: &isoline::Plan) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(self.isoline_frames(plan)?))
    }

    fn isoline_map(
        &self,
        plan: &isoline::Plan,
        planes: &[PlaneView<'_>],
        map: isoline::Map,
    ) -> Result<Plane> {
        self.isoline_known(plan, planes, map)
    }

    fn isoline_timed(&self, plan: &isoline::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        Ok(self.isoline_repeated(plan, frames, repeat)?.into())
    }

    fn nlm_timed(&self, plan: &nlm::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        Ok(self.nlm_repeated(plan, frames, repeat)?.into())
    }
}

fn front(encoding: Encoding) -> Front {
    Front { factor: 255.0 / encoding.white, white: encoding.white, color: encoding.color }
}
