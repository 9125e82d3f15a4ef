//! The file is checked once. In a damaged file, everything that is still readable is verified.

use harness::values::clock;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

use accession::verify::{FindingKind, Verifications};
use accession::{
    CancelToken, DatasetFilter, DatasetName, Observer, Progress, Registry, SubsetMembers, Work,
};
use rusqlite::Connection;

use super::sandbox::{
    Sandbox, ingest_and_delete, micros, only, registry_of, verify_all, with_findings,
};
use harness::at_advance::AtAdvance;
use harness::history::name;

/// Counts the work that the registry reports.
#[derive(Default)]
struct Counting {
    begun: Mutex<Vec<Work>>,
}

impl Observer for Counting {
    fn event(&self, event: Progress) {
        if let Progress::Begin(work, _) = event {
            self.begun.lock().unwrap().push(work);
        }
    }
}

#[test]
fn verifying_all_checks_the_file_once_whatever_the_number_of_datasets() {
    let sandbox = Sandbox::empty();
    let counting = Arc::new(Counting::default());
    let registry = registry_of(&sandbox.path, 0..150).observed_by(counting.clone());
    let (verified, shown) = verify_all(&registry);
    assert_eq!((verified.datasets, verified.identifiers, verified.findings), (150, 600, 0));
    assert_eq!((verified.work.file_checks, verified.work.rows, verified.work.steps), (1, 600, 600));
    assert_eq!(shown.len(), 150);
    let checks = |begun: &[Work]| begun.iter().filter(|work| **work == Work::CheckPages).count();
    assert_eq!(checks(&counting.begun.lock().unwrap()), 1);

    counting.begun.lock().unwrap().clear();
    let backed_up = registry.back_up(&sandbox.path.with_extension("copy")).unwrap();
    assert_eq!((backed_up.datasets, backed_up.identifiers), (150, 600));
    // On several cores, the check of the file is part of one joint report.
    assert!(checks(&counting.begun.lock().unwrap()) <= 1);

    counting.begun.lock().unwrap().clear();
    registry.verify(&name("D0003")).unwrap();
    assert_eq!(*counting.begun.lock().unwrap(), [Work::Verify]);
}

#[test]
fn only_the_datasets_that_are_named_are_verified() {
    let sandbox = Sandbox::empty();
    let registry = registry_of(&sandbox.path, 0..3);
    let names = [name("D0002"), name("D0000")];
    let mut verifications = registry.verify_all(&DatasetFilter::Only(names.to_vec())).unwrap();
    let shown = verifications.by_ref().map(|verification| verification.unwrap().dataset.unwrap());
    let shown: Vec<DatasetName> = shown.collect();
    let verified = verifications.verified();
    assert_eq!((shown.as_slice(), verified.datasets), (names.as_slice(), 2));

    let unknown = [name("D0002"), name("D0009")];
    let unknown = DatasetFilter::Only(unknown.to_vec());
    let error = registry.verify_all(&unknown).expect_err("nothing is verified");
    assert_eq!(error.kind().as_str(), "dataset-unknown");
}

#[test]
fn a_token_cancels_all_jobs() {
    let sandbox = Sandbox::empty();
    let registry = registry_of(&sandbox.path, 0..1);
    ingest_and_delete(&registry, "D0000", 9, 4..9_004, []);
    for jobs in 1..4 {
        let (token, jobs) = (CancelToken::new(), NonZeroUsize::new(jobs).unwrap());
        let cancel = token.clone();
        let registry = registry.observed_by(Arc::new(AtAdvance(move |_| cancel.cancel())));
        let stopped = registry.cancelled_by(&token).verify_all_on(jobs, &DatasetFilter::All);
        let stopped = stopped.and_then(Verifications::finish);
        assert_eq!(stopped.unwrap_err().kind().as_str(), "interrupted");
    }
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
    let (verified, shown) = verify_all(&Registry::open(&sandbox.path, clock()).unwrap());
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
        ("UPDATE dataset SET record = json_set(record, '$.creators', 7) WHERE id = 2", "metadata"),
        (
            "UPDATE checkpoint SET granule_id = 'a' || char(10) WHERE dataset_id = 2 AND granule_id = (SELECT min(granule_id) FROM checkpoint WHERE dataset_id = 2)",
            "checkpoints",
        ),
        ("UPDATE subset SET patterns = '7' WHERE dataset_id = 2", "subsets"),
    ] {
        let sandbox = Sandbox::empty();
        let registry = registry_of(&sandbox.path, 0..3);
        ingest_and_delete(&registry, "D0001", 9, 4..3_000, []);
        let wanted = SubsetMembers::Patterns(vec!["granule.0000*".parse().unwrap()]);
        registry.cite_subset(&name("D0001"), None, &wanted).unwrap();
        drop(registry);
        sandbox.alter(sql);
        let (verified, shown) = verify_all(&Registry::open(&sandbox.path, clock()).unwrap());
        assert_eq!(with_findings(&shown), [Some("D0001")], "{sql}");
        assert_eq!(verified.datasets, 3);
        let finding = only(&shown[1].mismatches, FindingKind::Unreadable);
        assert!(finding.text.contains(what), "{finding:?}");
    }
}

