//! The `accession` program, which passes its arguments to the library's command line.

use std::process::ExitCode;

mod cli;

fn main() -> ExitCode {
    cli::run(std::env::args_os()).into()
}
