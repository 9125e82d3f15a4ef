//! What was altered by other means than the registry's own, `verify` finds and names, in few words,
//! and at a cost that does not grow with what it need not look at.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use accession::{
    Access, Change, Code, DatasetEdit, DatasetName, Edit, Finding, GranuleId, Moment, Monitor,
    Named, Registry, Stamp, Timestamp, Verification, Verified, Wanted,
};
use rusqlite::Connection;

fn name(text: &str) -> DatasetName {
    text.parse().unwrap()
}

fn granule(n: usize) -> GranuleId {
    granule_id(n).parse().unwrap()
}

fn granule_id(n: usize) -> String {
    format!("granule.{n:05}")
}

/// So many seconds after an instant of 2001.
fn second(seconds: i64) -> Timestamp {
    let start: Timestamp = "2001-01-02T00:00:00Z".parse().unwrap();
    Timestamp::from_micros(start.as_micros() + seconds * 1_000_000).unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn ingest_and_delete(
    registry: &Registry,
    dataset: &str,
    seconds: i64,
    ingest: impl IntoIterator<Item = usize>,
    delete: impl IntoIterator<Item = usize>,
) {
    let mut change = Change::new();
    change.create_dataset();
    ingest.into_iter().for_each(|n| change.ingest(granule(n)).unwrap());
    delete.into_iter().for_each(|n| change.delete(granule(n)).unwrap());
    registry.change(&name(dataset), &change, &Stamp::at(second(seconds), now())).unwrap();
}

/// A registry file whose dataset `dataset` has four changes over 3,000 granules.
struct Sandbox {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

/// Checkpoints of the sandbox, with how many granules each counts.
struct Stored {
    granule_id: String,
    granules: u64,
}

impl Sandbox {
    fn new() -> Self {
        let sandbox = Sandbox::empty();
        let registry = Registry::create(&sandbox.path).unwrap();
        ingest_and_delete(&registry, "dataset", 0, 0..6_000, []);
        ingest_and_delete(&registry, "dataset", 1, [], 10..12);
        ingest_and_delete(&registry, "dataset", 2, 10..11, []);
        ingest_and_delete(&registry, "dataset", 3, 6_000..6_010, 5_000..5_001);
        sandbox
    }

    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("accession.db");
        Sandbox { _directory: directory, path }
    }

    /// Cites two subsets of what was held after the third change: by a pattern, and by names.
    fn with_subsets(self) -> Self {
        let registry = Registry::open(&self.path, Access::Write).unwrap();
        let mut named = Named::new();
        [1, 2, 3].into_iter().for_each(|n| named.add(granule(n)).unwrap());
        let patterns = vec!["granule.0000*".parse().unwrap()];
        for wanted in [Wanted::Patterns(patterns), Wanted::Named(named)] {
            let at = Some(Moment::Instant(second(2)));
            registry.cite_subset(&name("dataset"), at, &wanted, now()).unwrap();
        }
        self
    }

    fn verify(&self) -> Vec<Finding> {
        let registry = Registry::open(&self.path, Access::Read).unwrap();
        assert_eq!(registry.check_file().unwrap(), []);
        let verification = registry.verify(&name("dataset")).unwrap();
        assert_eq!(verification.ok, verification.mismatches.is_empty());
        verification.mismatches
    }

    /// Alters the file as the sqlite3 shell would.
    fn alter(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql} alters something");
    }

    /// Alters the file, and verifies.
    fn after(&self, sql: &str) -> Vec<Finding> {
        self.alter(sql);
        self.verify()
    }

    fn checkpoints(&self) -> Vec<Stored> {
        let connection = Connection::open(&self.path).unwrap();
        let mut statement = connection
            .prepare("SELECT granule_id, granules FROM checkpoint ORDER BY granule_id")
            .unwrap();
        let rows = statement.query_map([], |row| {
            Ok(Stored { granule_id: row.get(0)?, granules: row.get::<_, i64>(1)? as u64 })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }
}

fn micros(seconds: i64) -> i64 {
    second(seconds).as_micros()
}

/// The codes of the findings, in their order.
fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// The only finding of a kind.
#[track_caller]
fn only(findings: &[Finding], code: Code) -> &Finding {
    let mut of_code = findings.iter().filter(|finding| finding.code == code);
    let first = of_code.next();
    assert!(first.is_some() && of_code.next().is_none(), "one {code:?}: {findings:#?}");
    first.unwrap()
}

fn verify_all(registry: &Registry) -> (Verified, Vec<Verification>) {
    let mut shown = Vec::new();
    let verified = registry.verify_all(&[], |verification| {
        shown.push(verification);
        Ok::<_, accession::Error>(())
    });
    (verified.unwrap(), shown)
}

/// What each dataset has, by name, of those that have findings; the file's are under `None`.
fn with_findings(shown: &[Verification]) -> Vec<Option<&str>> {
    let damaged = shown.iter().filter(|verification| !verification.ok);
    damaged.map(|verification| verification.dataset.as_ref().map(DatasetName::as_str)).collect()
}

#[test]
fn an_untouched_registry_verifies() {
    assert_eq!(Sandbox::new().verify(), []);
    assert_eq!(Sandbox::new().with_subsets().verify(), []);
}

#[test]
fn one_byte_of_one_identifier_names_that_instance_and_no_other() {
    for seconds in 0..4 {
        let findings = Sandbox::new().after(&format!(
            "UPDATE instance SET identifier = unhex('00' || substr(hex(identifier), 3)) WHERE timestamp = {}",
            micros(seconds)
        ));
        assert_eq!(codes(&findings), [Code::Identifier], "{findings:#?}");
        assert_eq!(findings[0].timestamp, Some(second(seconds)));
    }
}

#[test]
fn one_byte_of_one_id_names_the_instances_that_held_it_and_the_interval() {
    // Held in the first three instances only: no checkpoint counts it now.
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'granule.05000x' WHERE granule_id = 'granule.05000'",
    );
    assert_eq!(codes(&findings), [Code::Identifier], "{findings:#?}");
    assert_eq!(findings[0].timestamp, Some(second(0)));
    assert!(findings[0].text.contains("3 instances in a row"), "{findings:#?}");

    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    assert!(checkpoints.len() >= 3, "enough to lie between two");
    let (before, after) = (&checkpoints[0], &checkpoints[1]);
    let findings = sandbox.after(&format!(
        "UPDATE granule SET granule_id = granule_id || 'x'
         WHERE granule_id = (SELECT min(granule_id) FROM granule WHERE granule_id > '{}')",
        before.granule_id
    ));
    assert_eq!(codes(&findings), [Code::Identifier, Code::Checkpoint], "{findings:#?}");
    assert!(findings[0].text.contains("4 instances in a row"), "{findings:#?}");
    assert_eq!(findings[1].granule.as_deref(), Some(after.granule_id.as_str()));
    let text = &findings[1].text;
    assert!(text.contains(&format!("after {:?}, up to", before.granule_id)), "{text}");
    assert!(text.ends_with(&format!("as many: {}", after.granules - before.granules)), "{text}");
}

#[test]
fn one_lost_row_is_three_findings_that_narrow_it_down() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let (before, after) = (&checkpoints[1], &checkpoints[2]);
    let findings = sandbox.after(&format!(
        "DELETE FROM granule
         WHERE granule_id = (SELECT min(granule_id) FROM granule WHERE granule_id > '{}')",
        before.granule_id
    ));
    assert_eq!(
        codes(&findings),
        [Code::Identifier, Code::Count, Code::Checkpoint],
        "{findings:#?}"
    );
    let [identifier, count, checkpoint] = &findings[..] else { unreachable!() };
    assert_eq!((identifier.timestamp, count.timestamp), (Some(second(0)), Some(second(0))));
    let last = format!("the last is that of {}", second(3));
    assert!(identifier.text.ends_with(&format!("4 instances in a row disagree, {last}")));
    assert_eq!(
        count.text,
        format!(
            "the history counts 6000 granules, the granule rows give 5999; so 4 instances in a row have 1 too few, {last}"
        )
    );
    let counted = after.granules - before.granules;
    assert_eq!(checkpoint.granule.as_deref(), Some(after.granule_id.as_str()));
    assert_eq!(
        checkpoint.text,
        format!(
            "after {:?}, up to and including this granule, the registry has {} granules where the checkpoint counts {counted}",
            before.granule_id,
            counted - 1
        )
    );
}

