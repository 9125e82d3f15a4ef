//! The README is one page. Its commands and links are tested with those of all other documents.

use std::path::Path;

use crate::documents::{document, documents};

#[test]
fn the_readme_has_at_most_150_lines() {
    let readme = document(Path::new("README.md"));
    let lines = readme.text.lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

/// Their output is tested with the commands of all documents.
#[test]
fn the_readme_begins_with_commands_that_can_be_run_in_a_clone_at_any_time() {
    let readme = document(Path::new("README.md"));
    let before_installing = readme.text.split("cargo install").next().unwrap();
    let commands: Vec<&str> =
        before_installing.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands[0].starts_with("cargo run -- sync FOO "), "{}", commands[0]);
    for command in &commands {
        assert!(command.starts_with("cargo run -- "), "before installing: {command}");
        assert!(!command.contains(" --at ") && !command.ends_with('\\'), "{command}");
    }
    // The guides use another dataset, so nothing has to be removed first.
    assert!(!readme.text.contains("US.FOOL2") && !readme.text.contains("$ rm "));
    assert!(before_installing.lines().any(|line| line == "cargo test"));
}

/// On some machine, a port that a document names is in use.
#[test]
fn no_command_that_is_run_listens_on_a_port_of_its_own() {
    for document in documents() {
        for line in document.code_in("console") {
            let Some((_, listen)) = line.split_once("--listen ") else { continue };
            let address = listen.split_whitespace().next().unwrap();
            assert!(address.ends_with(":0"), "{}: {line}", document.path.display());
        }
    }
}
