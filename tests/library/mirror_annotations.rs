//! A pull copies the annotations of its primary, including those of sets that the mirror already had.

use harness::values::{AtTime, clock};
use std::io::Write;
use std::path::Path;

use accession::history::Annotation;
use accession::history::NewAnnotation;
use accession::mirror::{MirrorStatus, Primary, PullOptions, PullReport};
use accession::{Change, Clock, DatasetFilter, IfMissing, Moment, Registry, Selection, Timestamp};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::annotations::replaced;
use harness::exported::{manifest_of, primary_of, publish_all};
use harness::history::{change, instances, name, now, second, step};
use harness::store::new_registry;
use harness::values::{stating, with_file};
use harness::web_server::WebServer;

/// Annotates the change at a second. The annotation is recorded at this minute.
fn annotate(registry: &Registry, dataset: &str, at: i64, note: &str, minute: i64) {
    let recorded = Timestamp::from_micros(now().as_micros() + (minute - 60) * 60_000_000).unwrap();
    let at = Some(Moment::Instant(second(at)));
    let mut annotation = NewAnnotation::new(note).unwrap();
    annotation.questionable = true;
    registry
        .with_clock(Clock::fixed(recorded))
        .recorded_by("Somebody".parse().unwrap())
        .annotate(&Selection::Dataset { name: name(dataset), at }, &annotation)
        .unwrap();
}

fn notes(registry: &Registry) -> Vec<Vec<String>> {
    let of = |annotations: Vec<Annotation>| annotations.into_iter().map(|it| it.note).collect();
    instances(registry, &name("mirror")).into_iter().map(|it| of(it.annotations)).collect()
}

fn try_pull(mirror: &Registry, primary: &Primary, at: i64) -> accession::Result<PullReport> {
    let options = PullOptions::new().if_missing(IfMissing::Create);
    mirror.pull(&name("mirror"), primary, options.at(second(at)))
}

fn taken(mirror: &Registry, primary: &Primary, at: i64) -> u64 {
    let accession::ChangeReport { annotations, annotations_left_out, in_force, .. } =
        try_pull(mirror, primary, at).unwrap().applied;
    assert_eq!(annotations_left_out, 0);
    assert_eq!(in_force.as_ref(), instances(mirror, &name("mirror")).last());
    annotations
}

/// The dataset of a registry as a manifest.
fn of(us: &Registry) -> Primary {
    primary_of(manifest_of(us, "us")).unwrap()
}

/// A primary, published in a directory and by a server.
struct Published {
    us: Registry,
    directory: tempfile::TempDir,
    server: WebServer,
}

type Open = fn(&Published) -> Primary;

impl Published {
    fn new() -> Self {
        let directory = harness::directory();
        let us = Registry::create(directory.path().join("us.db"), clock()).unwrap();
        let server = WebServer::over(directory.path());
        Published { us, directory, server }
    }

