//! A mirror remembers the manifests that it read, and so detects older and rewritten ones.

use harness::pulls::{FOLLOW, PullPolicy, RESET};
use harness::values::{AtTime, clock};
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use accession::history::NewAnnotation;
use accession::mirror::PrimaryOptions;
use accession::mirror::{
    FirstDifference, HistoryComparison, MirrorStatus, Primary, PullOptions, PullReport,
};
use accession::status::KnownPrimary;
use accession::{Clock, ErrorKind, IfMissing, Import, Registry, Selection, Timestamp};
use proptest::prelude::*;

use harness::exported::{manifest_of, publish_all};
use harness::history::{cases, name, now, second, step};
use harness::store::new_registry;
use harness::values::{stating, with_file};

/// Writes the manifest of a dataset that held these sets in turn.
fn write_manifest(path: &Path, sets: &[BTreeSet<String>]) {
    let us = Registry::temporary(clock()).unwrap();
    let mut held = BTreeSet::new();
    for (seconds, set) in sets.iter().enumerate() {
        let ingest = set.difference(&held).map(String::as_str);
        let delete = held.difference(set).map(String::as_str);
        step(&us, "us", seconds as i64, ingest, delete);
        held.clone_from(set);
    }
    std::fs::write(path, manifest_of(&us, "us")).unwrap();
}

fn sets(ids: &[&str]) -> Vec<BTreeSet<String>> {
    (1..=ids.len()).map(|n| ids[..n].iter().map(|id| (*id).to_owned()).collect()).collect()
}

struct Mirror {
    _directory: tempfile::TempDir,
    path: PathBuf,
    registry: Registry,
}

impl Mirror {
    fn new() -> Self {
        let directory = harness::directory();
        let path = directory.path().join("us.jsonl");
        Mirror { path, _directory: directory, registry: new_registry() }
    }

    fn primary(&self) -> Primary {
        Primary::from(self.path.clone())
    }

    fn compare(&self) -> HistoryComparison {
        let comparison = self.registry.compare_mirror(&name("mirror"), &self.primary()).unwrap();
        let compared = comparison.finish().unwrap();
        assert!(compared.warnings.is_empty(), "{:?}", compared.warnings);
        compared.status
    }

    fn pull(&self, at: i64, policy: PullPolicy, dry_run: bool) -> PullReport {
        let options = PullOptions::new().if_missing(IfMissing::Create).dry_run(dry_run);
        let (mirror, options) = (name("mirror"), options.at(second(at)));
        policy.pull(&self.registry, &mirror, &self.primary(), options).unwrap()
    }

    fn remembered(&self) -> (u64, bool) {
        let sources = self.registry.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
        let [source] = sources.as_slice() else { panic!("{sources:?}") };
        assert_eq!(source.source, self.path.canonicalize().unwrap().to_str().unwrap());
        (source.changes, source.identical.is_some())
    }
}

const COMMIT: bool = false;
const REHEARSE: bool = true;

