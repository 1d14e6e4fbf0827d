//! Methods that look at several frames: what a device keeps between the frames of a video.

use super::{Samples, SamplesMut};
use crate::memory::check_planes;
use crate::{Control, Error, Plane, PlaneView, Result, isoline, nlm};

/// One frame on its way to a device.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The planes that are filtered, in their own units; all of one type.
    pub planes: &'a [Samples<'a>],
    /// The planes that patches are compared on, if not the same; of floats.
    pub guide: &'a [Samples<'a>],
}

/// A method at work on the frames of a video, on one device. Frames go in and come out in order; a picture is a video of
/// one frame. After an error it is of no further use.
pub trait Sequence: Send {
    /// Takes the next frame; its samples have been read when this returns.
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()>;

    /// Filters the oldest frame that has not been, with the frames around it that are there, into `to` (integers are
    /// rounded, and clipped to the plan's white). For the full window as many frames as the plan's `future` must have
    /// been pushed after it. An error if every frame has been filtered.
    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()>;
}

/// What goes into a sequence and comes out of it, whatever the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Of every plane.
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    pub(crate) guides: usize,
    /// Frames before and after one that its result depends on.
    pub(crate) past: usize,
    pub(crate) future: usize,
}

impl From<&nlm::Plan> for Window {
    fn from(plan: &nlm::Plan) -> Self {
        let nlm::Plan { width, height, channels, guides, past, future, .. } = *plan;
        Self { width, height, channels, guides, past, future }
    }
}

impl From<&isoline::Plan> for Window {
    fn from(plan: &isoline::Plan) -> Self {
        let isoline::Plan { width, height, past, future, .. } = *plan;
        Self { width, height, channels: plan.channels(), guides: 0, past, future }
    }
}

impl Window {
    /// A frame must have the planes that are expected.
    pub(crate) fn check_input(&self, frame: &Input<'_>) -> Result<()> {
        if frame.planes.len() != self.channels || frame.guide.len() != self.guides {
            return Err(Error::Shape(format!(
                "{} planes and {} guide planes are needed, not {} and {}",
                self.channels,
                self.guides,
                frame.planes.len(),
                frame.guide.len()
            )));
        }
        self.check_sizes(frame.planes.iter().chain(frame.guide).map(Samples::len))
    }

    /// So must a result.
    pub(crate) fn check_output(&self, to: &[SamplesMut<'_>]) -> Result<()> {
        if to.len() != self.channels {
            return Err(Error::Shape(format!("{} planes are needed, not {}", self.channels, to.len())));
        }
        self.check_sizes(to.iter().map(SamplesMut::len))
    }

    fn check_sizes(&self, mut sizes: impl Iterator<Item = usize>) -> Result<()> {
        match sizes.find(|&n| n != self.width * self.height) {
            Some(n) => {
                Err(Error::Shape(format!("{n} samples cannot be a {} x {} plane", self.width, self.height)))
            }
            None => Ok(()),
        }
    }
}

/// Filters one picture: a video of one frame. `white` is that of the plan.
///
/// ```
/// use quell::device::{self, Device, picture};
/// use quell::{Control, Plane, isoline::{Plan, Profile}};
/// let noisy = Plane::from_vec(16, 16, vec![100.0; 256])?;
/// let plan = Plan::new(&Profile::Fast.params(25.0, 1), (16, 16), 255.0, &[25.0])?;
/// let mut sequence = device::open(Device::Cpu, Default::default())?.isoline(&plan)?;
/// let clean = picture(&mut *sequence, &[noisy.view()], &[], 255.0, &Control::new())?;
/// assert!((clean[0].as_slice()[40] - 100.0).abs() < 0.01);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn picture(
    sequence: &mut dyn Sequence,
    planes: &[PlaneView<'_>],
    guide: &[PlaneView<'_>],
    white: f32,
    control: &Control,
) -> Result<Vec<Plane>> {
    if let Some(plane) = planes.first() {
        check_planes(3 * planes.len() + guide.len(), plane.width(), plane.height())?;
    }
    let [floats, guide] = [planes, guide].map(|all| all.iter().map(|p| p.to_plane()).collect::<Vec<_>>());
    // GPUs have a quicker way for bytes.
    let bytes = (white == 255.0).then(|| floats.iter().map(as_bytes).collect::<Option<Vec<_>>>());
    let bytes = bytes.flatten();
    let samples: Vec<Samples<'_>> = match &bytes {
        Some(bytes) => bytes.iter().map(|b| Samples::U8(b)).collect(),
        None => floats.iter().map(|p| Samples::F32(p.as_slice())).collect(),
    };
    let guide: Vec<Samples<'_>> = guide.iter().map(|p| Samples::F32(p.as_slice())).collect();
    sequence.push(&Input { planes: &samples, guide: &guide }, control)?;
    let mut out: Vec<Plane> = planes.iter().map(|p| Plane::zeros(p.width(), p.height())).collect();
    let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
    sequence.pull(&mut to, control)?;
    Ok(out)
}

/// The samples as bytes, if they are.
fn as_bytes(plane: &Plane) -> Option<Vec<u8>> {
    // Two passes that compilers make vectors of.
    let all = plane
        .as_slice()
        .chunks(4096)
        .all(|part| part.iter().fold(true, |all, &v| all & (f32::from(v as u8) == v)));
    all.then(|| plane.as_slice().iter().map(|&v| v as u8).collect())
}

/// What a sequence says that has no frame to filter.
pub(crate) fn nothing_left() -> Error {
    Error::Shape("every frame has been filtered already".into())
}
