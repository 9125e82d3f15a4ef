//! `publish --verify` names every file that is not as the registry publishes it, and changes nothing.

use std::path::{Path, PathBuf};

use accession::publish::{Difference, SiteSettings, VerifiedFiles, publish, publish_pages, verify};
use accession::registry::Edit;
use accession::{DatasetName, Error, Members, Registry, Stamp};

use crate::harness::history::{change, name, now, second};

fn run(registry: &Registry, directory: &Path) {
    publish(registry, directory, &[], |_| Ok::<(), Error>(())).unwrap();
    let public_url = Edit::Set("https://data.example.org".to_owned());
    let settings = SiteSettings { public_url, ..SiteSettings::default() };
    publish_pages(registry, directory, &settings, &[], now()).unwrap();
}

fn verified(registry: &Registry, directory: &Path) -> Vec<VerifiedFiles> {
    verified_of(registry, directory, &[])
}

fn verified_of(
    registry: &Registry,
    directory: &Path,
    datasets: &[DatasetName],
) -> Vec<VerifiedFiles> {
    let mut rows = Vec::new();
    verify(registry, directory, datasets, |found| {
        rows.push(found);
        Ok::<(), Error>(())
    })
    .unwrap();
    rows
}

fn differences(registry: &Registry, directory: &Path) -> Vec<Difference> {
    differences_of(registry, directory, &[])
}

fn differences_of(
    registry: &Registry,
    directory: &Path,
    datasets: &[DatasetName],
) -> Vec<Difference> {
    let rows = verified_of(registry, directory, datasets);
    assert!(rows.iter().all(|row| row.ok == row.differences.is_empty()));
    rows.into_iter().flat_map(|row| row.differences).collect()
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// A registry with a dataset of two segments, cited subsets, and another one that was renamed.
fn registry() -> Registry {
    let registry = Registry::in_memory().unwrap();
    for at in 0..3_i64 {
        let ids: Vec<String> =
            (0..3_000).map(|n| format!("{at}.{n:04}.{}", "x".repeat(600))).collect();
        let stamp = Stamp::at(second(at), now());
        registry.change(&name("US"), &change(ids.iter().map(String::as_str), []), &stamp).unwrap();
    }
    registry.change(&name("OLD"), &change(["A", "B"], []), &Stamp::at(second(0), now())).unwrap();
    registry.rename_dataset(&name("OLD"), &name("NEW"), &Stamp::now(now())).unwrap();
    for pattern in ["0.*", "1.*"] {
        let wanted = Members::Patterns(vec![pattern.parse().unwrap()]);
        registry.cite_subset(&name("US"), None, &wanted, now()).unwrap();
    }
    registry
}

#[test]
fn each_file_that_is_damaged_or_missing_is_named() {
    let place = tempfile::tempdir().unwrap();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    assert_eq!(differences(&registry, www), []);
    let all = files(www);
    assert!(all.iter().any(|path| path.ends_with("datasets/US/log/000000.jsonl.gz")));
    let mut checked = 0;
    for path in
        all.iter().filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
    {
        let shown = path.strip_prefix(www).unwrap().to_str().unwrap().to_owned();
        // The dataset with the long log is read only where it is looked at.
        let datasets: Vec<DatasetName> = shown.split('/').nth(1).map(name).into_iter().collect();
        let whole = std::fs::read(path).unwrap();
        let text = String::from_utf8(whole.clone()).ok();
        let last = whole.len().saturating_sub(1);
        let places = match shown.contains("/US/") {
            true => vec![whole.len() / 2],
            false => vec![0, whole.len() / 2, last],
        };
        for at in places.into_iter().filter(|at| *at < whole.len()) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(path, &damaged).unwrap();
            let found = differences_of(&registry, www, &datasets);
            if text.is_none() && found.is_empty() {
                // A byte of the header of the compressed form that says nothing about its content.
                continue;
            }
            assert_eq!(found.len(), 1, "{shown} at {at}: {found:?}");
            assert_eq!(found[0].file, shown);
            if shown.contains("/log/") && text.is_some() {
                let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                assert_eq!(found[0].line, Some(line), "{shown} at {at}");
            }
            checked += 1;
        }
        std::fs::write(path, [whole.as_slice(), b"x"].concat()).unwrap();
        let found = differences_of(&registry, www, &datasets);
        assert_eq!(found.first().map(|it| &it.file), Some(&shown));
        if !whole.is_empty() {
            std::fs::write(path, &whole[..last]).unwrap();
            let found = differences_of(&registry, www, &datasets);
            assert_eq!(found.first().map(|it| &it.file), Some(&shown));
        }
        std::fs::remove_file(path).unwrap();
        let found = differences_of(&registry, www, &datasets);
        assert!(found.iter().any(|it| it.file == shown), "{shown}: {found:?}");
        std::fs::write(path, &whole).unwrap();
    }
    assert!(checked > 15, "{checked}");
    assert_eq!(differences(&registry, www), []);
    assert_eq!(files(www), all);
}

