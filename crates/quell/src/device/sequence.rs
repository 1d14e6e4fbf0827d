//! A plan at work: frames go in and come out, and what a device keeps between them is its own business.

use super::{Backend, DeviceSamples, Samples, SamplesMut};
use crate::memory::check_planes;
use crate::method::{Plan, Window};
use crate::{Control, Error, Plane, PlaneView, Result};

/// One frame on its way to a device.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The planes that are filtered, in their own units.
    pub planes: &'a [Samples<'a>],
    /// The planes that patches are compared on, if not the same; of floats.
    pub guide: &'a [Samples<'a>],
}

/// A plan at work on the frames of a video, on one device. Frames go in and come out in order; a picture is a video of
/// one frame. After an error it is of no further use.
pub trait Sequence: Send {
    /// Takes the next frame; its samples have been read when this returns. A device may begin to filter it.
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()>;

    /// Filters the oldest frame that has not been, with the frames around it that are there, into `to` (integers are
    /// rounded, and clipped to the plan's white). For the full window as many frames as the plan's `future` must have
    /// been pushed after it. An error if every frame has been filtered.
    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()>;

    /// Filters a frame that no other one has to do with: in and out, and nothing is kept.
    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.push(frame, control)?;
        self.pull(to, control)
    }

    /// The same for a picture in device memory; the result is left there, and is complete on return.
    fn lent(&mut self, from: &[DeviceSamples], to: &[DeviceSamples], control: &Control) -> Result<()> {
        let _ = (from, to, control);
        Err(Error::Unsupported("a picture in device memory needs BM3D on a CUDA device".into()))
    }
}

impl Window {
    /// A frame must have the planes that are expected.
    pub(crate) fn check_input(&self, frame: &Input<'_>) -> Result<()> {
        if frame.planes.len() != self.planes || frame.guide.len() != self.guides {
            return Err(Error::Shape(format!(
                "{} planes and {} guide planes are needed, not {} and {}",
                self.planes,
                self.guides,
                frame.planes.len(),
                frame.guide.len()
            )));
        }
        self.check_sizes(frame.planes.iter().chain(frame.guide).map(Samples::len))
    }

    /// So must a result.
    pub(crate) fn check_output(&self, to: &[SamplesMut<'_>]) -> Result<()> {
        if to.len() != self.results {
            return Err(Error::Shape(format!("{} planes are needed, not {}", self.results, to.len())));
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

/// Filters one picture: a video of one frame.
///
/// ```
/// use quell::device::{self, Device, picture};
/// use quell::{Control, Plane, isoline::{Plan, Profile}};
/// let noisy = Plane::from_vec(16, 16, vec![100.0; 256])?;
/// let plan = Plan::new(&Profile::Fast.params(25.0, 1), (16, 16), 255.0, &[25.0])?;
/// let cpu = device::open(Device::Cpu, Default::default())?;
/// let clean = picture(&*cpu, &plan.into(), &[noisy.view()], &[], &Control::new())?;
/// assert!((clean[0].as_slice()[40] - 100.0).abs() < 0.01);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn picture(
    backend: &dyn Backend,
    plan: &Plan,
    planes: &[PlaneView<'_>],
    guide: &[PlaneView<'_>],
    control: &Control,
) -> Result<Vec<Plane>> {
    let window = plan.window();
    if planes.iter().chain(guide).any(|p| (p.width(), p.height()) != (window.width, window.height)) {
        let (w, h) = (window.width, window.height);
        return Err(Error::Shape(format!("the plan is for planes of {w} x {h} pixels, not for these")));
    }
    check_planes(window.planes + window.results + window.guides, window.width, window.height)?;
    // Borrowed where rows follow each other without gaps.
    let [planes, guide] =
        [planes, guide].map(|all| all.iter().map(PlaneView::contiguous).collect::<Vec<_>>());
    let bytes = plan.likes_bytes().then(|| planes.iter().map(|p| as_bytes(p)).collect::<Option<Vec<_>>>());
    let bytes = bytes.flatten();
    let planes: Vec<Samples<'_>> = match &bytes {
        Some(bytes) => bytes.iter().map(|p| Samples::U8(p)).collect(),
        None => planes.iter().map(|p| Samples::F32(p)).collect(),
    };
    let guide: Vec<Samples<'_>> = guide.iter().map(|p| Samples::F32(p)).collect();
    let mut out: Vec<Plane> =
        (0..window.results).map(|_| Plane::zeros(window.width, window.height)).collect();
    let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
    let frame = Input { planes: &planes, guide: &guide };
    backend.open(plan)?.frame(&frame, &mut to, control)?;
    Ok(out)
}

/// The samples as bytes, if they are.
fn as_bytes(samples: &[f32]) -> Option<Vec<u8>> {
    // Two passes that compilers make vectors of.
    let all =
        samples.chunks(4096).all(|part| part.iter().fold(true, |all, &v| all & (f32::from(v as u8) == v)));
    all.then(|| samples.iter().map(|&v| v as u8).collect())
}

/// What a sequence says that has no frame to filter.
pub(crate) fn nothing_left() -> Error {
    Error::Shape("every frame has been filtered already".into())
}
