//! What was altered behind the registry's back, `verify` finds and names.

use std::path::PathBuf;

use accession::{
    Access, Change, Code, DatasetEdit, Edit, Entry, Finding, Moment, Named, Registry, Stamp, Wanted,
};
use rusqlite::Connection;

use crate::harness::history::{change, id, name, now, second};

/// A registry file with a history of four changes over 3,000 granules.
struct Sandbox {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn granule_id(n: usize) -> String {
    format!("granule.{n:05}")
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accession.db");
        let registry = Registry::create(&path).unwrap();
        let ids = |numbers: std::ops::Range<usize>| numbers.map(granule_id).collect::<Vec<_>>();
        let changes = [
            (ids(0..3_000), vec![]),
            (vec![], ids(10..12)),
            (ids(10..11), vec![]),
            (ids(3_000..3_010), ids(2_000..2_001)),
        ];
        for (seconds, (ingest, delete)) in changes.iter().enumerate() {
            let change =
                change(ingest.iter().map(String::as_str), delete.iter().map(String::as_str));
            let stamp = Stamp::at(second(seconds as i64), now());
            registry.change(&name("dataset"), &change, &stamp).unwrap();
        }
        Sandbox { _folder: folder, path }
    }

    /// Cites two parts of what was held after the third change: by a pattern, and by names.
    fn cite_parts(&self) {
        let registry = Registry::open(&self.path, Access::Write).unwrap();
        let at = Some(Moment::Instant(second(2)));
        let mut named = Named::new();
        [1, 2, 3].iter().for_each(|&n| named.add(id(&granule_id(n))).unwrap());
        for wanted in
            [Wanted::Patterns(vec!["granule.0000*".parse().unwrap()]), Wanted::Named(named)]
        {
            registry.cite_subset(&name("dataset"), at, &wanted, now()).unwrap();
        }
    }

    fn verify(&self) -> Vec<Finding> {
        let registry = Registry::open(&self.path, Access::Read).unwrap();
        registry.check_file().unwrap();
        let verification = registry.verify(&name("dataset")).unwrap();
        assert_eq!(verification.ok, verification.mismatches.is_empty());
        verification.mismatches
    }

    /// Alters the file as the sqlite3 shell would, and verifies.
    fn after(&self, sql: &str) -> Vec<Finding> {
        let connection = Connection::open(&self.path).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql} alters something");
        drop(connection);
        self.verify()
    }
}

fn micros(seconds: i64) -> i64 {
    second(seconds).as_micros()
}

/// The findings of a kind: at which instants, on which granules.
fn instants(findings: &[Finding], code: Code) -> Vec<i64> {
    let seconds =
        |finding: &Finding| (finding.timestamp.unwrap().as_micros() - micros(0)) / 1_000_000;
    findings.iter().filter(|finding| finding.code == code).map(seconds).collect()
}

fn granules(findings: &[Finding], code: Code) -> Vec<&str> {
    findings
        .iter()
        .filter(|finding| finding.code == code)
        .filter_map(|finding| finding.granule.as_deref())
        .collect()
}

#[test]
fn an_untouched_registry_verifies() {
    assert_eq!(Sandbox::new().verify(), []);
}

#[test]
fn one_byte_of_one_identifier_names_that_instance_and_no_other() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET identifier = unhex('00' || substr(hex(identifier), 3)) WHERE timestamp = {}",
        micros(2)
    ));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(instants(&findings, Code::Identifier), [2]);
}

#[test]
fn one_byte_of_one_id_names_the_instances_that_held_it_and_where_the_chain_parts() {
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'granule.02000x' WHERE granule_id = 'granule.02000'",
    );
    // Held in the first three instances only.
    assert_eq!(instants(&findings, Code::Identifier), [0, 1, 2]);
    assert_eq!(granules(&findings, Code::Checkpoint), Vec::<&str>::new(), "it is held no more");

    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'granule.01500x' WHERE granule_id = 'granule.01500'",
    );
    assert_eq!(instants(&findings, Code::Identifier), [0, 1, 2, 3]);
    let checkpoints = granules(&findings, Code::Checkpoint);
    assert!(
        !checkpoints.is_empty() && checkpoints.iter().all(|id| *id > "granule.01500"),
        "{checkpoints:?}"
    );
}

#[test]
fn a_removed_row_shows_in_counts_and_identifiers() {
    let findings = Sandbox::new().after("DELETE FROM granule WHERE granule_id = 'granule.02999'");
    assert_eq!(instants(&findings, Code::Identifier), [0, 1, 2, 3]);
    assert!(instants(&findings, Code::Count).contains(&0));
}

