//! Flags of `quell studio`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::values::{many, on, one, option, switch};

/// `quell studio [IN…]`.
#[derive(Clone, Debug)]
pub(crate) struct StudioArgs {
    /// Files, folders and patterns.
    pub(crate) inputs: Vec<PathBuf>,
    /// Folders with everything under them.
    pub(crate) recursive: bool,
    /// Where exports go.
    pub(crate) output: Option<PathBuf>,
    /// The address is printed, and nothing else happens.
    pub(crate) no_browser: bool,
    /// Mebibytes that pictures and results may take.
    pub(crate) memory: Option<u64>,
}

/// The command.
pub(super) fn define() -> Command {
    Command::new("studio")
        .about("Opens a window in the browser to find settings by eye")
        .long_about(
            "Opens a window in the browser to find settings by eye: before and after side by side, the noise, every \
             parameter, exports. The server behind it answers this machine alone, and ends with Ctrl-C.",
        )
        .arg(
            Arg::new("inputs")
                .value_name("IN")
                .value_parser(value_parser!(PathBuf))
                .num_args(0..)
                .help("Pictures, clips, folders, patterns such as 'shots/*.png'; more can be dropped into the window"),
        )
        .args([
            option("output", "FOLDER")
                .short('o')
                .value_parser(value_parser!(PathBuf))
                .help("Folder that exports, presets and noise profiles go to [default: the current one]"),
            switch("recursive").short('r').help("Take folders with all folders in them"),
            switch("no-browser").help("Print the address and open nothing"),
            option("memory", "MIB")
                .value_parser(value_parser!(u64).range(16..=1 << 20))
                .help("Memory for opened pictures and results [default: 192, or three times the largest picture]"),
        ])
}

impl StudioArgs {
    /// What was typed.
    pub(super) fn from_matches(m: &ArgMatches) -> Self {
        Self {
            inputs: many(m, "inputs"),
            recursive: on(m, "recursive"),
            output: one(m, "output"),
            no_browser: on(m, "no-browser"),
            memory: one(m, "memory"),
        }
    }
}
