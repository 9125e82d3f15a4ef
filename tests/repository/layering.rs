//! Which folder of `src` may use which, and which may use what from outside.

use std::path::Path;

use crate::rust_files;

/// A layer, the layers it may use, and the crates that only it may name.
///
/// `model` and what stands in no folder (`Error`, `Result`) may be used by all.
const LAYERS: [(&str, &[&str], &[&str]); 8] = [
    ("model", &[], &["chrono", "glob", "hex", "spdx", "strsim"]),
    ("minting", &[], &["base64", "loom"]),
    ("chain", &[], &["crc32fast"]),
    ("disk", &[], &[]),
    ("store", &["disk"], &["rusqlite"]),
    ("registry", &["minting", "chain", "store"], &[]),
    ("input", &["minting"], &["csv", "flate2"]),
    ("citation", &["registry"], &["serde_saphyr"]),
    ("mirror", &["chain", "registry", "input"], &[]),
];

/// What only the command line may name.
const OF_THE_COMMAND_LINE: [&str; 5] = ["clap", "clap_complete", "indicatif", "anyhow", "println!"];

fn layer(path: &Path) -> String {
    let second = path.components().nth(1).unwrap();
    second.as_os_str().to_string_lossy().into_owned()
}

/// The code without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let until_tests = text.split("#[cfg(test)]").next().unwrap();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    until_tests.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// Whether `word` stands in the code as a name of its own.
fn names(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part)
    })
}

#[test]
fn every_layer_uses_only_those_below_it() {
    for (path, text) in rust_files(&["src"]) {
        let (layer, code) = (layer(&path), code(&text));
        let Some((_, below, _)) = LAYERS.iter().find(|(name, ..)| *name == layer) else { continue };
        for (other, ..) in LAYERS {
            if other == layer || other == "model" || below.contains(&other) {
                continue;
            }
            assert!(
                !names(&code, &format!("crate::{other}"))
                    && !code.contains(&format!("{{{other}::")),
                "{} uses {other}",
                path.display()
            );
        }
        assert!(!names(&code, "crate::cli"), "{} uses cli", path.display());
    }
}

#[test]
fn every_outside_crate_is_named_by_one_layer_only() {
    for (path, text) in rust_files(&["src"]) {
        let (layer, code) = (layer(&path), code(&text));
        for (owner, _, crates) in LAYERS {
            for outside in crates {
                assert!(
                    layer == owner || !names(&code, &format!("{outside}::")),
                    "{} uses {outside}, which belongs to {owner}",
                    path.display()
                );
            }
        }
        for outside in OF_THE_COMMAND_LINE {
            assert!(
                layer == "cli" || !names(&code, outside),
                "{} uses {outside}, which belongs to cli",
                path.display()
            );
        }
    }
}

#[test]
fn one_file_reads_the_clock() {
    for (path, text) in rust_files(&["src"]) {
        let code = code(&text);
        let reads_it = code.contains("SystemTime::now") || code.contains("Utc::now");
        assert_eq!(reads_it, path.ends_with("cli/session.rs"), "{}", path.display());
    }
}

#[test]
fn no_folder_is_called_after_nothing() {
    for (path, _) in rust_files(&["src", "tests", "benches"]) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for vague in ["util", "utils", "helper", "helpers", "common", "misc", "types", "consts"] {
            assert_ne!(name, vague, "{}", path.display());
        }
    }
}

#[test]
fn one_file_has_unsafe_code() {
    for (path, text) in rust_files(&["src"]) {
        // In this attribute the word is an argument of a macro: the function below it is safe code.
        let code = code(&text).replace("#[ctor::ctor(unsafe)]", "");
        let has_it = names(&code, "unsafe");
        assert_eq!(has_it, path.ends_with("chain/lanes.rs"), "{}", path.display());
    }
}
