//! Methods that look at one frame only, as sequences. Several frames can be in work at once: a GPU filters one while
//! another is copied in and a third one out.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::device::{Input, SampleBuffer, Samples, SamplesMut, Sequence, nothing_left};
use crate::{Control, Error, Result};

type Filter = dyn Fn(&[Samples<'_>], &mut [SamplesMut<'_>], &Control) -> Result<()> + Send + Sync;

/// A filter of single frames.
pub(super) struct Single {
    filter: Arc<Filter>,
    /// Pushed and not yet pulled.
    waiting: VecDeque<Waiting>,
    workers: Option<Workers>,
    /// Memory for the next frames.
    spare: Vec<Planes>,
}

type Planes = Vec<SampleBuffer>;

enum Waiting {
    /// Filtered when it is pulled.
    Kept(Planes),
    /// In work, and where it comes out.
    Started(Receiver<Finished>),
}

/// One frame for a worker.
struct Task {
    frame: Planes,
    out: Planes,
    control: Control,
    done: SyncSender<Finished>,
}

struct Finished {
    frame: Planes,
    out: Planes,
    result: Result<()>,
}

impl Single {
    /// With so many frames in work at once; with one, it is filtered by the caller's thread when it is pulled.
    pub(super) fn new(
        filter: impl Fn(&[Samples<'_>], &mut [SamplesMut<'_>], &Control) -> Result<()> + Send + Sync + 'static,
        at_once: usize,
    ) -> Result<Self> {
        let filter: Arc<Filter> = Arc::new(filter);
        let workers = if at_once > 1 { Some(Workers::start(&filter, at_once)?) } else { None };
        Ok(Self { filter, waiting: VecDeque::new(), workers, spare: Vec::new() })
    }
}

impl Sequence for Single {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.resize_with(frame.planes.len(), || SampleBuffer::U8(Vec::new()));
        kept.iter_mut().zip(frame.planes).for_each(|(to, from)| from.clone_into(to));
        let Some(workers) = &self.workers else {
            self.waiting.push_back(Waiting::Kept(kept));
            return Ok(());
        };
        let mut out = self.spare.pop().unwrap_or_default();
        let fits = out.len() == kept.len()
            && out
                .iter()
                .zip(&kept)
                .all(|(a, b)| (a.view().format(), a.view().len()) == (b.view().format(), b.view().len()));
        if !fits {
            out = kept.iter().map(|p| SampleBuffer::new(p.view().format(), p.view().len())).collect();
        }
        let (done, wait) = mpsc::sync_channel(1);
        workers.give(Task { frame: kept, out, control: control.clone(), done })?;
        self.waiting.push_back(Waiting::Started(wait));
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        match self.waiting.pop_front().ok_or_else(nothing_left)? {
            Waiting::Kept(frame) => {
                let from: Vec<Samples<'_>> = frame.iter().map(SampleBuffer::view).collect();
                (self.filter)(&from, to, control)?;
                self.spare.push(frame);
            }
            Waiting::Started(wait) => {
                let Finished { frame, out, result } = wait.recv().map_err(|_| gone())?;
                result?;
                for (to, from) in to.iter_mut().zip(&out) {
                    if to.format() != from.view().format() || to.len() != from.view().len() {
                        return Err(Error::Shape("frames come out as they went in".into()));
                    }
                    to.copy(0, from.view());
                }
                self.spare.extend([frame, out]);
            }
        }
        Ok(())
    }
}

/// Threads that filter frames; each ends when there are no more.
struct Workers {
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(filter: &Arc<Filter>, count: usize) -> Result<Self> {
        let (tasks, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let mut workers = Self { tasks: Some(tasks), threads: Vec::new() };
        for _ in 0..count {
            let (filter, queue) = (filter.clone(), queue.clone());
            let thread = std::thread::Builder::new().name("frames".to_owned());
            let thread = thread.spawn(move || work(&*filter, &queue));
            workers.threads.push(thread.map_err(|_| gone())?);
        }
        Ok(workers)
    }

    fn give(&self, task: Task) -> Result<()> {
        self.tasks.as_ref().and_then(|tasks| tasks.send(task).ok()).ok_or_else(gone)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A panic has been told to whoever waited for the frame.
            let _ = thread.join();
        }
    }
}

fn work(filter: &Filter, queue: &Mutex<Receiver<Task>>) {
    loop {
        let task = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { frame, mut out, control, done }) = task else { return };
        let from: Vec<Samples<'_>> = frame.iter().map(SampleBuffer::view).collect();
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
        let result = filter(&from, &mut to, &control);
        drop((from, to));
        // Nobody waits after an error.
        let _ = done.send(Finished { frame, out, result });
    }
}

/// What is said when a worker has panicked, or could not be started.
fn gone() -> Error {
    Error::Device { device: "host".into(), reason: "a thread that filters frames is gone".into() }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn frame(value: u8) -> Vec<u8> {
        vec![value; 12]
    }

    fn push(single: &mut Single, value: u8) {
        single.push(&Input { planes: &[Samples::U8(&frame(value))], guide: &[] }, &Control::new()).unwrap();
    }

    fn pull(single: &mut Single) -> Result<Vec<u8>> {
        let mut to = frame(0);
        single.pull(&mut [SamplesMut::U8(&mut to)], &Control::new())?;
        Ok(to)
    }

    fn negate(from: &[Samples<'_>], to: &mut [SamplesMut<'_>]) -> Result<()> {
        let values: Vec<f32> = from[0].to_floats(1.0).iter().map(|v| 255.0 - v).collect();
        to[0].store(&values, 1.0, 255.0);
        Ok(())
    }

    #[test]
    fn frames_come_out_in_order_however_many_are_in_work() {
        for at_once in 1..4 {
            let mut single = Single::new(|from, to, _| negate(from, to), at_once).unwrap();
            for i in 0..20 {
                push(&mut single, i);
                if i >= 3 {
                    assert_eq!(pull(&mut single).unwrap(), frame(255 - (i - 3)));
                }
            }
            for i in 17..20 {
                assert_eq!(pull(&mut single).unwrap(), frame(255 - i));
            }
            assert!(pull(&mut single).is_err());
        }
    }

    #[test]
    fn several_frames_are_in_work_at_once() {
        // Would wait for ever if there were one at a time.
        let meeting = Barrier::new(3);
        let filter = move |from: &[Samples<'_>], to: &mut [SamplesMut<'_>], _: &Control| {
            meeting.wait();
            negate(from, to)
        };
        let mut single = Single::new(filter, 3).unwrap();
        (0..3).for_each(|i| push(&mut single, i));
        (0..3).for_each(|i| assert_eq!(pull(&mut single).unwrap(), frame(255 - i)));
    }

    #[test]
    fn errors_and_panics_of_a_frame_come_out_with_it() {
        let filter = |from: &[Samples<'_>], to: &mut [SamplesMut<'_>], _: &Control| match from[0].get(0) as u8
        {
            1 => Err(Error::Cancelled),
            2 => panic!("deep inside"),
            _ => negate(from, to),
        };
        let mut single = Single::new(filter, 2).unwrap();
        (0..4).for_each(|i| push(&mut single, i));
        assert_eq!(pull(&mut single).unwrap(), frame(255));
        assert!(matches!(pull(&mut single), Err(Error::Cancelled)));
        assert!(matches!(pull(&mut single), Err(Error::Device { .. })));
        assert_eq!(pull(&mut single).unwrap(), frame(252));
    }
}
