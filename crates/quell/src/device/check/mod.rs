//! A device against the reference: the numerical contract as a suite that runs on any [`Backend`], in the tests as well
//! as on the user's own machine (`quell gpu-check`).
//!
//! Small pictures are compared with the scalar reference, larger ones with the processor, which is tested against the
//! reference itself.

mod averages;
mod cases;
mod frames;
mod isoline;
mod nlm;
mod picture;
mod ridge;

pub use isoline::{ISOLINE_TOLERANCE, isoline, isoline_briefly};
pub use nlm::{NLM_TOLERANCE, nlm};
pub use ridge::{RIDGE_TOLERANCE, ridge};

use rayon::prelude::*;
use serde::Serialize;

use super::cpu::Cpu;
use super::{Backend, DeviceOptions, Input, SampleBuffer, Samples, SamplesMut, Sequence};
use crate::bm3d::{Match, Plan, Shrink, grid, reference};
use crate::metrics::largest;
use crate::{Control, Error, Plane, PlaneView, Result};
use cases::{Case, Yardstick};

/// Most that the PSNR may differ, in dB (contract 5).
pub const PSNR_TOLERANCE: f64 = 0.01;
/// Most that a pixel may differ after either pass, given the same input (contract 5).
pub const PIXEL_TOLERANCE: f32 = 0.25;
/// The same for devices that compute in f32.
pub const FLOAT_TOLERANCE: f32 = 0.05;
/// Most that the pixels of pass 1 may differ in the root of the mean square, in units of the noise, where a device
/// computes in halves: more coefficients fall on the other side of their threshold, which is as large as the noise.
pub const HALF_RMS: f64 = 0.012;
/// Most that a pixel may differ after pass 1 from one run to the next, or from tiles to whole pictures: additions in
/// another order, and nothing else.
pub const ORDER_TOLERANCE: f32 = 0.005;

/// How a case went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should be.
    Pass,
    /// Not so, and why.
    Fail(String),
    /// The device does not do this; `auto` would give it to the processor.
    NotOffered(String),
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CaseResult {
    /// What was done.
    pub case: String,
    /// Largest difference from end to end, in grey levels.
    pub worst: Option<f32>,
    /// The same for pass 1 alone.
    pub first_pass: Option<f32>,
    /// The same for pass 2 alone, given the same basic estimate.
    pub second_pass: Option<f32>,
    /// Difference of the PSNR against the clean picture, in dB.
    pub psnr_db: Option<f64>,
    /// Whether all groups, or the lines of 8-bit pictures, are the same; `None` if the device cannot tell.
    pub groups: Option<bool>,
    /// How it went.
    pub outcome: Outcome,
}

impl CaseResult {
    fn new(case: &str, measured: Result<Measured>) -> Self {
        let (m, outcome) = match measured {
            Ok(m) => match m.fault() {
                None => (m, Outcome::Pass),
                Some(why) => (m, Outcome::Fail(why)),
            },
            Err(Error::Unsupported(why)) => (Measured::default(), Outcome::NotOffered(why)),
            Err(e) => (Measured::default(), Outcome::Fail(e.to_string())),
        };
        let value = |limited: Option<Limited>| limited.map(|l| l.value);
        Self {
            case: case.to_owned(),
            worst: value(m.worst),
            first_pass: value(m.first_pass),
            second_pass: value(m.second_pass),
            psnr_db: m.psnr_db,
            groups: m.groups,
            outcome,
        }
    }

    /// Whether it went wrong.
    pub fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Fail(_))
    }
}

/// What a case showed.
#[derive(Clone, Copy, Default)]
struct Measured {
    worst: Option<Limited>,
    first_pass: Option<Limited>,
    second_pass: Option<Limited>,
    psnr_db: Option<f64>,
    psnr_limit: f64,
    groups: Option<bool>,
}

/// A difference, and how large it may be.
#[derive(Clone, Copy)]
struct Limited {
    value: f32,
    limit: f32,
    /// What is beyond the limit comes of coefficients that are within rounding of their threshold.
    excused: bool,
}

impl Limited {
    fn new(value: f32, limit: f32) -> Option<Self> {
        Some(Self { value, limit, excused: false })
    }

    fn is_fine(&self) -> bool {
        // NaN is not.
        self.excused || self.value <= self.limit
    }
}