#[test]
fn rows_lost_in_two_intervals_are_found_in_both() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let number = checkpoints.len();
    assert!(number >= 4);
    // Before the first checkpoint, after the last, and before the last but one.
    let lost = ["granule.00005".to_owned(), granule_id(6_009), {
        let connection = Connection::open(&sandbox.path).unwrap();
        let sql = "SELECT max(granule_id) FROM granule WHERE granule_id < ?1";
        connection.query_row(sql, [&checkpoints[number - 2].granule_id], |row| row.get(0)).unwrap()
    }];
    for granule_id in &lost {
        sandbox.alter(&format!("DELETE FROM granule WHERE granule_id = '{granule_id}'"));
    }
    let findings = sandbox.verify();
    let intervals: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.code == Code::Checkpoint)
        .map(|finding| finding.granule.as_deref().unwrap())
        .collect();
    let expected = [0, number - 2, number - 1].map(|index| checkpoints[index].granule_id.as_str());
    assert_eq!(intervals, expected, "{findings:#?}");
    assert!(findings.len() <= 6, "{findings:#?}");
}

#[test]
fn checkpoints_of_an_older_version_narrow_down_without_counts() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    sandbox.alter("UPDATE checkpoint SET granules = NULL");
    assert_eq!(sandbox.verify(), []);
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00005'");
    let finding = only(&findings, Code::Checkpoint);
    assert_eq!(finding.granule.as_deref(), Some(checkpoints[0].granule_id.as_str()));
    assert!(finding.text.contains("other granules"), "{finding:?}");
    // One old checkpoint among new ones: the counts after it are not taken for wrong.
    let sandbox = Sandbox::new();
    sandbox.alter(&format!(
        "UPDATE checkpoint SET granules = NULL WHERE granule_id = '{}'",
        checkpoints[0].granule_id
    ));
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00005'");
    assert_eq!(codes(&findings), [Code::Identifier, Code::Count, Code::Checkpoint]);
}

