//! The GPU as a device that carries out plans: planes, samples as they are stored, measurements.

use std::ops::Range;

use super::bm3d::{Format, HALF_RANGE, SLOTS, Scale, Sink, Source, TensorFilter, planes_sink, planes_source};
use super::{Gpu, Runtime};
use crate::bm3d::{Match, Plan};
use crate::device::samples::{by_conversion, check_shape};
use crate::device::{
    Backend, DeviceInfo, DeviceSamples, Encoding, Input, SampleFormat, Samples, SamplesMut, Sequence, Timing,
};
use crate::{Control, Error, Plane, PlaneView, Result, isoline, nlm};

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
        let scale = Scale { factor: 1.0, white: 255.0 };
        self.run(plan, &planes_source(noisy), &mut planes_sink(&mut out), scale, control)?;
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
        // Colours are converted here, and so are planes of different types.
        let mixed = from.windows(2).any(|p| p[0].format() != p[1].format())
            || to.windows(2).any(|p| p[0].format() != p[1].format());
        if encoding.color.is_some() || mixed {
            return by_conversion(self, plan, from, encoding, to, control);
        }
        check_shape(plan, encoding, from, to)?;
        let (Some(first), Some(last)) = (from.first(), to.first()) else { return Ok(()) };
        let width = plan.width;
        let scale = scale(encoding);
        let source = samples_source(from, first.format().into(), width, scale);
        let format = last.format().into();
        let row = |c: usize, y: usize, x: Range<usize>, from: &[u8]| {
            let at = y * width + x.start;
            match &mut to[c] {
                SamplesMut::U8(to) => to[at..][..from.len()].copy_from_slice(from),
                SamplesMut::U16(to) => {
                    let from = from.as_chunks().0;
                    to[at..][..from.len()]
                        .iter_mut()
                        .zip(from)
                        .for_each(|(to, &v)| *to = u16::from_ne_bytes(v));
                }
                SamplesMut::F32(to) => {
                    let from = from.as_chunks().0;
                    to[at..][..from.len()]
                        .iter_mut()
                        .zip(from)
                        .for_each(|(to, &v)| *to = f32::from_ne_bytes(v));
                }
            }
        };
        self.run(plan, &source, &mut Sink { format, row: Box::new(row) }, scale, control)
    }

    fn bm3d_device(
        &self,
        plan: &Plan,
        from: &[DeviceSamples],
        encoding: Encoding,
        to: &[DeviceSamples],
        control: &Control,
    ) -> Result<()> {
        self.run_lent(plan, from, encoding, to, scale(encoding), control)
    }

    fn bm3d_timed(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        repeat: usize,
    ) -> Result<Timing> {
        let scale = scale(encoding);
        Ok(match encoding.color {
            None => {
                let format = from.first().map_or(SampleFormat::F32, Samples::format).into();
                self.timed(plan, &samples_source(from, format, plan.width, scale), scale, repeat)?
            }
            Some(mode) => {
                let convert =
                    |s: &Samples<'_>| Plane::from_vec(plan.width, plan.height, s.to_floats(scale.factor));
                let planes = from.iter().map(convert).collect::<Result<Vec<Plane>>>()?;
                let channels = mode.forward(&planes.iter().map(Plane::view).collect::<Vec<_>>());
                let views: Vec<_> = channels.iter().take(plan.channels()).map(Plane::view).collect();
                let scale = Scale { factor: 1.0, white: 255.0 };
                self.timed(plan, &planes_source(&views), scale, repeat)?
            }
        }
        .into())
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

fn scale(encoding: Encoding) -> Scale {
    Scale { factor: 255.0 / encoding.white, white: encoding.white }
}

/// Samples as the device reads them.
fn samples_source<'a>(from: &'a [Samples<'a>], format: Format, width: usize, scale: Scale) -> Source<'a> {
    let row = move |c: usize, y: usize, x: Range<usize>, to: &mut [u8]| {
        let at = y * width + x.start;
        match from[c] {
            Samples::U8(from) => to.copy_from_slice(&from[at..][..to.len()]),
            Samples::U16(from) => {
                let to = to.as_chunks_mut().0;
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = v.to_ne_bytes());
            }
            Samples::F32(from) => {
                let to = to.as_chunks_mut().0;
                to.iter_mut().zip(&from[at..]).for_each(|(to, v)| *to = v.to_ne_bytes());
            }
        }
    };
    let fits = |v: &f32| HALF_RANGE.contains(&(v * scale.factor));
    // Integers lie between black and white, unless white is set lower than their range.
    let halves = from.iter().all(|s| match s {
        Samples::U8(_) => fits(&255.0),
        Samples::U16(v) => fits(&65535.0) || v.iter().all(|&v| fits(&v.into())),
        Samples::F32(v) => v.iter().all(fits),
    });
    Source { format, halves, row: Box::new(row) }
}
