//! Context ridge of a device: its groups and rounds against the scalar reference, and pictures against the processor.

use super::picture::{changed, clean, noisy};
use super::{CaseResult, Limited, Measured, averages, pairs, psnr, told, views, worst};
use crate::device::cpu::Cpu;
use crate::device::{
    Backend, DeviceOptions, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence,
};
use crate::method::Subject;
use crate::ridge::{Params, Plan, Profile, reference, resolve};
use crate::{ColorMode, Control, Plane, Result, method};

/// Most that a pixel may differ after one round, given the same input, in grey levels of 255: f32 against f64.
pub const RIDGE_TOLERANCE: f32 = 0.01;
/// The same where patches are halves: 128 grey levels from the middle these are up to 0.031 off.
const RIDGE_HALVES: f32 = 0.04;
/// Most that the PSNR of a picture of 512 x 512 pixels may differ from the processor's, in dB; smaller ones have less to
/// average over.
const PSNR: f64 = 0.01;

/// A picture and what is done to it.
struct Case {
    name: String,
    params: Params,
    size: (usize, usize),
    planes: usize,
    sigma: f32,
    /// What the samples are like.
    kind: Kind,
    format: SampleFormat,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Usual,
    /// One value.
    Flat,
    /// Few values: many distances are the same.
    Levels,
}

fn cases(quick: bool) -> Vec<Case> {
    let case = |name: &str, profile: Profile, size, sigma: f32| Case {
        name: name.into(),
        params: profile.params(sigma),
        size,
        planes: 1,
        sigma,
        kind: Kind::Usual,
        format: SampleFormat::F32,
    };
    let normal = |name: &str, size, sigma| case(name, Profile::Normal, size, sigma);
    let color = |mode: ColorMode, case: Case| {
        let params = Params { color: mode, ..case.params.clone() };
        Case { name: format!("{}, {}", case.name, mode.name()), planes: 3, params, ..case }
    };
    let stored = |format: SampleFormat, case: Case| Case {
        name: format!("{}, {} samples", case.name, format.name()),
        format,
        ..case
    };
    let mut all = vec![
        normal("normal", (61, 50), 25.0),
        case("fast", Profile::Fast, (61, 50), 25.0),
        case("high", Profile::High, (75, 57), 25.0),
        normal("8 x 8", (8, 8), 25.0),
        normal("9 x 40", (9, 40), 25.0),
        Case { kind: Kind::Flat, ..normal("flat", (50, 47), 25.0) },
        Case { kind: Kind::Levels, ..normal("few levels", (64, 52), 25.0) },
        stored(SampleFormat::U8, normal("two sizes", (131, 98), 25.0)),
        color(ColorMode::Opp, stored(SampleFormat::U8, normal("colours", (83, 71), 25.0))),
    ];
    if !quick {
        all.extend([
            case("best", Profile::Best, (61, 50), 25.0),
            normal("40 x 9", (40, 9), 25.0),
            normal("97 x 53", (97, 53), 25.0),
            normal("weak noise", (61, 50), 0.1),
            normal("strong noise", (61, 50), 100.0),
            case("fast, weak noise", Profile::Fast, (61, 50), 2.0),
            case("high, strong noise", Profile::High, (61, 50), 60.0),
            Case { kind: Kind::Flat, ..normal("flat, weak noise", (50, 47), 0.1) },
            color(ColorMode::YCbCr, stored(SampleFormat::U8, normal("colours", (83, 71), 25.0))),
            color(ColorMode::Luma, stored(SampleFormat::U8, normal("colours", (83, 71), 25.0))),
            color(ColorMode::Independent, stored(SampleFormat::U8, normal("colours", (83, 71), 25.0))),
            color(ColorMode::Opp, normal("colours", (140, 131), 25.0)),
            stored(SampleFormat::U16, normal("two sizes", (131, 98), 25.0)),
            stored(SampleFormat::U8, case("three sizes", Profile::High, (300, 270), 25.0)),
            stored(SampleFormat::U8, normal("large", (1031, 717), 25.0)),
            stored(SampleFormat::U8, case("fast, large", Profile::Fast, (643, 481), 25.0)),
        ]);
    }
    all
}

impl Case {
    fn clean(&self) -> Vec<Plane> {
        let (w, h) = self.size;
        (0..self.planes).map(|c| clean(w, h, c as f32)).collect()
    }

    fn noisy(&self, clean: &[Plane]) -> Result<Vec<Plane>> {
        let plane = |(c, plane): (usize, &Plane)| {
            let plane = noisy(plane, self.sigma, c as u64 + 1)?;
            Ok(match self.kind {
                Kind::Usual => plane,
                Kind::Flat => changed(&plane, |_| 77.0),
                Kind::Levels => changed(&plane, |v| (v / 40.0).round() * 40.0),
            })
        };
        clean.iter().enumerate().map(plane).collect()
    }

    /// As users get it: with its sizes and limits.
    fn whole_plan(&self) -> Result<method::Plan> {
        let white = self.format.white();
        let subject = Subject::new(self.size.0, self.size.1, self.planes, white);
        resolve::plan(&self.params, &Subject { sigma: self.sigma * white / 255.0, ..subject })
    }
}

/// Runs every case of context ridge on a device and reports each as it is done; `quick` leaves some out.
pub fn ridge(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    for case in cases(quick) {
        report(CaseResult::new(&format!("ridge: {}", case.name), check(device, &case)));
    }
    averages::ridge(device, quick, report);
}