#[test]
fn a_lost_row_after_the_last_checkpoint_is_after_the_last_checkpoint() {
    let sandbox = Sandbox::new();
    let last = sandbox.checkpoints().pop().unwrap().granule_id;
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.06009'");
    assert_eq!(codes(&findings), [Code::Identifier, Code::Count], "{findings:#?}");
    let says = format!("up to {last:?} the granule rows agree with every checkpoint");
    assert!(findings[0].text.ends_with(&says), "{findings:#?}");
}

#[test]
fn a_lost_row_that_a_checkpoint_was_set_after_is_named() {
    let sandbox = Sandbox::new();
    let lost = &sandbox.checkpoints()[1].granule_id;
    let findings = sandbox.after(&format!("DELETE FROM granule WHERE granule_id = '{lost}'"));
    assert_eq!(codes(&findings), [Code::Identifier, Code::Count, Code::Checkpoint]);
    assert_eq!(findings[2].granule.as_ref(), Some(lost));
    assert!(findings[2].text.starts_with("the registry does not hold this granule"));
}

#[test]
fn an_added_row_is_counted_between_its_checkpoints() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let findings = sandbox.after(&format!(
        "INSERT INTO granule SELECT id, 'granule.00005x', {}, NULL, NULL FROM dataset",
        micros(2)
    ));
    assert_eq!(
        codes(&findings),
        [Code::Identifier, Code::Count, Code::Checkpoint],
        "{findings:#?}"
    );
    assert_eq!(findings[1].timestamp, Some(second(2)));
    assert!(findings[1].text.contains("2 instances in a row have 1 too many"), "{findings:#?}");
    let counted = checkpoints[0].granules;
    let says =
        format!("the registry has {} granules where the checkpoint counts {counted}", counted + 1);
    assert!(findings[2].text.ends_with(&says), "{findings:#?}");
}

#[test]
fn an_altered_date_names_its_granule() {
    for (sql, what) in [
        (
            "UPDATE granule SET ingested = ingested + 1 WHERE granule_id = 'granule.00500'",
            "ingested",
        ),
        ("UPDATE granule SET deleted = deleted + 1 WHERE granule_id = 'granule.05000'", "deleted"),
    ] {
        let findings = Sandbox::new().after(sql);
        let finding = only(&findings, Code::Date);
        assert!(finding.text.starts_with(what), "{finding:?}");
        assert!(sql.contains(finding.granule.as_deref().unwrap()));
        assert!(findings.len() <= 4, "{findings:#?}");
    }
}

#[test]
fn a_date_moved_to_another_change_is_one_wrong_count() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE granule SET ingested = {} WHERE granule_id = 'granule.00500'",
        micros(1)
    ));
    assert_eq!(codes(&findings), [Code::Identifier, Code::Count], "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.timestamp == Some(second(0))));
}

#[test]
fn an_altered_timestamp_of_an_instance_names_the_first_granule_and_counts_the_others() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET timestamp = timestamp + 1 WHERE timestamp = {}",
        micros(0)
    ));
    assert_eq!(codes(&findings), [Code::Count, Code::Date], "{findings:#?}");
    assert_eq!(findings[1].granule.as_deref(), Some("granule.00000"));
    assert!(findings[1].text.contains("and 5999 more granules, the last is \"granule.05999\""));
}

