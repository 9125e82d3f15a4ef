//! Annotations do not change the history, and are returned with their instance by every query.

use accession::dataset::Withdrawn;
use accession::history::Annotation;
use accession::history::NewAnnotation;
use accession::mirror::manifest;
use accession::{
    Clock, DatasetFilter, ErrorKind, HistoryOptions, Instance, Moment, Registry, Selection,
    SubsetMembers, Timestamp,
};
use harness::values::clock;
use sha2::{Digest, Sha256};

use harness::exported::{import_of, manifest_of};
use harness::history::{instances, name, now, second, step};
use harness::store::{new_registry, new_registry_in};

/// Two datasets, each of which holds A, then A and B, then A again.
fn registry() -> Registry {
    let registry = new_registry();
    fill(&registry);
    registry
}

fn fill(registry: &Registry) {
    for dataset in ["ONE", "TWO"] {
        step(registry, dataset, 1, ["A"], []);
        step(registry, dataset, 2, ["B"], []);
        step(registry, dataset, 3, [], ["B"]);
    }
}

fn at(dataset: &str, seconds: i64) -> Selection {
    Selection::Dataset { name: name(dataset), at: Some(Moment::Instant(second(seconds))) }
}

fn new(note: &str, questionable: bool) -> NewAnnotation {
    let mut annotation = NewAnnotation::new(note).unwrap();
    annotation.questionable = questionable;
    annotation
}

fn notes(instance: &Instance) -> Vec<&str> {
    instance.annotations.iter().map(|annotation| annotation.note.as_str()).collect()
}

