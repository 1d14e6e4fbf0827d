//! NL-means of a GPU against the reference, by the suite for every device.

use std::time::Instant;

use crate::device::Backend;
use crate::device::check::{self, Outcome};

/// All cases; the slow ones if the environment asks for them (`QUELL_ALL_CASES`).
pub(crate) fn agrees_with_the_reference(device: &dyn Backend) {
    let (mut failed, mut start) = (Vec::new(), Instant::now());
    check::nlm(device, std::env::var_os("QUELL_ALL_CASES").is_none(), &mut |result| {
        println!("{:?} {:?} in {:?}: {:?}", result.case, result.worst, start.elapsed(), result.outcome);
        start = Instant::now();
        if !matches!(result.outcome, Outcome::Pass) {
            failed.push(result.case);
        }
    });
    assert!(failed.is_empty(), "{failed:#?}");
}
