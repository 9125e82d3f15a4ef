//! A user who can write into a published directory cannot make `publish` read or write another file.

use harness::values::clock;
use std::os::unix::fs::symlink;
use std::path::Path;

use accession::{DatasetFilter, Error, Registry};
use accession_server::{SiteSettings, publish_pages};

use harness::exported::{publish_all, verified};
use harness::files::files;
use harness::history::{name, step};

fn run(registry: &Registry, directory: &Path) -> Result<(), Error> {
    publish_all(registry, directory)?;
    publish_pages(registry, directory, &SiteSettings::default(), &[])
}

fn registry() -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    step(&registry, "OLD", 0, ["A"], []);
    registry.rename_dataset(&name("OLD"), &name("US")).unwrap();
    registry
}

/// The files that publishing writes, and the directories on the way.
const NAMES: [&str; 15] = [
    "datasets/US/log/000000.jsonl",
    "datasets/US/log",
    "datasets/US/subsets.jsonl",
    "datasets/US/head.json",
    "datasets/US/index.html",
    "datasets/US/.accession-publish.new",
    "datasets/US",
    "datasets/OLD/head.json",
    "datasets/OLD/index.html",
    "datasets/OLD",
    "datasets",
    "index.html",
    "style.css",
    ".accession-publish.json",
    ".accession-publish.lock",
];

/// Replaces a file or directory by a link to `target`.
fn plant(at: &Path, target: &Path) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    if at.is_dir() {
        std::fs::remove_dir_all(at).unwrap();
    } else if at.exists() {
        std::fs::remove_file(at).unwrap();
    }
    symlink(target, at).unwrap();
}

#[test]
fn no_link_in_the_directory_is_followed() {
    for linked in NAMES {
        // The first run, and a run with changes for a directory that was published into before.
        for is_published in [false, true] {
            let place = harness::directory();
            let (www, victim) = (place.path().join("www"), place.path().join("victim"));
            std::fs::create_dir(&www).unwrap();
            let registry = registry();
            if is_published {
                run(&registry, &www).unwrap();
                step(&registry, "US", 1, ["B"], []);
            } else {
                // Without this file, `publish` rejects a directory that is not empty.
                std::fs::write(www.join(".accession-publish.lock"), "").unwrap();
            }
            let is_directory =
                ["log", "US", "OLD", "datasets"].iter().any(|it| linked.ends_with(it));
            let at = www.join(linked);
            match is_directory {
                // The same contents, elsewhere.
                true if is_published => std::fs::rename(&at, &victim).unwrap(),
                true => std::fs::create_dir(&victim).unwrap(),
                false if is_published && at.exists() => drop(std::fs::copy(&at, &victim).unwrap()),
                false => std::fs::write(&victim, "victim\n").unwrap(),
            }
            plant(&at, &victim);
            let before = files(&victim);
            for _ in 0..2 {
                let refused = run(&registry, &www).unwrap_err();
                let source = std::error::Error::source(&refused).map(ToString::to_string);
                let said = format!("{refused}: {source:?}");
                assert!(said.contains("symbolic link"), "{linked}: {said}");
                assert!(said.contains(linked.rsplit('/').next().unwrap()), "{linked}: {said}");
                assert_eq!(files(&victim), before, "{linked}");
                assert!(at.is_symlink(), "{linked}");
            }
        }
    }
}

#[test]
fn a_link_is_not_verified_as_the_file_to_which_it_leads() {
    let registry = registry();
    // `verify` reads neither pages nor settings.
    let unread = [".new", ".html", ".css", "publish.json"];
    let is_read = |name: &&&str| !unread.iter().any(|ending| name.ends_with(ending));
    for linked in NAMES.iter().filter(is_read) {
        let place = harness::directory();
        let (www, moved) = (place.path().join("www"), place.path().join("moved"));
        run(&registry, &www).unwrap();
        std::fs::rename(www.join(linked), &moved).unwrap();
        symlink(&moved, www.join(linked)).unwrap();
        let refused = registry
            .verify_published(&www, &DatasetFilter::All, |_| Ok::<(), Error>(()))
            .unwrap_err();
        let source = std::error::Error::source(&refused).unwrap().to_string();
        assert!(source.contains("symbolic link"), "{linked}: {source}");
    }
}

#[test]
fn the_directory_itself_may_be_a_link() {
    let place = harness::directory();
    let at = |name: &str| place.path().join(name);
    std::fs::create_dir(at("real")).unwrap();
    symlink(at("real"), at("link")).unwrap();
    run(&registry(), &at("link")).unwrap();
    assert!(at("real/datasets/US/head.json").is_file());
    assert!(verified(&registry(), &at("link")).iter().all(|found| found.ok));
}
