//! Recorded checks of files: rolling, killed and concurrent ones, compared with a model that remembers every
//! file.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use accession::Granule;
use accession::file::{Algorithm, Checksum};
use accession::fixity::{CheckOptions, CheckSummary, FileTree, FixityRun};
use accession::status::{FileCheck, NewCheck, OpenFinding, RootState, StatusThresholds};
use accession::{
    Clock, DatasetFilter, Error, ErrorDetail, ErrorKind, HistoryOptions, Registry, Selection, Set,
    Snapshot, Timestamp,
};
use proptest::prelude::*;

use harness::history::{cases, change, name, now, stating, with_file};
use harness::store::new_registry;
use harness::values::clock;

/// The granules of the random histories.
const POOL: [&str; 9] = ["A", "AA", "B", "a", "b", "c/1", "c/2", "é", "値"];

const BYTES: u64 = 12;

fn root_check(is_rolling: bool) -> NewCheck {
    NewCheck { root: "here".to_owned(), is_rolling, is_recorded: true }
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_micros(now().as_micros() + seconds * 1_000_000).unwrap()
}

/// The registry, this many seconds later.
fn at(registry: &Registry, seconds: i64) -> Registry {
    registry.with_clock(Clock::fixed(time(seconds)))
}

fn latest(registry: &Registry) -> Set {
    let selection = Selection::Dataset { name: name("D"), at: None };
    registry.snapshot().unwrap().select(&selection).unwrap().set
}

fn root_state(registry: &Registry) -> Option<RootState> {
    let mut roots = registry.snapshot().unwrap().checked_roots(&name("D")).unwrap();
    assert!(roots.len() <= 1);
    roots.pop()
}

/// The time since which all files were checked.
fn since(registry: &Registry) -> Option<Timestamp> {
    root_state(registry).unwrap().since
}

fn open(registry: &Registry) -> Vec<OpenFinding> {
    let snapshot = registry.snapshot().unwrap();
    let open = snapshot.open_findings(&name("D"), 1_000).unwrap();
    assert_eq!(snapshot.count_open_findings(&name("D")).unwrap(), open.len() as u64);
    open
}

fn statuses(registry: &Registry) -> Vec<String> {
    open(registry).into_iter().map(|it| it.granule + " " + &it.status).collect()
}

fn record(registry: &Registry, granule: &str, path: &str, byte: u8) {
    let checksum = Checksum::from_bytes(Algorithm::Sha256, &[byte; 32]).unwrap();
    let stated = with_file(granule, path, Some(BYTES), Some(checksum));
    let mut change = stating([stated]);
    change.options = change.options.skip_missing(true);
    registry.change(&name("D"), &change).unwrap();
}

/// A dataset with these granules, each with a record.
fn with_files(granules: &[&str]) -> Registry {
    let registry = new_registry();
    at(&registry, 0).change(&name("D"), &change(granules.to_vec(), [])).unwrap();
    for granule in granules {
        record(&at(&registry, 0), granule, granule, 1);
    }
    registry
}

/// A check, and the granules that it has read ahead.
struct Running {
    check: FileCheck,
    granules: Box<dyn Iterator<Item = Result<Granule, Error>>>,
}

impl Running {
    fn begin(registry: &Registry) -> Self {
        Running::of(registry, root_check(true))
    }

    fn of(registry: &Registry, check: NewCheck) -> Self {
        let check = registry.check_files(&latest(registry), check).unwrap();
        Running { granules: Box::new(check.granules().unwrap()), check }
    }

    fn next(&mut self) -> Option<Granule> {
        self.granules.next().transpose().unwrap()
    }

    /// Checks all files of a granule. Each is good, or has the status.
    fn add(&mut self, granule: &Granule, status: Option<&'static str>) {
        let id = &granule.granule_id;
        let paths: Vec<String> = match granule.content.files().as_slice() {
            [] => vec![id.to_string()],
            files => files.iter().map(|file| file.path(id).to_owned()).collect(),
        };
        for path in paths {
            let found = status.map(|status| (status, None, None));
            self.check.add(&granule.granule_id, &path, BYTES, found);
        }
    }

    /// Checks at most this many granules, all of which have the status. Returns their ids.
    fn check(&mut self, most: usize, status: Option<&'static str>) -> Vec<String> {
        let mut checked = Vec::new();
        while checked.len() < most
            && let Some(granule) = self.next()
        {
            self.add(&granule, status);
            checked.push(granule.granule_id.to_string());
        }
        checked
    }

    fn good(&mut self, most: usize) -> Vec<String> {
        self.check(most, None)
    }
}

