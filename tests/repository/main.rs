//! The rules of the source tree, held by tests instead of by memory.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

mod file_sizes;
mod layering;
mod schema_rules;

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below some folders, and its text.
fn rust_files(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(files.len() > 5, "{files:?}");
    files
}
