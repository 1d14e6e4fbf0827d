//! A plan of any method: what a device is to compute, from the samples of frames to samples again.

use std::sync::Arc;

use super::frames::{Averaging, Frames};
use super::part::{COARSE_REACH, FINE_REACH, Part};
use super::{Front, bm3d, classic, isoline, nlm, ridge};
use crate::noise::Curve;
use crate::{Error, Result};

/// What a device is to compute: made and checked once, the same for every device.
///
/// ```
/// use quell::{Plan, nlm};
/// let nlm = nlm::Plan::new(&nlm::Profile::Fast.params(20.0, 1), (640, 480), 1, 0, 255.0, 20.0)?;
/// let plan = Plan::from(nlm);
/// assert_eq!((plan.window().width, plan.window().planes), (640, 1));
/// # Ok::<(), quell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) work: Work,
    front: Front,
    /// What is averaged before it is filtered.
    frames: Frames,
    /// Some of the picture, if not all.
    pub(super) part: Option<Part>,
    /// Where the picture is filtered at several sizes.
    pub(super) coarser: Option<Coarser>,
}

/// The plan for the picture of half the size, whole, and how far it is believed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coarser {
    plan: Box<Plan>,
    /// Of every channel; none, if it is believed whatever it says.
    limits: Vec<f32>,
}

/// What is done to the channels of frames.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Work {
    /// BM3D, on the 0..255 scale.
    Bm3d(bm3d::Plan),
    /// Context ridge, on the same scale.
    Ridge(Box<ridge::Plan>),
    /// NL-means, in the units of the samples, as the others.
    Nlm(nlm::Plan),
    /// An isoline filter.
    Isoline(Box<isoline::Plan>),
    /// A classic filter.
    Classic(classic::Plan),
    /// What an isoline filter knows about a picture, as one plane.
    Map(Box<isoline::Plan>, isoline::Map),
}

/// What goes into the work on a frame and comes out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// Columns of every plane.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Planes that go in.
    pub planes: usize,
    /// Planes beside them that patches are compared on.
    pub guides: usize,
    /// Planes that come out.
    pub results: usize,
    /// Frames before one that its result depends on.
    pub past: usize,
    /// Frames after it.
    pub future: usize,
}

/// What the plan of every method can tell.
pub(crate) trait Planned {
    /// Channels in and out, and frames around.
    fn window(&self) -> Window;

    /// Pixels around a pixel, in rows and columns, that its result depends on.
    fn halo(&self) -> usize;

    /// Rows and columns that a part of a picture is to begin at multiples of, so that all that lies on a grid is where it is
    /// in the whole.
    fn grid(&self) -> usize {
        1
    }

    /// What samples are multiplied by, where white is this.
    fn scale(&self, white: f32) -> f32 {
        let _ = white;
        1.0
    }

    /// Whether floats that are whole numbers had better be sent as bytes: devices have a quicker way for those.
    fn likes_bytes(&self) -> bool {
        false
    }

    /// The sample value of white, where the planes are the channels.
    fn white(&self) -> f32;

    /// The same for a picture of another size.
    fn set_size(&mut self, columns: usize, rows: usize);
}

impl Window {
    /// Of frames that do not depend on each other.
    pub(crate) fn single(width: usize, height: usize, channels: usize) -> Self {
        Self { width, height, planes: channels, guides: 0, results: channels, past: 0, future: 0 }
    }
}

impl Work {
    fn planned(&self) -> &dyn Planned {
        match self {
            Self::Bm3d(plan) => plan,
            Self::Ridge(plan) => &**plan,
            Self::Nlm(plan) => plan,
            Self::Classic(plan) => plan,
            Self::Isoline(plan) | Self::Map(plan, _) => &**plan,
        }
    }

    pub(super) fn planned_mut(&mut self) -> &mut dyn Planned {
        match self {
            Self::Bm3d(plan) => plan,
            Self::Ridge(plan) => &mut **plan,
            Self::Nlm(plan) => plan,
            Self::Classic(plan) => plan,
            Self::Isoline(plan) | Self::Map(plan, _) => &mut **plan,
        }
    }

