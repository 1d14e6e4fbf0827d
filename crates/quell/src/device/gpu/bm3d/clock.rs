//! Times of the stages on the device.

use crate::device::gpu::{GpuResult, Runtime};

/// Marks in a queue; does nothing unless it was started.
pub(crate) struct Clock<R: Runtime> {
    marks: Option<Vec<(&'static str, R::Event)>>,
}

impl<R: Runtime> Clock<R> {
    /// Measures nothing.
    pub(crate) fn off() -> Self {
        Self { marks: None }
    }

    /// Starts now.
    pub(crate) fn start(runtime: &R, queue: &R::Queue) -> GpuResult<Self> {
        Ok(Self { marks: Some(vec![("", runtime.mark(queue)?)]) })
    }

    /// What was put into the queue since the last call belongs to `stage`.
    pub(crate) fn lap(&mut self, runtime: &R, queue: &R::Queue, stage: &'static str) -> GpuResult<()> {
        if let Some(marks) = &mut self.marks {
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
