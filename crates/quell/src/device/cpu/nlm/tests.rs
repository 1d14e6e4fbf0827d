//! The processor against the reference, at every level, and bit for bit on any number of threads.

use super::super::Cpu;
use crate::device::cpu::Level;
use crate::device::{DeviceOptions, check};

#[test]
fn every_level_is_within_the_contract() {
    for level in Level::ALL.into_iter().filter(|l| *l <= Level::detect()) {
        let cpu = Cpu::new(DeviceOptions { level: Some(level), ..DeviceOptions::default() }).unwrap();
        let mut failed = Vec::new();
        check::nlm(&cpu, level < Level::detect(), &mut |case| {
            println!("{level:?} {}: {:?}", case.case, case.worst);
            if case.outcome != check::Outcome::Pass {
                failed.push(format!("{case:?}"));
            }
        });
        assert!(failed.is_empty(), "{level:?}: {failed:#?}");
    }
}
