//! quell on the command line: a noisy picture or clip in, a clean one out.
//!
//! `args` is what was typed; the other modules are what it means. Data goes to standard output, everything
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
mod lab;
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
mod studio;
mod table;
mod video;

use std::ffi::OsString;
use std::io::Write;

use args::Invocation;
use failure::Exit;
use quell::Cancel;

/// The program: does what the command line says, its first word being the program's name, and gives the exit code. Once
/// per process, which is to end then: it listens for Ctrl-C.
///
/// ```
/// assert_eq!(quell_cli::main_with(["quell", "--version"].map(Into::into)), 0);
/// ```
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> u8 {
    let code = match args::parse(args) {
        Ok(invocation) => end(&invocation) as u8,
        Err(early) => early,
    };
    // Where there is no `main` of Rust nobody does it afterwards. A closed pipe has been told of where it matters.
    let _ = std::io::stdout().flush();
    code
}

fn end(invocation: &Invocation) -> Exit {
    failure::silence_panics();
    let cancel = interrupt::listen();
    let done = failure::guard(|| {
        engine::check_environment()?;
        run(invocation, &cancel)
    });
    let exit = done.unwrap_or_else(|e| failure::report(&e));
    if cancel.is_cancelled() {
        quell_io::remove_unfinished();
        return Exit::Interrupted;
    }
    exit
}

fn run(invocation: &Invocation, cancel: &Cancel) -> anyhow::Result<Exit> {
    match invocation {
        Invocation::Denoise(a) => denoise::run(a, cancel),
        Invocation::Noise(a) => noise::run(a),
        Invocation::Compare(a) => compare::run(a),
        Invocation::Degrade(a) => degrade::run(a),
        Invocation::Devices(style) => devices::run(*style),
        Invocation::Studio(a) => studio::run(a, cancel),
        Invocation::Bench(a) => bench::run(a, cancel),
        Invocation::Lab(a) => lab::run(a, cancel),
        Invocation::Check(a) => gpu_check::run(a, cancel),
        Invocation::Completions(shell) => args::completions(*shell),
    }
}