/// Checks all files, all of which have the status.
fn check_all(registry: &Registry, second: i64, status: Option<&'static str>) {
    let mut running = Running::of(&at(registry, second), root_check(false));
    running.check(usize::MAX, status);
    assert!(running.check.finish().unwrap());
}

#[test]
fn what_a_run_saves_after_another_one_took_the_root_is_refused() {
    let registry = with_files(&["A", "B", "C"]);
    let mut asleep = Running::begin(&at(&registry, 1));
    asleep.check(2, Some("missing"));
    let mut other = Running::begin(&at(&registry, 700));
    assert_eq!(other.good(1), ["A"]);
    for refused in [asleep.check.save(), asleep.check.finish().map(drop)] {
        assert_eq!(refused.unwrap_err().detail(), Some(ErrorDetail::BeingChecked));
    }
    assert!(open(&registry).is_empty());
    other.check.save().unwrap();
    registry.forget_root(&name("D"), "here").unwrap();
    assert_eq!(other.check.save().unwrap_err().detail(), Some(ErrorDetail::BeingChecked));
    assert_eq!(root_state(&registry), None);
}

#[test]
fn a_lock_that_was_taken_under_a_fast_clock_has_lapsed() {
    let registry = with_files(&["A"]);
    drop(Running::begin(&at(&registry, 365 * 86_400)));
    let mut running = Running::begin(&at(&registry, 1));
    assert_eq!(running.good(9), ["A"]);
    assert!(running.check.finish().unwrap());
}

#[test]
fn checks_of_a_dormant_archive_are_recorded_after_years() {
    let registry = with_files(&["A"]);
    for days in [300, 730, 740, 5_000] {
        check_all(&registry, days * 86_400, None);
        assert_eq!(since(&registry), Some(time(days * 86_400)));
    }
}

#[test]
fn a_granule_counts_once_all_its_files_are_checked() {
    let registry = with_files(&["A", "B"]);
    record(&at(&registry, 0), "A", "A.met", 1);
    let mut first = Running::begin(&at(&registry, 1));
    let granule = first.next().unwrap();
    assert_eq!(granule.content.files().len(), 2);
    first.check.add(&granule.granule_id, "A", BYTES, None);
    assert!(!first.check.finish().unwrap());
    let mut second = Running::begin(&at(&registry, 2));
    assert_eq!(second.good(1), ["A"]);
    second.check.finish().unwrap();
    assert_eq!(Running::begin(&at(&registry, 3)).good(1), ["B"]);
}

#[test]
fn what_was_found_before_keeps_its_time_until_it_is_good_or_otherwise() {
    let registry = with_files(&["A"]);
    let found = || open(&registry).into_iter().map(|it| (it.status, it.first_seen));
    let expected = |status: &str, second| vec![(status.to_owned(), time(second))];
    check_all(&registry, 1, Some("missing"));
    check_all(&registry, 2, Some("missing"));
    assert_eq!(found().collect::<Vec<_>>(), expected("missing", 1));
    check_all(&registry, 3, Some("checksum"));
    assert_eq!(found().collect::<Vec<_>>(), expected("checksum", 3));
    check_all(&registry, 4, None);
    assert_eq!(found().count(), 0);
}

#[test]
fn a_change_removes_what_was_found_in_the_granules_that_it_deletes() {
    let registry = with_files(&["A", "B", "C"]);
    let mut running = Running::begin(&at(&registry, 1));
    running.check(2, Some("missing"));
    running.check.save().unwrap();
    assert_eq!(statuses(&registry), ["A missing", "B missing"]);
    running.check(1, Some("missing"));
    // C is deleted after its check, and before the check is saved.
    at(&registry, 2).change(&name("D"), &change([], ["A", "C"])).unwrap();
    assert_eq!(statuses(&registry), ["B missing"]);
    running.check.finish().unwrap();
    assert_eq!(statuses(&registry), ["B missing"]);
    at(&registry, 3).change(&name("D"), &change(["A", "C"], [])).unwrap();
    assert_eq!(statuses(&registry), ["B missing"]);
}

