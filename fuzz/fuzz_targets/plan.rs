//! Any text as a parameter file: it is refused with an error or gives a plan, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell::bm3d::{Params, Plan, Profile};

fuzz_target!(|text: &str| {
    let Ok(params) = Params::from_toml(text, &Profile::Normal.params(25.0)) else { return };
    if params.validate().is_ok() {
        let _ = Plan::new(&params, 32, 32, &[25.0]);
        let _ = Plan::new(&params, 32, 32, &[25.0; 3]);
    }
});
