//! The program `quell`; the library beside it is all of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    quell_cli::main_with(std::env::args_os()).into()
}
