//! The fuzz targets without a fuzzer: each of them on its seeds as they are, then damaged in ways that are the same every
//! time. A few seconds, with any compiler.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
#[allow(missing_docs, unreachable_pub, reason = "a crate of its own")]
mod targets;

use targets::{TARGETS, seeds};

/// Damaged copies of every seed.
const COPIES: u32 = 1000;

/// Numbers that are often not thought of.
const NUMBERS: [u32; 8] = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, u32::MAX];

/// A small generator.
struct Random(u32);

impl Random {
    /// Below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % n
    }
}

/// Does one to four kinds of damage.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(8) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.below(256) as u8,
            3 => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                let number = if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                let size = [1, 2, 4][random.below(3)].min(bytes.len() - at);
                bytes[at..at + size].copy_from_slice(&number[..size]);
            }
            4 => bytes.truncate(at),
            5 => drop(bytes.drain(at..end)),
            6 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let from = random.below(other.len());
                let part = &other[from..(from + 16).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
}

#[test]
fn damaged_seeds_are_read_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let seeds = seeds::all(&root).unwrap();
    let mut random = Random(1);
    for (name, target) in TARGETS {
        let own: Vec<_> = seeds.iter().filter(|seed| seed.target == name).collect();
        assert!(!own.is_empty(), "{name} has no seeds");
        for seed in &own {
            for copy in 0..=COPIES {
                let mut bytes = seed.bytes.clone();
                if copy > 0 {
                    damage(&mut bytes, &own[random.below(own.len())].bytes, &mut random);
                }
                let ended = catch_unwind(AssertUnwindSafe(|| target(&bytes)));
                assert!(ended.is_ok(), "{name}: {} with damage {copy}: {}", seed.name, bytes.escape_ascii());
            }
        }
    }
}

#[test]
fn every_target_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut names: Vec<_> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let mut listed = TARGETS.map(|(name, _)| name);
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
}
