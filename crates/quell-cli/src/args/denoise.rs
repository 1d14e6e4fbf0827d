//! Flags of `quell IN…`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use quell::isoline::Map;

use super::values::{many, names, on, one, option, rate, switch};
use super::{EngineArgs, ReadingArgs};
use crate::failure::Failure;
use crate::video::Part;

/// `quell IN… [OPTIONS]`.
#[derive(Clone, Debug)]
pub(crate) struct DenoiseArgs {
    /// Files, folders and patterns.
    pub(crate) inputs: Vec<PathBuf>,
    /// File or folder to write to.
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the inputs.
    pub(crate) in_place: bool,
    /// Folders with everything under them.
    pub(crate) recursive: bool,
    /// Redo what is done already.
    pub(crate) force: bool,
    /// Print the plan and do nothing.
    pub(crate) print_plan: bool,
    /// One JSON object per file.
    pub(crate) json: bool,
    /// Only errors.
    pub(crate) quiet: bool,
    /// Pictures in work at once; `None` as many as the device likes.
    pub(crate) jobs: Option<usize>,
    /// JPEG quality.
    pub(crate) jpeg_quality: Option<u8>,
    /// Frames a second of clips that do not tell.
    pub(crate) rate: Option<(u32, u32)>,
    /// Write this map of the isolines instead of the result.
    pub(crate) map: Option<Map>,
    /// Only these frames of clips.
    pub(crate) frames: Option<Part>,
    /// Clips before and after, side by side.
    pub(crate) compare: bool,
    /// Where the grain that is removed from a clip is described.
    pub(crate) grain_table: Option<PathBuf>,
    /// Arguments for ffmpeg instead of the usual encoder.
    pub(crate) encode: Option<Vec<String>>,
    /// How to filter.
    pub(crate) engine: EngineArgs,
    /// How to read.
    pub(crate) reading: ReadingArgs,
}

/// Adds the flags to the main command.
pub(super) fn define(command: Command) -> Command {
    command
        .arg(inputs().help("Pictures, clips, folders, patterns such as 'shots/*.png'; - is a y4m stream"))
        .args(
            [
                option("output", "OUT")
                    .short('o')
                    .value_parser(value_parser!(PathBuf))
                    .help("File or folder to write to [default: NAME.quell.EXT beside IN]")
                    .long_help(
                        "File to write to, or folder if it ends in a slash, exists, or there are several \
                         inputs; another extension converts [default: NAME.quell.EXT beside the input]",
                    ),
                switch("in-place").conflicts_with("output").help("Overwrite the inputs"),
                switch("recursive").short('r').help("Take folders with all folders in them").hide_short_help(true),
                switch("force").short('f').help("Redo what an earlier run of a batch has done"),
                option("jpeg-quality", "N")
                    .value_parser(value_parser!(u8).range(1..=100))
                    .hide_short_help(true)
                    .help("Quality of JPEG files, 1 to 100 [default: 95]"),
                option("rate", "N[/D]").value_parser(rate).hide_short_help(true).help(
                    "Frames a second of clips that do not tell, such as numbered pictures [default: 25]",
                ),
                option("frames", "A-B")
                    .value_parser(value_parser!(Part))
                    .conflicts_with("in-place")
                    .hide_short_help(true)
                    .help("Only these frames of a clip, without its sound, such as 100-150, 100- or 7; the first is 1"),
                switch("compare")
                    .conflicts_with("in-place")
                    .hide_short_help(true)
                    .help("Show what it does to a clip: on the left as it was, on the right the result"),
                option("grain-table", "FILE")
                    .value_parser(value_parser!(PathBuf))
                    .conflicts_with("compare")
                    .hide_short_help(true)
                    .help(
                        "Describe the grain that is removed from a clip as a film grain table of AV1: encoders that get it \
                         (aomenc --film-grain-table) have players put such grain back",
                    ),
                option("encode", "ARGS")
                    .hide_short_help(true)
                    .allow_hyphen_values(true)
                    .help("How ffmpeg encodes, such as '-crf 20' or '-c:v libx265' [default: as it was, or by container]"),
            ]
            .map(|a| a.help_heading("Files")),
        )
        .args(EngineArgs::define("auto"))
        .arg(
            option("jobs", "N")
                .value_parser(value_parser!(u8).range(1..=64))
                .help_heading("Work")
                .hide_short_help(true)
                .help("Pictures in work at once [default: 1 on the processor, more on a GPU]"),
        )
        .args(ReadingArgs::define())
        .args(
            [
                switch("print-plan")
                    .conflicts_with_all(["in-place", "json", "force"])
                    .hide_short_help(true)
                    .help("Print the parameters for each picture as TOML, and do nothing"),
                option("map", "NAME")
                    .value_parser(names(Map::ALL.map(|m| (m.name(), describe_map(m)))))
                    .conflicts_with_all(["in-place", "print-plan"])
                    .requires("output")
                    .hide_short_help(true)
                    .help("Write what --method isoline knows of each picture, as a picture, instead of the result"),
                switch("json").help("Print one JSON object per picture on standard output"),
                switch("quiet").short('q').help("Say nothing but errors"),
            ]
            .map(|a| a.help_heading("Output")),
        )
}

impl DenoiseArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Result<Self, Failure> {
        Ok(Self {
            inputs: many(m, "inputs"),
            output: one(m, "output"),
            in_place: on(m, "in-place"),
            recursive: on(m, "recursive"),
            force: on(m, "force"),
            print_plan: on(m, "print-plan"),
            json: on(m, "json"),
            quiet: on(m, "quiet"),
            jobs: one::<u8>(m, "jobs").map(usize::from),
            jpeg_quality: one(m, "jpeg-quality"),
            rate: one(m, "rate"),
            map: one::<String>(m, "map").and_then(|name| name.parse().ok()),
            frames: one(m, "frames"),
            compare: on(m, "compare"),
            grain_table: one(m, "grain-table"),
            encode: one::<String>(m, "encode").map(|e| e.split_whitespace().map(str::to_owned).collect()),
            engine: EngineArgs::from_matches(m)?,
            reading: ReadingArgs::from_matches(m),
        })
    }
}

fn describe_map(map: Map) -> &'static str {
    match map {
        Map::Directions => {
            "where isolines go: red is horizontal, yellow-green rises, cyan is vertical, violet falls"
        }
        Map::Edges => "in how many of 8 directions there is an edge: black none, white all",
        Map::Lengths => "how many pixels were averaged: black none, white as many as there can be",
    }
}

/// The positional list of inputs.
pub(super) fn inputs() -> Arg {
    Arg::new("inputs").value_name("IN").value_parser(value_parser!(PathBuf)).required(true).num_args(1..)
}
