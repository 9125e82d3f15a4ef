//! Corrects the history of a dataset on which others rely, and removes a dataset, on a registry of either kind.
//! Whenever the command is killed, it is done completely or not at all.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::program::program;

/// The commands that are killed.
pub const KILLED: [&str; 2] = ["dataset correct D --after 2001-01-03", "dataset remove TYPO"];

/// The commands that create the archive: subsets, annotations, a statement, a site and a mirror of it.
const MADE: [&str; 15] = [
    "sync D one.txt --create --at 2001-01-02",
    "dataset edit D --doi 10.9999/D",
    "sync D two.txt --at 2001-01-03",
    "fixity add D sums.md5 --at 2001-01-03T12:00",
    "sync D three.txt --at 2001-01-04",
    "annotate D@2001-01-02 first",
    "annotate D@2001-01-04 wrong",
    "cite D@2001-01-03 --select A*",
    "cite D@2001-01-04 --select C*",
    "cite D@2001-01-02",
    "cite D@2001-01-03",
    "cite D@2001-01-05",
    "dataset create TYPO",
    "dataset edit TYPO --title T",
    "proof keygen us.example.org/statements --output us.key",
];

/// An archive in a directory, with a registry in the directory or on a server.
pub struct Corrected {
    pub directory: PathBuf,
    pub registry: String,
}

impl Corrected {
    /// Creates the archive in a new directory.
    pub fn prepare(directory: &Path, registry: &str) -> Self {
        for part in ["", "tmp"] {
            std::fs::create_dir_all(directory.join(part)).unwrap();
        }
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
        write("one.txt", "A1\nA2\nB1\n");
        write("two.txt", "A1\nA2\nB1\nB2\n");
        write("three.txt", "A1\nB2\nC1\n");
        write("sums.md5", "9dd4e461268c8034f5c8564e155c67a6  A1\n");
        let made = Corrected { directory: directory.to_owned(), registry: registry.to_owned() };
        let mut citations = String::new();
        for words in MADE {
            let printed = made.succeeds(words);
            if words.starts_with("cite ") {
                citations.push_str(&printed);
            }
        }
        write("citations.txt", &citations);
        for words in ["proof sign --key us.key", "publish www"] {
            made.succeeds(words);
        }
        made.succeeds("--registry them.db mirror pull D www/datasets/D --create");
        made
    }

    /// A command on the registry.
    pub fn command(&self, mut command: Command, words: &str) -> Command {
        command.current_dir(&self.directory).env("ACCESSION_REGISTRY", &self.registry);
        command.args(words.split(' '));
        command
    }

    fn run(&self, words: &str) -> Output {
        self.command(Command::new(program()), words).output().unwrap()
    }

    fn succeeds(&self, words: &str) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, words: &str, status: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(status), "{words}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Whether the killed command was done. Asserts that its effects are complete or absent.
    pub fn was_done(&self, words: &str) -> bool {
        let datasets = self.succeeds("dataset list --json");
        if words == KILLED[1] {
            return !datasets.contains("\"TYPO\"");
        }
        let changes = self.succeeds("history D --json").lines().count();
        let is_corrected = datasets.contains("\"corrections\":[{");
        assert_eq!(changes, if is_corrected { 3 } else { 4 }, "{datasets}");
        let kept = self.succeeds("history --json");
        let kept = kept.lines().filter(|line| line.contains("\"dataset\":\"D.before-")).count();
        assert_eq!(kept, if is_corrected { 4 } else { 0 }, "{datasets}");
        is_corrected
    }

    /// Asserts that citations, notes, logs and mirrors mean the same as before, or report that the history was
    /// corrected.
    pub fn assert_means_the_same(&self, is_corrected: bool) {
        self.succeeds("verify");
        let checked = self.succeeds("check citations.txt");
        let notes = checked.matches("note: the history was corrected on").count();
        assert_eq!(notes, if is_corrected { 2 } else { 0 }, "{checked}");
        assert_eq!(checked.matches("known, and agrees with its date").count(), 5, "{checked}");
        let annotated = self.succeeds("history D --json");
        assert!(annotated.contains("\"note\":\"first\""), "{annotated}");
        assert_eq!(annotated.contains("\"note\":\"wrong\""), !is_corrected, "{annotated}");
        if !self.succeeds("dataset list --json").contains("\"TYPO\"") {
            // The site contained the dataset, without a change.
            let output = self.run("publish www");
            let printed = String::from_utf8(output.stderr).unwrap();
            let deleted = "if `dataset remove` removed it, delete \"www/datasets/TYPO\"";
            let is_published = self.directory.join("www/datasets/TYPO").exists();
            assert_eq!(printed.contains(deleted), is_published, "{printed}");
            if is_published {
                std::fs::remove_dir_all(self.directory.join("www/datasets/TYPO")).unwrap();
            }
        }
        // The log was signed before, and continues.
        for words in
            ["publish www", "verify www", "proof sign --key us.key", "publish www", "verify www"]
        {
            self.succeeds(words);
        }
        let compare = "--registry them.db mirror compare D www/datasets/D";
        if is_corrected {
            let output = self.run(compare);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let printed = String::from_utf8(output.stdout).unwrap();
            // A copied archive has another address, from which the mirror has read nothing.
            assert!(printed.contains("\nstale: ") || printed.contains("\ndiverged\n"), "{printed}");
        } else {
            self.succeeds(compare);
        }
    }

    /// Runs the command again: it does what the killed one has not done, and nothing twice.
    pub fn again(&self, words: &str, was_done: bool) {
        if was_done {
            let refused = self.fails(words, 2);
            let why = ["has no change after", "the registry has no dataset TYPO"];
            assert!(why.iter().any(|why| refused.contains(why)), "{refused}");
        } else {
            self.succeeds(words);
        }
        assert!(self.was_done(words));
    }
}
