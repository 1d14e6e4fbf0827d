//! The command line as typed: clap definitions, and plain structs of what was found. What it means is the
//! business of the other modules.

mod commands;
mod denoise;
#[cfg(test)]
mod documents;
mod engine;
mod lab;
mod noise;
mod parameters;
mod reading;
mod studio;
mod values;

pub(crate) use commands::{BenchArgs, CheckArgs, CompareArgs, DegradeArgs, NoiseArgs};
pub(crate) use denoise::DenoiseArgs;
pub(crate) use engine::{EngineArgs, Known};
pub(crate) use lab::{LabArgs, LabRun};
pub(crate) use noise::{From, Given, Profile};
pub(crate) use parameters::flag;
pub(crate) use reading::{NanPolicy, ReadingArgs};
pub(crate) use studio::StudioArgs;

use std::ffi::OsString;

use clap::{ArgMatches, Command};
use clap_complete::Shell;

use crate::failure::{self, Exit, Failure};
use crate::table::Style;

/// What the user wants.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// `quell IN…`
    Denoise(DenoiseArgs),
    /// `quell noise`
    Noise(NoiseArgs),
    /// `quell compare`
    Compare(CompareArgs),
    /// `quell degrade`
    Degrade(DegradeArgs),
    /// `quell devices`
    Devices(Style),
    /// `quell studio`
    Studio(StudioArgs),
    /// `quell bench`
    Bench(BenchArgs),
    /// `quell gpu-check`
    Check(CheckArgs),
    /// `quell lab`
    Lab(LabArgs),
    /// `quell completions`
    Completions(Shell),
}

const EXAMPLES: &str = "\
Examples:
  quell noisy.jpg                      noise estimated, writes noisy.quell.jpg
  quell shots/ -o clean/ --sigma 12    a whole folder; run again to go on where it stopped";

const EXAMPLES_LONG: &str = "\
Examples:
  quell noisy.jpg                      noise estimated, writes noisy.quell.jpg
  quell noisy.tif -o clean.png --sigma 25 --profile high
  quell shots/ -o clean/ --sigma 12    a whole folder; run again to go on where it stopped
  quell '*.png' --in-place             overwrites the pictures
  quell clip.mp4 -o clean.mkv          video; sound and metadata are copied (needs ffmpeg; .y4m does not)
  quell frame_%04d.png -o clean_%04d.png
  ffmpeg -i clip.mov -f yuv4mpegpipe - | quell - -o - --future 0 | ffplay -
  quell noisy.png --print-plan > plan.toml && quell other.png --params plan.toml

  quell studio noisy.png               a window to find settings by eye
  quell noise noisy.png                how noisy is it?
  quell degrade clean.png --sigma 25 --seed 0 -o noisy.png
  quell compare clean.png noisy.png noisy.quell.png
  quell bench --profile all
  quell lab run pareto                 which method is worth its time here?
  quell devices                        what there is to work on, and what keeps a GPU from being used

sigma is on the scale 0..255 for every picture: 25 means the same for 8 bits, 16 bits and float.
A file that is called like a command can be given as ./noise

Exit codes: 0 done, 1 a file failed, 2 the command line makes no sense, 130 interrupted";

/// The whole command line.
fn command() -> Command {
    denoise::define(Command::new("quell"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Removes noise from pictures and video")
        .long_about(
            "Removes noise from pictures and video. Reads and writes PNG, JPEG, TIFF, WebP, PNM, PFM, OpenEXR \
             and NumPy files; bit depth, colour profile and metadata are kept. Video is read and written as .y4m, as \
             numbered pictures, and in other containers through ffmpeg.",
        )
        .override_usage("quell [OPTIONS] <IN>...\n       quell <COMMAND> [OPTIONS]")
        .after_help(EXAMPLES)
        .after_long_help(EXAMPLES_LONG)
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true)
        .subcommands(commands::define())
        .max_term_width(110)
}

/// Reads the command line; `Err` is the exit code when there is nothing to do (help was shown, or it was wrong).
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, u8> {
    let matches = command().try_get_matches_from(args).map_err(|e| {
        // Nothing to be done when the terminal is gone.
        let _ = e.print();
        u8::try_from(e.exit_code()).unwrap_or(Exit::Usage as u8)
    })?;
    invocation(&matches).map_err(|e| failure::report(&e.into()) as u8)
}

fn invocation(matches: &ArgMatches) -> Result<Invocation, Failure> {
    let Some((name, sub)) = matches.subcommand() else {
        return DenoiseArgs::from_matches(matches).map(Invocation::Denoise);
    };
    Ok(match name {
        "noise" => Invocation::Noise(NoiseArgs::from_matches(sub)),
        "compare" => Invocation::Compare(CompareArgs::from_matches(sub)),
        "degrade" => Invocation::Degrade(DegradeArgs::from_matches(sub)),
        "devices" => Invocation::Devices(values::style(sub)),
        "studio" => Invocation::Studio(StudioArgs::from_matches(sub)),
        "bench" => Invocation::Bench(BenchArgs::from_matches(sub)?),
        "lab" => Invocation::Lab(LabArgs::from_matches(sub)),
        "gpu-check" => Invocation::Check(CheckArgs::from_matches(sub)),
        _ => Invocation::Completions(values::one(sub, "shell").unwrap_or(Shell::Bash)),
    })
}

/// The flags of `quell IN…` as a program gives them, not a person; the error is one line.
pub(crate) fn denoise_args(words: impl IntoIterator<Item = OsString>) -> Result<DenoiseArgs, Failure> {
    let words = std::iter::once(OsString::from("quell")).chain(words);
    let matches = command().try_get_matches_from(words).map_err(|e| {
        let text = e.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
    })?;
    DenoiseArgs::from_matches(&matches)
}

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "quell", &mut script);
    crate::report::data(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn every_parameter_has_a_flag_in_both_commands() {
        let command = super::command();
        let bench = command.find_subcommand("bench").unwrap();
        let parameters = quell::Method::all().into_iter().flat_map(|m| m.parameters(25.0));
        for parameter in parameters {
            let flag = super::flag(parameter.name);
            for c in [&command, bench] {
                assert!(c.get_arguments().any(|a| a.get_long() == Some(&flag)), "--{flag}");
            }
        }
    }

    #[test]
    fn short_help_fits_one_screen() {
        let help = super::command().term_width(100).render_help().to_string();
        assert!(help.lines().count() <= 48, "{} lines", help.lines().count());
        assert!(help.lines().all(|l| l.chars().count() <= 100));
    }
}