#[test]
fn a_removed_instance_is_one_finding_for_what_it_ingested_and_deleted() {
    for (seconds, granules) in [(1, "granule.00010"), (2, "granule.00010")] {
        let sql = format!("DELETE FROM instance WHERE timestamp = {}", micros(seconds));
        let findings = Sandbox::new().after(&sql);
        assert_eq!(only(&findings, Code::Date).granule.as_deref(), Some(granules));
        assert!(findings.len() <= 2, "{findings:#?}");
    }
}

#[test]
fn an_added_instance_is_named() {
    let findings = Sandbox::new().after(&format!(
        "INSERT INTO instance
         SELECT dataset_id, timestamp + 1, zeroblob(16), granules, 1, 0, recorded, NULL, NULL
         FROM instance WHERE timestamp = {}",
        micros(1)
    ));
    assert_eq!(codes(&findings), [Code::Identifier, Code::Count], "{findings:#?}");
}

#[test]
fn an_altered_count_or_recording_is_named_alone() {
    for (column, seconds, code) in [
        ("granules = granules + 1", 1, Code::Count),
        ("ingested = ingested + 1", 2, Code::Count),
        ("deleted = deleted + 1", 1, Code::Count),
        ("recorded = timestamp - 1", 3, Code::Recorded),
    ] {
        let sandbox = Sandbox::new();
        let sql = format!("UPDATE instance SET {column} WHERE timestamp = {}", micros(seconds));
        let findings = sandbox.after(&sql);
        assert_eq!(codes(&findings), [code], "{sql}: {findings:#?}");
        assert_eq!(findings[0].timestamp, Some(second(seconds)));
    }
}

#[test]
fn counts_that_are_off_by_the_same_number_are_one_finding() {
    let findings =
        Sandbox::new().after("UPDATE instance SET granules = granules + 7 WHERE timestamp >= 0");
    assert_eq!(codes(&findings), [Code::Count], "{findings:#?}");
    assert!(findings[0].text.contains("4 instances in a row have 7 too few"), "{findings:#?}");
}

#[test]
fn an_altered_missing_or_misplaced_checkpoint_is_named_alone() {
    let number = Sandbox::new().checkpoints().len();
    for index in [0, 1, number - 1] {
        for sql in [
            "UPDATE checkpoint SET chain = unhex('00' || substr(hex(chain), 3)) WHERE granule_id = ",
            "UPDATE checkpoint SET granules = granules + 1 WHERE granule_id = ",
            "DELETE FROM checkpoint WHERE granule_id = ",
        ] {
            let sandbox = Sandbox::new();
            let granule_id = &sandbox.checkpoints()[index].granule_id;
            let findings = sandbox.after(&format!("{sql}'{granule_id}'"));
            assert_eq!(codes(&findings), [Code::Checkpoint], "{sql} {findings:#?}");
            assert_eq!(findings[0].granule.as_ref(), Some(granule_id));
        }
    }
    let number_of = |n: usize| (0..n).map(|n| format!("absent.{n}"));
    let absent = number_of(100_000).find(|id| accession::chain::is_checkpoint(id)).unwrap();
    for misplaced in ["granule.00001", "granule.00001x", "zzz", &absent] {
        let findings = Sandbox::new().after(&format!(
            "INSERT INTO checkpoint SELECT id, '{misplaced}', zeroblob(16), 2 FROM dataset"
        ));
        assert_eq!(codes(&findings), [Code::Checkpoint], "{findings:#?}");
        assert_eq!(findings[0].granule.as_deref(), Some(misplaced));
    }
}

#[test]
fn an_altered_checkpoint_beside_a_lost_row_does_not_hide_where_the_row_was() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let (altered, before, after) = (&checkpoints[0], &checkpoints[1], &checkpoints[2]);
    sandbox.alter(&format!(
        "UPDATE checkpoint SET chain = zeroblob(16) WHERE granule_id = '{}'",
        altered.granule_id
    ));
    let findings = sandbox.after(&format!(
        "DELETE FROM granule
         WHERE granule_id = (SELECT min(granule_id) FROM granule WHERE granule_id > '{}')",
        before.granule_id
    ));
    let found: Vec<&Finding> =
        findings.iter().filter(|finding| finding.code == Code::Checkpoint).collect();
    assert_eq!(found.len(), 2, "{findings:#?}");
    assert_eq!(found[0].granule.as_ref(), Some(&altered.granule_id));
    assert!(found[0].text.contains("the granule rows give"), "{findings:#?}");
    assert_eq!(found[1].granule.as_ref(), Some(&after.granule_id));
    assert!(found[1].text.contains("the registry has"), "{findings:#?}");
}

