//! Transcripts: Markdown files whose `console` blocks are run and must print what they show.
//!
//! A line that begins with `$ ` is run by the shell; a `\` at its end continues it on the next
//! line. It is followed by its stdout, then its stderr, then `? N` if the exit status N is not 0.
//! All blocks of a file share one directory, which contains `fixtures/`. Times that depend on the
//! clock are masked on both sides. `UPDATE_TRANSCRIPTS=1 cargo test` updates the files to what is
//! printed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use super::program::program;

/// Runs every `console` block of a file, and compares the output with the file.
pub fn assert_transcript(file: &Path) {
    let shown = std::fs::read_to_string(file).unwrap();
    let printed = replay(&shown);
    let (masked_shown, masked_printed) = (masked(&shown), masked(&printed));
    if masked_printed == masked_shown {
        return;
    }
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(file, printed).unwrap();
        return;
    }
    for (number, (shown, printed)) in masked_shown.lines().zip(masked_printed.lines()).enumerate() {
        assert_eq!(printed, shown, "{}:{}: printed, shown", file.display(), number + 1);
    }
    assert_eq!(masked_printed.len(), masked_shown.len(), "{}: one ends earlier", file.display());
}

/// The content of the file, with the present output of its commands.
fn replay(shown: &str) -> String {
    let sandbox = Sandbox::new();
    let mut replayed = String::new();
    let mut lines = shown.lines().peekable();
    let mut is_console = false;
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        writeln!(replayed, "{line}").unwrap();
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else { continue };
        let mut command = command.to_owned();
        while command.ends_with('\\') {
            let more = lines.next().unwrap();
            writeln!(replayed, "{more}").unwrap();
            write!(command, "\n{more}").unwrap();
        }
        while lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")).is_some() {}
        replayed.push_str(&sandbox.run(&command));
    }
    replayed
}

/// A temporary directory with `fixtures/` in it and the program in its `PATH`.
pub struct Sandbox {
    directory: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        std::os::unix::fs::symlink(fixtures, directory.path().join("fixtures")).unwrap();
        let bin = directory.path().join(".bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("accession")).unwrap();
        Sandbox { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The names of the files in it, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with these arguments, which are separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(program());
        self.set_up(command.args(arguments.split_whitespace()));
        command
    }

    fn set_up<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = format!("{}/.bin:/usr/local/bin:/usr/bin:/bin", self.path().display());
        command
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("LOGNAME", "archivist")
            .env("PATH", path)
    }

    /// What a command prints: stdout, stderr, and its status if that is not 0.
    pub fn run(&self, command: &str) -> String {
        let mut shell = Command::new("sh");
        let output = self.set_up(shell.args(["-c", command])).output().unwrap();
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
        // The directory has another name in every run.
        for path in [self.path().canonicalize().unwrap(), self.path().to_owned()] {
            printed = printed.replace(path.to_str().unwrap(), "/archive");
        }
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            Some(status) => writeln!(printed, "? {status}").unwrap(),
            None => printed.push_str("? killed\n"),
        }
        printed
    }
}

/// The commands that a help text lists. A line that continues a description does not name one.
pub fn commands_in(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect()
}

/// Replaces what follows each `before` by a mark; `length` returns how many bytes to replace.
fn mask(line: &mut String, before: &str, length: impl Fn(&str) -> usize) {
    let mut from = 0;
    while let Some(start) = line[from..].find(before).map(|at| from + at + before.len()) {
        let end = (start + length(&line[start..])).min(line.len());
        line.replace_range(start..end, "[now]");
        from = start;
    }
}

/// The text with all times masked that depend on the clock.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        let instants = [
            "\"recorded\":\"",
            "\"cited\":\"",
            "recorded    ",
            "was recorded at ",
            "now it is ",
            "stamped ",
            "withdrawn at ",
            "withdrawn   ",
            ".replaced-",
        ];
        for before in instants {
            mask(&mut line, before, |rest| rest.find('Z').map_or(0, |z| z + 1));
        }
        for before in ["Accessed ", "urldate      = {", "{ UY, "] {
            mask(&mut line, before, |_| "2001-01-01".len());
        }
        writeln!(masked, "{line}").unwrap();
    }
    masked
}