impl Measured {
    fn fault(&self) -> Option<String> {
        if self.groups == Some(false) {
            return Some("groups, or lines, differ".into());
        }
        let passes = [("pass 1", self.first_pass), ("pass 2", self.second_pass), ("the result", self.worst)];
        for (what, difference) in passes {
            if let Some(Limited { value, limit, .. }) = difference.filter(|d| !d.is_fine()) {
                return Some(format!("a pixel of {what} is off by {value}, more than {limit}"));
            }
        }
        let limit = self.psnr_limit;
        let far = |v: &f64| v.is_nan() || *v > limit;
        self.psnr_db.filter(far).map(|v| format!("the PSNR is off by {v:.4} dB, more than {limit:.3}"))
    }
}

/// Runs every case on a device and reports each as it is done; `quick` leaves most out.
///
/// ```
/// use quell::device::{self, check};
/// let device = device::open(quell::Device::Cpu, Default::default())?;
/// let mut failed = 0;
/// check::suite(&*device, true, &mut |case| failed += usize::from(case.failed()));
/// assert_eq!(failed, 0);
/// # Ok::<(), quell::Error>(())
/// ```
pub fn suite(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    let cases = cases::conformance(quick);
    // The device does one case after the other; the reference is slow and does a few at once.
    for some in cases.chunks(2 * rayon::current_num_threads()) {
        let ran: Vec<Result<Ran>> = some.iter().map(|case| Ran::new(device, case)).collect();
        let judged: Vec<Result<Measured>> =
            some.par_iter().zip(ran).map(|(case, ran)| against_yardstick(case, &ran?)).collect();
        std::iter::zip(some, judged).for_each(|(case, m)| report(CaseResult::new(&case.name, m)));
    }
    for case in cases::stored(quick) {
        report(CaseResult::new(&case.case.name, samples_against_processor(device, &case)));
    }
    averages::bm3d(device, quick, report);
    let case = cases::repeated(quick);
    report(CaseResult::new(&case.name, case.plan().and_then(|plan| twice(device, device, &plan, &case))));
}

/// Compares a device that works in small tiles with one that works on whole pictures.
pub fn tiles(whole: &dyn Backend, tiled: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    for case in cases::tiled(quick) {
        report(CaseResult::new(&case.name, case.plan().and_then(|plan| twice(whole, tiled, &plan, &case))));
    }
}

