//! `auto`: the best device that works, and the next one when it fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::drivers::{CUDA, Driver, OPENCL, unusable};
use super::restart::Restarting;
use super::{Backend, Caps, DeviceInfo, DeviceOptions, Input, Sequence, Timing, cpu, gpu};
use crate::{Control, Error, Plan, Plane, PlaneView, Result, bm3d};

/// A device that may be started.
pub(super) struct Candidate(Box<dyn FnOnce() -> Result<Box<dyn Backend>> + Send>);

impl Candidate {
    pub(super) fn new(start: impl FnOnce() -> Result<Box<dyn Backend>> + Send + 'static) -> Self {
        Self(Box::new(start))
    }
}

type Start = Box<dyn Fn() -> Result<Box<dyn Backend>> + Send + Sync>;

/// Devices in order, each started when it is needed and left for good when it fails. The processor is the last, and
/// also takes the plans that a GPU does not offer.
pub(super) struct Failover(Arc<Devices>);

impl std::ops::Deref for Failover {
    type Target = Devices;
    fn deref(&self) -> &Devices {
        &self.0
    }
}

/// What pictures and videos in work share.
pub(super) struct Devices {
    state: Mutex<State>,
    processor: Mutex<Option<Arc<dyn Backend>>>,
    start_processor: Start,
    say: Box<dyn Fn(&str) + Send + Sync>,
}

struct State {
    /// Not tried yet. Looking at the next one may ask a driver for its devices.
    rest: Box<dyn Iterator<Item = Candidate> + Send>,
    /// The one in use and its number; none before the first picture, and none when all have failed.
    current: Option<(usize, Arc<dyn Backend>)>,
    started: usize,
    /// What went wrong and has not been said: it is said together with what comes next.
    troubles: Vec<String>,
}

impl Failover {
    /// CUDA, then GPUs with OpenCL, then the processor.
    pub(super) fn automatic(options: DeviceOptions) -> Self {
        let candidates = [CUDA, OPENCL].into_iter().flat_map(move |driver| of_driver(driver, options));
        let processor = move || -> Result<Box<dyn Backend>> { Ok(Box::new(cpu::Cpu::new(options)?)) };
        Self::new(candidates, processor, gpu::notice::notice)
    }

    /// These devices in order, then `processor`; `say` is told of every change.
    pub(super) fn new(
        candidates: impl Iterator<Item = Candidate> + Send + 'static,
        processor: impl Fn() -> Result<Box<dyn Backend>> + Send + Sync + 'static,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let state =
            State { rest: Box::new(candidates.fuse()), current: None, started: 0, troubles: Vec::new() };
        Self(Arc::new(Devices {
            state: Mutex::new(state),
            processor: Mutex::default(),
            start_processor: Box::new(processor),
            say: Box::new(say),
        }))
    }
}

impl Devices {
    /// The device in use, started if need be, and its number; no number for the processor.
    fn current(&self) -> Result<(Option<usize>, Arc<dyn Backend>)> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        while state.current.is_none() {
            let Some(candidate) = state.rest.next() else { break };
            match (candidate.0)() {
                Ok(backend) => {
                    state.started += 1;
                    state.current = Some((state.started, Arc::from(backend)));
                }
                // Left out when quell was built: nothing that could be mended here.
                Err(Error::Unsupported(_)) => {}
                Err(e) => state.troubles.push(e.to_string()),
            }
        }
        let (number, backend) = match &state.current {
            Some((number, backend)) => (Some(*number), backend.clone()),
            None => (None, self.processor()?),
        };
        for trouble in state.troubles.drain(..) {
            (self.say)(&format!("{trouble}; going on with {}", backend.info().name));
        }
        Ok((number, backend))
    }

    /// The processor, started if need be.
    fn processor(&self) -> Result<Arc<dyn Backend>> {
        let mut processor = lock(&self.processor);
        if let Some(started) = &*processor {
            return Ok(started.clone());
        }
        let started: Arc<dyn Backend> = Arc::from((self.start_processor)()?);
        *processor = Some(started.clone());
        Ok(started)
    }

    /// Leaves device `number`. With several pictures in work, several threads come here; the first one is heard.
    pub(super) fn leave(&self, number: usize, error: &Error) {
        let mut state = lock(&self.state);
        if state.current.as_ref().is_some_and(|(current, _)| *current == number) {
            state.current = None;
            state.troubles.push(error.to_string());
        }
    }

    /// Puts a plan to work on the device in use, or on the next one if that fails; on the processor, if it is not offered.
    /// Tells which device it is: no number for the processor.
    pub(super) fn start(&self, plan: &Plan) -> Result<(Option<usize>, Box<dyn Sequence>)> {
        loop {
            let (number, backend) = self.current()?;
            if number.is_some() && backend.caps(plan).refused.is_some() {
                return Ok((None, self.processor()?.open(plan)?));
            }
            match (backend.open(plan), number) {
                (Err(e), Some(number)) if e.is_of_device() => self.leave(number, &e),
                (sequence, number) => return Ok((number, sequence?)),
            }
        }
    }
}

