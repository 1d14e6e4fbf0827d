//! NL-means of a device against the scalar reference, frame by frame.

use rayon::prelude::*;

use super::frames::{Clip, filter, floats, views, worst};
use super::{CaseResult, Limited, Measured};
use crate::device::{Backend, SampleFormat};
use crate::nlm::reference::{self, Views};
use crate::nlm::{Center, Params, Plan, Profile, Weight};
use crate::{Plane, Result, method};

/// Most that a pixel may differ from the reference, in grey levels of 255: f32 against f64.
pub const NLM_TOLERANCE: f32 = 0.01;

/// A sequence of frames and what is done to it.
struct Case {
    name: &'static str,
    params: Params,
    size: (usize, usize),
    channels: usize,
    guides: usize,
    frames: usize,
    from: SampleFormat,
    to: SampleFormat,
    sigma: f32,
}

/// Every case; `quick` leaves out the slow ones.
fn cases(quick: bool) -> Vec<Case> {
    let fast = Profile::Fast.params(25.0, 1);
    let base = Params { patch: 5, search: 9, ..fast.clone() };
    let case = |name, params: &Params, size| Case {
        name,
        params: params.clone(),
        size,
        channels: 1,
        guides: 0,
        frames: 1,
        from: SampleFormat::U8,
        to: SampleFormat::F32,
        sigma: 25.0,
    };
    let with = |patch, search| Params { patch, search, ..base.clone() };
    let patchwise = Params { patch: 5, search: 7, ..Profile::Normal.params(25.0, 1) };
    let video = Params { past: 1, future: 0, search: 5, ..base.clone() };
    let float = |case: Case| Case { from: SampleFormat::F32, ..case };
    let color = |case: Case| Case { channels: 3, ..case };
    let mut all = vec![
        case("8 bits, patch 5, search 9", &base, (45, 37)),
        float(case("float, patch 5, search 9", &base, (45, 37))),
        case("8 bits, patch 7, search 21", &with(7, 21), (70, 41)),
        case("8 bits, patch 9, search 5", &with(9, 5), (67, 50)),
        case("patch 1, search 3", &with(1, 3), (33, 20)),
        case("search 1", &with(3, 1), (20, 20)),
        case("one pixel", &with(7, 9), (1, 1)),
        case("smaller than the window", &with(7, 21), (5, 6)),
        float(case("one column", &with(5, 9), (1, 40))),
        float(case("one row", &with(5, 9), (40, 1))),
        color(case("RGB 8 bits, patch 9, search 7", &with(9, 7), (40, 33))),
        float(color(case("RGB float", &base, (35, 30)))),
        Case {
            from: SampleFormat::U16,
            to: SampleFormat::U16,
            ..case("16 bits to 16 bits", &base, (50, 31))
        },
        Case { to: SampleFormat::U8, ..case("8 bits to 8 bits", &base, (50, 31)) },
        case("bisquare8", &Params { weight: Weight::Bisquare8, h: 3.5, ..base.clone() }, (41, 33)),
        case("gauss", &Params { weight: Weight::Gauss, h: 0.6, ..base.clone() }, (41, 33)),
        case("reference patch counts one", &Params { center: Center::One, ..base.clone() }, (41, 33)),
        case("distance corrected", &Params { correct: true, h: 1.0, ..base.clone() }, (41, 33)),
        case("no similar patch", &Params { h: 0.02, ..base.clone() }, (41, 33)),
        float(case(
            "next to no similar patch",
            &Params { h: 0.12, weight: Weight::Gauss, ..base.clone() },
            (41, 33),
        )),
        float(case("patchwise", &patchwise, (38, 31))),
        float(case("patchwise, next to no similar patch", &Params { h: 0.1, ..patchwise.clone() }, (38, 31))),
        case("patchwise, 8 bits", &Params { patch: 3, ..patchwise.clone() }, (38, 31)),
        color(case("patchwise RGB", &Params { search: 5, ..patchwise.clone() }, (24, 26))),
        float(Case { guides: 1, ..case("a guide", &base, (35, 30)) }),
        Case { guides: 3, channels: 2, ..case("three guides for two planes", &base, (35, 30)) },
        Case { frames: 3, ..case("one past frame", &video, (40, 30)) },
        Case {
            frames: 3,
            ..case("one future frame", &Params { past: 0, future: 1, ..video.clone() }, (40, 30))
        },
        color(Case {
            frames: 5,
            ..case("two past, one future, RGB", &Params { past: 2, future: 1, ..video.clone() }, (30, 25))
        }),
        Case {
            frames: 5,
            ..case("one past, two future", &Params { past: 1, future: 2, ..video.clone() }, (30, 25))
        },
        float(Case {
            frames: 3,
            ..case(
                "patchwise video",
                &Params { past: 1, future: 1, search: 3, ..patchwise.clone() },
                (28, 22),
            )
        }),
    ];
    if !quick {
        all.extend([
            case("8 bits, patch 7, search 21, wide", &with(7, 21), (300, 90)),
            float(case("float, patch 7, search 21, tall", &with(7, 21), (90, 300))),
            float(case("patch 21, search 11", &with(21, 11), (60, 50))),
            case("patch 3, search 41", &with(3, 41), (80, 60)),
            case("patch 3, search 101", &with(3, 101), (50, 60)),
            color(case("RGB patch 21, search 35", &with(21, 35), (40, 30))),
            case("weak noise", &base, (100, 80)).with_sigma(1.5),
            case("strong noise", &base, (100, 80)).with_sigma(90.0),
            color(case("IPOL, RGB", &Profile::Ipol.params(25.0, 3), (60, 40))),
            case("normal profile", &Profile::Normal.params(25.0, 1), (60, 50)),
        ]);
    }
    all
}

