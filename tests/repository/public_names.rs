//! What the library offers: few names at its root, which any thread can hold.

use std::collections::{BTreeMap, BTreeSet};

use accession::mirror::{Comparison, Primary, Remote};
use accession::registry::Verifications;
use accession::{
    Access, Applied, Change, ChangeOptions, Cited, Dataset, Difference, Differences, Error,
    ErrorKind, Exported, Finding, Granules, History, Import, Listing, Members, Registry,
    Resolution, Selected, Selection, Set, Snapshot, Stamp, Verification,
};

use crate::{root, rust_files};

/// The names that `src/lib.rs` re-exports.
fn names_at_the_root() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut names = BTreeSet::new();
    for declaration in text.split("\npub use ").skip(1) {
        let (path, _) = declaration.split_once(';').unwrap();
        let (_, last) = path.split_once("::").unwrap();
        let list = last.trim_start_matches('{').trim_end_matches('}');
        let listed = list.split(',').map(|name| name.trim().to_owned());
        names.extend(listed.filter(|name| !name.is_empty()));
    }
    names
}

#[test]
fn the_root_has_at_most_48_names_none_of_which_shadows_the_standard_library() {
    let names = names_at_the_root();
    assert!(names.contains("Registry"), "{names:?}");
    assert!(names.len() <= 48, "{} names: {names:?}", names.len());
    let of_the_prelude = [
        "Box", "Clone", "Copy", "Default", "Drop", "Eq", "Fn", "From", "Into", "Iterator", "None",
        "Ok", "Option", "Ord", "Result", "Send", "Some", "String", "Sync", "Vec",
    ];
    for name in of_the_prelude {
        assert!(!names.contains(name), "{name} is a name of the standard library's prelude");
    }
}

#[test]
fn what_an_embedder_holds_can_be_sent_to_another_thread() {
    fn owned_and_send<T: Send + 'static>() {}
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Registry>();
    shared::<ChangeOptions>();
    shared::<Stamp>();
    owned_and_send::<(Snapshot, Granules, History, Differences<'static>)>();
    owned_and_send::<Verifications>();
    owned_and_send::<(Change, Import, Listing, Members)>();
    owned_and_send::<(Applied, Applied, Cited, Resolution, Selected, Verification, Finding)>();
    owned_and_send::<(Access, Selection, Set, Dataset, Difference, Exported)>();
    owned_and_send::<(Error, ErrorKind)>();
    owned_and_send::<(Primary, Comparison, Remote)>();
}

/// The top-level public types of every file, but the names that many files have by design.
fn public_types() -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in rust_files(&["src"]) {
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub ") else { continue };
            let Some((kind, rest)) = rest.split_once(' ') else { continue };
            if !["struct", "enum", "trait", "type"].contains(&kind) {
                continue;
            }
            let name: String = rest.chars().take_while(|it| it.is_alphanumeric()).collect();
            if !["Args", "Command", "Error", "Result"].contains(&name.as_str()) {
                types.entry(name).or_default().push(path.display().to_string());
            }
        }
    }
    types
}

#[test]
fn no_two_public_types_share_a_name() {
    let types = public_types();
    assert!(types.len() > 200, "{types:?}");
    let shared: Vec<_> = types.into_iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(shared.is_empty(), "one word, one thing: {shared:#?}");
}

/// Words that say nothing of what a type is, and `Place`, which is where a log is.
const VAGUE: [&str; 9] =
    ["State", "Found", "Held", "Kept", "Stated", "Shown", "Wanted", "Line", "Place"];

#[test]
fn a_type_is_named_for_what_it_is() {
    let mut vague = Vec::new();
    for (path, text) in rust_files(&["src"]) {
        for line in text.lines() {
            let mut words = line.split([' ', '<', '(', ';', '{']).filter(|word| !word.is_empty());
            if !words.any(|word| ["struct", "enum", "trait"].contains(&word)) {
                continue;
            }
            let is_of_mirrors = path.starts_with("src/mirror");
            vague.extend(
                words
                    .next()
                    .filter(|name| VAGUE.contains(name) && !(*name == "Place" && is_of_mirrors))
                    .map(|name| format!("{}: {name}", path.display())),
            );
        }
    }
    assert!(vague.is_empty(), "{vague:#?}");
}