/// The page size, and the root page of a table or index.
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
    let registry = Registry::create(&sandbox.path, clock()).unwrap();
    for dataset in ["A", "B", "C"] {
        ingest_and_delete(&registry, dataset, 0, 0..2_000, []);
    }
    drop(registry);
    let (page_bytes, _) = pages(&sandbox.path, "granule");
    // Each dataset has the same number of pages, so the page in the middle is B's.
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

    let (verified, shown) = verify_all(&Registry::open(&sandbox.path, clock()).unwrap());
    assert_eq!(with_findings(&shown), [None, Some("B")]);
    assert_eq!((verified.datasets, verified.identifiers), (3, 2));
    let finding = only(&shown[2].mismatches, FindingKind::Unreadable);
    assert!(finding.text.starts_with("the granule rows after \"granule."), "{finding:?}");
    assert!(shown[0].mismatches.iter().all(|finding| finding.code == FindingKind::File));
}

#[test]
fn with_a_bad_page_of_another_table_the_identifiers_are_verified() {
    for table in
        ["checkpoint", "subset", "named_granule", "granule_by_producer", "annotation_by_recorded"]
    {
        let sandbox = Sandbox::empty();
        drop(registry_of(&sandbox.path, 0..3));
        let (page_bytes, root) = pages(&sandbox.path, table);
        spoil_page(&sandbox.path, page_bytes, root);
        let (verified, shown) = verify_all(&Registry::open(&sandbox.path, clock()).unwrap());
        assert_eq!((verified.datasets, verified.identifiers), (3, 12), "{table}");
        assert!(with_findings(&shown).contains(&None), "{table}: {shown:#?}");
        let error = Registry::open(&sandbox.path, clock())
            .unwrap()
            .back_up(&sandbox.path.with_extension("copy"))
            .unwrap_err();
        assert_eq!(error.kind().as_str(), "damaged", "{table}");
    }
}

#[test]
fn a_page_that_nothing_uses_is_found() {
    let sandbox = Sandbox::new();
    let mut bytes = std::fs::read(&sandbox.path).unwrap();
    // The page size, and the number of pages (sqlite.org/fileformat.html § 1.3).
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = u32::from_be_bytes(bytes[28..32].try_into().unwrap());
    assert_eq!(bytes.len(), page_bytes * pages as usize);
    bytes[28..32].copy_from_slice(&(pages + 1).to_be_bytes());
    bytes.resize(bytes.len() + page_bytes, 0);
    std::fs::write(&sandbox.path, bytes).unwrap();
    let registry = Registry::open(&sandbox.path, clock()).unwrap();
    let findings = registry.check_file().unwrap();
    assert!(only(&findings, FindingKind::File).text.contains("never used"), "{findings:?}");
    let (verified, shown) = verify_all(&registry);
    assert_eq!((verified.identifiers, with_findings(&shown)), (4, vec![None]));
}

#[test]
fn rows_of_a_dataset_that_is_missing_are_found() {
    let sandbox = Sandbox::new().with_subsets();
    let damage = "PRAGMA foreign_keys = OFF; DELETE FROM dataset; DELETE FROM subset";
    Connection::open(&sandbox.path).unwrap().execute_batch(damage).unwrap();
    let registry = Registry::open(&sandbox.path, clock()).unwrap();
    let findings = registry.check_file().unwrap();
    for what in [
        "6011 rows of granule belong to a dataset that is missing",
        "4 rows of instance belong to a dataset that is missing",
        "3 rows of named_granule belong to a subset that is missing",
    ] {
        assert!(findings.iter().any(|finding| finding.text == what), "{what}: {findings:#?}");
    }
    let copy = sandbox.path.with_extension("copy");
    let error = registry.back_up(&copy).unwrap_err();
    assert_eq!(error.kind().as_str(), "damaged");
    assert!(error.to_string().contains("accession.db"), "{error}");
    assert!(!copy.exists(), "what does not verify is not a backup");
}
