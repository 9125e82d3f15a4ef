//! The `accession` program: arguments in, exit status out.

use std::process::ExitCode;

mod cli;

fn main() -> ExitCode {
    cli::run(std::env::args_os()).into()
}
