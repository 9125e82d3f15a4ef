//! The documents are correct: their commands print the output that is shown, their links have targets, and the
//! reference of the JSON output is complete.

mod commands;
mod json;
mod links;
mod words;

use std::path::{Path, PathBuf};

pub use commands::{command_of, helps, leaf_commands};
pub use json::section;

/// A Markdown file of the repository.
pub struct Document {
    /// The path, relative to the repository.
    pub path: PathBuf,
    pub text: String,
}

pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The documents for readers: those at the top level, and all in `docs/`.
pub fn documents() -> Vec<Document> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "fixtures/README.md"]
            .map(PathBuf::from)
            .into();
    let mut directories = vec![PathBuf::from("docs")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root().join(&directory)).unwrap() {
            let path = directory.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| document(&path)).collect()
}

/// The transcripts of the tests.
pub fn transcripts() -> Vec<Document> {
    let directory = Path::new("cli/tests/cli/transcripts");
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| directory.join(entry.unwrap().file_name())).collect();
    paths.sort();
    paths.iter().map(|path| document(path)).collect()
}

pub fn document(path: &Path) -> Document {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    Document { path: path.to_owned(), text }
}

impl Document {
    /// The lines outside of code blocks.
    pub fn prose(&self) -> Vec<&str> {
        let mut is_code = false;
        let mut lines = Vec::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                lines.push(line);
            }
        }
        assert!(!is_code, "{}: a code block does not end", self.path.display());
        lines
    }

    /// The lines of the code blocks in one language.
    pub fn code_in(&self, language: &str) -> Vec<&str> {
        let mut current = None;
        let mut lines = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("```"), current) {
                (Some(opened), None) => current = Some(opened),
                (Some(_), Some(_)) => current = None,
                (None, Some(opened)) if opened == language => lines.push(line),
                (None, _) => {}
            }
        }
        lines
    }

    /// The text between backticks in the prose.
    pub fn inline_code(&self) -> Vec<String> {
        let prose = self.prose().join("\n");
        let backticks = prose.matches('`').count();
        assert!(backticks.is_multiple_of(2), "{}: a backtick is not closed", self.path.display());
        prose.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " ")).collect()
    }

    /// The anchors that a link can name, as GitHub derives them from the headings.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for line in self.prose() {
            let heading = line.trim_start_matches('#');
            if heading.len() == line.len() || !heading.starts_with(' ') {
                continue;
            }
            let anchor = anchor_of(heading.trim());
            let repeated = anchors.iter().filter(|other| **other == anchor).count();
            assert_eq!(repeated, 0, "{}: two headings give #{anchor}", self.path.display());
            anchors.push(anchor);
        }
        anchors
    }
}

/// The anchor of a heading: lower case, spaces as hyphens, without punctuation.
fn anchor_of(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}
