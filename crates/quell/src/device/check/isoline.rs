//! Isoline filters of a device against the scalar reference.

use rayon::prelude::*;

use super::frames::{Clip, filter, floats, views, worst};
use super::{CaseResult, Limited, Measured};
use crate::device::{Backend, SampleFormat, picture};
use crate::isoline::{Map, Params, Plan, Profile, Variant, reference};
use crate::{Control, Plane, PlaneView, Result, method};

/// Most that a pixel may differ from the reference, in grey levels of 255: f32 against f64.
pub const ISOLINE_TOLERANCE: f32 = 0.01;

/// A picture and what is done to it.
struct Case {
    name: String,
    params: Params,
    size: (usize, usize),
    channels: usize,
    frames: usize,
    from: SampleFormat,
    to: SampleFormat,
    sigma: f32,
}

/// Every case; `quick` leaves out the slow ones.
fn cases(quick: bool) -> Vec<Case> {
    let case = |name: &str, params: &Params, size| Case {
        name: name.into(),
        params: params.clone(),
        size,
        channels: 1,
        frames: 1,
        from: SampleFormat::U8,
        to: SampleFormat::F32,
        sigma: 25.0,
    };
    let of = |variant| Params::of(variant, 25.0, 1);
    let (pooled, line, twice) = (of(Variant::Pooled), of(Variant::Line), of(Variant::TwoRound));
    let fast = Profile::Fast.params(25.0, 1);
    let color = |case: Case| Case { channels: 3, ..case };
    let float = |case: Case| Case { from: SampleFormat::F32, ..case };
    let strong = |params: Params| Case { sigma: 60.0, ..case("strong noise", &params, (61, 47)) };
    let mut all = Vec::new();
    for variant in Variant::ALL {
        let (name, params) = (variant.name(), of(variant));
        all.push(case(name, &params, (75, 53)));
        all.push(color(case(&format!("{name}, RGB"), &params, (40, 33))));
        all.push(case(&format!("{name}, one pixel"), &params, (1, 1)));
        all.push(case(&format!("{name}, thick lines"), &Params { thickness: 3, ..params.clone() }, (37, 41)));
        let few = Params { directions: 8, length: 2, max_length: 9, ..params.clone() };
        all.push(case(&format!("{name}, 8 directions, length 2"), &few, (33, 29)));
    }
    all.extend([
        float(case("pooled, float", &pooled, (130, 40))),
        float(case("two rounds, float", &twice, (70, 90))),
        case("two rounds, one column", &twice, (1, 40)),
        case("two rounds, one row", &twice, (40, 1)),
        case("two rounds, small", &twice, (5, 6)),
        case("fast profile", &fast, (100, 70)),
        Case { to: SampleFormat::U8, ..case("fast profile, 8 bits to 8 bits", &fast, (50, 31)) },
        Case {
            from: SampleFormat::U16,
            to: SampleFormat::U16,
            ..case("two rounds, 16 bits to 16 bits", &twice, (50, 31))
        },
        strong(Params::of(Variant::TwoRound, 60.0, 1)),
        Case { sigma: 2.0, ..case("weak noise", &Params::of(Variant::TwoRound, 2.0, 1), (61, 47)) },
        case("pooled, long lines", &Params { length: 4, max_length: 61, ..pooled }, (60, 45)),
        case(
            "line, length 7",
            &Params { length: 7, max_length: 15, window: 5, cell: 1, ..line.clone() },
            (50, 40),
        ),
        case("line, window 1", &Params { window: 1, cell: 1, ..line.clone() }, (50, 40)),
        case("line, window 31", &Params { window: 31, cell: 1, ..line.clone() }, (60, 40)),
        case("line, window 32 of cells of 8", &Params { window: 32, cell: 8, ..line.clone() }, (61, 43)),
        case("line, window 6 of cells of 2", &Params { window: 6, cell: 2, ..line.clone() }, (61, 43)),
        case(
            "pi-pd, paper's long lines",
            &Params { length: 4, max_length: 50, ..of(Variant::PiPd) },
            (60, 45),
        ),
        case("pi-ld, wide turns", &Params { turn: 4, directions: 16, ..of(Variant::PiLd) }, (33, 28)),
        Case { channels: 2, ..case("two planes", &line, (44, 37)) },
    ]);
    let frames = |past, future, case: Case| Case {
        frames: 5,
        params: Params { past, future, ..case.params.clone() },
        ..case
    };
    all.extend([
        frames(1, 0, case("pooled, 1 frame before", &of(Variant::Pooled), (52, 43))),
        frames(2, 0, case("fast profile, 2 frames before", &fast, (70, 41))),
        frames(1, 1, case("two rounds, frames around", &twice, (61, 50))),
        frames(0, 4, float(case("line, 4 frames after, float", &line, (40, 35)))),
        frames(1, 1, color(case("two rounds, frames around, RGB", &twice, (40, 33)))),
        frames(1, 0, case("line, one frame before, one pixel", &line, (1, 1))),
        frames(1, 0, case("line without motion", &Params { motion: 0, ..line.clone() }, (40, 35))),
        frames(1, 0, case("line, much motion", &Params { motion: 32, ..line.clone() }, (40, 35))),
        Case {
            from: SampleFormat::U16,
            to: SampleFormat::U16,
            ..frames(2, 1, case("two rounds, frames around, 16 bits", &twice, (50, 31)))
        },
    ]);
    if !quick {
        all.extend([
            case("two rounds, wide", &twice, (400, 150)),
            case("two rounds, tall", &twice, (150, 400)),
            color(case("two rounds, RGB, large", &twice, (200, 150))),
            case("hybrid, large", &of(Variant::Hybrid), (300, 200)),
            case("pi-ld, large", &of(Variant::PiLd), (150, 120)),
            frames(1, 1, case("two rounds, frames around, wide", &twice, (540, 100))),
        ]);
    }
    all
}

