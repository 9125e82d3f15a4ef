//! Reports what a run of the tests did not check, because programs are missing on this machine.
//!
//! Cargo runs the test programs in the order of their names, and this one is the last. With
//! `ACCESSION_TEST_ALL=1`, all programs must be installed, and only the cluster may be missing. A run of
//! selected tests reports nothing.

#![expect(clippy::print_stdout, reason = "what was not checked is reported")]

use std::process::ExitCode;

use harness::installed::installed;
use harness::mounts::may_mount;

/// The subject of tests, the program that they need, and the command that installs it.
const NEEDS: [(&str, &str, &str); 14] = [
    ("PostgreSQL", "initdb", "apt-get install postgresql"),
    ("a pooler of connections", "pgbouncer", "apt-get install pgbouncer"),
    ("a mirror of a directory on nginx", "nginx", "apt-get install nginx-light"),
    ("a directory on Caddy", "caddy", "apt-get install caddy"),
    ("a directory on Apache", "apache2", "apt-get install apache2-bin"),
    ("completions of bash", "bash", "apt-get install bash"),
    ("completions of zsh", "zsh", "apt-get install zsh"),
    ("completions of fish", "fish", "apt-get install fish"),
    ("output on a terminal", "script", "apt-get install util-linux"),
    ("checksums of files by other programs", "sha384sum", "apt-get install coreutils"),
    ("proofs by openssl", "openssl", "apt-get install openssl"),
    ("the calls of the documented addresses", "curl", "apt-get install curl"),
    ("the identifier in JavaScript", "node", "apt-get install nodejs"),
    ("the identifier in SQL", "duckdb", "pip install duckdb-cli"),
];

/// The environment variable that names a cluster. There is no Debian package for it.
const CLUSTER: &str = "ACCESSION_TEST_CITUS";

fn main() -> ExitCode {
    let selects = |argument: String| {
        let is_option = argument.starts_with('-') && argument != "--skip" && argument != "--list";
        !is_option && argument.parse::<u32>().is_err()
    };
    if std::env::args().skip(1).any(selects) {
        return ExitCode::SUCCESS;
    }
    let mut lines = Vec::new();
    for (what, program, command) in NEEDS {
        if installed(program).is_none() {
            let why = format!("{program} is not installed: {command}");
            lines.push(format!("NOT CHECKED: {what}, because {why}"));
        }
    }
    #[cfg(unix)]
    if !rustix::process::geteuid().is_root() {
        lines.push("NOT CHECKED: the owner of a copy, because only root can keep it".to_owned());
    }
    if cfg!(target_os = "linux") && may_mount().is_none() {
        lines.push("NOT CHECKED: full disks, because nothing can be mounted here".to_owned());
    }
    let is_refused = !lines.is_empty() && std::env::var_os("ACCESSION_TEST_ALL").is_some();
    if std::env::var_os(CLUSTER).is_none() {
        let why = format!("{CLUSTER} does not name the coordinator of a cluster (postgres://...)");
        lines.push(format!("NOT CHECKED: Citus, because {why}"));
    }
    if !lines.is_empty() {
        println!("\n{}\n", lines.join("\n"));
    }
    if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
