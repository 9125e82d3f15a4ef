//! The size of the source tree. Run with `--nocapture`, it prints the figures.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

use crate::rust_files;

/// A file with fewer lines is rarely a subject of its own. A `mod.rs` may be shorter.
const FEWEST_LINES: usize = 60;
/// A file with more lines has more than one subject.
const MOST_LINES: usize = 600;
/// What `src` may have. Whoever adds a feature finds what it can replace.
const MOST_LINES_OF_SRC: usize = 75_980;
const MOST_FILES_OF_SRC: usize = 299;
/// What the tracked files of `tests/` in these languages may have.
const MOST_LINES_OF_TESTS: usize = 39_830;
const LANGUAGES_OF_TESTS: [&str; 6] = ["rs", "py", "sh", "md", "mjs", "js"];
/// Outside `src/store/postgres/`, and `src/store/handle.rs`, which tells the stores apart for all others.
const MOST_CONDITIONS_ON_POSTGRES: usize = 4;

fn lines(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn a_file_has_one_subject() {
    for (path, text) in rust_files(&["src", "tests", "benches", "fuzz/src"]) {
        let lines = lines(&text);
        assert!(lines <= MOST_LINES, "{} has {lines} lines: split it by subject", path.display());
    }
    let is_short = |path: &std::path::Path, text: &str| {
        !["mod.rs", "main.rs"].contains(&path.file_name().unwrap().to_str().unwrap())
            && lines(text) < FEWEST_LINES
    };
    let files = rust_files(&["src"]);
    let short = files.iter().filter(|(path, text)| is_short(path, text));
    let short: BTreeSet<String> =
        short.map(|(path, text)| format!("{} ({})", path.display(), lines(text))).collect();
    println!("files of src with fewer than {FEWEST_LINES} lines: {}", short.len());
    assert!(short.is_empty(), "put these where their users are: {short:#?}");
}

/// What rustfmt does not break: comments, and the markup of pages. A text that is one literal stays on its line, so
/// that who reads a message finds it.
const WIDEST: usize = 110;

#[test]
fn no_line_is_wider_than_a_reader_takes_in() {
    let mut wide = Vec::new();
    for (path, text) in rust_files(&["src", "python/src"]) {
        let mut is_example = false;
        for (number, line) in (1..).zip(text.lines()) {
            let words = line.trim_start();
            let is_comment = words.starts_with("//");
            if is_comment && words.contains("```") {
                is_example = !is_example;
            }
            let is_table = words.starts_with("//! |") || words.starts_with("/// |");
            let is_exempt = is_table || is_example || (!is_comment && words.contains('"'));
            if line.chars().count() > WIDEST && !is_exempt {
                wide.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn src_does_not_grow() {
    let files = rust_files(&["src"]);
    let lines: usize = files.iter().map(|(_, text)| lines(text)).sum();
    println!("src: {lines} lines in {} files", files.len());
    assert!(lines <= MOST_LINES_OF_SRC, "{lines}");
    assert!(files.len() <= MOST_FILES_OF_SRC, "{}", files.len());
}

#[test]
fn the_tests_do_not_grow() {
    let tracked = Command::new("git").args(["ls-files", "-z", "tests"]).output().unwrap();
    if !tracked.status.success() {
        println!("tests: not counted, since this is not a clone");
        return;
    }
    let is_counted = |path: &&str| {
        let ending = Path::new(path).extension().and_then(OsStr::to_str);
        ending.is_some_and(|ending| LANGUAGES_OF_TESTS.contains(&ending))
    };
    let names = String::from_utf8(tracked.stdout).unwrap();
    // A file that was removed and not committed yet is tracked, too.
    let texts = names.split('\0').filter(is_counted).filter_map(|path| read_to_string(path).ok());
    let lines: usize = texts.map(|text| lines(&text)).sum();
    println!("tests: {lines} lines");
    assert!(lines > 0, "nothing was counted");
    assert!(lines <= MOST_LINES_OF_TESTS, "{lines}");
}

#[test]
fn a_statement_that_both_stores_make_exists_once() {
    let statements = |directory| -> BTreeSet<String> {
        let files = rust_files(&[directory]);
        files.iter().flat_map(|(_, text)| sql(text)).map(|text| without_dialect(&text)).collect()
    };
    let (sqlite, postgres) = (statements("src/store/sqlite"), statements("src/store/postgres"));
    let both: Vec<&String> = sqlite.intersection(&postgres).collect();
    println!(
        "statements: {} for SQLite only, {} for PostgreSQL only, {} for each of them",
        sqlite.len() - both.len(),
        postgres.len() - both.len(),
        both.len()
    );
    assert!(!sqlite.is_empty() && postgres.len() > 5, "statements are not found any more");
    assert!(both.is_empty(), "{both:#?}");
}

/// The string literals that are statements.
fn sql(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE "];
    let literals = text.split('"').skip(1).step_by(2);
    let statements =
        literals.filter(|text| verbs.iter().any(|verb| text.trim_start().starts_with(verb)));
    statements.map(str::to_owned).collect()
}

/// A statement without the schema of its tables, with every parameter written in the same way.
fn without_dialect(statement: &str) -> String {
    let mut text =
        statement.replace("accession.", "").replace("{schema}.", "").replace("\\\n", "\n");
    for sign in ['$', ':', '?'] {
        let parts: Vec<String> = text.split(sign).map(str::to_owned).collect();
        let rest = parts[1..].iter().map(|part| {
            part.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || it == '_').to_owned()
        });
        text = std::iter::once(parts[0].clone()).chain(rest).collect::<Vec<_>>().join("?");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn few_places_know_which_stores_are_compiled() {
    let files = rust_files(&["src"]);
    let knows = |path: &Path| {
        path.starts_with("src/store/postgres") || path == Path::new("src/store/handle.rs")
    };
    let others = files.iter().filter(|(path, _)| !knows(path));
    let conditions: usize =
        others.map(|(_, text)| text.matches("feature = \"postgres\"").count()).sum();
    println!("conditions on the feature `postgres` elsewhere: {conditions}");
    assert!(conditions <= MOST_CONDITIONS_ON_POSTGRES, "{conditions}");
}