impl Case {
    fn with_sigma(self, sigma: f32) -> Self {
        Self { sigma, ..self }
    }

    /// White of the samples that go in and come out.
    fn white(&self) -> f32 {
        self.from.white()
    }

    fn plan(&self) -> Result<Plan> {
        let unit = if self.guides > 0 { 1.0 } else { self.white() / 255.0 };
        Plan::new(&self.params, self.size, self.channels, self.guides, self.white(), self.sigma * unit)
    }

    fn clip(&self) -> Clip {
        Clip { size: self.size, frames: self.frames, sigma: self.sigma }
    }
}

/// Runs every case of NL-means on a device and reports each as it is done; `quick` leaves some out.
pub fn nlm(device: &dyn Backend, quick: bool, report: &mut dyn FnMut(CaseResult)) {
    for case in cases(quick) {
        report(CaseResult::new(&format!("nlm: {}", case.name), check(device, &case)));
    }
}

fn check(device: &dyn Backend, case: &Case) -> Result<Measured> {
    let plan = case.plan()?;
    let frames = case.clip().planes(case.channels, 0, case.from)?;
    let guides = case.clip().planes(case.guides, 500, SampleFormat::F32)?;
    let whole = method::Plan::from(plan.clone());
    let got = filter(&mut *device.open(&whole)?, whole.window(), &frames, &guides, case.to)?;
    let (planes, compared) = (floats(case.size, &frames)?, floats(case.size, &guides)?);
    let (planes, compared) = (views(&planes), views(&compared));
    let frames: Vec<Views<'_>> =
        std::iter::zip(&planes, &compared).map(|(p, g)| Views { planes: p, guide: g }).collect();
    let want: Vec<Vec<Plane>> =
        (0..case.frames).into_par_iter().map(|t| reference::run(&plan, &frames, t)).collect();
    let worst = worst(&got, &want, plan.white);
    Ok(Measured { worst: Limited::new(worst, NLM_TOLERANCE), ..Measured::default() })
}
