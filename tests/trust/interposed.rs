//! The program with `interpose.c` between it and the C library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::victim::program_in;

/// A disk that does what it is told.
pub struct Interposed {
    report: PathBuf,
    library: &'static Path,
    variables: Vec<(&'static str, String)>,
}

/// What goes wrong at the `nth` call that changes a file; 0: nothing.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub mode: Mode,
    pub errno: Errno,
    pub nth: u64,
}

/// How, as `interpose.c` explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Once,
    From,
    Short,
    Fill,
}

/// What the call then says, with the numbers of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errno {
    Eio = 5,
    Enospc = 28,
}

impl Interposed {
    /// Fails as told; the calls that failed are reported to a file beside the folder.
    pub fn failing(folder: &Path, fault: Fault) -> Self {
        let report = folder.with_extension("report");
        let mode = match fault.mode {
            Mode::Once => "once",
            Mode::From => "from",
            Mode::Short => "short",
            Mode::Fill => "fill",
        };
        let variables = vec![
            ("INTERPOSE_NTH", fault.nth.to_string()),
            ("INTERPOSE_MODE", mode.to_owned()),
            ("INTERPOSE_ERRNO", (fault.errno as i32).to_string()),
            ("INTERPOSE_REPORT", report.to_str().unwrap().to_owned()),
        ];
        Interposed::over(folder, report, variables)
    }

    /// Fails nothing, and writes a journal.
    pub fn keeping(folder: &Path, journal: &Path) -> Self {
        let variables = vec![("INTERPOSE_JOURNAL", journal.to_str().unwrap().to_owned())];
        Interposed::over(folder, folder.with_extension("report"), variables)
    }

    fn over(folder: &Path, report: PathBuf, mut variables: Vec<(&'static str, String)>) -> Self {
        assert_eq!(folder, folder.canonicalize().unwrap(), "the folder is named without links");
        variables.push(("INTERPOSE_FOLDER", folder.to_str().unwrap().to_owned()));
        Interposed { report, library: library(), variables }
    }

    /// The program; its temporary files lie in the folder too.
    pub fn command(&self, temporary: &Path) -> Command {
        let mut command = program_in(temporary);
        command.env("LD_PRELOAD", self.library);
        for (variable, value) in &self.variables {
            command.env(variable, value);
        }
        command
    }

    /// The calls that were made to fail: each as what it was, and the path. And how many there
    /// were in all.
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
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("interpose.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trust/interpose.c");
        let output = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-U_FORTIFY_SOURCE"])
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .output()
            .expect("a C compiler, which the bundled SQLite needs too");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, library)
    });
    library
}
