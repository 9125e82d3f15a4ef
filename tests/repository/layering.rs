//! Checks which directory of `src` uses which, and that no files there or in `python/src` import each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::uses::Sources;
use crate::{root, rust_files};

/// The crates, and the modules of the standard library, that only some layers may name.
const OUTSIDE: [(&[&str], &[&str]); 19] = [
    (&["clap", "clap_complete", "indicatif"], &["cli"]),
    (&["csv"], &["input"]),
    (&["flate2"], &["input", "mirror", "publish", "server"]),
    (&["http_body_util", "hyper", "hyper_util"], &["server"]),
    (&["tokio"], &["cli", "server", "store"]),
    (&["maud"], &["pages"]),
    (&["adler2"], &["fixity"]),
    (&["sha1"], &["fixity", "pages"]),
    (&["sha2"], &["chain", "fixity", "mirror", "publish", "server", "signed"]),
    (&["ring"], &["mirror", "signed", "store"]),
    (&["ureq"], &["mirror"]),
    (&["rusqlite"], &["store"]),
    (&["tokio_postgres", "tokio_postgres_rustls"], &["store"]),
    (&["crc32fast"], &["chain", "fixity", "store"]),
    (&["base64"], &["minting", "server", "signed"]),
    (&["chrono", "glob"], &["model"]),
    (&["std::process"], &["main", "cli"]),
    (&["std::env"], &["main", "cli", "disk", "store"]),
    (
        &["std::fs", "std::net"],
        &["cli", "server", "publish", "mirror", "input", "fixity", "registry", "store", "disk"],
    ),
];

/// The layers from the top to the bottom: the one list of them is the table in the documents.
fn layers() -> Vec<String> {
    let document = std::fs::read_to_string(root().join("docs/about/design.md")).unwrap();
    let names = document.lines().filter_map(|line| line.strip_prefix("| `src/")?.split_once('`'));
    let layers = names.map(|(name, _)| layer(name.trim_end_matches('/')).to_owned());
    let layers: Vec<String> = ["main".to_owned()].into_iter().chain(layers).collect();
    assert!(layers.len() > 10, "{layers:?}");
    layers
}

#[test]
fn the_picture_of_the_layers_has_those_of_the_table() {
    let picture = std::fs::read_to_string(root().join("docs/about/layers.svg")).unwrap();
    let names = picture.split("<text class=\"name\"").skip(1);
    let names = names.map(|rest| rest.split(['>', '<']).nth(1).unwrap());
    let shown: Vec<&str> = ["main"].into_iter().chain(names).collect();
    assert_eq!(shown, layers());
}

/// A directory of `src`, or a file beside them.
fn layer(file: &str) -> &str {
    let name = file.trim_start_matches("src/");
    name.split_once('/').map_or(name.trim_end_matches(".rs"), |(directory, _)| directory)
}

/// Each use of a layer that is not below the layer that uses it. `lib.rs` belongs to no layer: it only
/// re-exports, for the program, too.
fn uses_of_layers_that_are_not_below(sources: &Sources, layers: &[&str]) -> Vec<String> {
    let row = |file: &str| layers.iter().position(|known| *known == layer(file));
    let is_wrong = |(from, to): &(&str, &str)| {
        let is_program = ["main", "cli"].contains(&layer(from));
        layer(from) != layer(to)
            && layer(from) != "lib"
            && !(layer(to) == "lib" && is_program)
            && row(from).zip(row(to)).is_none_or(|(from, to)| from >= to)
    };
    let shown = |(from, to): (&str, &str)| format!("{from} uses {to}");
    sources.uses().into_iter().filter(is_wrong).map(shown).collect()
}

/// The groups of files in which each file uses every other one, directly or indirectly.
fn cycles<'a>(uses: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<BTreeSet<&'a str>> {
    let mut used: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
    for (from, to) in uses {
        used.entry(from).or_default().insert(to);
    }
    let reached_from = |file: &'a str| -> BTreeSet<&'a str> {
        let (mut reached, mut next) = (BTreeSet::new(), vec![file]);
        while let Some(file) = next.pop() {
            let files = used.get(file).into_iter().flatten().copied();
            next.extend(files.filter(|file| reached.insert(*file)).collect::<Vec<_>>());
        }
        reached
    };
    let reached: BTreeMap<&'a str, BTreeSet<&'a str>> =
        used.keys().map(|file| (*file, reached_from(file))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
    let with = |file: &str| -> BTreeSet<&'a str> {
        reached
            .keys()
            .copied()
            .filter(|other| reaches(file, other) && reaches(other, file))
            .collect()
    };
    reached.keys().map(|file| with(file)).filter(|cycle| !cycle.is_empty()).collect()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_layer_uses_only_those_below_it() {
    let layers = layers();
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    assert_none(&uses_of_layers_that_are_not_below(&Sources::of_this_crate(), &layers));
}

#[test]
fn every_file_is_compiled() {
    let files = rust_files(&["src"]);
    let is_declared = |path: &std::path::Path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (module, directory) = match name {
            "lib" | "main" => return true,
            "mod" => {
                let directory = path.parent().unwrap();
                (directory.file_name().unwrap().to_str().unwrap(), directory.parent().unwrap())
            }
            name => (name, path.parent().unwrap()),
        };
        let declaration = format!("mod {module};");
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|parent| directory.join(parent));
        files.iter().any(|(path, text)| {
            let is_it = |line: &str| line.ends_with(&declaration) && !line.starts_with("//");
            parents.contains(path) && text.lines().any(is_it)
        })
    };
    let unknown: Vec<_> =
        files.iter().map(|(path, _)| path).filter(|it| !is_declared(it)).collect();
    assert!(unknown.is_empty(), "no `mod` declares these: {unknown:?}");
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    for sources in [Sources::of_this_crate(), Sources::of_python()] {
        let uses = sources.uses();
        let shown = |cycle: BTreeSet<&str>| {
            let mut inside = uses.clone();
            inside.retain(|(from, to)| cycle.contains(from) && cycle.contains(to));
            format!("a cycle: {inside:#?}")
        };
        assert_none(&cycles(&uses).into_iter().map(shown).collect::<Vec<_>>());
    }
}