impl Case {
    fn plan(&self) -> Result<Plan> {
        let sigma = self.sigma * self.from.white() / 255.0;
        Plan::new(&self.params, self.size, self.from.white(), &vec![sigma; self.channels])
    }
}

/// Runs every case of the isoline filters on a device and reports each as it is done; `quick` leaves some out.
pub fn isoline(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    run(device, cases(quick), report);
}

/// The same with one case of each kind: unrolled kernels take some drivers many seconds to compile.
pub fn isoline_briefly(device: &dyn Backend, report: &mut dyn FnMut(CaseResult)) {
    let mut some = cases(true);
    some.retain(|case| BRIEF.contains(&&*case.name));
    run(device, some, report);
}

/// One case of every filter, and those that people use.
const BRIEF: [&str; 8] = [
    "pi-ld",
    "pi-pd",
    "hybrid",
    "pooled",
    "line",
    "two-round",
    "fast profile, 8 bits to 8 bits",
    "fast profile, 2 frames before",
];

fn run(device: &dyn Backend, cases: Vec<Case>, report: &mut dyn FnMut(CaseResult)) {
    for case in cases {
        report(CaseResult::new(&format!("isoline: {}", case.name), check(device, &case)));
    }
}

fn check(device: &dyn Backend, case: &Case) -> Result<Measured> {
    let plan = case.plan()?;
    let clip = Clip { size: case.size, frames: case.frames, sigma: case.sigma };
    let frames = clip.planes(case.channels, 0, case.from)?;
    let guides = vec![Vec::new(); case.frames];
    let whole = method::Plan::from(plan.clone());
    let got = filter(&mut *device.open(&whole)?, whole.window(), &frames, &guides, case.to)?;
    let planes = floats(case.size, &frames)?;
    let views = views(&planes);
    let want: Vec<Vec<Plane>> =
        (0..case.frames).into_par_iter().map(|t| reference::run_frame(&plan, &views, t)).collect();
    let off = worst(&got, &want, plan.white);
    // Sums of 8-bit samples are exact: so are the lines.
    let exact = plan.variant.is_blind() && case.from == SampleFormat::U8;
    let groups = if exact { Some(same_maps(device, &plan, &views[0])?) } else { None };
    Ok(Measured { worst: Limited::new(off, ISOLINE_TOLERANCE), groups, ..Measured::default() })
}

/// Whether directions, edges and lengths are those of the reference.
fn same_maps(device: &dyn Backend, plan: &Plan, planes: &[PlaneView<'_>]) -> Result<bool> {
    let same = |map| -> Result<bool> {
        let known = method::Work::Map(Box::new(plan.clone()), map).into();
        let got = picture(device, &known, planes, &[], &Control::new())?;
        Ok(got == [reference::map(plan, planes, map)])
    };
    Map::ALL.into_iter().try_fold(true, |all, map| Ok(all && same(map)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceOptions;
    use crate::device::cpu::Cpu;

    #[test]
    fn every_brief_case_is_there() {
        let mut count = 0;
        isoline_briefly(&Cpu::new(DeviceOptions::default()).unwrap(), &mut |case| {
            assert!(!case.failed(), "{case:?}");
            count += 1;
        });
        assert_eq!(count, BRIEF.len());
    }
}
