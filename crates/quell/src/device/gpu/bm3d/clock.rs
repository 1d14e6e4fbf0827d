//! Times of the stages on the device.

use crate::device::gpu::{GpuResult, Runtime};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Every stage. A mark between two kernels costs a little itself.
    Stages,
    /// All kernels between upload and download as one.
    Whole,
}

/// Marks in a queue; does nothing unless it was started.
pub(crate) struct Clock<R: Runtime> {
    marks: Option<Vec<(&'static str, R::Event)>>,
    grain: Grain,
}

/// Before the first kernel.
pub(crate) const UPLOAD: &str = "upload";
/// All kernels.
pub(crate) const KERNELS: &str = "kernels";
/// After the last one.
pub(crate) const DOWNLOAD: &str = "download";

impl<R: Runtime> Clock<R> {
    /// Measures nothing.
    pub(crate) fn off() -> Self {
        Self { marks: None, grain: Grain::Whole }
    }

    /// Starts now.
    pub(crate) fn start(runtime: &R, queue: &R::Queue, grain: Grain) -> GpuResult<Self> {
        Ok(Self { marks: Some(vec![("", runtime.mark(queue)?)]), grain })
    }

    /// What was put into the queue since the last call belongs to `stage`.
    pub(crate) fn lap(&mut self, runtime: &R, queue: &R::Queue, stage: &'static str) -> GpuResult<()> {
        let wanted = match self.grain {
            Grain::Stages => stage != KERNELS,
            Grain::Whole => [UPLOAD, KERNELS, DOWNLOAD].contains(&stage),
        };
        if let Some(marks) = self.marks.as_mut().filter(|_| wanted) {
            marks.push((stage, runtime.mark(queue)?));
        }
        Ok(())
    }

    /// Milliseconds of each stage in order, the same name added up; the queue must have been finished.
    pub(crate) fn read(&self, runtime: &R) -> GpuResult<Vec<(&'static str, f32)>> {
        let mut stages: Vec<(&'static str, f32)> = Vec::new();
        for pair in self.marks.as_deref().unwrap_or_default().windows(2) {
            let ((_, from), (name, to)) = (&pair[0], &pair[1]);
            let time = runtime.elapsed(from, to)?;
            match stages.iter_mut().find(|(n, _)| n == name) {
                Some((_, sum)) => *sum += time,
                None => stages.push((name, time)),
            }
        }
        Ok(stages)
    }
}
