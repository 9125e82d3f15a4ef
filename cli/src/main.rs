//! The `accession` program, which passes its arguments to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    accession_cli::run(std::env::args_os()).into()
}
