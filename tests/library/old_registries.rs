//! A registry of every earlier schema can be opened, and reports the same as before. A read does
//! not change its file; a write migrates it.

use std::io::Read;
use std::path::{Path, PathBuf};

use accession::registry::Withdrawn;
use accession::{Access, Moment, Registry, Selection};
use rusqlite::Connection;

use crate::harness::history::{change, held, id, instances, name, now};
use crate::harness::oracle::naive;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/register")
}

/// The schema of this version, which a new registry has.
fn newest(directory: &Path) -> u32 {
    let path = directory.join("new.db");
    drop(Registry::create(&path).unwrap());
    schema(&path)
}

fn schema(path: &Path) -> u32 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// A copy of a stored registry in the given directory.
fn unpacked(schema: u32, directory: &Path) -> PathBuf {
    let file = std::fs::File::open(fixtures().join(format!("schema-{schema}.db.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let path = directory.join(format!("schema-{schema}.db"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The history of US in the seed, according to the rule.
const US: [(&str, &str); 5] = [
    ("2001-01-02T00:00:00Z", "7fb1e8ba9b0c9888858b66f6a1732d2c"),
    ("2001-01-03T00:00:00Z", "763122197bfb3ffbf0da14adbfb1b13b"),
    ("2001-02-03T00:00:00Z", "3fe876e6cd78a1e0c912711737957e28"),
    ("2001-03-01T00:00:00Z", "c552aca58d871920702c6948c7c0bbe1"),
    ("2001-03-03T00:00:00Z", "ed3f3e83fc55215ddc381ba3c3e715fa"),
];

fn assert_reports_the_same(registry: &Registry, schema: u32) {
    let us = name("US.FOOL2.002");
    let history: Vec<_> = instances(registry, &us)
        .iter()
        .map(|row| (row.timestamp.to_string(), row.identifier.to_string()))
        .collect();
    let expected = US.map(|(at, identifier)| (at.to_owned(), identifier.to_owned()));
    assert_eq!(history, expected);
    for (at, identifier) in US {
        let at = Some(Moment::Instant(at.parse().unwrap()));
        let (_, granules) = held(registry, &Selection::Dataset { name: us.clone(), at });
        assert_eq!(naive(granules.iter().map(String::as_str)).to_string(), identifier);
    }
    let record = registry.snapshot().unwrap().dataset(&us).unwrap().dataset;
    assert_eq!(record.title.as_deref(), Some("FOO Level 2"));
    assert_eq!(record.creators.len(), 2);
    assert_eq!(record.licence.as_deref(), (schema >= 4).then_some("CC-BY-4.0"));
    if schema >= 3 {
        let producer = id("MOD09GQ.A2017224.h09v02.006");
        let periods =
            registry.snapshot().unwrap().granules_of_producer(&name("MOD09GQ"), &producer);
        assert_eq!(periods.unwrap().count(), 1);
    }
    if schema >= 7 {
        let sources = registry.snapshot().unwrap().mirror_sources(&name("THEM.FOOL2.002")).unwrap();
        let [source] = sources.as_slice() else { panic!("{sources:?}") };
        assert_eq!(source.last.as_ref().unwrap().number, 5);
    }
    if schema >= 9 {
        let latest = Selection::Dataset { name: us.clone(), at: None };
        let set = registry.snapshot().unwrap().select(&latest).unwrap().set;
        let mut files = registry.snapshot().unwrap().files(&set).unwrap();
        let files = files.next().unwrap().unwrap().files;
        let known: Vec<_> =
            files.iter().map(|it| (it.size, it.checksums[0].as_bytes()[0])).collect();
        assert_eq!(known, [(Some(8), 2), (None, b'x')]);
    }
    if schema >= 10 {
        let open = registry.snapshot().unwrap().open_findings(&us).unwrap();
        let open: Vec<_> = open.iter().map(|it| (it.root.as_str(), it.status.as_str())).collect();
        assert_eq!(open, [("us-archive:/data", "unexpected")]);
    }
    if schema >= 6 {
        assert_has_the_data_of_schema_6(registry);
    }
    let part = "5d0fb9a2347f7b641aa5b8f28063d827".parse().unwrap();
    let found = registry.snapshot().unwrap().resolve(part, None, None).unwrap();
    assert_eq!(found.rows.len(), usize::from(schema >= 4));
    assert_eq!(registry.check_file().unwrap(), []);
    let listed = registry.snapshot().unwrap().datasets(None, Withdrawn::Listed, 100).unwrap();
    let withdrawn = listed.datasets.iter().filter(|listed| listed.withdrawn.is_some());
    assert_eq!(withdrawn.count(), usize::from(schema >= 6));
    assert_eq!(listed.next, None);
    for listed in listed.datasets {
        assert_eq!(registry.verify(&listed.dataset.name).unwrap().mismatches, []);
    }
}

/// The names of the people who made the changes, a former name, the versions of a record, and a
/// withdrawal.
fn assert_has_the_data_of_schema_6(registry: &Registry) {
    let us = name("US.FOOL2.002");
    let makers = instances(registry, &us).into_iter().map(|instance| instance.recorded_by);
    assert_eq!(makers.collect::<Vec<_>>(), vec![Some("US operations".to_owned()); US.len()]);
    let snapshot = registry.snapshot().unwrap();
    let former = name("US.FOOL2.02");
    assert_eq!(snapshot.dataset(&former).unwrap().dataset.name, us);
    assert_eq!(snapshot.dataset(&us).unwrap().former_names, [former]);
    let versions: Vec<_> = snapshot
        .record_versions(&us)
        .unwrap()
        .into_iter()
        .map(|version| {
            let licence = version.dataset["licence"].as_str().map(str::to_owned);
            (version.action, version.recorded_by.unwrap(), licence)
        })
        .collect();
    let expected = [
        ("added", "US operations", None),
        ("edited", "US operations", None),
        ("edited", "US curator", Some("CC-BY-4.0")),
        ("renamed", "US curator", Some("CC-BY-4.0")),
    ];
    let expected = expected.map(|(action, maker, licence)| {
        (action.to_owned(), maker.to_owned(), licence.map(str::to_owned))
    });
    assert_eq!(versions, expected);
    let withdrawal = snapshot.dataset(&name("US.FOOL1.001")).unwrap().withdrawn.unwrap();
    assert_eq!(withdrawal.note.as_deref(), Some("replaced by US.FOOL2.002"));
}

/// Since schema 6, a checkpoint counts the granules up to it.
#[test]
fn checkpoints_of_schema_6_count_their_granules() {
    let directory = tempfile::tempdir().unwrap();
    let connection = Connection::open(unpacked(6, directory.path())).unwrap();
    let mut statement =
        connection.prepare("SELECT granule_id, granules FROM checkpoint ORDER BY 1").unwrap();
    let checkpoints: Vec<(String, u32)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let expected = [("FOOL1.v1.00091", 91), ("FOOL1.v1.01571", 1_560)];
    assert_eq!(checkpoints, expected.map(|(id, granules)| (id.to_owned(), granules)));
}

/// Schema 1 was never released; 2 was the first.
fn kept() -> std::ops::RangeInclusive<u32> {
    let directory = tempfile::tempdir().unwrap();
    2..=newest(directory.path())
}

#[test]
fn there_is_a_registry_of_every_schema() {
    let mut there: Vec<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    let mut expected: Vec<String> = kept().map(|schema| format!("schema-{schema}.db.gz")).collect();
    expected.sort();
    assert_eq!(there, expected);
}

#[test]
fn every_old_registry_that_is_opened_for_writing_is_migrated() {
    for old in kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = unpacked(old, directory.path());
        assert_eq!(schema(&path), old);
        let registry = Registry::open(&path, Access::Write).unwrap();
        assert_reports_the_same(&registry, old);
        drop(registry);
        assert_eq!(schema(&path), newest(directory.path()));
    }
}

/// `mirror compare` used to migrate the registry of another archive, which could then no longer
/// read it.
#[test]
fn every_old_registry_can_be_read_and_a_read_does_not_change_it() {
    for old in kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = unpacked(old, directory.path());
        let before = std::fs::read(&path).unwrap();
        let registry = Registry::open(&path, Access::Read).unwrap();
        assert_reports_the_same(&registry, old);
        let copy = directory.path().join("copy.db");
        registry.back_up(&copy).unwrap();
        drop(registry);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(schema(&copy), newest(directory.path()));
        let copied = Registry::open(&copy, Access::Read).unwrap();
        assert_reports_the_same(&copied, old);
    }
}

#[test]
fn every_old_registry_accepts_a_change() {
    for old in kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = unpacked(old, directory.path());
        let registry = Registry::open(&path, Access::Write).unwrap();
        let now = accession::Stamp::now(now());
        let stamp = accession::Stamp { is_clock_confirmed: true, ..now };
        registry.change(&name("THEM.FOOL2.002"), &change(["new"], []), &stamp).unwrap();
        assert_reports_the_same(&registry, old);
        drop(registry);
        let workers: u32 = Connection::open(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM payment_worker", [], |row| row.get(0))
            .unwrap();
        assert_eq!(workers, u32::from(old >= 3));
    }
}

#[test]
fn a_newer_registry_is_refused_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(2, directory.path());
    let newer = newest(directory.path()) + 1;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", newer).unwrap();
    let before = std::fs::read(&path).unwrap();
    for access in [Access::Read, Access::Write] {
        assert_eq!(Registry::open(&path, access).err().unwrap().kind().as_str(), "newer");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn creators_that_an_older_version_accepted_are_kept_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = unpacked(3, directory.path());
    let creators = ["Josiah Carberry (0000-0002-1825-0097)", ", X", "Foo, X (0000-0002-1825-0098)"];
    let written = format!("[\"{}\"]", creators.join("\",\""));
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE dataset SET creators = ?1", [written])
        .unwrap();
    let registry = Registry::open(&path, Access::Write).unwrap();
    let read = registry.snapshot().unwrap().dataset(&name("EMPTY")).unwrap().dataset.creators;
    let read: Vec<String> = read.iter().map(accession::model::Creator::full_name).collect();
    assert_eq!(read, creators);
}