/// A directory with files of these names, and a registry file in which they are granules of D.
fn with_directory(names: &[&str]) -> (tempfile::TempDir, PathBuf, Registry) {
    let directory = harness::directory();
    for name in names {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let elsewhere = directory.path().join("registry");
    std::fs::create_dir(&elsewhere).unwrap();
    let path = elsewhere.join("accession.db");
    let registry = Registry::create(&path, clock()).unwrap();
    at(&registry, 0).change(&name("D"), &change(names.to_vec(), [])).unwrap();
    (directory, path, registry)
}

fn tree(directory: &Path) -> FileTree {
    FileTree::new(directory).jobs(NonZeroUsize::MIN)
}

fn compute(registry: &Registry, directory: &Path) -> Result<CheckSummary, Error> {
    let (tree, algorithm) = (tree(directory), Algorithm::Sha256);
    let mut computed = at(registry, 1).compute_checksums(&name("D"), &tree, algorithm, None)?;
    computed.by_ref().try_for_each(|finding| finding.map(drop))?;
    computed.finish()
}

fn here() -> CheckOptions {
    CheckOptions::new().root_name("here".to_owned())
}

fn check(registry: &Registry, set: &Set, directory: &Path, options: CheckOptions) -> FixityRun {
    let select = |_: &Snapshot| Ok(set.clone());
    at(registry, 2).check_fixity(select, &tree(directory), options).unwrap()
}

#[test]
fn a_lock_of_another_writer_delays_what_is_recorded_and_loses_nothing() {
    let (directory, path, _) = with_directory(&["A", "B"]);
    let registry = Registry::open(&path, clock()).unwrap().with_busy_wait(Duration::ZERO);
    let locked = |work: &dyn Fn() -> CheckSummary| {
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        let rest = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            writer.execute_batch("COMMIT").unwrap();
        });
        let summary = work();
        rest.join().unwrap();
        assert_eq!((summary.files, summary.complete), (2, true));
    };
    locked(&|| compute(&registry, directory.path()).unwrap());
    locked(&|| {
        let mut check = check(&registry, &latest(&registry), directory.path(), here());
        assert!(check.is_recorded() && check.next().is_none());
        check.finish().unwrap()
    });
    assert_eq!(since(&registry), Some(time(2)));
}

#[test]
fn only_the_checksums_of_all_files_of_the_present_set_are_recorded() {
    let (directory, _, registry) = with_directory(&["A", "B"]);
    compute(&registry, directory.path()).unwrap();
    std::fs::remove_file(directory.path().join("A")).unwrap();
    let former = latest(&registry);
    let check = |set: &Set, sizes_only| {
        let options = here().sizes_only(sizes_only);
        let mut check = check(&registry, set, directory.path(), options);
        assert_eq!(check.by_ref().count(), 1);
        let is_recorded = check.is_recorded();
        check.finish().unwrap();
        assert_eq!(root_state(&registry).is_some(), is_recorded);
        is_recorded
    };
    assert!(!check(&former, true));
    at(&registry, 1).change(&name("D"), &change(["C"], [])).unwrap();
    std::fs::write(directory.path().join("C"), "C").unwrap();
    let until = registry.history(&name("D"), &HistoryOptions::new()).next().unwrap().unwrap();
    let at_first = Selection::Identifier { identifier: until.identifier, dataset: None, at: None };
    let former = registry.snapshot().unwrap().select(&at_first).unwrap().set;
    assert!(!check(&former, false));
    compute(&registry, directory.path()).unwrap();
    assert!(check(&latest(&registry), false));
}

#[test]
fn what_became_known_while_files_were_read_stays_and_the_rest_is_recorded() {
    let (directory, _, registry) = with_directory(&["A", "B"]);
    let (tree, algorithm) = (tree(directory.path()), Algorithm::Sha256);
    let mut computed =
        at(&registry, 2).compute_checksums(&name("D"), &tree, algorithm, None).unwrap();
    let other = Checksum::from_bytes(Algorithm::Sha256, &[7; 32]).unwrap();
    let other = with_file("A", "A", None, Some(other));
    at(&registry, 1).change(&name("D"), &stating([other])).unwrap();
    let found: Vec<_> = computed.by_ref().map(Result::unwrap).collect();
    assert_eq!((found.len(), found[0].path.as_str(), found[0].status), (1, "A", "changing"));
    assert_eq!(computed.finish().unwrap().findings, 1);
    assert_eq!(latest(&registry).instance().described, 1);
    assert_eq!(compute(&registry, directory.path()).unwrap().files, 0);
}

#[test]
fn one_new_file_that_is_missing_does_not_make_a_directory_the_wrong_one() {
    let (directory, _, registry) = with_directory(&["A", "B"]);
    assert_eq!(compute(&registry, directory.path()).unwrap().files, 2);
    at(&registry, 1).change(&name("D"), &change(["NEW"], [])).unwrap();
    let summary = compute(&registry, directory.path()).unwrap();
    assert_eq!((summary.files, summary.findings), (1, 1));
    std::fs::remove_file(directory.path().join("A")).unwrap();
    std::fs::remove_file(directory.path().join("B")).unwrap();
    assert_eq!(compute(&registry, directory.path()).unwrap_err().kind(), ErrorKind::NotMounted);
}