#[test]
fn the_loss_of_all_checkpoints_is_a_few_findings() {
    for sql in ["DELETE FROM checkpoint", "UPDATE checkpoint SET chain = zeroblob(16)"] {
        let findings = Sandbox::new().after(sql);
        assert!((1..=10).contains(&findings.len()), "{sql}: {findings:#?}");
        assert!(findings.iter().all(|finding| finding.code == Code::Checkpoint));
    }
}

#[test]
fn an_altered_subset_is_named_alone() {
    for (sql, granule) in [
        ("UPDATE saved_selection SET identifier = zeroblob(16) WHERE id = 1", None),
        ("UPDATE saved_selection SET granules = granules + 1 WHERE id = 2", None),
        ("UPDATE saved_selection SET patterns = '[\"granule.0001?\"]' WHERE id = 1", None),
        ("DELETE FROM named_granule WHERE granule_id = 'granule.00002'", None),
        ("UPDATE saved_selection SET timestamp = timestamp + 1 WHERE id = 2", None),
        (
            "UPDATE named_granule SET granule_id = 'granule.9' WHERE granule_id = 'granule.00003'",
            Some("granule.9"),
        ),
    ] {
        let found = Sandbox::new().with_subsets().after(sql);
        assert!((1..=2).contains(&found.len()), "{sql}: {found:#?}");
        assert!(found.iter().all(|finding| finding.code == Code::Subset), "{sql}: {found:#?}");
        assert_eq!(found[0].granule.as_deref(), granule, "{sql}: {found:#?}");
    }
    let sql = "UPDATE saved_selection SET patterns = '[\"granule.0000?\"]' WHERE id = 1";
    assert_eq!(Sandbox::new().with_subsets().after(sql), [], "they select the same");
}

#[test]
fn a_lost_row_that_a_subset_names_is_named() {
    let sandbox = Sandbox::new().with_subsets();
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00002'");
    let subsets: Vec<&Finding> =
        findings.iter().filter(|finding| finding.code == Code::Subset).collect();
    assert_eq!(subsets.len(), 2, "of the pattern, and of the names: {findings:#?}");
    assert!(subsets.iter().any(|finding| finding.granule.as_deref() == Some("granule.00002")));
    assert!(findings.len() <= 5, "{findings:#?}");
}

#[test]
fn a_lost_row_of_many_subsets_is_a_few_findings() {
    let sandbox = Sandbox::empty();
    let registry = Registry::create(&sandbox.path).unwrap();
    for seconds in 0..100 {
        let n = seconds as usize;
        ingest_and_delete(&registry, "dataset", seconds, n * 10..n * 10 + 10, []);
        let wanted = Wanted::Patterns(vec!["*".repeat(1).parse().unwrap()]);
        let other = Wanted::Patterns(vec!["granule.0000*".parse().unwrap()]);
        for wanted in [wanted, other] {
            let at = Some(Moment::Instant(second(seconds)));
            registry.cite_subset(&name("dataset"), at, &wanted, second(seconds)).unwrap();
        }
        let mut named = Named::new();
        named.add(granule(3)).unwrap();
        named.add(granule(n * 10 + 4)).unwrap();
        registry.cite_subset(&name("dataset"), None, &Wanted::Named(named), now()).unwrap();
    }
    drop(registry);
    assert_eq!(sandbox.verify(), []);
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00003'");
    assert!(findings.len() <= 10, "{findings:#?}");
    let of_subsets = findings.iter().filter(|finding| finding.code == Code::Subset);
    let named: Vec<&str> = of_subsets.filter_map(|finding| finding.granule.as_deref()).collect();
    assert_eq!(named, ["granule.00003"], "{findings:#?}");
}

#[test]
fn a_granule_held_twice_at_once_is_named() {
    let findings = Sandbox::new().with_subsets().after(&format!(
        "INSERT INTO granule SELECT dataset_id, granule_id, {}, NULL, NULL FROM granule WHERE granule_id = 'granule.00002'",
        micros(2)
    ));
    assert_eq!(only(&findings, Code::Overlap).granule.as_deref(), Some("granule.00002"));
    assert_eq!(codes(&findings), [Code::Count, Code::Overlap], "{findings:#?}");
}