    /// Channels in and out, and frames around.
    pub fn window(&self) -> Window {
        let window = self.planned().window();
        match self {
            // Of one picture, whatever the filter would look at.
            Self::Map(..) => Window { results: 1, past: 0, future: 0, ..window },
            _ => window,
        }
    }
}

impl Plan {
    /// Work on the channels that a front makes of samples.
    pub fn new(work: impl Into<Work>, front: Front) -> Self {
        Self { work: work.into(), front, frames: Frames::One, part: None, coarser: None }
    }

    /// Averages frames along motion before they are filtered, or knows that they are averages. For methods that take
    /// frames one by one and know of groups what noise they have: BM3D and context ridge.
    ///
    /// ```
    /// use quell::method::frames::{Frames, Window};
    /// use quell::{Plan, bm3d};
    /// let bm3d = bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), 640, 480, &[20.0])?;
    /// let plan = Plan::from(bm3d).over(Frames::Averaged(Window::new(2, 1, 20.0)))?;
    /// assert_eq!((plan.window().past, plan.window().future), (2, 1));
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn over(mut self, frames: Frames) -> Result<Self> {
        if frames != Frames::One && !matches!(self.work, Work::Bm3d(_) | Work::Ridge(_)) {
            return Err(Error::Unsupported("only BM3D and context ridge filter averages of frames".into()));
        }
        self.frames = frames;
        Ok(self)
    }

    /// What is averaged before it is filtered.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The plan for what the average makes of its frames.
    pub(crate) fn counted(&self) -> Self {
        Self { frames: Frames::Counted, ..self.clone() }
    }

