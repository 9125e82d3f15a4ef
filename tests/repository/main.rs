//! The rules of the source tree, checked by tests.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

mod figures;
mod layering;
mod not_checked;
mod public_names;
mod schema_rules;
mod uses;

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file in some directories and those below them, with its text.
fn rust_files(directories: &[&str]) -> Vec<(PathBuf, String)> {
    let mut directories: Vec<PathBuf> = directories.iter().map(|path| root().join(path)).collect();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(files.len() > 5, "{files:?}");
    files
}