#[test]
fn an_id_that_no_granule_can_have_is_named() {
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'a' || char(10) WHERE granule_id = 'granule.00020'",
    );
    assert_eq!(only(&findings, Code::GranuleId).granule.as_deref(), Some("a\n"));
    assert!(findings.len() <= 4, "{findings:#?}");
}

#[test]
fn what_is_wrong_is_found_and_never_repaired() {
    let sandbox = Sandbox::new();
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.05999'");
    let bytes = std::fs::read(&sandbox.path).unwrap();
    assert_eq!(sandbox.verify(), findings);
    assert_eq!(std::fs::read(&sandbox.path).unwrap(), bytes);
}

/// Counts what the registry reports that it does.
#[derive(Default)]
struct Counting {
    begun: Mutex<Vec<&'static str>>,
    /// Questions whether to stop: one every so many steps of SQLite's virtual machine.
    asked: AtomicU64,
}

impl Monitor for Counting {
    fn begin(&self, what: &'static str, _: &'static str, _: Option<u64>) {
        self.begun.lock().unwrap().push(what);
    }

    fn advance(&self, more: u64) -> ControlFlow<()> {
        self.asked.fetch_add(u64::from(more == 0), Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    fn end(&self) {}
}

fn registry_of(path: &Path, datasets: Range<usize>) -> Registry {
    let registry = Registry::create(path).unwrap();
    for n in datasets {
        let dataset = format!("D{n:04}");
        (0..4).for_each(|change| {
            ingest_and_delete(&registry, &dataset, change, [change as usize], []);
        });
    }
    registry
}

#[test]
fn verifying_all_checks_the_file_once_whatever_the_number_of_datasets() {
    let sandbox = Sandbox::empty();
    let counting = Arc::new(Counting::default());
    let registry = registry_of(&sandbox.path, 0..150).with_monitor(counting.clone());
    let (verified, shown) = verify_all(&registry);
    assert_eq!((verified.datasets, verified.identifiers, verified.findings), (150, 600, 0));
    assert_eq!((verified.work.file_checks, verified.work.rows, verified.work.steps), (1, 600, 600));
    assert_eq!(shown.len(), 150);
    let checks = |begun: &[&str]| begun.iter().filter(|what| **what == "checking").count();
    assert_eq!(checks(&counting.begun.lock().unwrap()), 1);

    counting.begun.lock().unwrap().clear();
    let backed_up = registry.back_up(&sandbox.path.with_extension("copy")).unwrap();
    assert_eq!((backed_up.datasets, backed_up.identifiers), (150, 600));
    assert_eq!(checks(&counting.begun.lock().unwrap()), 1);

    counting.begun.lock().unwrap().clear();
    registry.verify(&name("D0003")).unwrap();
    assert_eq!(*counting.begun.lock().unwrap(), ["verifying"]);
}

#[test]
fn only_the_datasets_that_are_named_are_verified() {
    let sandbox = Sandbox::empty();
    let registry = registry_of(&sandbox.path, 0..3);
    let names = [name("D0002"), name("D0000")];
    let mut shown = Vec::new();
    let verified = registry
        .verify_all(&names, |verification| {
            shown.push(verification.dataset.unwrap());
            Ok::<_, accession::Error>(())
        })
        .unwrap();
    assert_eq!((shown.as_slice(), verified.datasets), (names.as_slice(), 2));

    let unknown = [name("D0002"), name("D0009")];
    let show = |_: Verification| -> accession::Result<()> { unreachable!("nothing is verified") };
    let error = registry.verify_all(&unknown, show).unwrap_err();
    assert_eq!(error.kind(), "dataset-unknown");
}

#[test]
fn the_patterns_of_many_subsets_are_tried_on_the_granules_with_their_prefixes() {
    let registry = Registry::in_memory().unwrap();
    ingest_and_delete(&registry, "dataset", 0, 0..20_000, []);
    ingest_and_delete(&registry, "dataset", 1, 20_000..20_001, []);
    let cite = |pattern: String, seconds| {
        let wanted = Wanted::Patterns(vec![pattern.parse().unwrap()]);
        let at = Some(Moment::Instant(second(seconds)));
        registry.cite_subset(&name("dataset"), at, &wanted, now()).unwrap();
    };
    for n in 0..200 {
        cite(format!("granule.{n:03}*"), 0);
    }
    let verification = registry.verify(&name("dataset")).unwrap();
    assert_eq!((verification.mismatches, verification.identifiers), (vec![], 202));
    assert_eq!(verification.work.rows, 20_001);
    // Each granule has one of the prefixes. The granule ingested later is in no subset.
    assert_eq!(verification.work.patterns_tried, 20_000);
}

#[test]
fn damage_in_one_dataset_does_not_hide_the_others() {
    let sandbox = Sandbox::empty();
    drop(registry_of(&sandbox.path, 0..4));
    sandbox.alter("DELETE FROM granule WHERE dataset_id = 1 AND granule_id = 'granule.00000'");
    sandbox.alter(&format!(
        "UPDATE instance SET granules = 9 WHERE dataset_id = 3 AND timestamp = {}",
        micros(3)
    ));
    let (verified, shown) = verify_all(&Registry::open(&sandbox.path, Access::Read).unwrap());
    assert_eq!(with_findings(&shown), [Some("D0000"), Some("D0002")]);
    assert_eq!((verified.datasets, verified.identifiers, verified.findings), (4, 16, 3));
}

#[test]
fn a_value_that_cannot_be_read_is_a_finding_of_its_dataset() {
    for (sql, what) in [
        (
            "UPDATE instance SET timestamp = 9223372036854775807 WHERE dataset_id = 2 AND granules = 4",
            "history",
        ),
        ("UPDATE dataset SET creators = '{}' WHERE id = 2", "record"),
        (
            "UPDATE checkpoint SET granule_id = 'a' || char(10) WHERE dataset_id = 2 AND granule_id = (SELECT min(granule_id) FROM checkpoint WHERE dataset_id = 2)",
            "checkpoints",
        ),
        ("UPDATE saved_selection SET patterns = '7' WHERE dataset_id = 2", "subsets"),
    ] {
        let sandbox = Sandbox::empty();
        let registry = registry_of(&sandbox.path, 0..3);
        ingest_and_delete(&registry, "D0001", 9, 4..3_000, []);
        let wanted = Wanted::Patterns(vec!["granule.0000*".parse().unwrap()]);
        registry.cite_subset(&name("D0001"), None, &wanted, now()).unwrap();
        drop(registry);
        sandbox.alter(sql);
        let (verified, shown) = verify_all(&Registry::open(&sandbox.path, Access::Read).unwrap());
        assert_eq!(with_findings(&shown), [Some("D0001")], "{sql}");
        assert_eq!(verified.datasets, 3);
        let finding = only(&shown[1].mismatches, Code::Unreadable);
        assert!(finding.text.contains(what), "{finding:?}");
    }
}

/// The size of a page, and the root pages of tables and indexes.
fn pages(path: &Path, name: &str) -> (usize, usize) {
    let connection = Connection::open(path).unwrap();
    let bytes: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let root: i64 = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0))
        .unwrap();
    (bytes as usize, root as usize)
}

