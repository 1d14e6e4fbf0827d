//! `cuda:all`: several devices of a kind share the frames of a batch or a video, and the rows of a large picture.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{
    Backend, Caps, DeviceInfo, Input, Probe, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence,
    Timing, nothing_left,
};
use crate::method::Part;
use crate::{Control, Error, Plan, Result};

/// A picture is cut only where each device gets at least this many times the halo in rows of its own: the halo is
/// computed twice.
const WORTH_CUTTING: usize = 4;

/// Devices that work together. A picture goes to whichever is free, a large one to all that are.
pub(super) struct Spread(Arc<Devices>);

struct Devices {
    list: Vec<Box<dyn Backend>>,
    /// Pictures in work on each device.
    load: Mutex<Vec<usize>>,
    less: Condvar,
}

impl Spread {
    /// One device needs no help; none is none.
    pub(super) fn of(mut devices: Vec<Box<dyn Backend>>) -> Option<Box<dyn Backend>> {
        if devices.len() < 2 {
            return devices.pop();
        }
        Some(Box::new(Self::new(devices)))
    }

    fn new(list: Vec<Box<dyn Backend>>) -> Self {
        Self(Arc::new(Devices { load: Mutex::new(vec![0; list.len()]), list, less: Condvar::new() }))
    }
}

impl Devices {
    /// Takes all idle devices up to `most`; if none is idle, the one with the least to do.
    fn claim(&self, most: usize) -> Claim<'_> {
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut taken: Vec<usize> = (0..load.len()).filter(|&i| load[i] == 0).take(most).collect();
            if taken.is_empty() {
                let room = (0..load.len()).filter(|&i| load[i] < self.list[i].at_once());
                taken.extend(room.min_by_key(|&i| load[i]));
            }
            if !taken.is_empty() {
                taken.iter().for_each(|&i| load[i] += 1);
                return Claim { devices: self, taken };
            }
            load = self.less.wait(load).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Devices that a picture is on; given back when dropped.
struct Claim<'a> {
    devices: &'a Devices,
    taken: Vec<usize>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut load = self.devices.load.lock().unwrap_or_else(PoisonError::into_inner);
        self.taken.iter().for_each(|&i| load[i] -= 1);
        self.devices.less.notify_all();
    }
}

impl Backend for Spread {
    /// The first device, under the name of all, with the units and memory of all.
    fn info(&self) -> DeviceInfo {
        let all: Vec<DeviceInfo> = self.0.list.iter().map(|d| d.info()).collect();
        let first = &all[0];
        DeviceInfo {
            name: format!("{}:all", first.kind),
            description: format!("{} x {}", all.len(), first.description),
            units: all.iter().map(|d| d.units).sum(),
            memory_bytes: all.iter().map(|d| d.memory_bytes).sum(),
            ..first.clone()
        }
    }

    fn at_once(&self) -> usize {
        self.0.list.iter().map(|d| d.at_once()).sum()
    }

    /// What all of them can do.
    fn caps(&self, plan: &Plan) -> Caps {
        let all: Vec<Caps> = self.0.list.iter().map(|d| d.caps(plan)).collect();
        Caps {
            refused: all.iter().find_map(|caps| caps.refused.clone()),
            full_precision: all.iter().all(|caps| caps.full_precision),
            device_memory: false,
        }
    }

    fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
        self.caps(plan).check()?;
        let window = plan.window();
        if window.past + window.future == 0 {
            return Ok(Box::new(Dealt::new(self.0.clone(), plan)));
        }
        // Frames that depend on each other have to meet: every device gets some rows of all of them.
        let count = parts(plan).min(self.0.list.len());
        Ok(Box::new(Bands::open(plan, self.0.list.iter().take(count).map(|d| &**d))?))
    }

    fn time(&self, plan: &Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        self.0.list[0].time(plan, frames, repeat)
    }

    fn probe(&self) -> Option<&dyn Probe> {
        self.0.list[0].probe()
    }
}