/// The devices of a driver that `auto` may take, asked for when the iterator gets there.
fn of_driver(driver: Driver, options: DeviceOptions) -> impl Iterator<Item = Candidate> + Send {
    let listed = std::iter::once_with(move || driver.list().into_iter().enumerate()).flatten();
    listed.filter(|(_, d)| !d.is_processor).filter_map(move |(i, d)| match &d.problem {
        None => Some(Candidate::new(move || driver.start(i, options))),
        Some(problem) => problem.broken.then(|| Candidate::new(move || Err(unusable(&d)))),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Backend for Failover {
    /// The device in use; starts it if there was no work so far.
    fn info(&self) -> DeviceInfo {
        match self.current() {
            Ok((_, backend)) => backend.info(),
            Err(_) => DeviceInfo::new(super::Kind::Cpu, "cpu"),
        }
    }

    fn at_once(&self) -> usize {
        self.current().map_or(1, |(_, backend)| backend.at_once())
    }

    /// Those of the device in use, or of the processor, which takes what that does not offer.
    fn caps(&self, plan: &Plan) -> Caps {
        let caps = self.current().map(|(_, backend)| backend.caps(plan));
        match caps {
            Ok(caps) if caps.refused.is_none() => caps,
            _ => self.processor().map_or_else(|e| Caps::refusing(e.to_string()), |cpu| cpu.caps(plan)),
        }
    }

    /// Goes on with the next device, in the middle of a video, when one fails.
    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(Restarting::new(self.0.clone(), plan)?))
    }

    /// The processor takes what a GPU does not: other parameters, or pictures that it has no memory for.
    fn refine(
        &self,
        plan: &bm3d::Plan,
        noisy: &[PlaneView<'_>],
        basic: &[PlaneView<'_>],
        control: &Control,
    ) -> Result<Vec<Plane>> {
        let (number, backend) = self.current()?;
        match backend.refine(plan, noisy, basic, control) {
            Err(e) if number.is_some() && !matches!(e, Error::Cancelled) => {
                self.processor()?.refine(plan, noisy, basic, control)
            }
            done => done,
        }
    }

    fn time(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        self.current()?.1.time(plan, frames, repeat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::bm3d::{self, Profile};
    use crate::device::cpu::Cpu;
    use crate::device::test_devices::{Fake, info};
    use crate::device::{Kind, Problem, picture};
    use crate::method::Work;
    use crate::{Control, Plane, isoline};

    fn processor() -> Result<Box<dyn Backend>> {
        Ok(Box::new(Cpu::new(DeviceOptions { threads: 1, ..DeviceOptions::default() })?))
    }

    fn fake(name: &str) -> Fake {
        Fake::new(name, Cpu::new(DeviceOptions { threads: 1, ..DeviceOptions::default() }).unwrap())
    }

    fn failing(name: &str) -> Candidate {
        let device = name.to_owned();
        Candidate::new(move || Err(Error::Device { device, reason: "does not start".into() }))
    }

    fn working(fake: Fake) -> Candidate {
        Candidate::new(move || Ok(Box::new(fake)))
    }

    type Heard = Arc<Mutex<Vec<String>>>;

    fn failover(candidates: Vec<Candidate>) -> (Failover, Heard) {
        let heard = Heard::default();
        let into = heard.clone();
        let say = move |line: &str| into.lock().unwrap().push(line.to_owned());
        (Failover::new(candidates.into_iter(), processor, say), heard)
    }

    fn plan() -> (Plan, Plane) {
        let plane = Plane::from_vec(20, 16, (0..320).map(|i| (i * 37 % 200) as f32).collect()).unwrap();
        (bm3d::Plan::new(&Profile::Fast.params(25.0), 20, 16, &[25.0]).unwrap().into(), plane)
    }

    fn run(device: &Failover) -> Plane {
        let (plan, plane) = plan();
        picture(device, &plan, &[plane.view()], &[], &Control::new()).unwrap().remove(0)
    }

    #[test]
    fn a_device_that_does_not_start_is_said_once_and_the_next_is_taken() {
        let (device, heard) = failover(vec![failing("cuda:0"), working(fake("cuda:1"))]);
        assert!(heard.lock().unwrap().is_empty(), "nothing is started without work");
        let (plan, plane) = plan();
        let cpu = processor().unwrap();
        let want = picture(&*cpu, &plan, &[plane.view()], &[], &Control::new()).unwrap().remove(0);
        assert_eq!(run(&device), want);
        assert_eq!(device.info().name, "cuda:1");
        run(&device);
        assert_eq!(*heard.lock().unwrap(), ["cuda:0: does not start; going on with cuda:1"]);
    }

    #[test]
    fn a_device_that_is_lost_is_left_for_that_picture_and_the_rest() {
        let mut lost = fake("cuda:0");
        lost.lost_after = 1;
        let (device, heard) = failover(vec![working(lost), failing("cuda:1")]);
        let first = run(&device);
        assert!(heard.lock().unwrap().is_empty());
        assert_eq!([run(&device), run(&device)], [first.clone(), first]);
        assert_eq!(device.info().name, "cpu");
        let want =
            ["cuda:0: the device was lost; going on with cpu", "cuda:1: does not start; going on with cpu"];
        assert_eq!(*heard.lock().unwrap(), want);
    }

    #[test]
    fn several_threads_on_a_lost_device_say_one_line() {
        let mut lost = fake("cuda:0");
        lost.lost_after = 0;
        let (device, heard) = failover(vec![working(lost)]);
        std::thread::scope(|s| (0..8).for_each(|_| drop(s.spawn(|| run(&device)))));
        assert_eq!(*heard.lock().unwrap(), ["cuda:0: the device was lost; going on with cpu"]);
    }

    #[test]
    fn plans_that_a_gpu_does_not_offer_go_to_the_processor_in_silence() {
        let mut picky = fake("cuda:0");
        picky.refuses = true;
        let (device, heard) = failover(vec![working(picky)]);
        run(&device);
        assert_eq!(device.info().name, "cuda:0", "the GPU stays for the plans that it offers");
        assert!(heard.lock().unwrap().is_empty());
    }

    #[test]
    fn pass_2_alone_goes_to_the_processor_where_a_gpu_does_not_offer_it() {
        let (device, heard) = failover(vec![working(fake("cuda:0"))]);
        let (plan, plane) = plan();
        let Work::Bm3d(work) = plan.work() else { panic!("not BM3D") };
        let refine = |device: &dyn Backend| {
            let planes = [plane.view()];
            device.refine(work, &planes, &planes, &Control::new())
        };
        assert!(matches!(refine(&fake("cuda:1")), Err(Error::Unsupported(_))));
        assert_eq!(refine(&device).unwrap(), refine(&*processor().unwrap()).unwrap());
        assert_eq!((device.info().name.as_str(), heard.lock().unwrap().len()), ("cuda:0", 0));
    }

    #[test]
    fn maps_come_from_whoever_knows_them() {
        let (device, heard) = failover(vec![working(fake("cuda:0"))]);
        let (_, plane) = plan();
        let params = isoline::Profile::Normal.params(25.0, 1);
        let plan = isoline::Plan::new(&params, (20, 16), 255.0, &[25.0]).unwrap();
        for map in isoline::Map::ALL {
            let plan = Work::Map(Box::new(plan.clone()), map).into();
            let cpu = processor().unwrap();
            let want = picture(&*cpu, &plan, &[plane.view()], &[], &Control::new()).unwrap();
            assert_eq!(picture(&device, &plan, &[plane.view()], &[], &Control::new()).unwrap(), want);
        }
        assert_eq!((device.info().name.as_str(), heard.lock().unwrap().len()), ("cuda:0", 0));
    }

    #[test]
    fn errors_of_the_picture_are_not_the_device_s() {
        let (device, heard) = failover(vec![working(fake("cuda:0"))]);
        let (plan, plane) = plan();
        let cancel = crate::Cancel::new();
        cancel.cancel();
        let control = Control::new().with_cancel(cancel);
        let e = picture(&device, &plan, &[plane.view()], &[], &control).unwrap_err();
        assert!(matches!(e, Error::Cancelled));
        assert_eq!((device.info().name.as_str(), heard.lock().unwrap().len()), ("cuda:0", 0));
    }

    static LISTED: AtomicUsize = AtomicUsize::new(0);

    fn list() -> Vec<DeviceInfo> {
        LISTED.fetch_add(1, Ordering::SeqCst);
        let mut all = vec![info("x:0"), info("x:1"), info("x:2"), info("x:3")];
        all[0].is_processor = true;
        all[1].problem = Some(Problem::missing("too old", "none"));
        all[2].problem = Some(Problem::broken("the driver does not answer", "restart"));
        all
    }

    fn open(index: usize, _: DeviceOptions) -> Result<Box<dyn Backend>> {
        Ok(Box::new(fake(&format!("x:{index}"))))
    }

    #[test]
    fn auto_takes_gpus_that_work_and_speaks_of_broken_ones_only() {
        let driver = Driver { kind: Kind::Cuda, nothing: "", list, open };
        let heard = Heard::default();
        let into = heard.clone();
        let say = move |line: &str| into.lock().unwrap().push(line.to_owned());
        let device = Failover::new(of_driver(driver, DeviceOptions::default()), processor, say);
        assert_eq!(LISTED.load(Ordering::SeqCst), 0, "no driver is asked without need");
        assert_eq!(device.info().name, "x:3");
        run(&device);
        assert_eq!(LISTED.load(Ordering::SeqCst), 1);
        assert_eq!(*heard.lock().unwrap(), ["x:2: the driver does not answer; restart; going on with x:3"]);
    }
}
