//! Checks which directory of `src` uses which, and that no files import each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycles::cycles;
use crate::modules::{Modules, Use};
use crate::rust_files;
use crate::tokens::tokens;

/// The layers from the top to the bottom; a layer may use those of the rows below it.
///
/// A layer is a directory of `src`, or a file beside them. `lib.rs` belongs to no layer: it only
/// re-exports.
const ROWS: [&[&str]; 13] = [
    &["main"],
    &["cli"],
    &["server"],
    &["publish"],
    &["pages"],
    &["mirror"],
    &["citation"],
    &["input"],
    &["registry"],
    &["error"],
    &["store", "chain"],
    &["disk", "minting"],
    &["model"],
];

/// The crates, and the modules of the standard library, that only some layers may name.
const OUTSIDE: [(&[&str], &[&str]); 18] = [
    (&["clap", "clap_complete", "indicatif", "anyhow"], &["cli"]),
    (&["csv"], &["input", "server"]),
    (&["flate2"], &["input", "mirror", "publish"]),
    (&["axum", "hyper", "hyper_util", "tower", "tower_http"], &["server"]),
    (&["tokio"], &["server", "store"]),
    (&["maud"], &["pages"]),
    (&["serde_saphyr"], &["citation"]),
    (&["sha2"], &["mirror", "server"]),
    (&["ureq"], &["mirror"]),
    (&["rusqlite"], &["store"]),
    (&["tokio_postgres", "tokio_postgres_rustls"], &["store"]),
    (&["crc32fast"], &["chain"]),
    (&["base64"], &["minting", "server"]),
    (&["loom"], &["minting"]),
    (&["chrono", "glob"], &["model"]),
    (&["std::process"], &["main", "cli"]),
    (&["std::env"], &["main", "cli", "disk", "store"]),
    (
        &["std::fs", "std::net"],
        &["cli", "server", "publish", "mirror", "input", "registry", "store", "disk"],
    ),
];

fn source() -> BTreeMap<String, String> {
    let files = rust_files(&["src"]).into_iter();
    files.map(|(path, text)| (path.to_str().unwrap().to_owned(), text)).collect()
}

fn tree(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn layer(file: &str) -> &str {
    let name = file.trim_start_matches("src/");
    name.split_once('/').map_or(name.trim_end_matches(".rs"), |(directory, _)| directory)
}

fn row(layer: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&layer))
}

