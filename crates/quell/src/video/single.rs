//! Methods that look at one frame only. Several frames can be in work at once: a GPU filters one while another is copied
//! in and a third one out. Frames are handed over, not copied.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::device::{SampleBuffer, Samples, SamplesMut, nothing_left};
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

    /// Takes the planes of the next frame away, and leaves others of any content.
    pub(super) fn push(&mut self, planes: &mut [SampleBuffer], control: &Control) -> Result<()> {
        let mut frame = self.room(planes);
        frame.iter_mut().zip(planes).for_each(|(frame, plane)| std::mem::swap(frame, plane));
        let Some(workers) = &self.workers else {
            self.waiting.push_back(Waiting::Kept(frame));
            return Ok(());
        };
        let (done, wait) = mpsc::sync_channel(1);
        let out = room(&mut self.spare, &frame);
        workers.give(Task { frame, out, control: control.clone(), done })?;
        self.waiting.push_back(Waiting::Started(wait));
        Ok(())
    }

    /// Puts the oldest frame, filtered, in the place of these planes.
    pub(super) fn pull(&mut self, planes: &mut [SampleBuffer], control: &Control) -> Result<()> {
        let (frame, mut out) = match self.waiting.pop_front().ok_or_else(nothing_left)? {
            Waiting::Kept(frame) => {
                let mut out = self.room(&frame);
                let from: Vec<Samples<'_>> = frame.iter().map(SampleBuffer::view).collect();
                let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
                (self.filter)(&from, &mut to, control)?;
                drop((from, to));
                (frame, out)
            }
            Waiting::Started(wait) => {
                let Finished { frame, out, result } = wait.recv().map_err(|_| gone())?;
                result?;
                (frame, out)
            }
        };
        if planes.len() != out.len() {
            return Err(Error::Shape(format!("{} planes cannot take {}", planes.len(), out.len())));
        }
        out.iter_mut().zip(planes).for_each(|(out, plane)| std::mem::swap(out, plane));
        self.spare.extend([frame, out]);
        // What callers leave here may be more than what is needed.
        self.spare.truncate(2 * self.waiting.len() + 4);
        Ok(())
    }

    /// Planes like these.
    fn room(&mut self, like: &[SampleBuffer]) -> Planes {
        room(&mut self.spare, like)
    }
}

/// Planes like these, from memory that is there if it fits.
fn room(spare: &mut Vec<Planes>, like: &[SampleBuffer]) -> Planes {
    let shape = |p: &SampleBuffer| (p.view().format(), p.view().len());
    let mut room = spare.pop().unwrap_or_default();
    if room.len() != like.len() || room.iter().zip(like).any(|(a, b)| shape(a) != shape(b)) {
        room = like.iter().map(|p| SampleBuffer::new(p.view().format(), p.view().len())).collect();
    }
    room
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
        single.push(&mut [SampleBuffer::U8(frame(value))], &Control::new()).unwrap();
    }

    fn pull(single: &mut Single) -> Result<Vec<u8>> {
        let mut to = [SampleBuffer::U8(Vec::new())];
        single.pull(&mut to, &Control::new())?;
        let [SampleBuffer::U8(to)] = to else { panic!("another type") };
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