#[test]
fn a_status_counts_what_was_found_and_lists_the_first_ten() {
    let granules: Vec<String> = (0..25).map(|number| format!("G{number:02}")).collect();
    let registry = with_files(&granules.iter().map(String::as_str).collect::<Vec<_>>());
    at(&registry, 0).change(&name("NAMES"), &change(["A"], [])).unwrap();
    let status = |checked: Option<i64>| {
        let checked = checked.map(time);
        let oldest = StatusThresholds { seen: None, checked };
        // A dataset that is named twice is reported once, with all its results.
        let names = [name("D"), name("NAMES"), name("D")];
        let rows = at(&registry, 9).status(&DatasetFilter::Only(names.to_vec()), oldest).unwrap();
        let [of_files, of_names] = rows.try_into().unwrap();
        assert!(of_names.problems.is_empty() && of_names.fixity.is_none());
        of_files
    };
    assert!(status(Some(-1)).problems.is_empty());
    assert_eq!(status(Some(5)).problems, ["files are recorded, and were never checked"]);
    check_all(&registry, 3, Some("missing"));
    let problem = "25 files are not as recorded";
    let row = status(Some(3));
    assert_eq!(row.problems, [problem]);
    let fixity = row.fixity.unwrap();
    assert_eq!((fixity.open, fixity.first.len()), (25, 10));
    assert_eq!(fixity.first[9].granule, "G09");
    let old = format!("not all files were checked at here since {}", time(3));
    assert_eq!(status(Some(4)).problems, [problem, &old]);
}

/// How a check ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Finish,
    SaveAndKill,
    Kill,
}

#[derive(Debug, Clone)]
enum Step {
    /// Deletes the granules that are held, and ingests the others.
    Toggle(BTreeSet<usize>),
    /// Records the content of a file. Different content replaces the earlier record.
    Record(usize, u8),
    /// Sets the status that checks find for a file.
    Damage(usize, Option<&'static str>),
    /// Checks this many granules, after reading this many ahead.
    Roll(usize, usize, End),
    /// Checks all granules.
    Whole(End),
    /// Waits until a lock expires.
    Wait,
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop::collection::btree_set(0..POOL.len(), 1..5);
    let end =
        || prop_oneof![3 => Just(End::Finish), 1 => Just(End::SaveAndKill), 1 => Just(End::Kill)];
    let found = prop_oneof![
        2 => Just(None),
        1 => Just(Some("missing")),
        1 => Just(Some("checksum")),
    ];
    let step = prop_oneof![
        3 => some().prop_map(Step::Toggle),
        4 => (0..POOL.len(), 0..3_u8).prop_map(|(file, byte)| Step::Record(file, byte)),
        4 => (0..POOL.len(), found).prop_map(|(file, found)| Step::Damage(file, found)),
        8 => (0..5_usize, 0..4_usize, end()).prop_map(|(n, ahead, end)| Step::Roll(n, ahead, end)),
        2 => end().prop_map(Step::Whole),
        3 => Just(Step::Wait),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..40)
}

/// A file in the model.
#[derive(Debug, Clone, Default)]
struct File {
    is_held: bool,
    /// The recorded content.
    content: Option<u8>,
    /// The status that a check finds.
    damage: Option<&'static str>,
    finding: Option<&'static str>,
}

struct Model {
    registry: Registry,
    files: BTreeMap<&'static str, File>,
    seconds: i64,
    has_root: bool,
    /// The time until which a killed run locks the root.
    locked: i64,
    /// The beginning of the present cycle, and the last granule that it has checked.
    cycle: Option<(i64, String)>,
    since: Option<i64>,
}

impl Model {
    fn found(&self, granule: &str) -> Option<&'static str> {
        let file = &self.files[granule];
        if file.content.is_none() { Some("no-record") } else { file.damage }
    }

