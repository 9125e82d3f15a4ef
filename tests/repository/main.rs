//! Rules of the source tree that the compiler cannot check.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

mod schema_rules;

use std::path::{Path, PathBuf};

/// All Rust files in some directories and their subdirectories, with their text.
fn rust_files(directories: &[&str]) -> Vec<(PathBuf, String)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let patterns = directories.iter().map(|path| format!("{root}/{path}/**/*.rs"));
    let paths = patterns.flat_map(|pattern| glob::glob(&pattern).unwrap());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_owned(), text)
    };
    let files: Vec<_> = paths.map(|path| read(path.unwrap())).collect();
    assert!(files.len() > 5, "{files:?}");
    files
}

#[test]
fn only_the_store_uses_a_database_crate() {
    for (path, text) in rust_files(&["src", "cli/src", "server/src"]) {
        let code = text.split("#[cfg(test)]").next().unwrap();
        let names_one = code.contains("rusqlite::") || code.contains("tokio_postgres");
        let is_test = path.ends_with("tests.rs");
        assert!(!names_one || is_test || path.starts_with("src/store"), "{}", path.display());
    }
}

#[test]
fn every_program_that_a_test_can_do_without_is_listed_as_not_checked() {
    let list = "server/tests/what_was_not_checked.rs";
    let listed = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(list)).unwrap();
    let mut programs = 0;
    for (path, text) in rust_files(&["tests", "cli/tests", "server/tests"]) {
        for call in text.split("installed(\"").skip(1) {
            let program = call.split('"').next().unwrap();
            let is_listed = listed.contains(&format!(", \"{program}\", "));
            assert!(is_listed, "{} uses {program}, which {list} does not list", path.display());
            programs += 1;
        }
    }
    assert!(programs >= 4, "{programs}");
}

#[test]
fn text_is_made_from_values_except_in_formats_of_their_own() {
    // A manifest, lists of ids and of checksums, a proof, and files generated from the help.
    const WITH_A_FORMAT: [&str; 5] = [
        "cli/src/command/export.rs",
        "cli/src/command/granules.rs",
        "cli/src/command/proof/create.rs",
        "cli/src/command/shell.rs",
        "cli/src/lib.rs",
    ];
    let printing = rust_files(&["cli/src"])
        .into_iter()
        .filter(|(_, text)| text.contains("session.document()") || text.contains("stdout()"));
    let printing: Vec<_> = printing.map(|(path, _)| path).collect();
    let stdout = "cli/src/output/stdout.rs";
    let expected = WITH_A_FORMAT.iter().chain([&stdout]).map(Path::new);
    assert!(printing.iter().eq(expected), "{printing:?}");
}