    /// Filters at several sizes: `coarser` is for the picture of half the size (means of 2 x 2 pixels; an odd last row or
    /// column is left out), and may have a coarser one. The result is fine + 0.9 up(blur(coarse - down(fine))): noise that
    /// is too coarse for the fine plan is taken out by the coarse one.
    ///
    /// ```
    /// use quell::{Plan, bm3d};
    /// let plan = |width, height, sigma| -> quell::Result<Plan> {
    ///     Ok(bm3d::Plan::new(&bm3d::Profile::Fast.params(sigma), width, height, &[sigma])?.into())
    /// };
    /// // The mean of four pixels has half the noise.
    /// let two = plan(301, 200, 20.0)?.with_coarser(plan(150, 100, 10.0)?)?;
    /// assert_eq!(two.coarser().unwrap().window().width, 150);
    /// assert!(plan(301, 200, 20.0)?.with_coarser(plan(151, 100, 10.0)?).is_err());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn with_coarser(self, coarser: Self) -> Result<Self> {
        self.at_sizes(coarser, Vec::new())
    }

    /// The same where the coarser plan is believed less the more it wants to change: with e = coarse - down(fine) and the
    /// limit c of a channel, on the scale of the work, e / (1 + (e / c)^2) takes the place of e. That is never more than
    /// c / 2, and next to nothing where the two differ by much more than noise.
    ///
    /// ```
    /// use quell::{Plan, bm3d};
    /// let plan = |width, height, sigma| -> quell::Result<Plan> {
    ///     Ok(bm3d::Plan::new(&bm3d::Profile::Fast.params(sigma), width, height, &[sigma])?.into())
    /// };
    /// let two = plan(300, 200, 20.0)?.with_coarser_within(plan(150, 100, 10.0)?, &[6.0])?;
    /// assert_eq!(two.limits(), [6.0]);
    /// assert!(plan(300, 200, 20.0)?.with_coarser_within(plan(150, 100, 10.0)?, &[6.0, 6.0]).is_err());
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn with_coarser_within(self, coarser: Self, limits: &[f32]) -> Result<Self> {
        let channels = self.work.window().planes;
        if limits.len() != channels {
            return Err(Error::Shape(format!("{channels} channels have {} limits", limits.len())));
        }
        if let Some(limit) = limits.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
            return Err(Error::parameter("limit", *limit, "must be a positive number"));
        }
        self.at_sizes(coarser, limits.to_vec())
    }

    fn at_sizes(mut self, coarser: Self, limits: Vec<f32>) -> Result<Self> {
        let (fine, coarse) = (self.window(), coarser.window());
        if matches!(self.work, Work::Map(..)) || fine.guides + coarse.guides > 0 {
            return Err(Error::Unsupported("maps and guided filters have one size".into()));
        }
        let of = |plan: &Self| (plan.front.white, plan.front.color, plan.scale(), plan.work.window().planes);
        if self.part.is_some() || coarser.part.is_some() || of(&coarser) != of(&self) {
            return Err(Error::Shape("plans of several sizes are for one whole picture".into()));
        }
        let half = Window { width: fine.width / 2, height: fine.height / 2, ..fine };
        if coarse != half || half.width == 0 || half.height == 0 {
            let (w, h) = (fine.width, fine.height);
            return Err(Error::Shape(format!("a coarser plan is not for half of {w} x {h} pixels")));
        }
        let plan = Box::new(coarser.with_front(self.front.of_coarser()));
        self.coarser = Some(Coarser { plan, limits });
        Ok(self)
    }

    /// The plan for the picture of half the size, if there is one.
    pub fn coarser(&self) -> Option<&Self> {
        self.coarser.as_ref().map(|coarser| &*coarser.plan)
    }

    /// How far it is believed, by channel ([`with_coarser_within`](Self::with_coarser_within)); none, if without limits.
    pub fn limits(&self) -> &[f32] {
        self.coarser.as_ref().map_or(&[], |coarser| &coarser.limits)
    }

    /// What is done to the channels.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// How samples become channels.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// Planes in and out, and frames around.
    pub fn window(&self) -> Window {
        let mut window = self.work.window();
        match &self.frames {
            Frames::One => {}
            Frames::Averaged(frames) => (window.past, window.future) = (frames.past, frames.future),
            Frames::Counted => window.guides = 1,
        }
        let color = |channels| if self.front.color.is_some() { 3 } else { channels };
        match self.work {
            Work::Map(..) => Window { planes: color(window.planes), ..window },
            _ => Window { planes: color(window.planes), results: color(window.results), ..window },
        }
    }

    /// Pixels around a pixel, in rows and columns, that its result depends on.
    pub fn halo(&self) -> usize {
        let work = self.work.planned().halo();
        let sizes = self.coarser().map_or(work, |coarser| {
            // Rounded up to whole rows of half the size.
            let coarse = coarser.halo().saturating_add(COARSE_REACH + 1).saturating_mul(2);
            coarse.max(work.saturating_add(FINE_REACH))
        });
        let frames = self.frames.window().map_or(0, |window| window.averaging.halo());
        sizes.saturating_mul(self.rounds()).saturating_add(self.front.reach() + frames)
    }

    /// Rows and columns that a part is to begin at multiples of.
    pub(super) fn grid(&self) -> usize {
        let blocks = if self.frames.window().is_some() { Averaging::BLOCK } else { 1 };
        let own = lcm(self.work.planned().grid(), blocks);
        self.coarser().map_or(own, |coarser| lcm(own, 2 * coarser.grid()))
    }

    /// How often a frame goes through the work: several times, where there are very few photons. Frames that depend on
    /// others and maps go through once.
    pub(crate) fn rounds(&self) -> usize {
        let Window { past, future, .. } = self.window();
        match &self.front.curve {
            Some(curve) if past + future == 0 && !matches!(self.work, Work::Map(..)) => {
                1 + curve.further_rounds()
            }
            _ => 1,
        }
    }

    /// What samples are multiplied by before anything else.
    pub(crate) fn scale(&self) -> f32 {
        self.work.planned().scale(self.front.white)
    }

    /// Whether floats that are whole numbers had better be sent as bytes.
    pub(crate) fn likes_bytes(&self) -> bool {
        self.front.white == 255.0 && self.work.planned().likes_bytes()
    }

    /// The same for noise that depends on brightness: the work was planned for the stabilised scale, and samples have
    /// this white.
    #[must_use]
    pub(crate) fn stabilised(mut self, curve: Arc<Curve>, white: f32) -> Self {
        // What clipping does to such noise is not known.
        self.front = Front { white, unclip: None, curve: Some(curve), ..self.front };
        self
    }

    /// The same with another front, for every size.
    pub(crate) fn with_front(&self, front: Front) -> Self {
        let mut plan = self.clone();
        if let Some(coarser) = &mut plan.coarser {
            *coarser.plan = coarser.plan.with_front(front.of_coarser());
        }
        Self { front, ..plan }
    }
}