    fn check(&mut self, check: &NewCheck, most: usize, ahead: usize, end: End) {
        if self.files.values().all(|file| !file.is_held) {
            return;
        }
        let registry = at(&self.registry, self.seconds);
        let set = latest(&self.registry);
        if self.seconds <= self.locked {
            let refused = registry.check_files(&set, check.clone()).err().unwrap();
            assert_eq!(refused.detail(), Some(ErrorDetail::BeingChecked));
            return;
        }
        self.has_root = true;
        let (began, cursor) = match self.cycle.take().filter(|_| check.is_rolling) {
            Some(cycle) => cycle,
            None => (self.seconds, String::new()),
        };
        let mut running = Running::of(&registry, check.clone());
        let mut taken: Vec<Granule> = (0..ahead).map_while(|_| running.next()).collect();
        let mut checked = Vec::new();
        for _ in 0..most {
            let next = if taken.is_empty() { running.next() } else { Some(taken.remove(0)) };
            let Some(granule) = next else { break };
            running.add(&granule, self.found(granule.granule_id.as_str()));
            checked.push(granule.granule_id.to_string());
        }
        let mut rest = self.files.iter().filter(|(id, it)| it.is_held && ***id > *cursor);
        let expected: Vec<&str> = rest.by_ref().take(checked.len()).map(|(id, _)| *id).collect();
        assert_eq!(checked, expected);
        let has_rest = rest.next().is_some();
        match end {
            End::Finish => {
                let is_complete = running.check.finish().unwrap();
                assert!(!is_complete || !has_rest);
                self.locked = 0;
                if is_complete {
                    self.since = Some(began);
                } else {
                    let last = checked.last().cloned().unwrap_or(cursor);
                    self.cycle = Some((began, last));
                }
            }
            End::SaveAndKill => {
                running.check.save().unwrap();
                self.locked = self.seconds + 600;
                self.cycle = Some((began, checked.last().cloned().unwrap_or(cursor)));
            }
            End::Kill => {
                self.locked = self.seconds + 600;
                self.cycle = Some((began, cursor));
                return;
            }
        }
        for granule in checked {
            let found = self.found(&granule);
            self.files.get_mut(granule.as_str()).unwrap().finding = found;
        }
    }

    fn play(&mut self, step: &Step) {
        self.seconds += 1;
        let registry = at(&self.registry, self.seconds);
        match step {
            Step::Toggle(indices) => {
                let (deleted, ingested): (Vec<&str>, Vec<&str>) =
                    indices.iter().map(|index| POOL[*index]).partition(|it| self.files[it].is_held);
                let change = change(ingested, deleted);
                registry.change(&name("D"), &change).unwrap();
                for index in indices {
                    let file = self.files.get_mut(POOL[*index]).unwrap();
                    // A deletion ends the record of the file, and removes its finding.
                    (file.is_held, file.finding) = (!file.is_held, None);
                    file.content = None;
                }
            }
            Step::Record(index, byte) => {
                let granule = POOL[*index];
                record(&registry, granule, granule, *byte);
                let file = self.files.get_mut(granule).unwrap();
                if file.is_held && file.content != Some(*byte) {
                    (file.content, file.finding) = (Some(*byte), None);
                }
            }
            Step::Damage(index, found) => {
                self.files.get_mut(POOL[*index]).unwrap().damage = *found;
            }
            Step::Roll(most, ahead, end) => self.check(&root_check(true), *most, *ahead, *end),
            Step::Whole(end) => self.check(&root_check(false), POOL.len() + 1, 0, *end),
            Step::Wait => self.seconds += 600,
            Step::Forget => {
                let forgotten = self.registry.forget_root(&name("D"), "here").unwrap();
                assert_eq!(forgotten.is_some(), self.has_root);
                (self.has_root, self.locked, self.cycle, self.since) = (false, 0, None, None);
                self.files.values_mut().for_each(|file| file.finding = None);
            }
        }
    }

    fn assert_agrees(&self) {
        let found =
            self.files.iter().filter_map(|(id, file)| Some(format!("{id} {}", file.finding?)));
        assert_eq!(statuses(&self.registry), found.collect::<Vec<_>>());
        let state = root_state(&self.registry).map(|root| (root.since, root.started));
        let started = self.cycle.as_ref().map(|(began, _)| time(*began));
        assert_eq!(state, self.has_root.then(|| (self.since.map(time), started)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    #[test]
    fn checks_agree_with_a_model_that_remembers_every_file(steps in steps()) {
        let registry = new_registry();
        at(&registry, 0).change(&name("D"), &change(vec!["A", "a"], [])).unwrap();
        let mut files: BTreeMap<&'static str, File> =
            POOL.iter().map(|granule| (*granule, File::default())).collect();
        for held in ["A", "a"] {
            files.get_mut(held).unwrap().is_held = true;
        }
        let (cycle, since) = (None, None);
        let mut model =
            Model { registry, files, seconds: 0, has_root: false, locked: 0, cycle, since };
        for step in &steps {
            model.play(step);
            model.assert_agrees();
        }
        let verified = model.registry.verify(&name("D")).unwrap();
        prop_assert!(verified.mismatches.is_empty(), "{verified:?}");
    }
}