#[test]
fn what_was_rewritten_or_is_older_is_reported_until_a_reset_even_where_the_sets_are_equal() {
    let mirror = Mirror::new();
    write_manifest(&mirror.path, &sets(&["A", "B", "C"]));
    mirror.pull(0, FOLLOW, COMMIT);
    // A rewritten history that ends with the same set.
    let other = [&["B"][..], &["A", "B", "C"]];
    let other: Vec<_> =
        other.iter().map(|set| set.iter().map(|id| (*id).to_owned()).collect()).collect();
    write_manifest(&mirror.path, &other);
    for dry_run in [REHEARSE, COMMIT] {
        let pulled = mirror.pull(1, FOLLOW, dry_run);
        assert_eq!((pulled.before.status, pulled.is_identical()), (MirrorStatus::Rewritten, false));
        assert_eq!(mirror.remembered(), (3, true));
    }
    mirror.pull(2, RESET, REHEARSE);
    assert_eq!(mirror.compare().status, MirrorStatus::Rewritten);
    let pulled = mirror.pull(3, RESET, COMMIT);
    assert!(pulled.applied.instance().is_none() && pulled.is_identical());
    assert_eq!(mirror.pull(4, FOLLOW, COMMIT).before.status, MirrorStatus::Identical);
    // An older state. A reset forgets what came after it.
    write_manifest(&mirror.path, &other[..1]);
    let pulled = mirror.pull(5, FOLLOW, COMMIT);
    assert_eq!((pulled.before.status, pulled.is_identical()), (MirrorStatus::Stale, false));
    assert_eq!(mirror.remembered().0, 2);
    assert!(mirror.pull(6, RESET, COMMIT).is_identical());
    assert_eq!(mirror.remembered().0, 1);
    assert_eq!(mirror.compare().status, MirrorStatus::Identical);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), ..ProptestConfig::default() })]

    /// Two histories with a common beginning, each read up to some change. The status is that of a comparison
    /// of the two lists.
    #[test]
    fn stale_and_rewritten_are_naive(
        common in 0..4_usize,
        first in prop::collection::vec(0..3_u8, 1..4),
        second_part in prop::collection::vec(0..3_u8, 1..4),
        cut in 0..4_usize,
    ) {
        let history = |rest: &[u8]| -> Vec<BTreeSet<String>> {
            let mut set = BTreeSet::new();
            let mut sets = Vec::new();
            for n in 0..common {
                set.insert(format!("common.{n}"));
                sets.push(set.clone());
            }
            for (n, id) in rest.iter().enumerate() {
                set.insert(format!("{n}.{id}"));
                sets.push(set.clone());
            }
            sets
        };
        let known = history(&first);
        let mut found = history(&second_part);
        found.truncate((found.len() - cut.min(found.len() - 1)).max(1));
        let mirror = Mirror::new();
        write_manifest(&mirror.path, &known);
        mirror.pull(0, FOLLOW, COMMIT);
        write_manifest(&mirror.path, &found);
        let status = mirror.compare();
        let differs = known.iter().zip(&found).position(|(known, found)| known != found);
        match differs {
            Some(index) => {
                let change = FirstDifference { change: index as u64 + 1, timestamp: second(index as i64) };
                prop_assert_eq!(status.status, MirrorStatus::Rewritten);
                prop_assert_eq!(status.first_difference, Some(change));
            }
            None if found.len() < known.len() => prop_assert_eq!(status.status, MirrorStatus::Stale),
            None if found.len() == known.len() => prop_assert_eq!(status.status, MirrorStatus::Identical),
            None => prop_assert_eq!(status.status, MirrorStatus::Behind),
        }
    }
}

/// The sources of the mirror: the name of each file, whether it is the default, and its failure.
fn sources(mirror: &Mirror) -> Vec<(String, bool, Option<String>)> {
    let known = mirror.registry.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    let of = |known: KnownPrimary| {
        let file = Path::new(&known.source).file_name().unwrap().to_str().unwrap().to_owned();
        (file, known.is_default, known.failure)
    };
    known.into_iter().map(of).collect()
}

#[test]
fn the_source_of_the_last_pull_is_the_default_with_its_options() {
    let mut mirror = Mirror::new();
    let first = mirror.path.clone();
    write_manifest(&first, &sets(&["A"]));
    let options = PrimaryOptions { max_bytes: Some(7_000), ..PrimaryOptions::default() };
    let pulling = PullOptions::new().if_missing(IfMissing::Create);
    let primary = mirror.primary().with_options(options.clone());
    let earlier = Timestamp::from_micros(now().as_micros() - 1).unwrap();
    let registry = mirror.registry.with_clock(Clock::fixed(earlier));
    registry.pull(&name("mirror"), &primary, pulling.at(second(0))).unwrap();
    let file = |file: &str, is_default| (file.to_owned(), is_default, None);
    assert_eq!(sources(&mirror), [file("us.jsonl", true)]);
    // A comparison and a dry run do not change the default.
    mirror.path = first.with_file_name("other.jsonl");
    write_manifest(&mirror.path, &sets(&["A"]));
    mirror.compare();
    mirror.pull(1, FOLLOW, REHEARSE);
    assert_eq!(sources(&mirror), [file("other.jsonl", false), file("us.jsonl", true)]);
    // Neither does a rejected pull. It is remembered as a failure until the next success.
    let diverged = [["X".to_owned()].into(), ["Y".to_owned()].into()];
    write_manifest(&mirror.path, &diverged);
    let reset = Mirror::new();
    write_manifest(&reset.path, &diverged);
    mirror.path = reset.path.clone();
    assert!(!mirror.pull(2, FOLLOW, COMMIT).is_identical());
    let refused = sources(&mirror);
    let refusal = refused.iter().find(|(_, _, failure)| failure.is_some()).unwrap();
    assert_eq!(refusal.2.as_deref(), Some("the mirror has diverged from the primary"));
    assert!(!refusal.1);
    // A pull counts even if the mirror is already identical.
    mirror.path = first.with_file_name("other.jsonl");
    std::fs::remove_file(&mirror.path).unwrap();
    write_manifest(&mirror.path, &sets(&["A"]));
    mirror.pull(3, RESET, COMMIT);
    let default = sources(&mirror).into_iter().find(|(_, is_default, _)| *is_default);
    assert_eq!(default, Some(file("other.jsonl", true)));
    let known = mirror.registry.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    let pulled: Vec<_> = known.into_iter().filter_map(|known| known.pull_options).collect();
    assert!(pulled.contains(&options), "{pulled:?}");
}

