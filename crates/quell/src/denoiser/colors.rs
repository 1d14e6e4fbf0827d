//! A method that filters colours in a space of its own, as one that takes red, green and blue.

use crate::device::{Backend, Input, Samples, SamplesMut, Sequence};
use crate::memory::check_planes;
use crate::{ColorMode, Control, Plane, PlaneView, Result, isoline};

/// The space in which colours are filtered along isolines: directions and acceptance are decided on its luma.
pub(super) const ISOLINE_COLORS: ColorMode = ColorMode::Opp;

/// Starts an isoline filter: one plane is grey, three are red, green and blue.
pub(crate) fn isoline_sequence(backend: &dyn Backend, plan: &isoline::Plan) -> Result<Box<dyn Sequence>> {
    let inner = backend.isoline(plan)?;
    if plan.channels() != 3 {
        return Ok(inner);
    }
    let isoline::Plan { width, height, white, .. } = *plan;
    Ok(Box::new(Converted { inner, mode: ISOLINE_COLORS, size: (width, height), white }))
}

struct Converted {
    inner: Box<dyn Sequence>,
    mode: ColorMode,
    size: (usize, usize),
    white: f32,
}

impl Sequence for Converted {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let plane = |s: &Samples<'_>| Plane::from_vec(self.size.0, self.size.1, s.to_floats(1.0));
        check_planes(2 * frame.planes.len(), self.size.0, self.size.1)?;
        let planes = frame.planes.iter().map(plane).collect::<Result<Vec<Plane>>>()?;
        let views: Vec<PlaneView<'_>> = planes.iter().map(Plane::view).collect();
        let channels = self.mode.forward(&views);
        let samples: Vec<Samples<'_>> = channels.iter().map(|p| Samples::F32(p.as_slice())).collect();
        self.inner.push(&Input { planes: &samples, guide: frame.guide }, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        check_planes(2 * to.len(), self.size.0, self.size.1)?;
        let mut channels: Vec<Plane> = to.iter().map(|_| Plane::zeros(self.size.0, self.size.1)).collect();
        let mut into: Vec<SamplesMut<'_>> =
            channels.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
        self.inner.pull(&mut into, control)?;
        let planes = self.mode.inverse(&channels);
        to.iter_mut().zip(&planes).for_each(|(to, plane)| to.store(plane.as_slice(), 1.0, self.white));
        Ok(())
    }
}
