//! quell on the command line: a noisy picture or clip in, a clean one out.
//!
//! [`args`] is what was typed; the other modules are what it means. Data goes to standard output, everything
//! else to standard error.
#![forbid(unsafe_code)]

mod args;
mod batch;
mod bench;
mod clip_bench;
mod compare;
mod correlation;
mod degrade;
mod denoise;
mod devices;
mod done;
mod engine;
mod expand;
mod failure;
mod gpu_bench;
mod gpu_check;
mod interrupt;
mod job;
mod large;
mod level;
mod measured;
mod nan;
mod noise;
mod order;
mod plans;
mod plot;
mod progress;
mod range;
mod reading;
mod report;
mod scene;
mod table;
mod video;

use std::process::ExitCode;

use args::Invocation;
use failure::Exit;
use quell::Cancel;

fn main() -> ExitCode {
    let invocation = match args::parse() {
        Ok(invocation) => invocation,
        Err(early) => return early,
    };
    failure::silence_panics();
    let cancel = interrupt::listen();
    let done = failure::guard(|| {
        engine::check_environment()?;
        run(&invocation, &cancel)
    });
    let exit = done.unwrap_or_else(|e| failure::report(&e));
    if cancel.is_cancelled() {
        quell_io::remove_unfinished();
        return Exit::Interrupted.into();
    }
    exit.into()
}

fn run(invocation: &Invocation, cancel: &Cancel) -> anyhow::Result<Exit> {
    match invocation {
        Invocation::Denoise(a) => denoise::run(a, cancel),
        Invocation::Noise(a) => noise::run(a),
        Invocation::Compare(a) => compare::run(a),
        Invocation::Degrade(a) => degrade::run(a),
        Invocation::Devices(style) => devices::run(*style),
        Invocation::Bench(a) => bench::run(a, cancel),
        Invocation::Check(a) => gpu_check::run(a, cancel),
        Invocation::Completions(shell) => args::completions(*shell),
    }
}
