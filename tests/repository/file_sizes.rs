//! Every file has one subject.

use crate::rust_files;

const MAX_LINES: usize = 600;

#[test]
fn no_file_has_more_than_600_lines() {
    for (path, text) in rust_files(&["src", "tests", "benches", "fuzz/src"]) {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines: split it by subject", path.display());
    }
}