#[test]
fn a_failed_attempt_is_remembered_until_the_next_success() {
    let mirror = Mirror::new();
    write_manifest(&mirror.path, &sets(&["A"]));
    let source = mirror.primary().source().unwrap();
    let fail = || {
        mirror.registry.remember_failed_attempt(&name("mirror"), &source, "no\nresponse").unwrap();
    };
    // A failure adds neither a dataset nor a source.
    fail();
    assert!(!mirror.registry.snapshot().unwrap().has_dataset(&name("mirror")).unwrap());
    mirror.pull(0, FOLLOW, COMMIT);
    let before = mirror.remembered();
    fail();
    assert_eq!(mirror.remembered(), before);
    let failed = Some("no response".to_owned());
    assert_eq!(sources(&mirror), [("us.jsonl".to_owned(), true, failed)]);
    mirror.compare();
    assert_eq!(sources(&mirror), [("us.jsonl".to_owned(), true, None)]);
}

/// A directory into which `us` is published.
fn site() -> (tempfile::TempDir, Registry) {
    let (directory, us) = (harness::directory(), Registry::temporary(clock()).unwrap());
    step(&us, "us", 0, ["A", "B"], []);
    publish_all(&us, directory.path()).unwrap();
    (directory, us)
}

fn pull_from(directory: &Path, mirror: &Registry) -> accession::Result<PullReport> {
    pull_source(mirror, &Primary::from(directory.to_owned()))
}

/// The source was once the directory of the dataset. If the directory of the site was named, failures were not
/// stored.
#[test]
fn a_site_is_remembered_as_it_was_named() {
    let (directory, _us) = site();
    let mirror = new_registry();
    pull_from(directory.path(), &mirror).unwrap();
    let source = Primary::from(directory.path().to_owned()).source().unwrap();
    let known = || mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    assert_eq!(known()[0].source, source);
    let options = known().remove(0).pull_options.unwrap();
    assert_eq!(options.primary_dataset, Some(name("us")));
    mirror.remember_failed_attempt(&name("mirror"), &source, "it is gone").unwrap();
    assert_eq!(known()[0].failure.as_deref(), Some("it is gone"));
}

/// All segments were once opened at the start, so a log of some 4 GiB exceeded the limit of open files.
#[test]
fn a_segment_is_opened_when_it_is_reached() {
    let (directory, us) = site();
    let segment = directory.path().join("datasets/us/log/000000.jsonl");
    let away = directory.path().join("away");
    std::fs::rename(&segment, &away).unwrap();
    let read = Primary::of_directory(directory.path(), &name("us"), now());
    let primary = read.unwrap().unwrap();
    std::fs::rename(&away, &segment).unwrap();
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    primary.read_into(&name("us"), &mut import, now(), |_| {}).unwrap();
    let copy = Registry::temporary(clock()).unwrap();
    copy.import(&name("us"), &import).unwrap();
    assert_eq!(manifest_of(&us, "us"), manifest_of(&copy, "us"));
}