#[test]
fn a_page_that_nothing_uses_is_found() {
    let sandbox = Sandbox::new();
    let mut bytes = std::fs::read(&sandbox.path).unwrap();
    // The size of a page, and how many there are (sqlite.org/fileformat.html § 1.3).
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = u32::from_be_bytes(bytes[28..32].try_into().unwrap());
    assert_eq!(bytes.len(), page_bytes * pages as usize);
    bytes[28..32].copy_from_slice(&(pages + 1).to_be_bytes());
    bytes.resize(bytes.len() + page_bytes, 0);
    std::fs::write(&sandbox.path, bytes).unwrap();
    let registry = Registry::open(&sandbox.path, Access::Read).unwrap();
    let error = registry.check_file().unwrap_err();
    let text = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("never used"), "{error}: {text}");
}

#[test]
fn rows_of_a_dataset_that_is_not_there_are_found() {
    let sandbox = Sandbox::new();
    sandbox.cite_parts();
    let connection = Connection::open(&sandbox.path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; DELETE FROM dataset; DELETE FROM saved_selection",
        )
        .unwrap();
    drop(connection);
    let registry = Registry::open(&sandbox.path, Access::Read).unwrap();
    let error = registry.check_file().unwrap_err();
    assert_eq!(error.kind(), "damaged");
    let text = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    for what in [
        "3011 rows of granule belong to a dataset that is missing",
        "4 rows of instance belong to a dataset",
        "3 rows of named_granule belong to a saved_selection",
    ] {
        assert!(text.contains(what), "{text}");
    }
    // Nor is it backed up as if all were well.
    let error = registry.back_up(&sandbox.path.with_extension("copy")).unwrap_err();
    assert_eq!(error.kind(), "damaged");
    assert!(error.to_string().contains("accession.db"), "{error}");
}

#[test]
fn an_altered_date_names_its_granule() {
    for (sql, what) in [
        (
            "UPDATE granule SET ingested = ingested + 1 WHERE granule_id = 'granule.00500'",
            "ingested",
        ),
        ("UPDATE granule SET deleted = deleted + 1 WHERE granule_id = 'granule.02000'", "deleted"),
    ] {
        let findings = Sandbox::new().after(sql);
        let dates: Vec<_> = findings.iter().filter(|finding| finding.code == Code::Date).collect();
        assert_eq!(dates.len(), 1, "{findings:?}");
        assert!(dates[0].text.starts_with(what), "{dates:?}");
        assert!(dates[0].granule.as_deref().unwrap().starts_with("granule."));
    }
}

#[test]
fn a_date_moved_to_another_change_shows_in_counts() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE granule SET ingested = {} WHERE granule_id = 'granule.00500'",
        micros(1)
    ));
    assert_eq!(instants(&findings, Code::Identifier), [0]);
    assert_eq!(instants(&findings, Code::Count), [0, 0, 1]);
}

#[test]
fn an_altered_timestamp_of_an_instance_names_every_granule_that_came_then() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET timestamp = timestamp + 1 WHERE timestamp = {}",
        micros(1)
    ));
    assert_eq!(granules(&findings, Code::Date), ["granule.00010", "granule.00011"]);
    assert!(findings.iter().any(|finding| finding.code == Code::Count));
}

#[test]
fn a_removed_instance_is_missed() {
    let findings =
        Sandbox::new().after(&format!("DELETE FROM instance WHERE timestamp = {}", micros(1)));
    assert_eq!(granules(&findings, Code::Date), ["granule.00010", "granule.00011"]);
}

#[test]
fn an_altered_count_or_recording_is_named() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET granules = granules + 1 WHERE timestamp = {}",
        micros(1)
    ));
    assert_eq!((findings.len(), instants(&findings, Code::Count)), (1, vec![1]));
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET recorded = timestamp - 1 WHERE timestamp = {}",
        micros(3)
    ));
    assert_eq!((findings.len(), instants(&findings, Code::Recorded)), (1, vec![3]));
}

#[test]
fn an_altered_missing_or_misplaced_checkpoint_is_named() {
    let last = "(SELECT max(granule_id) FROM checkpoint)";
    for sql in [
        format!("UPDATE checkpoint SET chain = zeroblob(16) WHERE granule_id = {last}"),
        format!("DELETE FROM checkpoint WHERE granule_id = {last}"),
    ] {
        let findings = Sandbox::new().after(&sql);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].code, Code::Checkpoint);
        assert!(accession::chain::is_checkpoint(findings[0].granule.as_deref().unwrap()));
    }
    let findings = Sandbox::new().after(
        "INSERT INTO checkpoint SELECT id, 'granule.00001', zeroblob(16), NULL FROM dataset",
    );
    assert_eq!(granules(&findings, Code::Checkpoint), ["granule.00001"]);
}