fn spoil_page(path: &Path, page_bytes: usize, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * page_bytes..page * page_bytes].fill(0xa5);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn with_a_bad_page_every_dataset_that_can_be_read_is_verified() {
    let sandbox = Sandbox::empty();
    let registry = Registry::create(&sandbox.path).unwrap();
    for dataset in ["A", "B", "C"] {
        ingest_and_delete(&registry, dataset, 0, 0..2_000, []);
    }
    drop(registry);
    let (page_bytes, _) = pages(&sandbox.path, "granule");
    // The datasets have as many pages each, one after the other: the middle one is B's.
    let bytes = std::fs::read(&sandbox.path).unwrap();
    let has_granules = |page: &[u8]| {
        page.windows(9).filter(|window| window == b"granule.0").count() > page_bytes / 100
    };
    let of_granules: Vec<usize> = (1..)
        .zip(bytes.chunks(page_bytes))
        .filter(|(_, page)| has_granules(page))
        .map(|(n, _)| n)
        .collect();
    let page_of_b = of_granules[of_granules.len() / 2];
    spoil_page(&sandbox.path, page_bytes, page_of_b);

    let (verified, shown) = verify_all(&Registry::open(&sandbox.path, Access::Read).unwrap());
    assert_eq!(with_findings(&shown), [None, Some("B")]);
    assert_eq!((verified.datasets, verified.identifiers), (3, 2));
    let finding = only(&shown[2].mismatches, Code::Unreadable);
    assert!(finding.text.starts_with("the granule rows after \"granule."), "{finding:?}");
    assert!(shown[0].mismatches.iter().all(|finding| finding.code == Code::File));
}