/// Once, a directory was copied whole every night, and a file was read from its start.
#[test]
fn of_a_directory_or_a_file_that_was_read_before_only_what_is_new_is_read() {
    let (directory, us) = site();
    let file = directory.path().join("us.jsonl");
    let log = directory.path().join("datasets/us/log/000000.jsonl");
    for (place, damaged) in [(directory.path(), &log), (file.as_path(), &file)] {
        let mirror = new_registry();
        let add = |id: &str, at: i64| {
            step(&us, "us", at, [id], []);
            publish_all(&us, directory.path()).unwrap();
            std::fs::write(&file, manifest_of(&us, "us")).unwrap();
        };
        let pull = |at: i64| {
            let primary = Primary::from(place.to_owned());
            let options = PullOptions::new().if_missing(IfMissing::Create);
            mirror.pull(&name("mirror"), &primary, options.at(second(at)))
        };
        let at = if damaged == &log { 1 } else { 3 };
        add(&format!("C{at}"), at);
        assert!(pull(10).unwrap().is_identical());
        add(&format!("D{at}"), at + 1);
        // What was read before is not read again, so a change in it is not detected.
        let bytes = std::fs::read(damaged).unwrap();
        let mut other = bytes.clone();
        other[bytes.iter().position(|byte| *byte == b'A').unwrap()] = b'X';
        std::fs::write(damaged, other).unwrap();
        assert!(pull(11).unwrap().is_identical(), "{damaged:?}");
        std::fs::write(damaged, bytes).unwrap();
    }
}

/// The files beside a log are replaced before its head. A pull at that moment once failed until the next night.
#[test]
fn a_directory_that_is_published_into_meanwhile_is_read_again() {
    let (directory, us) = site();
    let head = directory.path().join("datasets/us/head.json");
    let before = std::fs::read(&head).unwrap();
    let note = NewAnnotation::new("incomplete").unwrap();
    let selection = Selection::Dataset { name: name("us"), at: None };
    us.annotate(&selection, &note).unwrap();
    publish_all(&us, directory.path()).unwrap();
    // First a head that announces one annotation. Then the file with two annotations is written, and its head
    // last.
    let announced = std::fs::read(&head).unwrap();
    assert_ne!(before, announced);
    let note = NewAnnotation::new("again").unwrap();
    us.annotate(&selection, &note).unwrap();
    publish_all(&us, directory.path()).unwrap();
    let latest = std::fs::read(&head).unwrap();
    let annotations = directory.path().join("datasets/us/annotations.jsonl");
    let both = std::fs::read(&annotations).unwrap();
    // The first line of the file differs, as it does after another dataset took the name.
    let other: Vec<u8> = both.iter().map(|byte| if *byte == b'i' { b'I' } else { *byte }).collect();
    std::fs::write(&annotations, &other).unwrap();
    std::fs::write(&head, &announced).unwrap();
    let publishing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        for (path, bytes) in [(annotations, both), (head, latest)] {
            let new = path.with_extension("new");
            std::fs::write(&new, bytes).unwrap();
            std::fs::rename(new, path).unwrap();
        }
    });
    let mirror = new_registry();
    assert!(pull_from(directory.path(), &mirror).unwrap().is_identical());
    publishing.join().unwrap();
}

/// Pulls `mirror` from a source.
fn pull_source(mirror: &Registry, source: &Primary) -> accession::Result<PullReport> {
    let options = PullOptions::new().if_missing(IfMissing::Create);
    mirror.pull(&name("mirror"), source, options)
}

/// The only source of `mirror`.
fn source_of(mirror: &Registry) -> KnownPrimary {
    mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap().remove(0)
}

