//! Runs the program with `interpose.c` between it and the C library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::victim::program_in;

/// A disk that fails on request.
pub struct Interposed {
    report: PathBuf,
    library: &'static Path,
    variables: Vec<(&'static str, String)>,
}

/// A fault at the `nth` call that changes a file. With 0, no call fails.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub mode: Mode,
    pub errno: Errno,
    pub nth: u64,
}

/// The kind of fault; see `interpose.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Once,
    From,
    Short,
    Fill,
    Kill,
}

/// The error number of the call that fails, as on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errno {
    Eio = 5,
    Enospc = 28,
}

impl Interposed {
    /// Makes calls fail according to `fault`, and lists them in a file beside the directory.
    pub fn failing(directory: &Path, fault: Fault) -> Self {
        let report = directory.with_extension("report");
        let mode = match fault.mode {
            Mode::Once => "once",
            Mode::From => "from",
            Mode::Short => "short",
            Mode::Fill => "fill",
            Mode::Kill => "kill",
        };
        let variables = vec![
            ("INTERPOSE_NTH", fault.nth.to_string()),
            ("INTERPOSE_MODE", mode.to_owned()),
            ("INTERPOSE_ERRNO", (fault.errno as i32).to_string()),
            ("INTERPOSE_REPORT", report.to_str().unwrap().to_owned()),
        ];
        Interposed::over(directory, report, variables)
    }

    /// Makes no call fail, and writes a journal.
    pub fn keeping(directory: &Path, journal: &Path) -> Self {
        let variables = vec![("INTERPOSE_JOURNAL", journal.to_str().unwrap().to_owned())];
        Interposed::over(directory, directory.with_extension("report"), variables)
    }

    fn over(directory: &Path, report: PathBuf, mut variables: Vec<(&'static str, String)>) -> Self {
        assert_eq!(
            directory,
            directory.canonicalize().unwrap(),
            "the path of the directory has no links"
        );
        variables.push(("INTERPOSE_DIRECTORY", directory.to_str().unwrap().to_owned()));
        Interposed { report, library: library(), variables }
    }

    /// The program, with its temporary files in the same directory.
    pub fn command(&self, temporary: &Path) -> Command {
        let mut command = program_in(temporary);
        command.env("LD_PRELOAD", self.library);
        for (variable, value) in &self.variables {
            command.env(variable, value);
        }
        command
    }

    /// The calls that were made to fail, each with its operation and path, and the number of all calls.
    pub fn hits(&self) -> (Vec<String>, u64) {
        let report = std::fs::read_to_string(&self.report).unwrap();
        let mut hits: Vec<String> = report.lines().map(str::to_owned).collect();
        let last = hits.pop().unwrap();
        (hits, last.strip_prefix("calls ").unwrap().parse().unwrap())
    }
}

/// `interpose.c`, compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let directory = harness::directory();
        let library = directory.path().join("interpose.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trust/interpose.c");
        let output = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-U_FORTIFY_SOURCE"])
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .output()
            .expect("a C compiler, which the bundled SQLite needs too");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (directory, library)
    });
    library
}
