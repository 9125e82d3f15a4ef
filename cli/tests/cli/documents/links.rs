//! Links and paths refer to files and headings that exist.

use std::path::{Component, Path, PathBuf};

use super::{Document, document, documents, root};

/// The targets of links, in Markdown and in HTML.
fn targets(document: &Document) -> Vec<String> {
    let prose = document.prose().join("\n");
    let mut targets = Vec::new();
    for (before, after) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
        for rest in prose.split(before).skip(1) {
            targets.push(rest.split(after).next().unwrap().to_owned());
        }
    }
    targets
}

/// `path`, resolved from the directory of `document`, without `..`.
fn resolved(document: &Document, path: &str) -> PathBuf {
    let mut resolved = document.path.parent().unwrap().to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => assert!(resolved.pop(), "{path} leaves the repository"),
            component => resolved.push(component),
        }
    }
    resolved
}

/// The published crate does not contain `docs/*.png`. Cargo keeps the original manifest only in the published
/// crate.
fn is_picture_outside_the_crate(path: &Path) -> bool {
    let is_picture = path.extension().is_some_and(|extension| extension == "png");
    is_picture && root().join("Cargo.toml.orig").exists()
}

#[test]
fn every_link_refers_to_an_existing_file_and_heading() {
    let mut checked = 0;
    for from in documents() {
        for target in targets(&from) {
            let place = format!("{}: {target}", from.path.display());
            if target.contains("://") {
                assert!(target.starts_with("https://"), "{place}: not https");
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let to = if path.is_empty() { from.path.clone() } else { resolved(&from, path) };
            if is_picture_outside_the_crate(&to) {
                continue;
            }
            assert!(root().join(&to).exists(), "{place}: there is no {}", to.display());
            if !anchor.is_empty() {
                let anchors = document(&to).anchors();
                assert!(anchors.iter().any(|it| it == anchor), "{place}: there is no such heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} links were found");
}

#[test]
fn the_table_of_contents_has_every_document() {
    let contents = document(Path::new("docs/README.md"));
    let linked: Vec<PathBuf> = targets(&contents)
        .iter()
        .filter(|target| !target.contains("://"))
        .map(|target| resolved(&contents, target.split('#').next().unwrap()))
        .collect();
    for document in documents() {
        let is_in_docs = document.path.starts_with("docs") && document.path != contents.path;
        assert!(
            !is_in_docs || linked.contains(&document.path),
            "{} is not linked",
            document.path.display()
        );
    }
}

#[test]
fn every_path_that_is_named_exists() {
    let directories = [
        "src/",
        "cli/",
        "server/",
        "python/",
        "tests/",
        "benches/",
        "fixtures/",
        "migrations/",
        "fuzz/",
        "docs/",
    ];
    let mut checked = 0;
    for document in documents() {
        for code in document.inline_code() {
            let is_path = directories.iter().any(|directory| code.starts_with(directory));
            if !is_path || code.contains(' ') {
                continue;
            }
            let exists = root().join(&code).exists();
            assert!(exists, "{}: {code} does not exist", document.path.display());
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} paths were found");
}

#[test]
fn the_picture_shows_the_identifiers_of_the_fixtures() {
    let picture = std::fs::read_to_string(root().join("docs/history.svg")).unwrap();
    let fixtures = std::fs::read_to_string(root().join("fixtures/seed/identifiers.tsv")).unwrap();
    let mut shown = 0;
    for row in fixtures.lines().filter(|row| row.starts_with("US\t")) {
        let identifier = row.split('\t').next_back().unwrap();
        assert!(picture.contains(&identifier[..8]), "{identifier} is not in the picture");
        shown += 1;
    }
    assert_eq!(shown, 5);
}

/// A page that begins with a list of its sections lists all of them.
#[test]
fn a_list_of_contents_has_every_section() {
    let mut checked = 0;
    for document in documents() {
        let prose = document.prose();
        let begins = prose.iter().position(|line| line.starts_with("## ")).unwrap_or(prose.len());
        let beginning = prose[..begins].join("\n");
        if !beginning.contains("\n- [") || !beginning.contains("](#") {
            continue;
        }
        for heading in prose.iter().filter_map(|line| line.strip_prefix("## ")) {
            let entry = format!("](#{})", super::anchor_of(heading));
            let place = document.path.display();
            assert!(beginning.contains(&entry), "{place}: {heading} is not in its list");
        }
        checked += 1;
    }
    assert!(checked > 10, "only {checked} pages have a list");
}
