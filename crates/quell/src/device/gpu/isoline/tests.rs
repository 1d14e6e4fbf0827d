//! Isoline filters of a GPU against the reference, by the suite for every device. A runtime instantiates these with
//! [`suite!`].

pub(crate) use super::lines_tests::{
    extreme_lines_are_the_same, samples_that_are_not_whole, tests_in_integers_are_the_same,
    ties_are_broken_the_same_way,
};
use crate::device::check::{self, Outcome};
use crate::device::gpu::{Gpu, Runtime};
use crate::device::{Backend, Input, Samples};
use crate::isoline::{Params, Plan, Variant};

pub(crate) fn agrees_with_the_reference<R: Runtime>(gpu: &Gpu<R>) {
    let mut failed = Vec::new();
    check::isoline(gpu, true, &mut |result| {
        if !matches!(result.outcome, Outcome::Pass) {
            failed.push(format!("{}: {:?}", result.case, result.outcome));
        }
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

pub(crate) fn stages_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let samples: Vec<u8> = (0..20 * 20).map(|i| (i * 7919 % 251) as u8).collect();
    let plan = |variant| Plan::new(&Params::of(variant, 25.0, 1), (20, 20), 255.0, &[25.0]).unwrap();
    let planes = [Samples::U8(&samples)];
    let timing = gpu.time(&plan(Variant::Line).into(), &[Input { planes: &planes, guide: &[] }], 3).unwrap();
    assert_eq!(timing.total_ms.len(), 3);
    let names: Vec<&str> = timing.stages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["upload", "pooling", "lines", "restoring"]);
    assert!(timing.device_bytes > 0);
    assert!(gpu.time(&plan(Variant::Line).into(), &[], 3).is_err(), "there is nothing to filter");
}

macro_rules! suite {
    ($gpu:expr) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::isoline::tests;
            agrees_with_the_reference, stages_are_timed, ties_are_broken_the_same_way,
            tests_in_integers_are_the_same, extreme_lines_are_the_same, samples_that_are_not_whole,
        }
    };
}
pub(crate) use suite;
