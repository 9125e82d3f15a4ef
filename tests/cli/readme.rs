//! The README is one page. Its commands and links are tested with those of all other documents.

use std::path::Path;

use crate::documents::document;

#[test]
fn the_readme_has_at_most_200_lines() {
    let readme = document(Path::new("README.md"));
    let lines = readme.text.lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
}

#[test]
fn the_readme_gives_the_test_command_on_a_line_of_its_own() {
    let readme = document(Path::new("README.md"));
    assert!(readme.text.lines().any(|line| line == "cargo test --release"));
}