#[test]
fn a_failed_pull_is_recorded_whether_or_not_the_path_has_a_symbolic_link() {
    let place = harness::directory();
    let at = |path: &str| place.path().join(path);
    std::fs::create_dir(at("real")).unwrap();
    symlink(at("real"), at("link")).unwrap();
    write_manifest(&at("real/us.jsonl"), &sets(&["A"]));
    symlink(at("real/us.jsonl"), at("us.jsonl")).unwrap();
    let us = Registry::create(at("real/us.db"), clock()).unwrap();
    step(&us, "us", 0, ["A"], []);
    publish_all(&us, &at("real/www")).unwrap();
    let paths = ["real/us.jsonl", "link/us.jsonl", "us.jsonl", "link/us.db", "link/www"];
    let pull_all = |expected: bool, mirrors: &[Registry]| {
        for (path, mirror) in paths.iter().zip(mirrors) {
            let source = Primary::from(at(path));
            assert_eq!(pull_source(mirror, &source).is_ok(), expected, "{path}");
            assert_eq!(source_of(mirror).failed.is_none(), expected, "{path}");
        }
    };
    let mirrors: Vec<Registry> = paths.iter().map(|_| new_registry()).collect();
    pull_all(true, &mirrors);
    drop(us);
    std::fs::rename(at("real"), at("moved")).unwrap();
    pull_all(false, &mirrors);
    std::fs::rename(at("moved"), at("real")).unwrap();
    pull_all(true, &mirrors);
}

#[test]
fn a_remembered_file_that_is_now_a_pipe_or_a_device_is_refused() {
    let mirror = Mirror::new();
    write_manifest(&mirror.path, &sets(&["A"]));
    let source = Primary::from(mirror.path.clone());
    pull_source(&mirror.registry, &source).unwrap();
    std::fs::remove_file(&mirror.path).unwrap();
    let refuse = || {
        let known = source_of(&mirror.registry);
        let source = Primary::of_last_pull(known, PrimaryOptions::default()).unwrap();
        let refused = pull_source(&mirror.registry, &source).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io);
        assert!(refused.with_causes().contains("it is not a regular file"), "{refused:?}");
        let failure = source_of(&mirror.registry).failure.unwrap();
        assert!(failure.contains("it is not a regular file"), "{failure}");
    };
    assert!(Command::new("mkfifo").arg(&mirror.path).status().unwrap().success());
    refuse();
    std::fs::remove_file(&mirror.path).unwrap();
    symlink("/dev/zero", &mirror.path).unwrap();
    refuse();
}

#[test]
fn a_remembered_file_of_certificates_that_is_now_a_pipe_is_refused() {
    let directory = harness::directory();
    let path = directory.path().join("ca.pem");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let ca_file = Some(path.to_string_lossy().into_owned());
    let primary: Primary = "https://data.example.org/datasets/us/".parse().unwrap();
    let primary = primary.with_options(PrimaryOptions { ca_file, ..PrimaryOptions::default() });
    let refused = pull_source(&new_registry(), &primary).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io);
}

#[test]
fn contradictions_that_a_pull_left_are_remembered_after_another_failure() {
    let (us, mirror) = (new_registry(), new_registry());
    let state = |registry: &Registry, dataset: &str, size: u64, at: i64| {
        let stated = stating([with_file("A", "A", Some(size), None)]);
        registry.change(&name(dataset), &stated.at(second(at))).unwrap();
    };
    step(&us, "us", 0, ["A"], []);
    step(&mirror, "mirror", 0, ["A"], []);
    state(&us, "us", 1, 1);
    state(&mirror, "mirror", 2, 1);
    let directory = harness::directory();
    let path = directory.path().join("us.jsonl");
    let write = || std::fs::write(&path, manifest_of(&us, "us")).unwrap();
    let source = Primary::from(path.clone());
    write();
    assert!(!pull_source(&mirror, &source).unwrap().is_identical());
    let known = || {
        let source = source_of(&mirror);
        (source.contradicts, source.failure)
    };
    let left = (true, known().1);
    assert!(left.1.is_some());
    assert_eq!(known(), left);
    std::fs::remove_file(&path).unwrap();
    pull_source(&mirror, &source).unwrap_err();
    assert!(known() != left);
    write();
    let comparison = mirror.compare_mirror(&name("mirror"), &source).unwrap();
    comparison.finish().unwrap();
    assert_eq!(known(), left);
}

/// A gzip file with this content.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut zip, content).unwrap();
    zip.finish().unwrap()
}