/// Frames that do not depend on each other, dealt to the devices in turn.
struct Dealt {
    devices: Arc<Devices>,
    plan: Plan,
    /// On each device, when it has had a frame.
    sequences: Vec<Option<Box<dyn Sequence>>>,
    /// Where the frames are that have not come out.
    waiting: VecDeque<usize>,
    next: usize,
}

impl Dealt {
    fn new(devices: Arc<Devices>, plan: &Plan) -> Self {
        let sequences = devices.list.iter().map(|_| None).collect();
        Self { devices, plan: plan.clone(), sequences, waiting: VecDeque::new(), next: 0 }
    }
}

impl Sequence for Dealt {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let at = self.next;
        let sequence = match &mut self.sequences[at] {
            Some(sequence) => sequence,
            none => none.insert(self.devices.list[at].open(&self.plan)?),
        };
        sequence.push(frame, control)?;
        self.waiting.push_back(at);
        self.next = (at + 1) % self.sequences.len();
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let at = self.waiting.pop_front().ok_or_else(nothing_left)?;
        match &mut self.sequences[at] {
            Some(sequence) => sequence.pull(to, control),
            None => Err(nothing_left()),
        }
    }

    /// A picture: in bands, if it is large.
    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let claim = self.devices.claim(parts(&self.plan));
        let devices = claim.taken.iter().map(|&i| &*self.devices.list[i]);
        Bands::open(&self.plan, devices)?.frame(frame, to, control)
    }
}

/// Devices that are worth cutting a picture for.
fn parts(plan: &Plan) -> usize {
    (plan.window().height / (WORTH_CUTTING * plan.halo()).max(1)).max(1)
}

/// The rows of every frame shared between devices.
struct Bands {
    parts: Vec<(Part, Box<dyn Sequence>)>,
    plan: Plan,
}

