//! Pictures that are larger than memory, or not wanted as a whole: resolved from some of their rows, and filtered part by part.

use super::{Denoiser, Resolved};
use crate::device::{Input, Samples, SamplesMut};
use crate::method::{Part, Subject};
use crate::{Control, Error, FrameView, PlaneView, Result};

impl Denoiser {
    /// Resolves noise, parameters and plan for a picture of `height` rows of which only some are at hand. `None`: they
    /// have no noise.
    ///
    /// ```
    /// use quell::device::{Samples, SamplesMut};
    /// use quell::{Control, Denoiser, Frame, Plane, bm3d::Profile};
    ///
    /// let denoiser = Denoiser::bm3d(Profile::Fast).sigma(10.0).build()?;
    /// let some = Frame::grey(Plane::from_vec(40, 32, vec![100.0; 40 * 32])?, 255.0)?;
    /// let resolved = denoiser.resolve_rows(900, &some, None)?.unwrap();
    /// for part in resolved.plan.parts(300) {
    ///     let from = vec![100u8; 40 * part.read().len()]; // these rows of the file
    ///     let mut to = vec![0u8; from.len()];
    ///     let (from, to) = ([Samples::U8(&from)], &mut [SamplesMut::U8(&mut to)]);
    ///     denoiser.run_part(&resolved, &part, &from, to, &Control::new())?;
    ///     // Rows `part.kept()` of `to` are rows `part.write()` of the result.
    /// }
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn resolve_rows<'a>(
        &self,
        height: usize,
        some: impl Into<FrameView<'a>>,
        alpha: Option<&PlaneView<'_>>,
    ) -> Result<Option<Resolved>> {
        let some = some.into();
        if !self.correlation(some.channels(), some.white())?.is_none() {
            return Err(Error::Unsupported(
                "correlated noise is known for whole pictures, not for parts of them".into(),
            ));
        }
        let Some(noise) = self.noise(&some, alpha)? else { return Ok(None) };
        let subject = Subject { height, ..self.subject_with(&some, &noise) };
        Ok(Some(self.plan(noise, subject)?))
    }

    /// Filters a part of the picture that `resolved` was made for: `from` are the rows [`Part::read`] and columns
    /// [`Part::read_columns`], and of `to`, which has as many, those in [`Part::kept`] and [`Part::kept_columns`] are filtered.
    /// On the processor the parts put together are the picture filtered at once, bit by bit for BM3D. A part comes from
    /// [`Plan::parts`](crate::Plan::parts) or from [`Plan::region`](crate::Plan::region).
    pub fn run_part(
        &self,
        resolved: &Resolved,
        part: &Part,
        from: &[Samples<'_>],
        to: &mut [SamplesMut<'_>],
        control: &Control,
    ) -> Result<()> {
        let frame = Input { planes: from, guide: &[] };
        self.backend.open(&resolved.plan.of(part))?.frame(&frame, to, control)
    }
}