    fn publish(&self) {
        publish_all(&self.us, self.path()).unwrap();
        std::fs::write(self.path().join("us.jsonl"), manifest_of(&self.us, "us")).unwrap();
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(&manifest_of(&self.us, "us")).unwrap();
        std::fs::write(self.path().join("us.jsonl.gz"), zipped.finish().unwrap()).unwrap();
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn open(&self, file: &str) -> Primary {
        Primary::from(self.path().join(file))
    }
}

const KINDS: [(&str, Open); 6] = [
    ("a manifest", |it| it.open("us.jsonl")),
    ("a compressed manifest", |it| it.open("us.jsonl.gz")),
    ("a stream", |it| of(&it.us)),
    ("a directory", |it| it.open("datasets/us")),
    ("a registry", |it| it.open("us.db")),
    ("an address", |it| it.server.dataset("us").parse().unwrap()),
];

#[test]
fn a_pull_takes_the_annotations_over_once_whatever_the_primary_is() {
    for (kind, open) in KINDS {
        let world = Published::new();
        step(&world.us, "us", 1, ["A"], []);
        annotate(&world.us, "us", 1, "incomplete", 1);
        world.publish();
        let mirror = new_registry();
        assert_eq!(taken(&mirror, &open(&world), 11), 1, "{kind}");
        let annotation = instances(&mirror, &name("mirror"))[0].annotations[0].clone();
        assert_eq!((annotation.questionable, annotation.recorded_by), (true, None), "{kind}");
        assert_eq!(taken(&mirror, &open(&world), 12), 0, "{kind}");
        // The mirror's own note stays. The later annotation of the primary belongs to an earlier set.
        annotate(&mirror, "mirror", 11, "of the mirror", 30);
        step(&world.us, "us", 2, ["B"], []);
        annotate(&world.us, "us", 1, "later", 2);
        annotate(&world.us, "us", 2, "second", 3);
        world.publish();
        assert_eq!(taken(&mirror, &open(&world), 13), 2, "{kind}");
        let expected = [vec!["incomplete", "of the mirror", "later"], vec!["second"]];
        assert_eq!(notes(&mirror), expected, "{kind}");
        assert_eq!(taken(&mirror, &open(&world), 14), 0, "{kind}");
        // Only an annotation is new.
        annotate(&world.us, "us", 2, "alone", 4);
        world.publish();
        let pulled = try_pull(&mirror, &open(&world), 15).unwrap();
        assert_eq!(
            (pulled.before.status, pulled.applied.instances),
            (MirrorStatus::Identical, vec![]),
            "{kind}"
        );
        let kept = (pulled.applied.annotations, pulled.applied.annotations_left_out);
        assert_eq!(kept, (1, 0), "{kind}");
        assert_eq!(pulled.applied.in_force.unwrap().annotations.len(), 2, "{kind}");
        assert_eq!(taken(&mirror, &open(&world), 16), 0, "{kind}");
        assert_eq!(
            mirror.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings,
            0,
            "{kind}"
        );
    }
}

#[test]
fn an_annotation_is_of_each_instance_that_has_the_set_and_of_no_other() {
    let (us, nightly) = (Registry::temporary(clock()).unwrap(), new_registry());
    let sized = |size| stating([with_file("A", "A", Some(size), None)]);
    let changes = [change(["A"], []), change(["B"], []), change([], ["B"]), sized(1), sized(2)];
    for (at, change) in (1..).zip(changes) {
        us.change(&name("us"), &change.at(second(at))).unwrap();
        taken(&nightly, &of(&us), 10 + at);
    }
    annotate(&us, "us", 1, "one", 1);
    annotate(&us, "us", 4, "four", 4);
    let primary = of(&us);
    assert_eq!(taken(&nightly, &primary, 20), 3);
    assert_eq!(notes(&nightly), [vec!["one"], vec![], vec!["one"], vec!["four"], vec![]]);
    // The annotated instances have the names of the latest set, but not its recorded sizes.
    let new = new_registry();
    assert_eq!(taken(&new, &primary, 20), 0);
    annotate(&us, "us", 5, "five", 5);
    assert_eq!(taken(&new, &of(&us), 21), 1);
    assert_eq!(notes(&new), [["five"]]);
}

#[test]
fn a_mirror_that_knows_files_of_its_own_has_the_annotations_of_the_names() {
    let (us, mirror) = (Registry::temporary(clock()).unwrap(), new_registry());
    step(&us, "us", 1, ["A"], []);
    annotate(&us, "us", 1, "incomplete", 1);
    step(&mirror, "mirror", 5, ["A"], []);
    let own = stating([with_file("A", "A", Some(7), None)]);
    mirror.change(&name("mirror"), &own.at(second(6))).unwrap();
    // The earlier instance has the same digest as the primary.
    assert_eq!(taken(&mirror, &of(&us), 7), 1);
    assert_eq!(notes(&mirror), [vec!["incomplete"], vec![]]);
    let mirror = new_registry();
    let mut own = Change::new();
    own.options = own.options.if_missing(IfMissing::Create);
    own.ingest(with_file("A", "A", Some(7), None)).unwrap();
    mirror.change(&name("mirror"), &own.at(second(6))).unwrap();
    assert_eq!(taken(&mirror, &of(&us), 7), 1);
    assert_eq!(notes(&mirror), [["incomplete"]]);
    // A pull that changes nothing is remembered, too.
    let directory = harness::directory();
    let path = directory.path().join("us.jsonl");
    std::fs::write(&path, manifest_of(&us, "us")).unwrap();
    let primary = Primary::from(path);
    assert!(try_pull(&mirror, &primary, 8).unwrap().is_identical());
    let sources = mirror.snapshot().unwrap().mirror_sources(&name("mirror")).unwrap();
    assert!(sources[0].pulled.is_some() && sources[0].identical.is_some(), "{sources:?}");
}

#[test]
fn hostile_annotations_are_refused_and_the_mirror_stays_as_it_is() {
    let us = Registry::temporary(clock()).unwrap();
    step(&us, "us", 1, ["A"], []);
    step(&us, "us", 2, ["B"], []);
    let mirror = new_registry();
    taken(&mirror, &of(&us), 9);
    step(&us, "us", 3, ["C"], []);
    annotate(&us, "us", 2, "incomplete", 1);
    let manifest = String::from_utf8(manifest_of(&us, "us")).unwrap();
    let before = instances(&mirror, &name("mirror"));
    // An unreadable annotation, and one of a change that does not exist.
    for (from, to, expected) in [
        ("\"incomplete\"", "\"\"", "its note is empty"),
        ("2001-01-01T00:00:02Z", "2001-01-01T00:00:04Z", "us has no change at 2001"),
    ] {
        let hostile = replaced(&manifest, |line| line.replacen(from, to, 1));
        let error = try_pull(&mirror, &primary_of(hostile).unwrap(), 10).unwrap_err();
        assert!(error.with_causes().contains(expected), "{from}: {}", error.with_causes());
        assert!(error.to_string().contains("us.jsonl:"), "{error}");
        assert_eq!(instances(&mirror, &name("mirror")), before, "{from}");
    }
    assert_eq!(taken(&mirror, &primary_of(manifest).unwrap(), 10), 1);
}

#[test]
fn annotations_that_are_missing_or_damaged_are_an_error_and_a_pull_does_nothing() {
    for (kind, open) in
        KINDS.iter().filter(|(kind, _)| ["a directory", "an address"].contains(kind))
    {
        let world = Published::new();
        step(&world.us, "us", 1, ["A"], []);
        annotate(&world.us, "us", 1, "incomplete", 1);
        world.publish();
        let file = world.path().join("datasets/us/annotations.jsonl");
        let published = std::fs::read_to_string(&file).unwrap();
        let mirror = new_registry();
        for damaged in [None, Some(published.replace("incomplete", "xncomplete"))] {
            match &damaged {
                None => std::fs::remove_file(&file).unwrap(),
                Some(text) => std::fs::write(&file, text).unwrap(),
            }
            let pulled = try_pull(&mirror, &open(&world), 9);
            let error = pulled.unwrap_err().with_causes();
            assert!(error.contains("annotations"), "{kind}: {error}");
            assert!(!mirror.snapshot().unwrap().has_dataset(&name("mirror")).unwrap(), "{kind}");
        }
        std::fs::write(&file, published).unwrap();
        assert_eq!(taken(&mirror, &open(&world), 9), 1, "{kind}");
    }
}

#[test]
fn a_pull_goes_on_where_there_is_no_room_for_an_annotation() {
    let (us, mirror) = (Registry::temporary(clock()).unwrap(), new_registry());
    step(&us, "us", 1, ["A"], []);
    taken(&mirror, &of(&us), 9);
    for number in 0..15 {
        let note = format!("{number}{}", "x".repeat(4_000));
        annotate(&mirror, "mirror", 9, &note, number);
    }
    annotate(&us, "us", 1, &"y".repeat(4_000), 20);
    annotate(&us, "us", 1, &"z".repeat(4_000), 21);
    step(&us, "us", 2, ["B"], []);
    let pulled = try_pull(&mirror, &of(&us), 10).unwrap();
    assert_eq!((pulled.applied.annotations, pulled.applied.annotations_left_out), (1, 1));
    assert!(pulled.is_identical() && pulled.applied.instance().is_some());
}

#[test]
fn a_pull_that_is_only_tried_counts_the_annotations_and_keeps_none() {
    let (us, mirror) = (Registry::temporary(clock()).unwrap(), new_registry());
    step(&us, "us", 1, ["A"], []);
    taken(&mirror, &of(&us), 9);
    annotate(&us, "us", 1, "incomplete", 1);
    let primary = of(&us);
    let options = PullOptions::new().dry_run(true);
    let pulled = mirror.pull(&name("mirror"), &primary, options.at(second(10))).unwrap();
    assert_eq!(pulled.applied.annotations, 1);
    assert_eq!(notes(&mirror), [[""; 0]]);
}