/// Each use of a layer that is not below the layer that uses it, and each layer that is not known.
fn uses_of_layers_that_are_not_below(uses: &BTreeSet<Use>) -> Vec<String> {
    let mut problems = Vec::new();
    for Use { from, to, path, .. } in uses {
        let (upper, lower) = (layer(from), layer(to));
        if upper == "lib" || (upper == lower && row(upper).is_some()) {
            continue;
        }
        let is_below = row(upper).zip(row(lower)).is_some_and(|(upper, lower)| upper < lower);
        // The binary may name the library's root.
        let is_library = lower == "lib" && ["main", "cli"].contains(&upper);
        if !is_below && !is_library {
            problems.push(format!("{from} uses {to} ({path})"));
        }
    }
    problems
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_layer_uses_only_those_below_it() {
    let (uses, unresolved) = Modules::of(&source()).uses();
    assert_none(&unresolved);
    assert_none(&uses_of_layers_that_are_not_below(&uses));
}

#[test]
fn every_directory_is_a_layer() {
    for file in source().keys() {
        let layer = layer(file);
        assert!(layer == "lib" || row(layer).is_some(), "{file}: {layer} is not in the list");
    }
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let (uses, _) = Modules::of(&source()).uses();
    let describe = |cycle: BTreeSet<&Use>| {
        let mut lines: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for Use { from, to, path, .. } in cycle {
            lines.entry(format!("{from} uses {to}")).or_default().push(path);
        }
        let line = |(files, paths): (String, Vec<&str>)| format!("  {files}: {}", paths.join(", "));
        format!("a cycle:\n{}", lines.into_iter().map(line).collect::<Vec<_>>().join("\n"))
    };
    assert_none(&cycles(&uses).into_iter().map(describe).collect::<Vec<_>>());
}

#[test]
fn the_root_of_the_library_only_re_exports() {
    let text = &source()["src/lib.rs"];
    let tokens = tokens(text);
    let definitions = ["struct", "enum", "trait", "type", "fn", "static", "const", "impl"];
    let is_definition = |token: &&String| definitions.contains(&token.as_str());
    assert_eq!(tokens.iter().find(is_definition), None, "src/lib.rs");
}

#[test]
fn every_import_names_what_it_imports() {
    assert_none(&Modules::of(&source()).globs());
}

#[test]
fn outside_crates_and_modules_are_named_only_by_the_layers_that_need_them() {
    let mut problems = Vec::new();
    for (file, text) in source() {
        let text = code(&text);
        for (names, layers) in OUTSIDE {
            for name in names.iter().filter(|name| names_path(&text, name)) {
                if !layers.contains(&layer(&file)) {
                    problems.push(format!("{file} names {name}, which belongs to {layers:?}"));
                }
            }
        }
        if names_path(&text, "println !") && layer(&file) != "cli" {
            problems.push(format!("{file} prints, which belongs to cli"));
        }
    }
    assert_none(&problems);
}

#[test]
fn one_file_reads_the_clock() {
    for (file, text) in source() {
        let code = code(&text);
        let reads_it = names_path(&code, "SystemTime::now") || names_path(&code, "Utc::now");
        assert_eq!(reads_it, file == "src/cli/session.rs", "{file}");
    }
}

#[test]
fn one_file_has_unsafe_code() {
    for (file, text) in source() {
        let mut code = code(&text);
        // The one exception, which has no unsafe block: the attribute states that its function may
        // run before `main`. Only there can a closed stdout be told from one that is redirected to
        // /dev/null, because Rust's runtime opens /dev/null in its place before `main`.
        if file == "src/cli/output/closed.rs" {
            let marks = code.matches("ctor :: ctor ( unsafe )").count();
            assert_eq!(marks, 1, "{file}: one function runs before main");
            code = code.replace("ctor :: ctor ( unsafe )", "ctor");
        }
        assert_eq!(names_path(&code, "unsafe"), file == "src/chain/lanes.rs", "{file}");
    }
}

#[test]
fn no_file_or_directory_has_a_meaningless_name() {
    const VAGUE: [&str; 9] =
        ["util", "utils", "helper", "helpers", "common", "misc", "types", "consts", "shared"];
    for (path, _) in rust_files(&["src", "tests", "benches"]) {
        let is_vague = |name: &str| VAGUE.contains(&name) || name.ends_with("_util");
        let names = path.iter().map(|name| name.to_str().unwrap().trim_end_matches(".rs"));
        assert_eq!(names.clone().find(|name| is_vague(name)), None, "{}", path.display());
    }
}

/// The code without comments and strings, and without the unit tests at its end.
fn code(text: &str) -> String {
    let until_tests = text.split("#[cfg(test)]").next().unwrap();
    format!(" {} ", tokens(until_tests).join(" "))
}

/// Whether code names a path, directly or in a `use` tree that branches at its last separator.
fn names_path(code: &str, path: &str) -> bool {
    let spaced = path.replace("::", " :: ");
    let branched = spaced.rsplit_once(" :: ").is_some_and(|(parent, name)| {
        code.split(&format!(" {parent} :: {{ ")).skip(1).any(|tree| {
            let tree = tree.split(" } ").next().unwrap();
            format!(" {tree} ").contains(&format!(" {name} "))
        })
    });
    branched || code.contains(&format!(" {spaced} "))
}

fn uses_in(files: &[(&str, &str)]) -> BTreeSet<Use> {
    let (uses, unresolved) = Modules::of(&tree(files)).uses();
    assert_none(&unresolved);
    uses
}

#[test]
fn a_re_export_of_the_root_is_seen_as_the_layer_that_defines_the_name() {
    let uses = uses_in(&[
        ("src/lib.rs", "mod model; mod registry; pub use registry::*;"),
        ("src/registry/mod.rs", "mod change; pub use change::Change as Edit;"),
        ("src/registry/change.rs", "pub struct Change;"),
        ("src/model.rs", "fn f(edit: crate::Edit) {}"),
    ]);
    assert_eq!(
        uses_of_layers_that_are_not_below(&uses),
        ["src/model.rs uses src/registry/change.rs (crate::Edit)"]
    );
}

#[test]
fn a_use_in_a_macro_a_branch_or_a_unit_test_is_seen() {
    for code in [
        "fn f() { println!(\"{}\", crate::registry::A); }",
        "use crate::{registry::{B as C, A}};",
        "mod tests { use super::super::registry; fn f() { registry::A; } }",
        "use accession::registry::A;",
    ] {
        let files = [
            ("src/lib.rs", "mod model; mod registry;"),
            ("src/registry.rs", "pub const A: u8 = 1; pub const fn B() {}"),
            ("src/model.rs", code),
        ];
        assert!(!uses_of_layers_that_are_not_below(&uses_in(&files)).is_empty(), "{code}");
    }
}

#[test]
fn a_path_that_cannot_be_resolved_is_reported() {
    let files = [("src/lib.rs", "mod model;"), ("src/model.rs", "use crate::nowhere::A;")];
    assert_eq!(Modules::of(&tree(&files)).uses().1, ["src/model.rs: crate::nowhere::A"]);
}

#[test]
fn cycles_of_two_and_of_three_files_are_found_and_re_exports_make_none() {
    let three = |last: &str| {
        let files = [
            ("src/lib.rs", "mod a;"),
            ("src/a/mod.rs", "mod b; mod c; mod d; pub use b::B; pub struct A;"),
            ("src/a/b.rs", "use super::c::C; pub struct B;"),
            ("src/a/c.rs", "use super::{A, d::D}; pub struct C;"),
            ("src/a/d.rs", last),
        ];
        let uses = uses_in(&files);
        cycles(&uses).iter().map(BTreeSet::len).collect::<Vec<_>>()
    };
    assert_eq!(three("pub struct D;"), Vec::<usize>::new());
    assert_eq!(three("pub struct D; fn f(c: super::c::C) {}"), [2]);
    assert_eq!(three("pub struct D; use super::B;"), [3]);
    let uses = uses_in(&[
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; pub use b::B; pub struct A(B);"),
        ("src/a/b.rs", "use super::A; pub struct B;"),
    ]);
    assert_eq!(cycles(&uses).len(), 1, "what a file re-exports and uses itself is an import");
}

#[test]
fn names_are_found_in_branches() {
    let code = code("use std::{fs, io}; std::process::exit(1)");
    assert!(names_path(&code, "std::fs") && names_path(&code, "std::process"));
    assert!(!names_path(&code, "std::env"));
}