/// Pixels of pictures that the reference takes on.
const SMALL: usize = 80 * 60;

fn check(device: &dyn Backend, case: &Case) -> Result<Measured> {
    let clean = case.clean();
    let noisy = case.noisy(&clean)?;
    let mut measured = whole(device, case, &clean, &noisy)?;
    if case.planes == 1 && case.size.0 * case.size.1 <= SMALL {
        let plan = Plan::new(&case.params, case.size.0, case.size.1, &[case.sigma])?;
        let searches = plan.rounds.iter().enumerate().filter(|(_, round)| round.search.is_some());
        let indices: Vec<usize> = searches.map(|(i, _)| i).collect();
        measured.groups = None;
        for index in [indices[0], indices[indices.len() - 1]] {
            let (same, off) = round(device, case, &plan, index, &clean[0], &noisy[0])?;
            measured.groups = same.map(|same| measured.groups.unwrap_or(true) && same);
            if index == 0 {
                measured.first_pass = off;
            } else {
                measured.second_pass = off;
            }
        }
    }
    Ok(measured)
}

/// A round and its groups, given an estimate and what has noise left: whether the groups are the same, and how far pixels
/// are off.
fn round(
    device: &dyn Backend,
    case: &Case,
    plan: &Plan,
    index: usize,
    clean: &Plane,
    noisy: &Plane,
) -> Result<(Option<bool>, Option<Limited>)> {
    let between = |part: f32| {
        let mixed = noisy.as_slice().iter().zip(clean.as_slice()).map(|(n, c)| c + part * (n - c));
        Plane::from_vec(plan.width, plan.height, mixed.collect())
    };
    let x = if case.kind == Kind::Usual { between(0.2)? } else { noisy.clone() };
    let z = if index == 0 || case.kind != Kind::Usual { noisy.clone() } else { between(0.5)? };
    let probe = device.probe();
    let got = told(probe.map(|p| p.ridge_groups(plan, index, &x.view(), &z.view())))?;
    let (x, z, y) = (vec![x], vec![z], vec![noisy.clone()]);
    let rounds = told(probe.map(|p| p.ridge_round(plan, index, &views(&y), &views(&x), &views(&z))))?;
    let want = reference::groups(plan, index, &x[0].view(), &z[0].view()).unwrap_or_default();
    let off = rounds.map(|(next, left)| {
        let (want_x, want_z) = reference::round(plan, index, &want, &views(&y), &x, &z);
        worst(&next, &want_x).max(worst(&left, &want_z))
    });
    // The order inside a group changes nothing.
    let sets = |mut groups: Vec<reference::Group>| {
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups
    };
    let precise = device.caps(&plan.clone().into()).full_precision;
    let limit = if precise { RIDGE_TOLERANCE } else { RIDGE_HALVES };
    Ok((got.map(|got| sets(got) == sets(want)), off.and_then(|off| Limited::new(off, limit))))
}

/// The picture from samples to samples against the processor's, as it is and as frames of a video.
fn whole(device: &dyn Backend, case: &Case, clean: &[Plane], noisy: &[Plane]) -> Result<Measured> {
    let (plan, format) = (case.whole_plan()?, case.format);
    let (scale, pixels) = (format.white() / 255.0, case.size.0 * case.size.1);
    let mut from = vec![SampleBuffer::new(format, pixels); noisy.len()];
    for (buffer, plane) in from.iter_mut().zip(noisy) {
        buffer.view_mut().store(plane.as_slice(), scale, format.white());
    }
    let from: Vec<Samples<'_>> = from.iter().map(SampleBuffer::view).collect();
    let frame = Input { planes: &from, guide: &[] };
    let go = |sequence: &mut dyn Sequence, pulled: bool| -> Result<Vec<Plane>> {
        let mut out = vec![SampleBuffer::new(format, pixels); from.len()];
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
        if pulled {
            sequence.pull(&mut to, &Control::new())?;
        } else {
            sequence.frame(&frame, &mut to, &Control::new())?;
        }
        let plane =
            |b: &SampleBuffer| Plane::from_vec(case.size.0, case.size.1, b.view().to_floats(1.0 / scale));
        out.iter().map(plane).collect()
    };
    let want = go(&mut *Cpu::new(DeviceOptions::default())?.open(&plan)?, false)?;
    let mut sequence = device.open(&plan)?;
    let mut measured = compare(case, &go(&mut *sequence, false)?, &want, clean);
    // As a video: two frames in work at once.
    sequence.push(&frame, &Control::new())?;
    sequence.push(&frame, &Control::new())?;
    for _ in 0..2 {
        let pulled = compare(case, &go(&mut *sequence, true)?, &want, clean);
        if pulled.fault().is_some() {
            measured = pulled;
        }
    }
    Ok(measured)
}

/// A group that rounding decides changes a patch or two by a part of the noise; a pixel that is off by more is a fault.
fn compare(case: &Case, got: &[Plane], want: &[Plane], clean: &[Plane]) -> Measured {
    let pixels = pairs(got, want).count() as f64;
    let fits = |v: f64| v * (512.0 * 512.0 / pixels).sqrt().max(1.0);
    let usual = case.kind == Kind::Usual && case.sigma >= 1.0;
    Measured {
        worst: Limited::new(worst(got, want), case.sigma.max(1.0)),
        psnr_db: usual.then(|| (psnr(clean, got) - psnr(clean, want)).abs()),
        psnr_limit: fits(PSNR),
        ..Measured::default()
    }
}
