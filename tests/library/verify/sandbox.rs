//! A registry file that a test can alter with SQL.

use harness::values::clock;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use accession::verify::{DatasetVerification, Finding};
use accession::verify::{FindingKind, VerificationTotals};
use accession::{
    DatasetFilter, DatasetName, GranuleId, ListingBuilder, Moment, Registry, SubsetMembers,
};
use rusqlite::Connection;

use harness::history::{name, second, step};
use harness::seal::seal_rows;

pub fn granule(n: usize) -> GranuleId {
    granule_id(n).parse().unwrap()
}

pub fn granule_id(n: usize) -> String {
    format!("granule.{n:05}")
}

pub fn ingest_and_delete(
    registry: &Registry,
    dataset: &str,
    seconds: i64,
    ingest: impl IntoIterator<Item = usize>,
    delete: impl IntoIterator<Item = usize>,
) {
    let ingest: Vec<String> = ingest.into_iter().map(granule_id).collect();
    let delete: Vec<String> = delete.into_iter().map(granule_id).collect();
    let delete = delete.iter().map(String::as_str);
    step(registry, dataset, seconds, ingest.iter().map(String::as_str), delete);
}

/// A registry file whose dataset `dataset` has four changes over 6,000 granules.
pub struct Sandbox {
    _directory: tempfile::TempDir,
    pub path: PathBuf,
}

/// The registry of a new sandbox, which is created only once.
static ORIGINAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let sandbox = Sandbox::empty();
    let registry = Registry::create(&sandbox.path, clock()).unwrap();
    ingest_and_delete(&registry, "dataset", 0, 0..6_000, []);
    ingest_and_delete(&registry, "dataset", 1, [], 10..12);
    ingest_and_delete(&registry, "dataset", 2, 10..11, []);
    ingest_and_delete(&registry, "dataset", 3, 6_000..6_010, 5_000..5_001);
    drop(registry);
    std::fs::read(&sandbox.path).unwrap()
});

impl Sandbox {
    pub fn new() -> Self {
        let sandbox = Sandbox::empty();
        std::fs::write(&sandbox.path, &*ORIGINAL).unwrap();
        sandbox
    }

    pub fn empty() -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        Sandbox { _directory: directory, path }
    }

    /// Cites two subsets of the set after the third change: one by a pattern, one by names.
    pub fn with_subsets(self) -> Self {
        let registry = Registry::open(&self.path, clock()).unwrap();
        let mut named = ListingBuilder::new();
        [1, 2, 3].into_iter().for_each(|n| named.add(granule(n)).unwrap());
        let named = named.finish();
        let patterns = vec!["granule.0000*".parse().unwrap()];
        for wanted in [SubsetMembers::Patterns(patterns), SubsetMembers::Listed(named)] {
            let at = Some(Moment::Instant(second(2)));
            registry.cite_subset(&name("dataset"), at, &wanted).unwrap();
        }
        self
    }

    pub fn verify(&self) -> Vec<Finding> {
        let registry = Registry::open(&self.path, clock()).unwrap();
        assert_eq!(registry.check_file().unwrap(), []);
        let verification = registry.verify(&name("dataset")).unwrap();
        assert_eq!(verification.ok, verification.mismatches.is_empty());
        verification.mismatches
    }

    /// Alters the file with SQL, and updates the checksums of the altered history rows.
    pub fn alter(&self, sql: &str) {
        self.damage(sql);
        seal_rows(&Connection::open(&self.path).unwrap());
    }

    /// Alters the file with SQL, as with the sqlite3 shell.
    pub fn damage(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql} alters something");
    }

    /// Removes the row of a granule.
    pub fn lose(&self, granule_id: &str) {
        self.alter(&format!("DELETE FROM granule WHERE granule_id = '{granule_id}'"));
    }

    /// The first granule after another.
    pub fn first_after(&self, granule_id: &str) -> String {
        let connection = Connection::open(&self.path).unwrap();
        let sql = "SELECT min(granule_id) FROM granule WHERE granule_id > ?1";
        connection.query_row(sql, [granule_id], |row| row.get(0)).unwrap()
    }

    /// Alters the file, and verifies.
    pub fn after(&self, sql: &str) -> Vec<Finding> {
        self.alter(sql);
        self.verify()
    }

    /// The granules that are followed by a checkpoint.
    pub fn checkpoints(&self) -> Vec<String> {
        let connection = Connection::open(&self.path).unwrap();
        let mut statement =
            connection.prepare("SELECT granule_id FROM checkpoint ORDER BY granule_id").unwrap();
        let rows = statement.query_map([], |row| row.get(0));
        rows.unwrap().map(Result::unwrap).collect()
    }
}

pub fn micros(seconds: i64) -> i64 {
    second(seconds).as_micros()
}

/// The codes of the findings, in their order.
pub fn codes(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|finding| finding.code).collect()
}

/// The findings about a wrong granule row: the identifiers, the counts, and the first checkpoint that differs.
#[track_caller]
pub fn of_row(findings: &[Finding]) -> [&Finding; 3] {
    let narrowed = [FindingKind::Identifier, FindingKind::Count, FindingKind::Checkpoint];
    assert_eq!(codes(findings), narrowed, "{findings:#?}");
    std::array::from_fn(|n| &findings[n])
}

/// The only finding of a kind.
#[track_caller]
pub fn only(findings: &[Finding], code: FindingKind) -> &Finding {
    let mut of_code = findings.iter().filter(|finding| finding.code == code);
    let first = of_code.next();
    assert!(first.is_some() && of_code.next().is_none(), "one {code:?}: {findings:#?}");
    first.unwrap()
}

/// The result of verifying everything. It must not depend on the number of jobs.
pub fn verify_all(registry: &Registry) -> (VerificationTotals, Vec<DatasetVerification>) {
    let with_jobs = |jobs: usize| {
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let mut verifications = registry.verify_all_on(jobs, &DatasetFilter::All).unwrap();
        let shown = verifications.by_ref().map(Result::unwrap).collect();
        (verifications.verified(), shown)
    };
    let one_by_one = with_jobs(1);
    assert_eq!(with_jobs(3), one_by_one);
    one_by_one
}

/// The datasets with findings, in the order shown. `None` means the file.
pub fn with_findings(shown: &[DatasetVerification]) -> Vec<Option<&str>> {
    let damaged = shown.iter().filter(|verification| !verification.ok);
    damaged.map(|verification| verification.dataset.as_ref().map(DatasetName::as_str)).collect()
}

pub fn registry_of(path: &Path, datasets: Range<usize>) -> Registry {
    let registry = Registry::create(path, clock()).unwrap();
    for n in datasets {
        let dataset = format!("D{n:04}");
        (0..4).for_each(|change| {
            ingest_and_delete(&registry, &dataset, change, [change as usize], []);
        });
    }
    registry
}