fn run(device: &dyn Backend, plan: &Plan, noisy: &[PlaneView<'_>]) -> Result<Vec<Plane>> {
    super::picture(device, &plan.clone().into(), noisy, &[], &Control::new())
}

fn full_precision(device: &dyn Backend, plan: &Plan) -> bool {
    device.caps(&plan.clone().into()).full_precision
}

/// What only some devices can tell; nothing, if this one cannot.
fn told<T>(answer: Option<Result<T>>) -> Result<Option<T>> {
    match answer {
        None | Some(Err(Error::Unsupported(_))) => Ok(None),
        Some(other) => other.map(Some),
    }
}

/// What a device made of a case.
struct Ran {
    plan: Plan,
    result: Vec<Plane>,
    /// After pass 1; where the yardstick is the reference.
    basic: Vec<Plane>,
    /// After pass 2, given this basic estimate.
    second: Vec<Plane>,
    /// Of both passes; `None` if the device cannot tell.
    groups: Vec<Option<Vec<Vec<Match>>>>,
    full_precision: bool,
}

impl Ran {
    fn new(device: &dyn Backend, case: &Case) -> Result<Self> {
        let plan = case.plan()?;
        let noisy = views(&case.noisy);
        let result = run(device, &plan, &noisy)?;
        let full_precision = full_precision(device, &plan);
        let (basic, second, groups) = (Vec::new(), Vec::new(), Vec::new());
        let mut ran = Self { plan, result, basic, second, groups, full_precision };
        if case.yardstick == Yardstick::Reference {
            ran.basic = run(device, &first(&ran.plan), &noisy)?;
            let probe = device.probe();
            let second = probe.map(|p| p.wiener(&ran.plan, &noisy, &views(&ran.basic)));
            // Else the whole again: the same, if the basic estimate is the same to the last digit each time.
            ran.second = told(second)?.unwrap_or_else(|| ran.result.clone());
            for pass in 0..ran.plan.passes.len() {
                let groups = probe.map(|p| p.groups(&ran.plan, pass, &ran.guide(case, pass)));
                ran.groups.push(told(groups)?);
            }
        }
        Ok(ran)
    }

    /// What patches are compared on.
    fn guide<'a>(&'a self, case: &'a Case, pass: usize) -> PlaneView<'a> {
        if pass == 0 { case.noisy[0].view() } else { self.basic[0].view() }
    }
}

/// The plan of pass 1 alone.
fn first(plan: &Plan) -> Plan {
    Plan { passes: plan.passes[..1].to_vec(), ..plan.clone() }
}

fn against_yardstick(case: &Case, ran: &Ran) -> Result<Measured> {
    let noisy = views(&case.noisy);
    if case.yardstick == Yardstick::Processor {
        let want = run(&Cpu::new(DeviceOptions::default())?, &ran.plan, &noisy)?;
        return Ok(compare(case, &ran.result, &want, ran.full_precision));
    }
    // Each pass on its own: from end to end a last digit of the basic estimate may change the groups of pass 2.
    let want = reference::run(&ran.plan, &noisy);
    let mut measured = compare(case, &ran.result, &want.last, ran.full_precision);
    let limit = if ran.full_precision { FLOAT_TOLERANCE } else { PIXEL_TOLERANCE };
    measured.first_pass = Limited::new(worst(&ran.basic, &want.basic), limit).map(|off| {
        let flipped = || explained(ran, &noisy, &want.basic, limit);
        let excused =
            if ran.full_precision { flipped() } else { in_patches(case, &ran.basic, &want.basic, limit) };
        Limited { excused: !off.is_fine() && excused, ..off }
    });
    if let Some(wiener) = ran.plan.passes.get(1) {
        let want = reference::pass(wiener, &noisy, Some(&views(&ran.basic)));
        measured.second_pass = Limited::new(worst(&ran.second, &want), limit);
    }
    let told = ran.groups.iter().enumerate().filter_map(|(pass, groups)| Some((pass, groups.as_ref()?)));
    let same = told.map(|(pass, groups)| same_groups(&ran.plan, pass, &ran.guide(case, pass), groups));
    measured.groups = same.reduce(|a, b| a && b);
    Ok(measured)
}

/// Whether every pixel of the basic estimate that is off is one that moves in the reference as well, when its threshold
/// moves by as much as the device may round: a coefficient fell on the other side, in 8-bit pictures often exactly.
fn explained(ran: &Ran, noisy: &[PlaneView<'_>], want: &[Plane], limit: f32) -> bool {
    let margin = 2e-5;
    let moved = [1.0 - margin, 1.0 + margin].map(|factor| {
        let mut plan = first(&ran.plan);
        for pass in &mut plan.passes {
            if let Shrink::Hard { lambda } = &mut pass.shrink {
                *lambda *= factor;
            }
        }
        reference::run(&plan, noisy).basic
    });
    let moves = pairs(want, &moved[0]).zip(pairs(want, &moved[1]));
    // Twice: some may have fallen one way, some the other, and cancel here.
    let room = moves.map(|((w, a), (_, b))| limit + 2.0 * ((a - w).abs() + (b - w).abs()));
    pairs(&ran.basic, want).zip(room).all(|((got, want), room)| (got - want).abs() <= room)
}

/// Whether what is off comes of coefficients that halves round to the other side of their threshold: little on the
/// whole, and never a pixel alone, because an atom reaches over a patch.
fn in_patches(case: &Case, got: &[Plane], want: &[Plane], limit: f32) -> bool {
    let squares = pairs(got, want).map(|(a, b)| f64::from(a - b).powi(2));
    let (sum, n) = squares.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    let company = got.iter().zip(want).all(|(got, want)| {
        let (w, h) = (got.width(), got.height());
        let off = |x: usize, y: usize| (got.row(y)[x] - want.row(y)[x]).abs();
        let near = |v: usize, n: usize| v.saturating_sub(2)..(v + 3).min(n);
        (0..w * h).map(|i| (i % w, i / w)).filter(|&(x, y)| off(x, y) > limit).all(|(x, y)| {
            let around = near(y, h).flat_map(|y| near(x, w).map(move |x| (x, y)));
            around.filter(|&(x, y)| off(x, y) > limit / 8.0).count() > 2
        })
    });
    (sum / n).sqrt() <= HALF_RMS * f64::from(case.sigma[0].max(25.0)) && company
}

/// From end to end: the PSNR, and a guard against gross errors.
fn compare(case: &Case, got: &[Plane], want: &[Plane], full_precision: bool) -> Measured {
    Measured {
        psnr_limit: psnr_limit(case, full_precision),
        worst: Limited::new(worst(got, want), gross(case) * if full_precision { 1.0 } else { 2.0 }),
        psnr_db: case.clean.as_ref().map(|clean| (psnr(clean, got) - psnr(clean, want)).abs()),
        ..Measured::default()
    }
}

/// Thresholds that rounding decides change the PSNR at random. With halves they are many: the contract's hundredth holds
/// for pictures of 512 x 512 and more, and smaller ones have less to average over.
fn psnr_limit(case: &Case, full_precision: bool) -> f64 {
    let pixels = case.noisy.iter().map(|p| p.as_slice().len()).sum::<usize>() as f64;
    if full_precision { PSNR_TOLERANCE } else { PSNR_TOLERANCE * (512.0 * 512.0 / pixels).sqrt().max(1.0) }
}

/// From end to end the PSNR decides; a pixel that is off by more than this is a fault all the same.
fn gross(case: &Case) -> f32 {
    0.5 * case.sigma[0].max(1.0)
}

/// Whether the groups of a pass are those of the reference, entry by entry.
fn same_groups(plan: &Plan, pass: usize, guide: &PlaneView<'_>, got: &[Vec<Match>]) -> bool {
    let pass = &plan.passes[pass];
    let reference = reference::Guide::new(pass.search(), guide);
    let (xs, ys) = (grid(plan.width, pass.patch, pass.step), grid(plan.height, pass.patch, pass.step));
    let mut want = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
    got.len() == xs.len() * ys.len()
        && got.iter().all(|got| want.next().is_some_and(|(x, y)| *got == reference.group(x, y)))
}

/// Samples as they are stored, in and out, against the processor by way of floats.
fn samples_against_processor(device: &dyn Backend, stored: &cases::Stored) -> Result<Measured> {
    let (case, format) = (&stored.case, stored.format);
    let (precise, plan) = (full_precision(device, &case.plan()?), stored.plan()?);
    let (width, height) = (plan.window().width, plan.window().height);
    let scale = format.white() / 255.0;
    let pixels = width * height;
    let mut from = vec![SampleBuffer::new(format, pixels); case.noisy.len()];
    for (buffer, plane) in from.iter_mut().zip(&case.noisy) {
        buffer.view_mut().store(plane.as_slice(), scale, format.white());
    }
    let from: Vec<Samples<'_>> = from.iter().map(SampleBuffer::view).collect();
    let frame = Input { planes: &from, guide: &[] };
    let mut out = vec![SampleBuffer::new(format, pixels); from.len()];
    let mut go = |sequence: &mut dyn Sequence, pulled: bool| -> Result<Vec<Plane>> {
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
        if pulled {
            sequence.pull(&mut to, &Control::new())?;
        } else {
            sequence.frame(&frame, &mut to, &Control::new())?;
        }
        out.iter().map(|b| Plane::from_vec(width, height, b.view().to_floats(1.0 / scale))).collect()
    };
    let want = go(&mut *Cpu::new(DeviceOptions::default())?.open(&plan)?, false)?;
    let mut sequence = device.open(&plan)?;
    let mut measured = compare(case, &go(&mut *sequence, false)?, &want, precise);
    // As a video: two frames in work at once.
    sequence.push(&frame, &Control::new())?;
    sequence.push(&frame, &Control::new())?;
    for _ in 0..2 {
        let pulled = compare(case, &go(&mut *sequence, true)?, &want, precise);
        if pulled.fault().is_some() {
            measured = pulled;
        }
    }
    Ok(measured)
}

/// The same work by two devices, or twice by one: nothing but the order of additions may differ. From end to end that may
/// change a group.
fn twice(a: &dyn Backend, b: &dyn Backend, plan: &Plan, case: &Case) -> Result<Measured> {
    let noisy = views(&case.noisy);
    let basic = [run(a, &first(plan), &noisy)?, run(b, &first(plan), &noisy)?];
    let full = full_precision(a, plan) && full_precision(b, plan);
    let mut measured = compare(case, &run(a, plan, &noisy)?, &run(b, plan, &noisy)?, full);
    measured.first_pass = Limited::new(worst(&basic[0], &basic[1]), ORDER_TOLERANCE);
    Ok(measured)
}

fn views(planes: &[Plane]) -> Vec<PlaneView<'_>> {
    planes.iter().map(Plane::view).collect()
}

fn pairs<'a>(a: &'a [Plane], b: &'a [Plane]) -> impl Iterator<Item = (f32, f32)> + 'a {
    let samples = |p: &'a [Plane]| p.iter().flat_map(|p| p.as_slice()).copied();
    samples(a).zip(samples(b))
}

/// Largest difference; NaN is as far as can be.
fn worst(a: &[Plane], b: &[Plane]) -> f32 {
    largest(pairs(a, b).map(|(a, b)| (a - b).abs()))
}

/// In dB, over all planes.
fn psnr(clean: &[Plane], other: &[Plane]) -> f64 {
    let (sum, n) =
        pairs(clean, other).fold((0.0, 0.0), |(sum, n), (a, b)| (sum + f64::from(a - b).powi(2), n + 1.0));
    10.0 * (255.0 * 255.0 * n / sum).log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::singly::Singly;
    use crate::device::{Caps, DeviceInfo, Probe};
    use crate::method::{self, Work};

    /// The processor with a fault.
    struct Faulty {
        cpu: Cpu,
        fault: Fault,
        full: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        /// The last pixel of the result is off by a little more than is allowed.
        Pixel,
        Nan,
        /// A pixel of the basic estimate is off, and pass 2 does not know.
        Basic,
        /// The window of pass 2 ends one pixel too early.
        Window,
        /// Filters for a little less noise.
        Sigma,
        /// Two neighbours in a group that is read back are exchanged.
        Order,
        /// A group is missing.
        Missing,
        Lost,
        Picky,
    }

    impl Backend for Faulty {
        fn info(&self) -> DeviceInfo {
            self.cpu.info()
        }

        fn caps(&self, _: &method::Plan) -> Caps {
            let refused = matches!(self.fault, Fault::Picky).then(|| "not this".into());
            Caps { refused, full_precision: self.full, ..Caps::default() }
        }

        fn open(&self, plan: &method::Plan) -> Result<Box<dyn Sequence>> {
            self.caps(plan).check()?;
            let Work::Bm3d(plan) = plan.work() else { panic!("not BM3D") };
            let mut plan = plan.clone();
            match self.fault {
                Fault::Lost => return Err(Error::Device { device: "cpu".into(), reason: "lost".into() }),
                Fault::Window => plan.passes.iter_mut().skip(1).for_each(|p| p.radius -= 1),
                Fault::Sigma => plan.passes.iter_mut().for_each(|p| p.sigma[0] *= 0.97),
                _ => {}
            }
            let (fault, full, passes) = (self.fault, self.full, plan.passes.len());
            let plan = method::Plan::from(plan);
            let mut inner = self.cpu.open(&plan)?;
            Ok(Box::new(Singly::new(plan.window(), move |frame, to, control| {
                inner.frame(frame, to, control)?;
                let SamplesMut::F32(to) = &mut to[0] else { panic!("not floats") };
                let Some(pixel) = to.last_mut() else { return Ok(()) };
                match (fault, passes) {
                    (Fault::Pixel, 2) => *pixel += if full { 0.06 } else { 0.3 },
                    (Fault::Nan, _) => *pixel = f32::NAN,
                    (Fault::Basic, 1) => *pixel += 4.0,
                    _ => {}
                }
                Ok(())
            })))
        }

        fn probe(&self) -> Option<&dyn Probe> {
            Some(self)
        }
    }

    impl Probe for Faulty {
        fn groups(&self, plan: &Plan, pass: usize, guide: &PlaneView<'_>) -> Result<Vec<Vec<Match>>> {
            let mut groups = self.cpu.groups(plan, pass, guide)?;
            match self.fault {
                Fault::Order => groups.iter_mut().filter(|g| g.len() > 2).take(1).for_each(|g| g.swap(1, 2)),
                Fault::Missing => drop(groups.pop()),
                _ => {}
            }
            Ok(groups)
        }

        fn wiener(&self, _: &Plan, _: &[PlaneView<'_>], _: &[PlaneView<'_>]) -> Result<Vec<Plane>> {
            Err(Error::Unsupported("pass 2 cannot be run alone".into()))
        }
    }

    fn check(fault: Fault, full: bool) -> CaseResult {
        let device = Faulty { cpu: Cpu::new(DeviceOptions::default()).unwrap(), fault, full };
        let case =
            cases::conformance(true).into_iter().find(|c| c.name == "profile original, sigma 25").unwrap();
        let measured = Ran::new(&device, &case).and_then(|ran| against_yardstick(&case, &ran));
        CaseResult::new(&case.name, measured)
    }

    #[test]
    fn faults_are_found_and_named() {
        for full in [false, true] {
            for (fault, why) in [
                (Fault::Pixel, "a pixel of pass 2 is off by"),
                (Fault::Nan, "a pixel of pass 1 is off by inf"),
                (Fault::Basic, "a pixel of pass 1 is off by"),
                (Fault::Window, "a pixel of pass 2 is off by"),
                (Fault::Sigma, "off by"),
                (Fault::Order, "groups, or lines, differ"),
                (Fault::Missing, "groups, or lines, differ"),
                (Fault::Lost, "lost"),
            ] {
                let case = check(fault, full);
                let Outcome::Fail(said) = &case.outcome else { panic!("{fault:?} was not found: {case:?}") };
                assert!(said.contains(why), "{fault:?}: {said}");
            }
            assert_eq!(check(Fault::None, full).outcome, Outcome::Pass);
        }
        assert!(matches!(check(Fault::Picky, false).outcome, Outcome::NotOffered(_)));
    }

    #[test]
    fn a_coefficient_at_its_threshold_is_excused_and_others_are_not() {
        /// Its threshold is a little lower: what the reference keeps by a hair, it keeps, and a little more.
        struct Lower(Cpu, f32);
        impl Backend for Lower {
            fn info(&self) -> DeviceInfo {
                self.0.info()
            }
            fn caps(&self, plan: &method::Plan) -> Caps {
                self.0.caps(plan)
            }
            fn open(&self, plan: &method::Plan) -> Result<Box<dyn Sequence>> {
                let Work::Bm3d(plan) = plan.work() else { panic!("not BM3D") };
                let mut plan = plan.clone();
                if let Shrink::Hard { lambda } = &mut plan.passes[0].shrink {
                    *lambda *= self.1;
                }
                self.0.open(&plan.into())
            }
        }
        let case = cases::conformance(true).into_iter().find(|c| c.name.contains("150 x 140")).unwrap();
        let check = |factor: f32| {
            let ran = Ran::new(&Lower(Cpu::new(DeviceOptions::default()).unwrap(), factor), &case).unwrap();
            against_yardstick(&case, &ran).unwrap().first_pass.unwrap()
        };
        let close = check(0.99999);
        assert!(close.value > close.limit && close.is_fine(), "off by {}", close.value);
        let far = check(0.997);
        assert!(far.value > far.limit && !far.is_fine(), "off by {}", far.value);
    }

    #[test]
    fn a_psnr_that_is_off_is_found_where_every_pixel_is_within_its_limit() {
        let off = |v: f64, psnr_limit: f64| {
            Measured { psnr_db: Some(v), psnr_limit, ..Measured::default() }.fault()
        };
        assert!(off(0.011, PSNR_TOLERANCE).unwrap().contains("PSNR"));
        assert!(off(f64::NAN, PSNR_TOLERANCE).is_some());
        assert!(off(0.009, PSNR_TOLERANCE).is_none());
        let case = cases::conformance(true).into_iter().find(|c| c.name.contains("150 x 140")).unwrap();
        assert_eq!(psnr_limit(&case, true), PSNR_TOLERANCE);
        let limit = psnr_limit(&case, false);
        assert!(limit > 3.0 * PSNR_TOLERANCE && limit < 4.0 * PSNR_TOLERANCE, "{limit}");
    }
}