#[test]
fn an_annotation_is_read_with_its_instance_and_changes_nothing_else() {
    let registry = registry();
    let before = instances(&registry, &name("ONE"));
    // Lengths are counted in characters, and a note may contain the characters that separate fields.
    for (note, questionable) in [("größer 値 🛰", true), ("1 2 3 -1 ", false), ("a\nb\t\"c\"", true)]
    {
        registry
            .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
            .recorded_by("Zoë".parse().unwrap())
            .annotate(&at("ONE", 2), &new(note, questionable))
            .unwrap();
    }
    let mut after = instances(&registry, &name("ONE"));
    assert_eq!(notes(&after[1]), ["größer 値 🛰", "1 2 3 -1 ", "a\nb\t\"c\""]);
    assert_eq!(
        after[1].annotations[0],
        Annotation {
            note: "größer 値 🛰".to_owned(),
            questionable: true,
            recorded: now(),
            recorded_by: Some("Zoë".to_owned()),
        }
    );
    assert!(!after[1].annotations[1].questionable);
    after[1].annotations.clear();
    assert_eq!(after, before);
    let snapshot = registry.snapshot().unwrap();
    let selected = snapshot.select(&at("ONE", 2)).unwrap();
    assert_eq!(selected.instance().annotations.len(), 3);
    assert_eq!(snapshot.cite(&at("ONE", 2)).unwrap().period.set.instance().annotations.len(), 3);
    let resolution = snapshot.periods(selected.set.identifier(), None, None).unwrap();
    let counts = resolution.rows.iter().map(|row| row.set.instance().annotations.len());
    assert_eq!(counts.collect::<Vec<_>>(), [3, 0]);
    drop(snapshot);
    assert_eq!(registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}

#[test]
fn an_identifier_annotates_each_instance_that_has_it() {
    let registry = registry();
    let identifier = instances(&registry, &name("ONE"))[0].identifier;
    let of = |dataset: Option<&str>| {
        let dataset = dataset.map(name);
        Selection::Identifier { identifier, dataset, at: None }
    };
    let annotated = registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .annotate(&of(None), &new("all", false))
        .unwrap();
    let where_: Vec<(String, Timestamp)> =
        annotated.iter().map(|row| (row.dataset.to_string(), row.timestamp)).collect();
    let expected = [("ONE", 1), ("ONE", 3), ("TWO", 1), ("TWO", 3)];
    assert_eq!(where_, expected.map(|(name, at)| (name.to_owned(), second(at))));
    let annotated = registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .annotate(&of(Some("TWO")), &new("one", true))
        .unwrap();
    assert_eq!(annotated.len(), 2);
    assert_eq!(notes(&instances(&registry, &name("TWO"))[0]), ["all", "one"]);
    assert_eq!(notes(&instances(&registry, &name("TWO"))[1]), [""; 0]);
    assert_eq!(notes(&instances(&registry, &name("ONE"))[2]), ["all"]);
    // The latest instance of each dataset in a page, and of one dataset.
    let page = registry.snapshot().unwrap();
    let page = page.datasets(None, accession::dataset::Withdrawn::Listed, 10).unwrap();
    let latest = page.iter().map(|listed| notes(listed.latest.as_ref().unwrap()).len());
    assert_eq!(latest.collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn the_same_note_is_added_once_and_the_first_is_returned() {
    let registry = registry();
    let first = registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .annotate(&at("ONE", 1), &new("note", true))
        .unwrap();
    let again = registry
        .with_clock(Clock::fixed(
            Timestamp::from_micros(now().as_micros() + 9 * 1_000_000).unwrap(),
        ))
        .recorded_by("B".parse().unwrap())
        .annotate(&at("ONE", 1), &new("note", true))
        .unwrap();
    assert_eq!(again[0].annotation, first[0].annotation);
    assert_eq!((first[0].is_new, again[0].is_new), (true, false));
    registry
        .with_clock(Clock::fixed(
            Timestamp::from_micros(now().as_micros() + 9 * 1_000_000).unwrap(),
        ))
        .recorded_by("B".parse().unwrap())
        .annotate(&at("ONE", 1), &new("note", false))
        .unwrap();
    assert_eq!(notes(&instances(&registry, &name("ONE"))[0]), ["note", "note"]);
}

#[test]
fn a_withdrawn_dataset_can_be_annotated_by_its_former_name() {
    let registry = registry();
    registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .rename_dataset(&name("ONE"), &name("NEW"))
        .unwrap();
    registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .withdraw_dataset(&name("NEW"), "why")
        .unwrap();
    let annotated = registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .annotate(&at("ONE", 1), &new("note", false))
        .unwrap();
    assert_eq!(annotated[0].dataset, name("NEW"));
}

#[test]
fn what_cannot_be_annotated_is_refused() {
    let registry = registry();
    let patterns = SubsetMembers::Patterns(vec!["B".parse().unwrap()]);
    let at_2 = Some(Moment::Instant(second(2)));
    let cited = registry.cite_subset(&name("ONE"), at_2, &patterns).unwrap();
    let identifier = cited.period.set.identifier();
    let refused = |selection: &Selection| {
        let refused = registry
            .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
            .recorded_by("A".parse().unwrap())
            .annotate(selection, &new("note", false));
        refused.unwrap_err().kind()
    };
    let of_subset = Selection::Identifier { identifier, dataset: None, at: None };
    assert_eq!(refused(&of_subset), ErrorKind::IdentifierUnknown);
    let digest = cited.period.set.digest().to_string().parse().unwrap();
    assert_eq!(refused(&Selection::Digest(digest)), ErrorKind::IdentifierUnknown);
    assert_eq!(refused(&at("ONE", 0)), ErrorKind::NoHistory);
    assert_eq!(refused(&at("NONE", 1)), ErrorKind::DatasetUnknown);
    let kind = |note: &str| NewAnnotation::new(note).unwrap_err().kind();
    assert_eq!(kind(" \n"), ErrorKind::Input);
    assert_eq!(kind("a\0b"), ErrorKind::Input);
    assert_eq!(kind(&"é".repeat(4_097)), ErrorKind::TooLong);
    // All notes of an instance are read together, so their total length is limited.
    let long = |number: u8| format!("{number}{}", "n".repeat(4_095));
    for number in 0..15 {
        let note = NewAnnotation::new(long(number).chars().take(4_096).collect::<String>());
        registry
            .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
            .recorded_by("A".parse().unwrap())
            .annotate(&at("ONE", 1), &note.unwrap())
            .unwrap();
    }
    let last = NewAnnotation::new("é".repeat(4_096)).unwrap();
    let error = registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("A".parse().unwrap())
        .annotate(&at("ONE", 1), &last)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
    assert_eq!(instances(&registry, &name("ONE"))[0].annotations.len(), 15);
}

#[test]
fn an_earlier_state_of_the_registry_lacks_later_annotations() {
    let registry = registry();
    registry
        .with_clock(Clock::fixed(
            Timestamp::from_micros(now().as_micros() + 10 * 1_000_000).unwrap(),
        ))
        .recorded_by("A".parse().unwrap())
        .annotate(&at("ONE", 1), &new("early", false))
        .unwrap();
    registry
        .with_clock(Clock::fixed(
            Timestamp::from_micros(now().as_micros() + 20 * 1_000_000).unwrap(),
        ))
        .recorded_by("A".parse().unwrap())
        .annotate(&at("ONE", 1), &new("late", false))
        .unwrap();
    let known = |seconds: i64| {
        let recorded = Timestamp::from_micros(now().as_micros() + seconds * 1_000_000).unwrap();
        let snapshot = registry.snapshot().unwrap().known_at(recorded);
        let selected = snapshot.select(&at("ONE", 1)).unwrap().instance().clone();
        let options = HistoryOptions::new().known_at(recorded);
        let mut history = registry.history(&name("ONE"), &options);
        drop(snapshot);
        assert_eq!(history.next().unwrap().unwrap().annotations, selected.annotations);
        selected.annotations.len()
    };
    assert_eq!([5, 10, 15, 20].map(known), [0, 1, 1, 2]);
}

#[test]
fn a_copy_has_every_annotation() {
    let directory = harness::directory();
    let (_, registry) = new_registry_in(directory.path());
    fill(&registry);
    for (dataset, second) in [("ONE", 1), ("ONE", 3), ("TWO", 2)] {
        for (note, questionable) in [("first", true), ("second", false)] {
            let new = new(note, questionable);
            registry
                .with_clock(Clock::fixed(
                    Timestamp::from_micros(now().as_micros() + second * 1_000_000).unwrap(),
                ))
                .recorded_by("A".parse().unwrap())
                .annotate(&at(dataset, second), &new)
                .unwrap();
        }
    }
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy).unwrap();
    let copy = Registry::open(&copy, clock()).unwrap();
    for dataset in ["ONE", "TWO"] {
        let copied = instances(&copy, &name(dataset));
        assert_eq!(copied, instances(&registry, &name(dataset)));
        assert!(copied.iter().any(|instance| instance.annotations.len() == 2));
    }
}

/// A registry with annotations of two instances, and its manifest.
fn annotated() -> (Registry, String) {
    let registry = registry();
    for (second, note, questionable) in
        [(1, "größer 値", true), (3, "first", false), (3, "line\nbreak", true)]
    {
        let new = new(note, questionable);
        registry
            .with_clock(Clock::fixed(
                Timestamp::from_micros(now().as_micros() + second - 9 * 1_000_000).unwrap(),
            ))
            .recorded_by("Somebody".parse().unwrap())
            .annotate(&at("ONE", second), &new)
            .unwrap();
    }
    let manifest = String::from_utf8(manifest_of(&registry, "ONE")).unwrap();
    (registry, manifest)
}

/// The annotations of each instance, without their authors.
fn published(registry: &Registry) -> Vec<Vec<Annotation>> {
    let mut history = instances(registry, &name("ONE"));
    let annotations = history.iter_mut().map(|instance| std::mem::take(&mut instance.annotations));
    let mut annotations: Vec<Vec<Annotation>> = annotations.collect();
    annotations.iter_mut().flatten().for_each(|annotation| annotation.recorded_by = None);
    annotations
}

#[test]
fn a_manifest_has_the_annotations_and_they_are_imported_once() {
    let (registry, manifest) = annotated();
    assert!(!manifest.contains("Somebody"), "{manifest}");
    let copy = new_registry();
    assert_eq!(import_of(&copy, "ONE", manifest.as_str()).unwrap().annotations, 3);
    assert_eq!(published(&copy), published(&registry));
    assert!(instances(&copy, &name("ONE"))[0].annotations[0].recorded_by.is_none());
    // Importing the same manifest again adds nothing. A new annotation is added, although the history has not
    // changed.
    assert_eq!(import_of(&copy, "ONE", manifest.as_str()).unwrap().annotations, 0);
    registry
        .with_clock(Clock::fixed(Timestamp::from_micros(now().as_micros()).unwrap()))
        .recorded_by("Somebody".parse().unwrap())
        .annotate(&at("ONE", 3), &new("later", false))
        .unwrap();
    let imported = import_of(&copy, "ONE", manifest_of(&registry, "ONE")).unwrap();
    assert_eq!((imported.annotations, imported.instances.len()), (1, 0));
    assert_eq!(published(&copy), published(&registry));
    // A history that is exported up to a time has no annotations.
    let mut bytes = Vec::new();
    manifest::write(&registry, &name("ONE"), Some(Moment::Instant(second(2))), &mut bytes).unwrap();
    assert!(!String::from_utf8(bytes).unwrap().contains("annotation"));
}

/// The manifest with altered annotation lines, and a head that announces them.
pub fn replaced(manifest: &str, change: impl Fn(&str) -> String) -> String {
    let lines: Vec<&str> = manifest.split_inclusive('\n').collect();
    let (head, lines) = lines.split_last().unwrap();
    let is_annotation = |line: &&&str| line.starts_with("{\"annotation\"");
    let log: String = lines.iter().filter(|line| !is_annotation(line)).copied().collect();
    let annotations: Vec<String> =
        lines.iter().filter(is_annotation).map(|line| change(line)).collect();
    let text = annotations.concat();
    let digest = format!(
        "\"annotations\":{{\"count\":{},\"bytes\":{},\"sha256\":\"{}\"}}",
        text.lines().count(),
        text.len(),
        hex::encode(Sha256::digest(&text))
    );
    let body = format!("{}{digest}", head.split("\"annotations\":").next().unwrap());
    let sealed = hex::encode(Sha256::digest(&body));
    format!("{log}{text}{body},\"sha256\":\"{sealed}\"}}\n")
}

#[test]
fn hostile_annotations_are_refused_and_nothing_changes() {
    let (_, manifest) = annotated();
    assert_eq!(replaced(&manifest, str::to_owned), manifest);
    let long = |bytes: usize| format!("\"{}\"", "n".repeat(bytes));
    let cases = [
        ("\"größer 値\"", "\"\"", "its note is empty"),
        ("\"größer 値\"", "\"a\\u0000b\"", "the control character U+0000"),
        ("\"größer 値\"", &long(65_537), "more than 64 KiB"),
        ("\"questionable\":true", "\"questionable\":1", "not an annotation"),
        (
            "2001-01-01T00:00:01Z",
            "2001-01-01T00:00:02.5Z",
            "no change at 2001-01-01T00:00:02.500000Z",
        ),
        ("\"recorded\":\"2026", "\"recorded\":\"2027", "was recorded at 2027"),
    ];
    for (from, to, expected) in cases {
        let hostile = replaced(&manifest, |line| line.replacen(from, to, 1));
        assert_ne!(hostile, manifest, "{from}");
        let copy = new_registry();
        let error = import_of(&copy, "ONE", hostile).unwrap_err();
        assert!(error.with_causes().contains(expected), "{from}: {}", error.with_causes());
        assert!(error.to_string().contains("us.jsonl:"), "{error}");
        assert_eq!(copy.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 0);
    }
    // One annotation line more than the head announces, and one less.
    let line = manifest.lines().find(|line| line.starts_with("{\"annotation\"")).unwrap();
    for other in [
        manifest.replace(line, &format!("{line}\n{line}")),
        manifest.replace(&format!("{line}\n"), ""),
    ] {
        let error = import_of(&new_registry(), "ONE", other).unwrap_err().with_causes();
        assert!(error.contains("not those that the head announces"), "{error}");
    }
}
