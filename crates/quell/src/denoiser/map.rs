//! What an isoline filter knows about a picture, to be looked at.

use super::{Denoiser, Known, Resolved};
use crate::device::picture;
use crate::isoline::Map;
use crate::method::{Front, Mix, Plan, Work};
use crate::{Control, Error, Frame, FrameView, Plane, Result};

/// The least noise that maps are made for, of white: a picture without noise has isolines, too.
const LEAST_NOISE: f32 = 0.1 / 255.0;

/// A map of a picture and how it was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IsolineMap {
    /// What it shows.
    pub map: Map,
    /// Its values, as [`Map`] says.
    pub values: Plane,
    /// For which noise and by which filter.
    pub resolved: Resolved,
}

impl IsolineMap {
    /// As a picture for the eye: see [`Map::picture`].
    pub fn picture(&self) -> Result<Frame> {
        match self.resolved.plan.work() {
            Work::Isoline(plan) => self.map.picture(plan, &self.values),
            _ => Err(no_isolines()),
        }
    }
}

impl Denoiser {
    /// What the isoline filter knows about a picture: noise, parameters and plan are those of
    /// [`run`](Self::run). A picture without noise is looked at as if it had a tenth of a grey level of 255.
    ///
    /// ```
    /// use quell::{Denoiser, Frame, Plane, isoline::{Map, Profile}};
    /// // Horizontal stripes: direction 0, or 16 of 32 the other way round.
    /// let stripes = (0..256).map(|i| if i / 16 % 4 < 2 { 50.0 } else { 150.0 }).collect();
    /// let frame = Frame::grey(Plane::from_vec(16, 16, stripes)?, 255.0)?;
    /// let denoiser = Denoiser::isoline(Profile::Normal).sigma(10.0).build()?;
    /// let map = denoiser.isoline_map(&frame, Map::Directions)?;
    /// assert_eq!(map.values.row(8)[8], 0.0);
    /// assert_eq!(map.picture()?.channels(), 3);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn isoline_map<'a>(&self, frame: impl Into<FrameView<'a>>, map: Map) -> Result<IsolineMap> {
        let frame = frame.into();
        let least = LEAST_NOISE * frame.white();
        let noise = match self.noise(&frame, None)?.filter(|known| known.sigma >= least) {
            Some(known) => known,
            None => Known::white(least, frame.white())?,
        };
        let resolved = self.plan(noise, self.subject(&frame))?;
        let Work::Isoline(work) = resolved.plan.work() else { return Err(no_isolines()) };
        let front = Front { unclip: None, mix: Mix::default(), ..resolved.plan.front().clone() };
        let plan = Plan::new(Work::Map(work.clone(), map), front);
        let values = picture(&*self.backend, &plan, frame.planes(), &[], &Control::new())?.remove(0);
        Ok(IsolineMap { map, values, resolved })
    }
}

fn no_isolines() -> Error {
    Error::Unsupported("maps of isolines need method isoline".into())
}