#[test]
fn what_the_registry_continues_is_as_it_should_be_and_not_current() {
    let place = tempfile::tempdir().unwrap();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
    registry.change(&name("NEW"), &change(["C"], []), &Stamp::at(second(9), now())).unwrap();
    let wanted = Members::Patterns(vec!["2.*".parse().unwrap()]);
    registry.cite_subset(&name("US"), None, &wanted, now()).unwrap();
    let rows = verified(&registry, www);
    let state: Vec<_> = rows
        .iter()
        .map(|row| (row.dataset.as_ref().unwrap().as_str(), row.changes, row.ok, row.current))
        .collect();
    assert_eq!(state, [("NEW", 1, true, false), ("OLD", 0, true, true), ("US", 3, true, false)]);
    // The cited subsets that were published are compared with their head then.
    let path = www.join("datasets/US/subsets.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replacen("0.*", "9.*", 1)).unwrap();
    let found = differences(&registry, www);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].file, "datasets/US/subsets.jsonl");
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
    registry.rename_dataset(&name("NEW"), &name("NEWER"), &Stamp::now(now())).unwrap();
    let rows = verified(&registry, www);
    assert!(rows.iter().all(|row| row.ok), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| !row.current).count(), 2);
    run(&registry, www);
    assert!(verified(&registry, www).iter().all(|row| row.ok && row.current));
}

#[test]
fn what_another_registry_published_differs() {
    let place = tempfile::tempdir().unwrap();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    let other = Registry::in_memory().unwrap();
    other.change(&name("NEW"), &change(["A", "C"], []), &Stamp::at(second(0), now())).unwrap();
    let files: Vec<(String, Option<u64>)> =
        differences(&other, www).into_iter().map(|it| (it.file, it.line)).collect();
    let expected = [
        ("datasets/NEW/log/000000.jsonl", Some(2)),
        ("datasets/NEW/head.json", None),
        ("datasets/OLD/head.json", None),
        ("datasets/US/head.json", None),
    ];
    assert_eq!(files, expected.map(|(file, line)| (file.to_owned(), line)));
}

#[test]
fn what_a_killed_run_left_is_named_until_the_next_run() {
    let place = tempfile::tempdir().unwrap();
    let (registry, www) = (registry(), place.path());
    run(&registry, www);
    let log = www.join("datasets/NEW/log");
    std::fs::write(log.join("000001.jsonl"), "{}\n").unwrap();
    let found = differences(&registry, www);
    assert_eq!(found[0].file, "datasets/NEW/log/000001.jsonl");
    std::fs::remove_file(log.join("000001.jsonl")).unwrap();
    let first = log.join("000000.jsonl");
    let whole = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, format!("{whole}{{\"timestamp\"")).unwrap();
    assert_eq!(differences(&registry, www)[0].line, Some(3));
    run(&registry, www);
    assert_eq!(differences(&registry, www), []);
}

#[test]
fn a_directory_without_pages_is_verified_without_them() {
    let place = tempfile::tempdir().unwrap();
    let (registry, www) = (registry(), place.path());
    publish(&registry, www, &[name("NEW")], |_| Ok::<(), Error>(())).unwrap();
    let rows = verified(&registry, www);
    assert!(rows.len() == 2 && rows.iter().all(|row| row.ok && row.current), "{rows:?}");
    assert!(verify(&registry, &www.join("nowhere"), &[], |_| Ok::<(), Error>(())).is_err());
    let mut missing = Vec::new();
    verify(&registry, www, &[name("US")], |found| {
        missing.extend(found.differences);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(missing[0].file, "datasets/US/head.json");
}