#[test]
fn the_limits_of_bytes_and_of_age_apply_to_files_directories_and_streams() {
    let (site, us) = site();
    let directory = harness::directory();
    let at = |name: &str| directory.path().join(name);
    let manifest = manifest_of(&us, "us");
    let most = manifest.len() as u64;
    std::fs::write(at("us.jsonl"), &manifest).unwrap();
    std::fs::write(at("us.jsonl.gz"), gzip(&manifest)).unwrap();
    let registry = Registry::create(at("us.db"), clock()).unwrap();
    step(&registry, "us", 0, ["A", "B"], []);
    drop(registry);
    let www = site.path().to_owned();
    let pulled = |source: accession::Result<Primary>| {
        source.and_then(|source| pull_source(&new_registry(), &source)).map(drop)
    };
    let kind = |result: accession::Result<()>| result.err().map(|error| error.kind());
    let read = |bytes: &[u8], options: &PrimaryOptions| {
        kind(pulled(Primary::from_reader(bytes, "standard input", options.clone())))
    };
    let named = |path: &Path, options: &PrimaryOptions| {
        kind(pulled(Ok(Primary::from(path.to_owned()).with_options(options.clone()))))
    };
    // The limit applies to the decompressed bytes, although the compressed file is shorter.
    assert!(gzip(&manifest).len() + 1 < manifest.len());
    for (max_bytes, expected) in [(most, None), (most - 1, Some(ErrorKind::TooManyBytes))] {
        let options = PrimaryOptions { max_bytes: Some(max_bytes), ..PrimaryOptions::default() };
        assert_eq!(read(&manifest, &options), expected);
        assert_eq!(read(&gzip(&manifest), &options), expected);
        assert_eq!(named(&at("us.jsonl"), &options), expected);
        assert_eq!(named(&at("us.jsonl.gz"), &options), expected);
    }
    for (max_bytes, expected) in [(most, None), (9, Some(ErrorKind::TooManyBytes))] {
        let options = PrimaryOptions { max_bytes: Some(max_bytes), ..PrimaryOptions::default() };
        assert_eq!(named(&www, &options), expected);
        assert_eq!(named(&at("us.db"), &options), expected);
    }
    // The time of publication is the time at which the file was last written.
    let options = PrimaryOptions { max_age_seconds: Some(3_600), ..PrimaryOptions::default() };
    let files = [at("us.jsonl"), at("us.jsonl.gz"), www.join("datasets/us/head.json")];
    let places = [at("us.jsonl"), at("us.jsonl.gz"), www.clone()];
    let clock = std::time::UNIX_EPOCH + Duration::from_micros(now().as_micros() as u64);
    for (age, expected) in [(60, None), (7_200, Some(ErrorKind::TooOld))] {
        for (file, place) in files.iter().zip(&places) {
            let opened = std::fs::File::options().write(true).open(file).unwrap();
            opened.set_modified(clock - Duration::from_secs(age)).unwrap();
            assert_eq!(named(place, &options), expected, "{place:?}");
        }
    }
    assert_eq!(read(&manifest, &options), Some(ErrorKind::Usage));
    assert_eq!(named(&at("us.db"), &options), Some(ErrorKind::Usage));
}

#[test]
fn options_of_requests_are_refused_for_files_directories_and_streams() {
    let (site, us) = site();
    let path = site.path().join("us.jsonl");
    let manifest = manifest_of(&us, "us");
    std::fs::write(&path, &manifest).unwrap();
    let of_requests = [
        PrimaryOptions { timeout_seconds: Some(1), ..PrimaryOptions::default() },
        PrimaryOptions { ca_file: Some("/ca.pem".to_owned()), ..PrimaryOptions::default() },
        PrimaryOptions { insecure: true, ..PrimaryOptions::default() },
    ];
    for options in of_requests {
        for place in [path.as_path(), site.path()] {
            let source = Primary::from(place.to_owned()).with_options(options.clone());
            let refused = pull_source(&new_registry(), &source).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Usage, "{refused}");
        }
        let stream = Primary::from_reader(&*manifest, "standard input", options);
        assert_eq!(stream.err().unwrap().kind(), ErrorKind::Usage);
    }
}

#[test]
fn a_directory_of_files_is_no_published_dataset() {
    let directory = harness::directory();
    std::fs::write(directory.path().join("A.nc"), "A").unwrap();
    let refused = pull_from(directory.path(), &new_registry()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PrimaryDatasetUnknown);
    let message = refused.to_string();
    assert!(message.starts_with("no dataset is published in the directory \""), "{message}");
    assert!(message.ends_with("it has neither head.json nor datasets/"), "{message}");
}