#[test]
fn with_a_bad_page_of_another_table_the_identifiers_are_verified() {
    for table in
        ["checkpoint", "saved_selection", "named_granule", "granule_by_producer", "instance_twice"]
    {
        let sandbox = Sandbox::empty();
        drop(registry_of(&sandbox.path, 0..3));
        let (page_bytes, root) = pages(&sandbox.path, table);
        spoil_page(&sandbox.path, page_bytes, root);
        let (verified, shown) = verify_all(&Registry::open(&sandbox.path, Access::Read).unwrap());
        assert_eq!((verified.datasets, verified.identifiers), (3, 12), "{table}");
        assert!(with_findings(&shown).contains(&None), "{table}: {shown:#?}");
        let error = Registry::open(&sandbox.path, Access::Read)
            .unwrap()
            .back_up(&sandbox.path.with_extension("copy"))
            .unwrap_err();
        assert_eq!(error.kind(), "damaged", "{table}");
    }
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
    let findings = registry.check_file().unwrap();
    assert!(only(&findings, Code::File).text.contains("never used"), "{findings:?}");
    let (verified, shown) = verify_all(&registry);
    assert_eq!((verified.identifiers, with_findings(&shown)), (4, vec![None]));
}

#[test]
fn rows_of_a_dataset_that_is_missing_are_found() {
    let sandbox = Sandbox::new().with_subsets();
    let connection = Connection::open(&sandbox.path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; DELETE FROM dataset; DELETE FROM saved_selection",
        )
        .unwrap();
    drop(connection);
    let registry = Registry::open(&sandbox.path, Access::Read).unwrap();
    let findings = registry.check_file().unwrap();
    for what in [
        "6011 rows of granule belong to a dataset that is missing",
        "4 rows of instance belong to a dataset that is missing",
        "3 rows of named_granule belong to a saved_selection that is missing",
    ] {
        assert!(findings.iter().any(|finding| finding.text == what), "{what}: {findings:#?}");
    }
    let error = registry.back_up(&sandbox.path.with_extension("copy")).unwrap_err();
    assert_eq!(error.kind(), "damaged");
    assert!(error.to_string().contains("accession.db"), "{error}");
}

#[test]
fn a_record_that_differs_from_its_second_copy_is_found() {
    for marker in ["the-title", "the-note", "Creator, The", "the-producer", "the.pattern*"] {
        let sandbox = Sandbox::empty();
        let registry = Registry::create(&sandbox.path).unwrap();
        let mut change = Change::new();
        change.create_dataset();
        change
            .ingest(accession::Entry {
                granule_id: "the.pattern.1".parse().unwrap(),
                producer_granule: Some("the-producer".parse().unwrap()),
                location: None,
            })
            .unwrap();
        change.ingest(granule(1)).unwrap();
        change.note(Some("the-note".to_owned()));
        registry.change(&name("D"), &change, &Stamp::at(second(0), now())).unwrap();
        let edit = DatasetEdit {
            title: Edit::Set("the-title".to_owned()),
            creators: Edit::Set(vec!["Creator, The".parse().unwrap()]),
            ..DatasetEdit::default()
        };
        registry.edit_dataset(&name("D"), &edit, &Stamp::now(now())).unwrap();
        let wanted = Wanted::Patterns(vec!["the.pattern*".parse().unwrap()]);
        registry.cite_subset(&name("D"), None, &wanted, now()).unwrap();
        drop(registry);

        let mut bytes = std::fs::read(&sandbox.path).unwrap();
        let copies: Vec<usize> = bytes
            .windows(marker.len())
            .enumerate()
            .filter(|(_, window)| *window == marker.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert!(copies.len() >= 2, "{marker} is stored twice");
        // The first letter becomes another one.
        bytes[copies[0]] ^= 1;
        std::fs::write(&sandbox.path, bytes).unwrap();
        let registry = Registry::open(&sandbox.path, Access::Read).unwrap();
        let findings = registry.check_file().unwrap();
        assert!(!findings.is_empty(), "{marker}");
        assert!(findings.iter().all(|finding| finding.code == Code::File), "{findings:#?}");
    }
}

#[test]
fn a_json_row_has_the_fields_of_the_contract() {
    let sandbox = Sandbox::empty();
    let registry = registry_of(&sandbox.path, 0..1);
    let json = |verification: &Verification| serde_json::to_string(verification).unwrap();
    let row = json(&registry.verify(&name("D0000")).unwrap());
    assert_eq!(row, r#"{"dataset":"D0000","identifiers":4,"mismatches":[],"ok":true}"#);
}
