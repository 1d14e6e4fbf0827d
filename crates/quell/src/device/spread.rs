//! `cuda:all`: several devices of a kind share the pictures of a batch and the rows of a large picture.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};

use super::{
    Backend, DeviceInfo, Encoding, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence, Timing,
    samples,
};
use crate::bm3d::{Match, Plan};
use crate::{Control, Error, Plane, PlaneView, Result, isoline, nlm};

/// A picture is cut only where each device gets at least this many times the halo in rows of its own: the halo is
/// computed twice.
const WORTH_CUTTING: usize = 4;

/// Devices that work together. A picture goes to whichever is free, a large one to all that are.
pub(super) struct Spread {
    devices: Vec<Box<dyn Backend>>,
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

    fn new(devices: Vec<Box<dyn Backend>>) -> Self {
        Self { load: Mutex::new(vec![0; devices.len()]), devices, less: Condvar::new() }
    }

    /// Takes all idle devices up to `most`; if none is idle, the one with the least to do.
    fn claim(&self, most: usize) -> Claim<'_> {
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut taken: Vec<usize> = (0..load.len()).filter(|&i| load[i] == 0).take(most).collect();
            if taken.is_empty() {
                let room = (0..load.len()).filter(|&i| load[i] < self.devices[i].lanes());
                taken.extend(room.min_by_key(|&i| load[i]));
            }
            if !taken.is_empty() {
                taken.iter().for_each(|&i| load[i] += 1);
                return Claim { spread: self, taken };
            }
            load = self.less.wait(load).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does `work` on every band of the picture, each on a device of its own.
    fn share<T: Send>(
        &self,
        plan: &Plan,
        control: &Control,
        work: impl Fn(&dyn Backend, &Plan, &Band, &Control) -> Result<T> + Sync,
    ) -> Result<Vec<(Band, T)>> {
        let claim = self.claim((plan.height / (WORTH_CUTTING * plan.halo()).max(1)).max(1));
        let bands = bands(plan, claim.taken.len());
        let controls = control.parallel(bands.len());
        std::thread::scope(|scope| {
            let work = &work;
            let running: Vec<_> = std::iter::zip(bands, &claim.taken)
                .zip(controls)
                .map(|((band, &device), control)| {
                    let plan = Plan { height: band.read.len(), ..plan.clone() };
                    let device = &*self.devices[device];
                    scope.spawn(move || Ok((band.clone(), work(device, &plan, &band, &control)?)))
                })
                .collect();
            // All are waited for, whatever becomes of one.
            let done: Vec<Result<_>> =
                running.into_iter().map(|r| r.join().unwrap_or_else(|_| Err(crashed()))).collect();
            done.into_iter().collect()
        })
    }
}

fn crashed() -> Error {
    Error::Device { device: "all".into(), reason: "a worker thread ended unexpectedly".into() }
}

/// Devices that a picture is on; given back when dropped.
struct Claim<'a> {
    spread: &'a Spread,
    taken: Vec<usize>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut load = self.spread.load.lock().unwrap_or_else(PoisonError::into_inner);
        self.taken.iter().for_each(|&i| load[i] -= 1);
        self.spread.less.notify_all();
    }
}

/// Rows of a picture that are computed on their own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Band {
    /// The rows that the device gets: the halo is around those it delivers.
    read: Range<usize>,
    /// The rows that it delivers.
    write: Range<usize>,
}

impl Band {
    /// What it delivers, counted from the first row that it reads.
    fn kept(&self) -> Range<usize> {
        self.write.start - self.read.start..self.write.end - self.read.start
    }
}