#[test]
fn the_root_of_the_library_only_re_exports() {
    let code = &Sources::of_this_crate().code["src/lib.rs"];
    let definitions = ["struct", "enum", "trait", "type", "fn", "static", "const", "impl"];
    for name in definitions {
        assert!(!names(code, name), "src/lib.rs has a {name}");
    }
}

#[test]
fn every_import_names_what_it_imports() {
    assert_none(&Sources::of_this_crate().globs());
}

#[test]
fn outside_crates_and_modules_are_named_only_by_the_layers_that_need_them() {
    let mut problems = Vec::new();
    let sources = Sources::of_this_crate();
    for (file, code) in &sources.code {
        for (paths, layers) in OUTSIDE {
            for path in paths.iter().filter(|_| !layers.contains(&layer(file))) {
                if sources.imports_from(file, path) || names(code, &format!("{path}::")) {
                    problems.push(format!("{file} names {path}, which belongs to {layers:?}"));
                }
            }
        }
        if names(code, "println!") && layer(file) != "cli" {
            problems.push(format!("{file} prints, which belongs to cli"));
        }
    }
    assert_none(&problems);
}

#[test]
fn the_clock_is_read_in_one_place_of_the_program() {
    for (file, code) in Sources::of_this_crate().code {
        let reads_it = names(&code, "SystemTime::now") || names(&code, "Utc::now");
        assert_eq!(reads_it, file == "src/cli/session.rs", "{file}");
    }
}

#[test]
fn one_file_has_unsafe_code() {
    for (file, mut code) in Sources::of_this_crate().code {
        // The one exception, which has no unsafe block: the attribute states that its function may
        // run before `main`. Only there can a closed stdout be told from one that is redirected to
        // /dev/null, because Rust's runtime opens /dev/null in its place before `main`.
        if file == "src/cli/output/stdout.rs" {
            assert_eq!(code.matches("ctor::ctor(unsafe)").count(), 1, "{file}");
            code = code.replace("ctor::ctor(unsafe)", "ctor");
        }
        assert_eq!(names(&code, "unsafe"), file == "src/chain/lanes.rs", "{file}");
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

/// Whether code has these words, not as a part of longer ones.
fn names(code: &str, words: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(words).any(|(at, _)| {
        let after = &code[at + words.len()..];
        !code[..at].ends_with(is_of_word)
            && (words.ends_with(':') || !after.starts_with(is_of_word))
    })
}

fn sources(files: &[(&str, &str)]) -> Sources {
    Sources::of(files.iter().map(|(file, text)| (file.into(), (*text).to_owned())))
}

#[test]
fn a_re_export_of_the_root_is_seen_as_the_layer_that_defines_the_name() {
    let sources = sources(&[
        ("src/lib.rs", "mod model; mod registry;\npub use registry::{change::Change};"),
        ("src/registry/mod.rs", "mod change;\npub use change::Change;"),
        ("src/registry/change.rs", "pub struct Change;"),
        ("src/model.rs", "use crate::Change;"),
    ]);
    assert_eq!(
        uses_of_layers_that_are_not_below(&sources, &["registry", "model"]),
        ["src/model.rs uses src/registry/change.rs"]
    );
}

#[test]
fn a_use_in_a_macro_a_branch_or_the_code_is_seen() {
    for code in [
        "fn f() { println!(\"{}\", crate::registry::A); }",
        "use std::fs;\nuse crate::{model, registry::{B as C, A}};",
        "    use super::registry;",
        "use accession::registry::A;",
        "pub(crate) fn f() -> super::registry::A {}",
        "mod inner {\n    use super::super::registry::A;\n}",
    ] {
        let sources = sources(&[
            ("src/lib.rs", "mod model; mod registry;"),
            ("src/registry.rs", "pub const A: u8 = 1; pub const fn B() {}"),
            ("src/model.rs", code),
        ]);
        let problems = uses_of_layers_that_are_not_below(&sources, &["registry", "model"]);
        assert_eq!(problems, ["src/model.rs uses src/registry.rs"], "{code}");
    }
}

#[test]
fn cycles_of_two_and_of_three_files_are_found_and_re_exports_make_none() {
    let three = |last: &str| {
        let sources = sources(&[
            ("src/lib.rs", "mod a;"),
            ("src/a/mod.rs", "mod b; mod c; mod d;\npub use b::B;\npub struct A;"),
            ("src/a/b.rs", "use super::c::C;\npub struct B;"),
            ("src/a/c.rs", "use super::{A, d::D};\npub struct C;"),
            ("src/a/d.rs", last),
        ]);
        cycles(&sources.uses()).iter().map(BTreeSet::len).collect::<Vec<_>>()
    };
    assert_eq!(three("pub struct D;"), Vec::<usize>::new());
    assert_eq!(three("pub struct D; fn f(c: super::c::C) {}"), [2]);
    assert_eq!(three("use super::B;\npub struct D;"), [3]);
}
