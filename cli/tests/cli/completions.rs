//! The completion scripts in their shells: keys are typed at a terminal, and the resulting command is run.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::running::console::Sandbox;
use harness::installed::installed;

#[test]
fn completions_offer_the_names_of_formats_and_layouts() {
    let sandbox = Sandbox::new();
    let script = sandbox.run("accession completions bash");
    for names in ["umm-json cmr-json stac", "tuple bibtex ris", "\"standard wide\""] {
        assert!(script.contains(names), "{names}");
    }
}

/// The typed text, and the program's output.
const TYPED: [(&str, &str); 2] = [
    (
        "accession loo\t US:A:B --json",
        "{\"dataset\":\"US:A:B\",\"timestamp\":\"2001-01-02T00:00:00Z\"",
    ),
    ("accession dataset lis\t --json", "{\"name\":\"US:A:B\","),
];

/// Types the lines into an interactive shell, which reads its own start-up file. Returns what the terminal
/// shows. `None` means that a program is missing.
fn typed(shell: Option<PathBuf>, options: &str, beginning: (&str, &str)) -> Option<String> {
    let (script, shell) = (installed("script")?, shell?);
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest US:A:B --create --at 2001-01-02 --id A");
    let (file, commands) = beginning;
    std::fs::write(sandbox.path().join(file), commands).unwrap();
    let mut command = Command::new(script);
    command.args(["-qec", &format!("{} {options}", shell.display()), "/dev/null"]);
    let path = format!("{}/.bin:/usr/bin:/bin", sandbox.path().display());
    command.current_dir(sandbox.path()).env_clear().env("HOME", sandbox.path()).env("PATH", path);
    command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm").env("LOGNAME", "archivist");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines: String = TYPED.iter().map(|(line, _)| format!("{line}\n")).collect();
    child.stdin.take().unwrap().write_all(format!("{lines}exit\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn assert_completed(shown: Option<String>) {
    let Some(shown) = shown else { return };
    for (line, printed) in TYPED {
        assert!(shown.contains(printed), "{line:?} is not completed:\n{shown}");
    }
}

#[test]
fn bash_completes_commands() {
    let beginning = "source <(accession completions bash)\n";
    assert_completed(typed(installed("bash"), "--noprofile --rcfile rc -i", ("rc", beginning)));
}

#[test]
fn zsh_completes_commands() {
    let beginning = "accession completions zsh > ~/_accession\nfpath=(~ $fpath)\n\
                     autoload -Uz compinit && compinit -u\n";
    assert_completed(typed(installed("zsh"), "-d -i", (".zshrc", beginning)));
}

#[test]
fn fish_completes_commands() {
    let beginning = "accession completions fish | source\n";
    assert_completed(typed(installed("fish"), "--no-config -i -C 'source rc'", ("rc", beginning)));
}
