//! Chroma that is filtered as luma decides.

use crate::device::{Backend, Input, SampleBuffer, SampleFormat, SamplesMut, Sequence};
use crate::{Control, Error, Plan, Result};

/// Luma at the resolution of chroma goes in before the planes of chroma, and stays behind when they come out.
pub(super) struct Behind {
    inner: Box<dyn Sequence>,
    /// Of the type of what comes out.
    luma: SampleBuffer,
    samples: usize,
}

impl Behind {
    /// The plan is for all three planes.
    pub(super) fn new(backend: &dyn Backend, plan: &Plan) -> Result<Self> {
        let (luma, samples) = (SampleBuffer::U8(Vec::new()), plan.window().width * plan.window().height);
        Ok(Self { inner: backend.open(plan)?, luma, samples })
    }

    fn with<T>(
        &mut self,
        to: &mut [SamplesMut<'_>],
        work: impl FnOnce(&mut dyn Sequence, &mut [SamplesMut<'_>]) -> T,
    ) -> T {
        let format = to.first().map_or(SampleFormat::F32, SamplesMut::format);
        if (self.luma.view().format(), self.luma.view().len()) != (format, self.samples) {
            self.luma = SampleBuffer::new(format, self.samples);
        }
        let luma = self.luma.view_mut();
        let mut all: Vec<SamplesMut<'_>> =
            std::iter::once(luma).chain(to.iter_mut().map(SamplesMut::lend)).collect();
        work(&mut *self.inner, &mut all)
    }
}

impl Sequence for Behind {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.inner.push(frame, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.with(to, |inner, to| inner.pull(to, control))
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        self.with(to, |inner, to| inner.frame(frame, to, control))
    }
}

/// Chroma along isolines, filtered as luma decides and on its own: luma and two chroma planes go in, and out come all
/// three, or chroma alone. A chroma plane is the mean of two filters:
/// luma has less noise and finer lines, but does not see every edge of chroma, and chroma on its own sees those.
pub(super) struct ChromaSequence {
    /// Luma decides.
    decided: Box<dyn Sequence>,
    /// Each chroma plane decides for itself.
    own: [Box<dyn Sequence>; 2],
    /// What came out of them.
    results: [Vec<f32>; 3],
    mean: Vec<f32>,
    white: f32,
}

impl ChromaSequence {
    /// The plans are that of luma with both chroma planes, and those of each.
    pub(super) fn new(backend: &dyn Backend, [decided, first, second]: &[Plan; 3]) -> Result<Self> {
        let samples = decided.window().width * decided.window().height;
        Ok(Self {
            results: [0; 3].map(|_| vec![0.0; samples]),
            mean: vec![0.0; samples],
            white: decided.front().white,
            decided: backend.open(decided)?,
            own: [backend.open(first)?, backend.open(second)?],
        })
    }
}

impl Sequence for ChromaSequence {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        self.decided.push(frame, control)?;
        for (own, plane) in self.own.iter_mut().zip(frame.planes.iter().skip(1)) {
            own.push(&Input { planes: std::slice::from_ref(plane), guide: &[] }, control)?;
        }
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let Some(first) = to.len().checked_sub(2) else {
            return Err(Error::Shape(format!("{} planes cannot take two of chroma", to.len())));
        };
        let Self { decided, own, results, mean, white } = self;
        let mut into = results.each_mut().map(|plane| SamplesMut::F32(plane));
        decided.pull(&mut into, control)?;
        let (luma, chroma) = to.split_at_mut(first);
        luma.iter_mut().for_each(|to| to.store(&results[0], 1.0, *white));
        for ((own, decided), to) in own.iter_mut().zip(&results[1..]).zip(chroma) {
            own.pull(&mut [SamplesMut::F32(mean)], control)?;
            mean.iter_mut().zip(decided).for_each(|(a, b)| *a = 0.5 * (*a + b));
            to.store(mean, 1.0, *white);
        }
        Ok(())
    }
}