impl Bands {
    fn open<'a>(plan: &Plan, devices: impl ExactSizeIterator<Item = &'a dyn Backend>) -> Result<Self> {
        let parts = plan.cut(devices.len(), plan.halo()).into_iter();
        let open = |(part, device): (Part, &dyn Backend)| {
            let sequence = device.open(&plan.of(&part))?;
            Ok((part, sequence))
        };
        let parts = parts.zip(devices).map(open).collect::<Result<_>>()?;
        Ok(Self { parts, plan: plan.clone() })
    }

    /// Does `work` for every band, each on a device of its own.
    fn each<T: Send>(
        &mut self,
        control: &Control,
        work: impl Fn(&Part, &mut dyn Sequence, &Control) -> Result<T> + Sync,
    ) -> Result<Vec<(Part, T)>> {
        let controls = control.parallel(self.parts.len());
        std::thread::scope(|scope| {
            let work = &work;
            let running: Vec<_> = std::iter::zip(&mut self.parts, controls)
                .map(|((band, part), control)| {
                    scope.spawn(move || Ok((band.clone(), work(band, &mut **part, &control)?)))
                })
                .collect();
            // All are waited for, whatever becomes of one.
            let done: Vec<Result<_>> =
                running.into_iter().map(|r| r.join().unwrap_or_else(|_| Err(crashed()))).collect();
            done.into_iter().collect()
        })
    }

    /// Has every band filtered by `work` into samples of its own, and puts them together.
    fn filter(
        &mut self,
        to: &mut [SamplesMut<'_>],
        control: &Control,
        work: impl Fn(&Part, &mut dyn Sequence, &mut [SamplesMut<'_>], &Control) -> Result<()> + Sync,
    ) -> Result<()> {
        self.plan.window().check_output(to)?;
        let formats: Vec<SampleFormat> = to.iter().map(SamplesMut::format).collect();
        let width = self.plan.window().width;
        let parts = self.each(control, |band, part, control| {
            let mut out: Vec<SampleBuffer> =
                formats.iter().map(|&f| SampleBuffer::new(f, band.read().len() * width)).collect();
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
            work(band, part, &mut to, control)?;
            Ok(out)
        })?;
        for (band, buffers) in &parts {
            for (to, part) in to.iter_mut().zip(buffers) {
                let kept = band.kept();
                to.copy(band.write().start * width, part.view().part(kept.start * width..kept.end * width));
            }
        }
        Ok(())
    }
}

impl Sequence for Bands {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> Result<()> {
        let window = self.plan.window();
        window.check_input(frame)?;
        if let [(_, whole)] = self.parts.as_mut_slice() {
            return whole.push(frame, control);
        }
        self.each(control, |band, part, control| {
            rows_of(band, frame, window.width, |rows| part.push(rows, control))
        })?;
        Ok(())
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        if let [(_, whole)] = self.parts.as_mut_slice() {
            return whole.pull(to, control);
        }
        self.filter(to, control, |_, part, to, control| part.pull(to, control))
    }

    fn frame(&mut self, frame: &Input<'_>, to: &mut [SamplesMut<'_>], control: &Control) -> Result<()> {
        let window = self.plan.window();
        window.check_input(frame)?;
        if let [(_, whole)] = self.parts.as_mut_slice() {
            return whole.frame(frame, to, control);
        }
        self.filter(to, control, |band, part, to, control| {
            rows_of(band, frame, window.width, |rows| part.frame(rows, to, control))
        })
    }
}

fn crashed() -> Error {
    Error::Device { device: "all".into(), reason: "a worker thread ended unexpectedly".into() }
}

/// Does something with the rows of a frame that a part of it reads.
fn rows_of<T>(band: &Part, frame: &Input<'_>, width: usize, work: impl FnOnce(&Input<'_>) -> T) -> T {
    let rows = band.read();
    let rows = rows.start * width..rows.end * width;
    let [planes, guide] = [frame.planes, frame.guide]
        .map(|all| all.iter().map(|s| s.part(rows.clone())).collect::<Vec<Samples<'_>>>());
    work(&Input { planes: &planes, guide: &guide })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bm3d::{self, Profile};
    use crate::device::cpu::Cpu;
    use crate::device::singly::Singly;
    use crate::device::test_devices::Fake;
    use crate::device::{DeviceOptions, Kind, picture as filter};
    use crate::method::Front;
    use crate::metrics::largest;
    use crate::{Plane, isoline, nlm};

    /// Additions in another order: far below anything that a wrong row would do.
    const ROUNDING: f32 = 0.01;

    fn fakes(n: usize) -> Vec<Box<dyn Backend>> {
        let cpu = || Cpu::new(DeviceOptions { threads: 1, ..DeviceOptions::default() }).unwrap();
        (0..n).map(|i| Box::new(Fake::new(&format!("cuda:{i}"), cpu())) as Box<dyn Backend>).collect()
    }

    fn picture(w: usize, h: usize) -> Vec<f32> {
        let mut state = 1u32;
        let mut noise = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0
        };
        let value = |i: usize| 90.0 + 50.0 * ((i % w) as f32 * 0.2).sin() * ((i / w) as f32 * 0.15).cos();
        (0..w * h).map(|i| (value(i) + 60.0 * (noise() - 0.5)).round()).collect()
    }

    /// Small windows, so that the halo is small and a small picture is cut.
    fn plan(w: usize, h: usize, steps: [usize; 2], channels: usize) -> Plan {
        let mut params = Profile::Original.params(20.0);
        (params.hard.window, params.wiener.window) = (9, 7);
        (params.hard.step, params.wiener.step) = (steps[0], steps[1]);
        bm3d::Plan::new(&params, w, h, &vec![20.0; channels]).unwrap().into()
    }

    #[test]
    fn bands_cover_the_picture_and_begin_on_the_grid() {
        for (height, steps, count) in [(501, [3, 2], 3), (64, [8, 6], 2), (97, [5, 7], 1), (400, [3, 3], 5)] {
            let plan = plan(40, height, steps, 1);
            let bands = plan.cut(count, plan.halo());
            assert_eq!(bands.len(), count);
            let mut row = 0;
            for band in &bands {
                assert_eq!(band.write().start, row);
                row = band.write().end;
                assert!(steps.iter().all(|s| band.read().start % s == 0), "{band:?} with steps {steps:?}");
                assert!(band.read().start == 0 || band.read().start + plan.halo() <= band.write().start);
                assert!(band.read().end == height || band.read().end >= band.write().end + plan.halo());
            }
            assert_eq!(row, height);
        }
    }

    #[test]
    fn a_cut_picture_is_that_of_one_device() {
        for (steps, w, h) in [([3, 2], 37, 610), ([5, 3], 30, 611), ([8, 7], 25, 700)] {
            let plan = plan(w, h, steps, 2);
            let data = picture(w, h);
            let planes = [data.clone(), data.iter().map(|v| 255.0 - v).collect()];
            let planes = planes.map(|d| Plane::from_vec(w, h, d).unwrap());
            let views = planes.each_ref().map(Plane::view);
            let want = filter(&*fakes(1)[0], &plan, &views, &[], &Control::new()).unwrap();
            for n in 2..=3 {
                assert!(parts(&plan) >= n, "the picture is large enough for {n} devices");
                let got = filter(&Spread::new(fakes(n)), &plan, &views, &[], &Control::new()).unwrap();
                for (got, want) in got.iter().zip(&want) {
                    let off = got.as_slice().iter().zip(want.as_slice()).map(|(a, b)| (a - b).abs());
                    let off = largest(off);
                    assert!(off < ROUNDING, "{n} devices, steps {steps:?}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn a_cut_picture_of_two_sizes_is_that_of_one_device() {
        let (w, h) = (34, 801);
        let plan = plan(w, h, [3, 2], 1).with_coarser(plan(w / 2, h / 2, [3, 2], 1)).unwrap();
        assert!(parts(&plan) >= 2, "the picture is large enough for two devices");
        let plane = Plane::from_vec(w, h, picture(w, h)).unwrap();
        let run = |device: &dyn Backend| {
            filter(device, &plan, &[plane.view()], &[], &Control::new()).unwrap().remove(0).into_vec()
        };
        let (want, got) = (run(&*fakes(1)[0]), run(&Spread::new(fakes(2))));
        let off = largest(got.iter().zip(&want).map(|(a, b)| (a - b).abs()));
        assert!(off < ROUNDING, "off by {off}");
    }

    #[test]
    fn cut_samples_are_those_of_one_device() {
        let (w, h) = (29, 640);
        let plan = plan(w, h, [3, 3], 1).with_front(Front::channels(255.0));
        let bytes: Vec<u8> = picture(w, h).iter().map(|&v| v as u8).collect();
        let run = |device: &dyn Backend| {
            let (mut out8, mut out16, mut outf) = (vec![0u8; w * h], vec![0u16; w * h], vec![0f32; w * h]);
            for to in [SamplesMut::U8(&mut out8), SamplesMut::U16(&mut out16), SamplesMut::F32(&mut outf)] {
                let input = Input { planes: &[Samples::U8(&bytes)], guide: &[] };
                device.open(&plan).unwrap().frame(&input, &mut [to], &Control::new()).unwrap();
            }
            (out8, out16, outf)
        };
        let (want, got) = (run(&*fakes(1)[0]), run(&Spread::new(fakes(3))));
        assert!(want.0.iter().zip(&got.0).all(|(a, b)| a.abs_diff(*b) <= 1));
        assert!(want.1.iter().zip(&got.1).all(|(a, b)| a.abs_diff(*b) <= 1));
        assert!(want.2.iter().zip(&got.2).all(|(a, b)| (a - b).abs() < ROUNDING));
        assert!(want.0.iter().zip(&got.0).filter(|(a, b)| a != b).count() < 5);
    }

    /// Videos of every method on one device and on three.
    #[test]
    fn videos_are_shared_whatever_the_method() {
        let (w, h) = (24, 600);
        let params = nlm::Profile::Fast.params(20.0, 1);
        let params = nlm::Params { past: 1, future: 1, search: 5, ..params };
        let looking = nlm::Plan::new(&params, (w, h), 1, 0, 255.0, 20.0).unwrap().into();
        let params = isoline::Params { past: 1, motion: 8, ..isoline::Profile::Fast.params(20.0, 1) };
        let averaging = isoline::Plan::new(&params, (w, h), 255.0, &[20.0]).unwrap().into();
        for plan in [looking, averaging, plan(w, h, [3, 2], 1)] {
            let run = |device: &dyn Backend| {
                let control = Control::new();
                let (mut sequence, late) = (device.open(&plan).unwrap(), 2);
                let mut out = vec![vec![0f32; w * h]; 5];
                for t in 0..5 + late {
                    if t < 5 {
                        let moved: Vec<f32> = picture(w, h).iter().map(|v| v + t as f32).collect();
                        let input = Input { planes: &[Samples::F32(&moved)], guide: &[] };
                        sequence.push(&input, &control).unwrap();
                    }
                    if t >= late {
                        sequence.pull(&mut [SamplesMut::F32(&mut out[t - late])], &control).unwrap();
                    }
                }
                assert!(sequence.pull(&mut [SamplesMut::F32(&mut out[0])], &control).is_err());
                out
            };
            let (want, spread) = (run(&*fakes(1)[0]), Spread::new(fakes(3)));
            assert!(parts(&plan) >= 2);
            let off = want
                .iter()
                .flatten()
                .zip(run(&spread).iter().flatten())
                .map(|(a, b)| (a - b).abs())
                .collect::<Vec<_>>();
            let off = largest(off);
            assert!(off < ROUNDING, "{:?}: off by {off}", plan.window());
            assert!(spread.0.load.lock().unwrap().iter().all(|&n| n == 0));
        }
    }

    #[test]
    fn small_pictures_go_to_whichever_device_is_free() {
        /// Waits until both devices have a picture.
        struct Meeting(Arc<std::sync::Barrier>);
        impl Backend for Meeting {
            fn info(&self) -> DeviceInfo {
                DeviceInfo::new(Kind::Cuda, "cuda:0")
            }
            fn caps(&self, _: &Plan) -> Caps {
                Caps::default()
            }
            fn open(&self, plan: &Plan) -> Result<Box<dyn Sequence>> {
                let barrier = self.0.clone();
                Ok(Box::new(Singly::new(plan.window(), move |_, _, _| {
                    barrier.wait();
                    Ok(())
                })))
            }
        }
        let barrier = Arc::new(std::sync::Barrier::new(2));
        let devices = (0..2).map(|_| Box::new(Meeting(barrier.clone())) as Box<dyn Backend>).collect();
        let spread = Spread::new(devices);
        assert_eq!(spread.at_once(), 2);
        let plan = plan(16, 16, [3, 3], 1);
        let plane = Plane::zeros(16, 16);
        // Would wait for ever if both pictures went to one device.
        std::thread::scope(|s| {
            for _ in 0..6 {
                s.spawn(|| filter(&spread, &plan, &[plane.view()], &[], &Control::new()).unwrap());
            }
        });
        assert!(spread.0.load.lock().unwrap().iter().all(|&n| n == 0));
    }

    #[test]
    fn a_failure_of_one_device_is_an_error_that_names_it() {
        let mut devices = fakes(1);
        let mut lost = Fake::new("cuda:1", Cpu::new(DeviceOptions::default()).unwrap());
        lost.lost_after = 0;
        devices.push(Box::new(lost));
        let (w, h) = (20, 500);
        let plane = Plane::from_vec(w, h, picture(w, h)).unwrap();
        let plan = plan(w, h, [3, 3], 1);
        let e = filter(&Spread::new(devices), &plan, &[plane.view()], &[], &Control::new()).unwrap_err();
        assert_eq!(e.to_string(), "cuda:1: the device was lost");
    }
}
