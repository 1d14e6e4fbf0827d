//! The suite that users run on their devices: it passes on the processor.

use quell::device::check::{self, Outcome};
use quell::device::cpu::Level;

use crate::common::cpu;

#[test]
fn the_processor_passes() {
    let mut all = Vec::new();
    check::suite(&cpu(Level::detect(), 0, 0), true, &mut |case| all.push(case));
    assert!(all.len() >= 35, "only {} cases", all.len());
    for case in &all {
        assert_eq!(case.outcome, Outcome::Pass, "{case:?}");
    }
    let worst = all.iter().filter_map(|c| c.second_pass).fold(0.0, f32::max);
    assert!(worst > 0.0 && worst < 0.01, "pass 2 is off by {worst}");
    assert!(all.iter().filter(|c| c.groups == Some(true)).count() > 25);
}

#[test]
fn tiles_of_the_processor_pass() {
    let (whole, tiled) = (cpu(Level::detect(), 0, 0), cpu(Level::detect(), 0, 128));
    let mut all = Vec::new();
    check::tiles(&whole, &tiled, true, &mut |case| all.push(case));
    assert!(!all.is_empty());
    assert!(all.iter().all(|c| c.outcome == Outcome::Pass && c.worst == Some(0.0)), "{all:?}");
}
