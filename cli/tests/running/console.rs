//! Transcripts: Markdown files whose `console` blocks are run and must print the output that they show.
//!
//! The shell runs each line that begins with `$ `. A `\` at its end continues it on the next line. The output
//! follows, in the order in which a terminal shows both streams. `? N` follows if the exit status N is not 0.
//! If the program pipes its output to another command, stderr comes first. All blocks of a file share one
//! directory, which contains `fixtures/` and is printed as `/archive`. Times that depend on the clock are
//! masked on both sides. `UPDATE_TRANSCRIPTS=1 cargo test` updates the files with the present output.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub use super::program::program;
use super::two_streams::two_streams;

/// Runs every `console` block of a file, and compares the output with the file.
pub fn assert_transcript(file: &Path) {
    assert_transcript_in(harness::directory(), file);
}

/// Like [`assert_transcript`], in this directory.
pub fn assert_transcript_in(directory: tempfile::TempDir, file: &Path) {
    let shown = std::fs::read_to_string(file).unwrap();
    let printed = replay(&shown, &Sandbox::inside(directory));
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
fn replay(shown: &str, sandbox: &Sandbox) -> String {
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

/// Stands for Cargo in a clone, where the program is already built.
const CARGO: &str = "\
#!/bin/sh
[ \"$1 $2\" = 'run --' ] || { echo \"cargo: $* is not replayed\" >&2; exit 2; }
shift 2
exec accession \"$@\"
";

/// The name of the sandbox directory in the output.
const DIRECTORY: &str = "/archive";

/// A temporary directory with `fixtures/` in it and the program in its `PATH`.
pub struct Sandbox {
    directory: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Sandbox::inside(harness::directory())
    }

    fn inside(directory: tempfile::TempDir) -> Self {
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        std::os::unix::fs::symlink(fixtures, directory.path().join("fixtures")).unwrap();
        let bin = directory.path().join(".bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("accession")).unwrap();
        let cargo = bin.join("cargo");
        std::fs::write(&cargo, CARGO).unwrap();
        std::fs::set_permissions(cargo, Permissions::from_mode(0o755)).unwrap();
        Sandbox { directory }
    }

    /// A sandbox after these commands, each of which must succeed.
    pub fn after(commands: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        for command in commands {
            let printed = sandbox.run(command);
            assert!(!printed.contains("\n? "), "{command}: {printed}");
        }
        sandbox
    }

    /// A registry with one dataset that holds A and B.
    pub fn with_a_dataset() -> Self {
        Sandbox::after(&["accession ingest DATASET --create --at 2001-01-02 --id A --id B"])
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The names of the files in the sandbox, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with these arguments, separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(program());
        self.set_up(command.args(arguments.split_whitespace()));
        command
    }

    /// The error of a command. Asserts that the command fails with this kind, and changes no file.
    pub fn refused(&self, arguments: &str, kind: &str) -> String {
        let printed = self.run(&format!("accession --json {arguments}"));
        assert!(printed.contains(&format!("\"kind\":\"{kind}\"")), "{arguments}: {printed}");
        // The error of a guard names the set that would have to be expected.
        let status = if printed.contains("\"expect\":") { 3 } else { 2 };
        assert!(printed.ends_with(&format!("\n? {status}\n")), "{arguments}: {printed}");
        printed
    }

    fn set_up<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = format!("{}/.bin:/usr/local/bin:/usr/bin:/bin", self.path().display());
        command
            .current_dir(self.path())
            .env_clear()
            // A truncated cell would contain a part of a time or a path, which cannot be masked.
            .env("COLUMNS", "500")
            .env("HOME", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("LOGNAME", "archivist")
            .env("PATH", path)
    }

    /// Every file below a directory, with the content of registries. Links are not followed.
    fn state(&self, directory: &Path, state: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.state(&path, state);
            }
            if path.file_name().is_some_and(|name| name == ".accession-publish.lock") {
                continue; // It stays: a lock that is removed could be held twice.
            }
            let is_registry = path.extension().is_some_and(|extension| extension == "db");
            let content = if is_registry { std::fs::read(&path) } else { Ok(Vec::new()) };
            state.insert(path, content.unwrap_or_default());
        }
    }

    /// The output of a command in the order of a terminal, and its status if that is not 0. Asserts that a
    /// rejected command changes no file.
    pub fn run(&self, command: &str) -> String {
        let mut shell = Command::new("sh");
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        self.state(self.path(), &mut before);
        let output = two_streams(self.set_up(shell.args(["-c", command])));
        if matches!(output.status.code(), Some(2 | 3)) && is_one_command(command) {
            self.state(self.path(), &mut after);
            let names = |state: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<PathBuf> {
                state.keys().cloned().collect()
            };
            assert_eq!(names(&after), names(&before), "{command}: refused, and the files differ");
            // A mirror remembers that it could not be pulled. A dataset remembers a rejected listing and what
            // was accepted before.
            let remembering = [
                "mirror pull",
                "mirror compare",
                "import US http",
                " sync ",
                " ingest ",
                " delete ",
                " import L lists",
                " import BACKFILL",
            ];
            let remembers = remembering.iter().any(|it| command.contains(it));
            assert!(remembers || after == before, "{command}: refused, and a registry differs");
        }
        if !command.contains("2>&1") {
            let stray = output.stdout().lines().find(|line| is_for_people(line)).map(str::to_owned);
            assert_eq!(stray, None, "{command}: this is for stderr, and was written to stdout");
        }
        let mut printed = match is_piped_on(command) {
            // The processes of a pipe do not wait for each other.
            true => output.stderr() + &output.stdout(),
            false => output.both(),
        };
        // The directory has a different name in every run.
        for path in [self.path().canonicalize().unwrap(), self.path().to_owned()] {
            printed = printed.replace(path.to_str().unwrap(), DIRECTORY);
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

/// The output of a command on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn assert_refused(output: &Output, kind: &str, context: &str) {
    let error = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{context}: {error}");
    assert!(error.contains(&format!("\"kind\":\"{kind}\"")), "{context}: {error}");
}

/// Whether a line of the shell runs one command or a pipe, and writes no file itself.
fn is_one_command(line: &str) -> bool {
    let line = line.replace("2>&1", "").replace("> /dev/null", "");
    !line.contains(['>', ';', '&'])
}

/// Whether a line of the shell runs the program and pipes its output to another command.
fn is_piped_on(line: &str) -> bool {
    line.split(';')
        .filter_map(|part| part.rsplit_once(" | "))
        .any(|(it, _)| it.contains("accession "))
}

/// Whether a line is a warning or an error of the program. A script that reads stdout would take it for data.
fn is_for_people(line: &str) -> bool {
    ["error: ", "warning: ", "{\"error\":", "{\"warning\":"].iter().any(|it| line.starts_with(it))
}

/// The commands for packages, which the page of the program does not list.
const NOT_ON_PAGE: [&str; 2] = ["completions", "man"];

/// The commands that a help text lists. A line that continues a description names no command.
pub fn commands_in(help: &str) -> Vec<&str> {
    // The page of the program lists them under headings.
    let page = help.split_once("\nA SET is one of\n").map(|(commands, _)| commands);
    let lines: Vec<&str> = match page {
        Some(page) => page.lines().skip_while(|line| !line.starts_with("Usage:")).collect(),
        None => {
            let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
            lines.take_while(|line| !line.is_empty()).collect()
        }
    };
    let not_on_page = page.map_or(&[][..], |_| &NOT_ON_PAGE);
    lines
        .into_iter()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .chain(not_on_page.iter().copied())
        .collect()
}

/// The length of the date or instant at the beginning of a text, if it comes from the clock: no document uses a
/// time in this century from 2026 on.
fn length_of_now(text: &str) -> Option<usize> {
    let has_form = |form: &str| {
        let bytes = text.bytes().chain(std::iter::repeat(0));
        bytes.zip(form.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
    };
    if !has_form("2000-00-00") || &text[..4] < "2026" {
        return None;
    }
    let is_instant = text["2000-00-00".len()..].starts_with('T');
    let end = || text.find('Z').map(|end| end + 1);
    Some(if is_instant { end() } else { None }.unwrap_or("2000-00-00".len()))
}

/// The line, with each date and instant of the clock replaced by a mark.
fn without_now(line: &str) -> String {
    let (mut masked, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let (mark, length) = match length_of_now(rest) {
            Some(length) => ("[now]", length),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        masked.push_str(mark);
        rest = &rest[length..];
    }
    masked
}

/// The text with all times masked that depend on the clock. The width of columns depends on these times and on
/// the path of the directory, so it is masked as well.
pub fn masked(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(without_now).collect();
    let outputs = lines.chunk_by(|_, line| !line.starts_with("$ ") && !line.starts_with("```"));
    let mut masked = String::new();
    for output in outputs {
        let has_columns =
            output.iter().any(|line| line.contains("[now]") || line.contains(DIRECTORY));
        for line in output {
            let columns = line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim_start);
            let narrow = || columns.collect::<Vec<_>>().join("  ");
            writeln!(masked, "{}", if has_columns { narrow() } else { line.clone() }).unwrap();
        }
    }
    masked
}
