//! Times of the stages on the device.

use std::time::{Duration, Instant};

use super::{GpuResult, Runtime};
use crate::device::Timing;

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

/// Times of the stages of one picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// All kernels from the first to the last, without the copies, in milliseconds, per repetition.
    pub(crate) total: Vec<f32>,
    /// Median milliseconds of each stage in the order of the work.
    pub(crate) stages: Vec<(&'static str, f32)>,
    /// Device memory in use.
    pub(crate) device_bytes: usize,
}

impl From<Times> for Timing {
    fn from(times: Times) -> Self {
        Self {
            total_ms: times.total,
            stages: times.stages.into_iter().map(|(name, t)| (name.to_owned(), t)).collect(),
            device_bytes: times.device_bytes as u64,
        }
    }
}

/// How long a GPU is warmed up, and how often at least and at most.
const WARM_UP: Duration = Duration::from_millis(200);
const WARM_UPS: (usize, usize) = (2, 2000);

/// Does `once` again and again; it returns what [`Clock::read`] does.
pub(crate) fn measure<E>(
    repeat: usize,
    mut once: impl FnMut(Grain) -> Result<Vec<(&'static str, f32)>, E>,
) -> Result<Times, E> {
    let mut times = Times::default();
    // The first ones warm up: caches, lazy loading, and the clock of a GPU that was idle.
    let started = Instant::now();
    for i in 0..WARM_UPS.1 {
        if i >= WARM_UPS.0 && started.elapsed() >= WARM_UP {
            break;
        }
        once(Grain::Whole)?;
    }
    for _ in 0..repeat {
        let whole = once(Grain::Whole)?;
        times.total.extend(whole.iter().find(|(n, _)| *n == KERNELS).map(|(_, t)| *t));
    }
    let all = (0..repeat).map(|_| once(Grain::Stages)).collect::<Result<Vec<_>, E>>()?;
    for (i, &(name, _)) in all.first().into_iter().flatten().enumerate() {
        let mut values: Vec<f32> = all.iter().map(|stages| stages[i].1).collect();
        values.sort_by(f32::total_cmp);
        times.stages.push((name, values[values.len() / 2]));
    }
    Ok(times)
}
