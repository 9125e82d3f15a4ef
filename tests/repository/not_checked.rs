//! A test without the program that it needs is named at the end of a run.

use crate::{root, rust_files};

const SUMMARY: &str = "tests/what_was_not_checked.rs";

#[test]
fn every_program_that_a_test_can_do_without_is_in_the_list_of_what_was_not_checked() {
    let summary = std::fs::read_to_string(root().join(SUMMARY)).unwrap();
    let mut programs = 0;
    for (path, text) in rust_files(&["tests"]) {
        for (_, rest) in
            text.match_indices("installed(\"").map(|(at, it)| text.split_at(at + it.len()))
        {
            let program = rest.split('"').next().unwrap();
            let is_listed = summary.contains(&format!(", \"{program}\", "));
            assert!(
                is_listed,
                "{} asks for {program}, which {SUMMARY} does not list",
                path.display()
            );
            programs += 1;
        }
    }
    assert!(programs >= 4, "{programs}");
}

#[test]
fn the_list_of_what_was_not_checked_is_the_last_test_program_and_the_only_such_list() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let summary = "name = \"what_was_not_checked\"\nharness = false\n";
    assert!(manifest.contains(summary), "without a harness, its output is always shown");
    for entry in std::fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let is_program = path.join("main.rs").is_file()
            || path.extension().is_some_and(|extension| extension == "rs");
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(!is_program || name <= "what_was_not_checked", "{name} is run after it");
    }
    let phrases = ["CHECKED:", "TESTED:"].map(|word| format!("NOT {word}"));
    for (path, text) in rust_files(&["tests"]) {
        let is_summary = path.to_str() == Some(SUMMARY);
        let says_it = phrases.iter().any(|phrase| text.contains(phrase));
        assert!(is_summary || !says_it, "{}: nobody sees it", path.display());
    }
}