impl From<bm3d::Plan> for Work {
    fn from(plan: bm3d::Plan) -> Self {
        Self::Bm3d(plan)
    }
}

impl From<ridge::Plan> for Work {
    fn from(plan: ridge::Plan) -> Self {
        Self::Ridge(Box::new(plan))
    }
}

impl From<nlm::Plan> for Work {
    fn from(plan: nlm::Plan) -> Self {
        Self::Nlm(plan)
    }
}

impl From<classic::Plan> for Work {
    fn from(plan: classic::Plan) -> Self {
        Self::Classic(plan)
    }
}

impl From<isoline::Plan> for Work {
    fn from(plan: isoline::Plan) -> Self {
        Self::Isoline(Box::new(plan))
    }
}

/// The planes are the channels.
impl<W: Into<Work>> From<W> for Plan {
    fn from(work: W) -> Self {
        let work = work.into();
        let white = work.planned().white();
        Self::new(work, Front::channels(white))
    }
}

/// The least common multiple.
pub(crate) fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColorMode;

    #[test]
    fn colours_are_three_planes_whatever_the_channels() {
        let one = bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), 40, 900, &[20.0]).unwrap();
        let plan = Plan::from(one.clone());
        assert_eq!((plan.window().planes, plan.window().results, plan.scale()), (1, 1, 1.0));
        let front = Front { color: Some(ColorMode::Luma), ..Front::channels(1023.0) };
        let plan = Plan::new(one, front);
        assert_eq!((plan.window().planes, plan.window().results, plan.work().window().planes), (3, 3, 1));
        assert_eq!(plan.scale(), 255.0 / 1023.0);
        let parts = plan.parts(225);
        assert_eq!((parts.len(), plan.of(&parts[0]).window().height), (4, parts[0].read().len()));
    }

    fn fast(width: usize, height: usize) -> Plan {
        bm3d::Plan::new(&bm3d::Profile::Fast.params(20.0), width, height, &[20.0]).unwrap().into()
    }

    #[test]
    fn a_coarser_plan_has_half_the_size() {
        let e = fast(200, 100).with_coarser(fast(99, 50)).unwrap_err();
        assert_eq!(e.to_string(), "a coarser plan is not for half of 200 x 100 pixels");
        let params = nlm::Params { past: 1, ..nlm::Profile::Fast.params(20.0, 1) };
        let video = |w, h| Plan::from(nlm::Plan::new(&params, (w, h), 1, 0, 255.0, 20.0).unwrap());
        assert!(video(81, 40).with_coarser(video(40, 20)).is_ok());
        assert!(fast(80, 40).with_coarser(video(40, 20)).is_err(), "another window of frames");
        assert!(video(1, 2).with_coarser(video(1, 1)).is_err());
    }

    #[test]
    fn a_map_is_one_plane_of_one_frame() {
        let params = isoline::Params { past: 2, future: 1, ..isoline::Profile::Normal.params(20.0, 3) };
        let plan = isoline::Plan::new(&params, (40, 30), 255.0, &[20.0; 3]).unwrap();
        assert_eq!((Plan::from(plan.clone()).window().past, plan.grid() % 16), (2, 0));
        let map = Plan::from(Work::Map(Box::new(plan), isoline::Map::Directions)).window();
        assert_eq!((map.planes, map.results, map.past, map.future), (3, 1, 0, 0));
    }

    #[test]
    fn grids_of_both_passes_meet() {
        assert_eq!([lcm(3, 2), lcm(8, 6), lcm(4, 4), lcm(1, 7)], [6, 24, 4, 7]);
    }
}