#[test]
fn an_altered_part_that_was_cited_is_named() {
    let sandbox = Sandbox::new();
    sandbox.cite_parts();
    assert_eq!(sandbox.verify(), []);
    for (sql, findings) in [
        ("UPDATE saved_selection SET identifier = zeroblob(16) WHERE id = 1", 1),
        ("UPDATE saved_selection SET granules = granules + 1 WHERE id = 2", 1),
        ("UPDATE saved_selection SET patterns = '[\"granule.0000?\"]' WHERE id = 1", 0),
        ("UPDATE saved_selection SET patterns = '[\"granule.0001?\"]' WHERE id = 1", 2),
        ("DELETE FROM named_granule WHERE granule_id = 'granule.00002'", 2),
        ("UPDATE named_granule SET granule_id = 'granule.9' WHERE granule_id = 'granule.00003'", 2),
        ("UPDATE saved_selection SET timestamp = timestamp + 1 WHERE id = 2", 1),
    ] {
        let sandbox = Sandbox::new();
        sandbox.cite_parts();
        let found = sandbox.after(sql);
        assert_eq!(found.len(), findings, "{sql}: {found:?}");
        assert!(found.iter().all(|finding| finding.code == Code::Selection), "{sql}: {found:?}");
    }
}

#[test]
fn a_granule_held_twice_at_once_is_named() {
    let findings = Sandbox::new().after(&format!(
        "INSERT INTO granule SELECT dataset_id, granule_id, {}, NULL, NULL FROM granule WHERE granule_id = 'granule.00020'",
        micros(3)
    ));
    assert_eq!(granules(&findings, Code::Overlap), ["granule.00020"]);
}

#[test]
fn an_id_that_no_granule_can_have_is_named() {
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'a' || char(10) WHERE granule_id = 'granule.00020'",
    );
    assert_eq!(granules(&findings, Code::GranuleId), ["a\n"]);
}

#[test]
fn what_is_wrong_is_found_and_never_repaired() {
    let sandbox = Sandbox::new();
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.02999'");
    assert_eq!(sandbox.verify(), findings);
}

#[test]
fn a_record_that_differs_from_its_second_copy_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for marker in ["the-title", "the-note", "Creator, The", "the-producer", "the.pattern*"] {
        let path = folder.path().join(format!("{}.db", marker.replace('*', "")));
        let registry = Registry::create(&path).unwrap();
        let mut change = Change::new();
        change.create_dataset();
        let (granule_id, producer_granule) = (id("the.pattern.1"), Some(id("the-producer")));
        change.ingest(Entry { granule_id, producer_granule, location: None }).unwrap();
        // Not selected: a subset that is everything is not stored.
        change.ingest(id("other")).unwrap();
        change.note(Some("the-note".to_owned()));
        registry.change(&name("D"), &change, &Stamp::at(second(0), now())).unwrap();
        let edit = DatasetEdit {
            title: Edit::Set("the-title".to_owned()),
            creators: Edit::Set(vec!["Creator, The".parse().unwrap()]),
            ..DatasetEdit::default()
        };
        registry.edit_dataset(&name("D"), &edit).unwrap();
        let wanted = Wanted::Patterns(vec!["the.pattern*".parse().unwrap()]);
        registry.cite_subset(&name("D"), None, &wanted, now()).unwrap();
        drop(registry);

        let mut bytes = std::fs::read(&path).unwrap();
        let copies: Vec<usize> = bytes
            .windows(marker.len())
            .enumerate()
            .filter(|(_, window)| *window == marker.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(copies.len() >= 2, "{marker} stands twice");
        // The first letter becomes another one.
        bytes[copies[0]] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let registry = Registry::open(&path, Access::Read).unwrap();
        assert_eq!(registry.check_file().unwrap_err().kind(), "damaged", "{marker}");
        // The check of one dataset looks at all but the rows that grow with it.
        let found = registry.verify(&name("D")).unwrap().mismatches;
        let is_named = found.iter().any(|finding| finding.code == Code::Record);
        assert_eq!(is_named, marker != "the-producer", "{marker}: {found:?}");
    }
}