/// Cuts a picture into bands of nearly equal height. A band begins where every pass has a row of reference patches, so
/// that its grid is that of the whole picture; nothing beyond the halo matters to what it delivers.
fn bands(plan: &Plan, count: usize) -> Vec<Band> {
    let unit = plan.passes.iter().map(|p| p.step).fold(1, lcm);
    let cut = |i: usize| if i == count { plan.height } else { i * plan.height / count / unit * unit };
    let halo = plan.halo();
    (0..count)
        .map(|i| {
            let write = cut(i)..cut(i + 1);
            let read = write.start.saturating_sub(halo) / unit * unit..(write.end + halo).min(plan.height);
            Band { read, write }
        })
        .collect()
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

impl Backend for Spread {
    /// The first device, under the name of all, with the units and memory of all.
    fn info(&self) -> DeviceInfo {
        let all: Vec<DeviceInfo> = self.devices.iter().map(|d| d.info()).collect();
        let first = &all[0];
        DeviceInfo {
            name: format!("{}:all", first.kind),
            description: format!("{} x {}", all.len(), first.description),
            units: all.iter().map(|d| d.units).sum(),
            memory_bytes: all.iter().map(|d| d.memory_bytes).sum(),
            ..first.clone()
        }
    }

    fn lanes(&self) -> usize {
        self.devices.iter().map(|d| d.lanes()).sum()
    }

    fn bm3d(&self, plan: &Plan, noisy: &[PlaneView<'_>], control: &Control) -> Result<Vec<Plane>> {
        let mut parts = self.share(plan, control, |device, plan, band, control| {
            let rows: Vec<PlaneView<'_>> = noisy.iter().map(|p| p.band(band.read.clone())).collect();
            device.bm3d(plan, &rows, control)
        })?;
        if parts.len() == 1 {
            return Ok(parts.remove(0).1);
        }
        let mut out = vec![Plane::zeros(plan.width, plan.height); noisy.len()];
        for (band, planes) in &parts {
            for (out, part) in out.iter_mut().zip(planes) {
                for (to, from) in band.write.clone().zip(band.kept()) {
                    out.row_mut(to).copy_from_slice(part.row(from));
                }
            }
        }
        Ok(out)
    }

    fn bm3d_samples(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        to: &mut [SamplesMut<'_>],
        control: &Control,
    ) -> Result<()> {
        samples::check_shape(plan, encoding, from, to)?;
        let formats: Vec<SampleFormat> = to.iter().map(SamplesMut::format).collect();
        let width = plan.width;
        let parts = self.share(plan, control, |device, plan, band, control| {
            let rows = band.read.start * width..band.read.end * width;
            let from: Vec<Samples<'_>> = from.iter().map(|s| s.part(rows.clone())).collect();
            let mut out: Vec<SampleBuffer> =
                formats.iter().map(|&f| SampleBuffer::new(f, rows.len())).collect();
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
            device.bm3d_samples(plan, &from, encoding, &mut to, control)?;
            Ok(out)
        })?;
        for (band, buffers) in &parts {
            for (to, part) in to.iter_mut().zip(buffers) {
                let kept = band.kept();
                to.copy(band.write.start * width, part.view().part(kept.start * width..kept.end * width));
            }
        }
        Ok(())
    }

    fn bm3d_timed(
        &self,
        plan: &Plan,
        from: &[Samples<'_>],
        encoding: Encoding,
        repeat: usize,
    ) -> Result<Timing> {
        self.devices[0].bm3d_timed(plan, from, encoding, repeat)
    }

    fn full_precision(&self, plan: &Plan) -> bool {
        self.devices.iter().all(|d| d.full_precision(plan))
    }

    fn bm3d_groups(&self, plan: &Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
        self.devices[0].bm3d_groups(plan, pass, guide)
    }

    /// A video stays on one device, the least busy one: its frames depend on each other.
    fn nlm(&self, plan: &nlm::Plan) -> Result<Box<dyn Sequence>> {
        let claim = self.claim(1);
        self.devices[claim.taken[0]].nlm(plan)
    }

    fn isoline_map(
        &self,
        plan: &isoline::Plan,
        planes: &[PlaneView<'_>],
        map: isoline::Map,
    ) -> Result<Plane> {
        let claim = self.claim(1);
        self.devices[claim.taken[0]].isoline_map(plan, planes, map)
    }

    fn isoline(&self, plan: &isoline::Plan) -> Result<Box<dyn Sequence>> {
        let claim = self.claim(1);
        self.devices[claim.taken[0]].isoline(plan)
    }

    fn isoline_timed(&self, plan: &isoline::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        self.devices[0].isoline_timed(plan, frames, repeat)
    }

    fn nlm_timed(&self, plan: &nlm::Plan, frames: &[Input<'_>], repeat: usize) -> Result<Timing> {
        self.devices[0].nlm_timed(plan, frames, repeat)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::bm3d::Profile;
    use crate::device::cpu::Cpu;
    use crate::device::test_devices::Fake;
    use crate::device::{DeviceOptions, Kind};

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
        Plan::new(&params, w, h, &vec![20.0; channels]).unwrap()
    }

    #[test]
    fn bands_cover_the_picture_and_begin_on_the_grid() {
        for (height, steps, count) in [(501, [3, 2], 3), (64, [8, 6], 2), (97, [5, 7], 1), (400, [3, 3], 5)] {
            let plan = plan(40, height, steps, 1);
            let bands = bands(&plan, count);
            assert_eq!(bands.len(), count);
            let mut row = 0;
            for band in &bands {
                assert_eq!(band.write.start, row);
                row = band.write.end;
                assert!(steps.iter().all(|s| band.read.start % s == 0), "{band:?} with steps {steps:?}");
                assert!(band.read.start == 0 || band.read.start + plan.halo() <= band.write.start);
                assert!(band.read.end == height || band.read.end >= band.write.end + plan.halo());
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
            let want = fakes(1)[0].bm3d(&plan, &views, &Control::new()).unwrap();
            for n in 2..=3 {
                let spread = Spread::new(fakes(n));
                let calls = AtomicUsize::new(0);
                let parts = spread
                    .share(&plan, &Control::new(), |_, _, _, _| Ok(calls.fetch_add(1, Ordering::SeqCst)));
                assert_eq!(parts.unwrap().len(), n, "the picture is large enough for {n} devices");
                let got = spread.bm3d(&plan, &views, &Control::new()).unwrap();
                for (got, want) in got.iter().zip(&want) {
                    let off = got.as_slice().iter().zip(want.as_slice()).map(|(a, b)| (a - b).abs());
                    let off = crate::metrics::largest(off);
                    assert!(off < ROUNDING, "{n} devices, steps {steps:?}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn cut_samples_are_those_of_one_device() {
        let (w, h) = (29, 640);
        let plan = plan(w, h, [3, 3], 1);
        let bytes: Vec<u8> = picture(w, h).iter().map(|&v| v as u8).collect();
        let encoding = Encoding { white: 255.0, color: None };
        let run = |device: &dyn Backend| {
            let (mut out8, mut out16, mut outf) = (vec![0u8; w * h], vec![0u16; w * h], vec![0f32; w * h]);
            for to in [SamplesMut::U8(&mut out8), SamplesMut::U16(&mut out16), SamplesMut::F32(&mut outf)] {
                device
                    .bm3d_samples(&plan, &[Samples::U8(&bytes)], encoding, &mut [to], &Control::new())
                    .unwrap();
            }
            (out8, out16, outf)
        };
        let (want, got) = (run(&*fakes(1)[0]), run(&Spread::new(fakes(3))));
        assert!(want.0.iter().zip(&got.0).all(|(a, b)| a.abs_diff(*b) <= 1));
        assert!(want.1.iter().zip(&got.1).all(|(a, b)| a.abs_diff(*b) <= 1));
        assert!(want.2.iter().zip(&got.2).all(|(a, b)| (a - b).abs() < ROUNDING));
        assert!(want.0.iter().zip(&got.0).filter(|(a, b)| a != b).count() < 5);
    }

    #[test]
    fn small_pictures_go_to_whichever_device_is_free() {
        /// Counts, and waits until both devices have a picture.
        struct Meeting(Arc<std::sync::Barrier>);
        impl Backend for Meeting {
            fn info(&self) -> DeviceInfo {
                DeviceInfo::new(Kind::Cuda, "cuda:0")
            }
            fn bm3d(&self, plan: &Plan, _: &[PlaneView<'_>], _: &Control) -> Result<Vec<Plane>> {
                self.0.wait();
                Ok(vec![Plane::zeros(plan.width, plan.height)])
            }
        }
        let barrier = Arc::new(std::sync::Barrier::new(2));
        let devices = (0..2).map(|_| Box::new(Meeting(barrier.clone())) as Box<dyn Backend>).collect();
        let spread = Spread::new(devices);
        assert_eq!(spread.lanes(), 2);
        let plan = plan(16, 16, [3, 3], 1);
        let plane = Plane::zeros(16, 16);
        // Would wait for ever if both pictures went to one device.
        std::thread::scope(|s| {
            for _ in 0..6 {
                s.spawn(|| spread.bm3d(&plan, &[plane.view()], &Control::new()).unwrap());
            }
        });
        assert!(spread.load.lock().unwrap().iter().all(|&n| n == 0));
    }

    #[test]
    fn a_failure_of_one_device_is_an_error_that_names_it() {
        let mut devices = fakes(1);
        let mut lost = Fake::new("cuda:1", Cpu::new(DeviceOptions::default()).unwrap());
        lost.lost_after = 0;
        devices.push(Box::new(lost));
        let (w, h) = (20, 500);
        let plane = Plane::from_vec(w, h, picture(w, h)).unwrap();
        let spread = Spread::new(devices);
        let e = spread.bm3d(&plan(w, h, [3, 3], 1), &[plane.view()], &Control::new()).unwrap_err();
        assert_eq!(e.to_string(), "cuda:1: the device was lost");
    }
}
