//! Checks of files that are recorded: rolling ones, killed ones, two at once; compared with a model that
//! remembers every file.

use std::collections::{BTreeMap, BTreeSet};

use accession::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord};
use accession::registry::{
    CheckMode, FileCheck, FileListing, FileOptions, FixityState, GranuleFiles, GranulesToCheck,
    NewCheck,
};
use accession::{Registry, Selection, Set, Stamp, Timestamp};
use proptest::prelude::*;

use crate::harness::history::{cases, change, id, name, now};
use crate::harness::store::new_registry;

/// The granules of the random histories.
const POOL: [&str; 9] = ["A", "AA", "B", "a", "b", "c/1", "c/2", "é", "値"];

/// So large that a lease has few of them.
const BYTES: u64 = 12 * 1_024 * 1_024;

fn root_check(is_rolling: bool) -> NewCheck {
    NewCheck { root: "here".to_owned(), mode: CheckMode::Checksums, is_rolling, is_recorded: true }
}

fn at(seconds: i64) -> Stamp {
    let now = Timestamp::from_micros(now().as_micros() + seconds * 1_000_000).unwrap();
    Stamp::now(now)
}

fn latest(registry: &Registry) -> Set {
    let selection = Selection::Dataset { name: name("D"), at: None };
    registry.snapshot().unwrap().select(&selection).unwrap().set
}

fn state(registry: &Registry) -> FixityState {
    registry.fixity_state(&name("D"), None).unwrap()
}

fn record(registry: &Registry, granule: &str, path: &str, byte: u8, stamp: &Stamp) {
    let checksum = Checksum::from_bytes(Algorithm::Sha256, &[byte; 32]).unwrap();
    let content = FileContent::Checksum { checksum, size: Some(BYTES) };
    let mut listing = FileListing::new();
    let record = FileRecord::new(id(granule), FilePath::new(path).unwrap(), content);
    listing.add(&record, None).unwrap();
    let options = FileOptions {
        accept_content: true,
        note: Some("processed again".to_owned()),
        skip_missing: true,
        ..FileOptions::default()
    };
    registry.add_files(&name("D"), &listing, &options, stamp).unwrap();
}

/// A dataset with these granules, and a record of each.
fn with_files(granules: &[&str]) -> Registry {
    let registry = new_registry();
    registry.change(&name("D"), &change(granules.to_vec(), []), &at(0)).unwrap();
    for granule in granules {
        record(&registry, granule, granule, 1, &at(0));
    }
    registry
}

/// A check, and the granules that it has read ahead.
struct Running {
    check: FileCheck,
    granules: GranulesToCheck,
}

impl Running {
    fn begin(registry: &Registry, stamp: &Stamp) -> Self {
        Running::of(registry, root_check(true), stamp)
    }

    fn of(registry: &Registry, check: NewCheck, stamp: &Stamp) -> Self {
        let check = registry.check_files(&latest(registry), check, stamp).unwrap();
        Running { granules: check.granules(), check }
    }

    fn next(&mut self) -> Option<GranuleFiles> {
        self.granules.next().transpose().unwrap()
    }

    /// Checks all files of a granule: each is good, or has the status.
    fn add(&self, granule: &GranuleFiles, status: Option<&str>) {
        let paths: Vec<String> = match granule.files.as_slice() {
            [] => vec![granule.granule_id.to_string()],
            files => files.iter().map(|file| file.path.clone()).collect(),
        };
        for path in paths {
            let found = status.map(|status| (status, None, None));
            self.check.add(&granule.granule_id, &path, BYTES, found).unwrap();
        }
    }

    /// Checks at most so many granules, all of which are good. Returns their ids.
    fn good(&mut self, most: usize) -> Vec<String> {
        let mut checked = Vec::new();
        while checked.len() < most
            && let Some(granule) = self.next()
        {
            self.add(&granule, None);
            checked.push(granule.granule_id.to_string());
        }
        checked
    }
}

#[test]
fn short_runs_cover_everything_once_and_begin_again() {
    let registry = with_files(&["A", "B", "C", "D", "E"]);
    let mut rounds = Vec::new();
    for second in 1..7 {
        let mut running = Running::begin(&registry, &at(second));
        let checked = running.good(2);
        let ahead = running.next();
        rounds.push((checked.concat(), ahead.is_some(), running.check.finish().unwrap()));
    }
    let round = |ids: &str, ahead, complete| (ids.to_owned(), ahead, complete);
    let cycle = [round("AB", true, false), round("CD", true, false), round("E", false, true)];
    assert_eq!(rounds, [cycle.clone(), cycle].concat());
    assert_eq!(state(&registry).roots[0].since, Some((at(4).clock)()));
}

#[test]
fn a_killed_run_loses_what_it_had_not_saved_and_its_lease_lapses() {
    let registry = with_files(&["A", "B", "C", "D"]);
    let mut killed = Running::begin(&registry, &at(1));
    assert_eq!(killed.good(1), ["A"]);
    killed.check.save().unwrap();
    assert_eq!(killed.good(1), ["B"]);
    drop(killed);
    // What it had leased is not checked by another one at first.
    let mut second = Running::begin(&registry, &at(60));
    let others = second.good(9);
    assert!(!others.contains(&"A".to_owned()) && !others.contains(&"B".to_owned()), "{others:?}");
    assert!(!others.is_empty());
    second.check.finish().unwrap();
    let mut third = Running::begin(&registry, &at(182));
    let rest: BTreeSet<String> = third.good(9).into_iter().collect();
    third.check.finish().unwrap();
    let others: BTreeSet<String> = others.into_iter().collect();
    assert!(rest.contains("B") && rest.is_disjoint(&others), "{rest:?} {others:?}");
    assert_eq!(rest.len() + others.len(), 3);
    assert_eq!(state(&registry).roots[0].since, Some((at(1).clock)()));
}

#[test]
fn two_at_once_never_check_the_same_part() {
    let granules: Vec<String> = (0..40).map(|number| format!("G{number:02}")).collect();
    let granules: Vec<&str> = granules.iter().map(String::as_str).collect();
    let registry = with_files(&granules);
    let mut two = [Running::begin(&registry, &at(1)), Running::begin(&registry, &at(1))];
    let mut checked = [Vec::new(), Vec::new()];
    let mut turn = 0;
    loop {
        let (one, other) = (two[turn].good(1), two[1 - turn].good(2));
        if one.is_empty() && other.is_empty() {
            break;
        }
        checked[turn].extend(one);
        checked[1 - turn].extend(other);
        turn = 1 - turn;
    }
    let [one, other] = two;
    one.check.finish().unwrap();
    other.check.finish().unwrap();
    assert!(checked.iter().all(|ids| ids.len() >= 8), "{checked:?}");
    let mut all = checked.concat();
    all.sort();
    assert_eq!(all, granules);
    // The next one begins again.
    let mut next = Running::begin(&registry, &at(2));
    assert_eq!(next.good(1), ["G00"]);
}

#[test]
fn a_granule_counts_once_all_its_files_are_checked() {
    let registry = with_files(&["A", "B"]);
    record(&registry, "A", "A.met", 1, &at(0));
    let mut first = Running::begin(&registry, &at(1));
    let granule = first.next().unwrap();
    assert_eq!(granule.files.len(), 2);
    first.check.add(&granule.granule_id, "A", BYTES, None).unwrap();
    assert!(!first.check.finish().unwrap());
    let mut second = Running::begin(&registry, &at(2));
    assert_eq!(second.good(1), ["A"]);
    second.check.finish().unwrap();
    assert_eq!(Running::begin(&registry, &at(3)).good(1), ["B"]);
}

#[test]
fn what_is_recorded_inside_an_interval_is_not_checked_yet() {
    let registry = with_files(&["A", "B"]);
    let check = |second| {
        let mut running = Running::of(&registry, root_check(false), &at(second));
        running.good(9);
        assert!(running.check.finish().unwrap());
    };
    check(1);
    assert_eq!(state(&registry).roots[0].since, Some((at(1).clock)()));
    record(&registry, "A", "A.met", 1, &at(2));
    assert_eq!(state(&registry).roots[0].since, None);
    let old = |second| registry.fixity_state(&name("D"), Some((at(second).clock)())).unwrap();
    assert_eq!((old(1).roots[0].old, old(2).roots[0].old, old(3).roots[0].old), (0, 2, 3));
    check(4);
    assert_eq!(state(&registry).roots[0].since, Some((at(4).clock)()));
}

#[test]
fn a_check_of_sizes_counts_for_no_checksum_and_closes_no_finding_of_one() {
    let registry = with_files(&["A", "B"]);
    let check = |mode, second, status| {
        let check = NewCheck { mode, ..root_check(false) };
        let mut running = Running::of(&registry, check, &at(second));
        while let Some(granule) = running.next() {
            running.add(&granule, status);
        }
        running.check.finish().unwrap();
    };
    let statuses = || -> Vec<String> {
        state(&registry).open.into_iter().map(|it| it.granule.unwrap() + " " + &it.status).collect()
    };
    check(CheckMode::Size, 1, Some("size"));
    assert_eq!(statuses(), ["A size", "B size"]);
    assert_eq!(state(&registry).roots[0].since, None);
    check(CheckMode::Checksums, 2, Some("checksum"));
    assert_eq!(statuses(), ["A checksum", "B checksum"]);
    // Nothing was compared.
    check(CheckMode::Size, 3, Some("no-record"));
    assert_eq!(statuses(), ["A checksum", "B checksum"]);
    check(CheckMode::Size, 3, None);
    assert_eq!(statuses(), ["A checksum", "B checksum"]);
    assert_eq!(state(&registry).roots[0].since, Some((at(2).clock)()));
    check(CheckMode::Checksums, 4, None);
    assert!(statuses().is_empty());
}

#[test]
fn a_root_that_is_forgotten_has_no_checks_and_no_findings() {
    let registry = with_files(&["A"]);
    let mut running = Running::begin(&registry, &at(1));
    let granule = running.next().unwrap();
    running.add(&granule, Some("missing"));
    running.check.finish().unwrap();
    assert_eq!(state(&registry).open.len(), 1);
    assert_eq!(registry.forget_root(&name("D"), "there", &at(2)).unwrap(), None);
    assert_eq!(registry.forget_root(&name("D"), "here", &at(2)).unwrap(), Some(1));
    assert_eq!(registry.forget_root(&name("D"), "here", &at(2)).unwrap(), None);
    let state = state(&registry);
    assert!(state.open.is_empty() && state.roots.is_empty(), "{state:?}");
    assert_eq!(registry.snapshot().unwrap().last_checked(&name("D")).unwrap(), None);
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
    /// Records content of a file, which replaces what was known if it is other content.
    Record(usize, u8),
    /// What a check finds in the file from now on.
    Damage(usize, Option<&'static str>),
    /// Checks so many granules, after reading so many ahead.
    Roll(usize, usize, End),
    /// Checks all granules.
    Whole(End),
    /// Two checks at once, which take turns.
    Two(usize, End),
    /// A lease lapses.
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
        2 => (1..4_usize, end()).prop_map(|(n, end)| Step::Two(n, end)),
        3 => Just(Step::Wait),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..40)
}

/// What the model knows of a file.
#[derive(Debug, Clone, Default)]
struct File {
    is_held: bool,
    /// When its granule was ingested, as a step.
    ingested: usize,
    /// The content that is recorded, and the number of the step that recorded it.
    content: Option<u8>,
    recorded: usize,
    /// What a check finds.
    damage: Option<&'static str>,
    /// When it was checked last, as a step and in seconds.
    checked: Option<(usize, i64)>,
    finding: Option<&'static str>,
}

struct Model {
    registry: Registry,
    files: BTreeMap<&'static str, File>,
    seconds: i64,
    step: usize,
    has_root: bool,
}

impl Model {
    fn found(&self, granule: &str) -> Option<&'static str> {
        let file = &self.files[granule];
        if file.content.is_none() { Some("no-record") } else { file.damage }
    }

    /// Checks granules of some checks in turn, and ends them.
    fn check(&mut self, checks: usize, check: &NewCheck, most: usize, ahead: usize, end: End) {
        if self.files.values().all(|file| !file.is_held) {
            return;
        }
        let stamp = at(self.seconds);
        let begin = |_| Running::of(&self.registry, check.clone(), &stamp);
        let mut running: Vec<Running> = (0..checks).map(begin).collect();
        self.has_root |= running.iter().any(|running| !running.check.is_idle());
        let mut taken = vec![Vec::new(); checks];
        for (running, taken) in running.iter_mut().zip(&mut taken) {
            taken.extend((0..ahead).map_while(|_| running.next()));
        }
        let mut checked: Vec<Vec<String>> = vec![Vec::new(); checks];
        for _ in 0..most {
            for ((running, taken), checked) in running.iter_mut().zip(&mut taken).zip(&mut checked)
            {
                let next = if taken.is_empty() { running.next() } else { Some(taken.remove(0)) };
                let Some(granule) = next else { continue };
                running.add(&granule, self.found(granule.granule_id.as_str()));
                checked.push(granule.granule_id.to_string());
            }
        }
        let mut all = checked.concat();
        all.sort();
        let count = all.len();
        all.dedup();
        assert!(!check.is_rolling || all.len() == count, "a file was checked twice: {checked:?}");
        for (running, checked) in running.into_iter().zip(checked) {
            assert!(checked.is_sorted(), "not in order: {checked:?}");
            match end {
                End::Finish => drop(running.check.finish().unwrap()),
                End::SaveAndKill => running.check.save().unwrap(),
                End::Kill => continue,
            }
            for granule in checked {
                let found = self.found(&granule);
                let file = self.files.get_mut(granule.as_str()).unwrap();
                file.checked = Some((self.step, self.seconds));
                file.finding = found;
            }
        }
    }

    fn play(&mut self, step: &Step) {
        self.step += 1;
        self.seconds += 1;
        let stamp = at(self.seconds);
        match step {
            Step::Toggle(indices) => {
                let (deleted, ingested): (Vec<&str>, Vec<&str>) =
                    indices.iter().map(|index| POOL[*index]).partition(|it| self.files[it].is_held);
                let change = change(ingested, deleted);
                self.registry.change(&name("D"), &change, &stamp).unwrap();
                for index in indices {
                    let file = self.files.get_mut(POOL[*index]).unwrap();
                    file.is_held = !file.is_held;
                    // Its records stay; its checks were of another granule.
                    (file.ingested, file.checked, file.finding) = (self.step, None, None);
                }
            }
            Step::Record(index, byte) => {
                let granule = POOL[*index];
                record(&self.registry, granule, granule, *byte, &stamp);
                let file = self.files.get_mut(granule).unwrap();
                if file.is_held && file.content != Some(*byte) {
                    (file.content, file.recorded) = (Some(*byte), self.step);
                    (file.checked, file.finding) = (None, None);
                }
            }
            Step::Damage(index, found) => {
                self.files.get_mut(POOL[*index]).unwrap().damage = *found;
            }
            Step::Roll(most, ahead, end) => self.check(1, &root_check(true), *most, *ahead, *end),
            Step::Whole(end) => self.check(1, &root_check(false), POOL.len(), 0, *end),
            Step::Two(most, end) => self.check(2, &root_check(true), *most, 1, *end),
            Step::Wait => self.seconds += 180,
            Step::Forget => {
                let forgotten = self.registry.forget_root(&name("D"), "here", &stamp).unwrap();
                assert_eq!(forgotten.is_some(), self.has_root);
                self.has_root = false;
                for file in self.files.values_mut() {
                    (file.checked, file.finding) = (None, None);
                }
            }
        }
    }

    fn assert_agrees(&self) {
        let state = state(&self.registry);
        let held = || self.files.iter().filter(|(_, file)| file.is_held);
        let open: Vec<(String, String)> =
            state.open.into_iter().map(|it| (it.granule.unwrap(), it.status)).collect();
        let found = held().filter_map(|(granule, file)| Some((*granule, file.finding?)));
        let expected: Vec<_> = found.map(|(it, found)| (it.to_owned(), found.to_owned())).collect();
        assert_eq!(open, expected);
        let recorded: Vec<&File> =
            held().map(|(_, file)| file).filter(|file| file.content.is_some()).collect();
        let checked = |file: &&File| file.checked.map(|(_, seconds)| (at(seconds).clock)());
        let since: Option<Timestamp> = recorded.iter().map(checked).min().flatten();
        let roots: Vec<Option<Timestamp>> = state.roots.iter().map(|root| root.since).collect();
        assert_eq!(roots, if self.has_root { vec![since] } else { vec![] });
        assert_eq!(state.records.values().sum::<u64>(), recorded.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), ..ProptestConfig::default() })]

    #[test]
    fn checks_agree_with_a_model_that_remembers_every_file(steps in steps()) {
        let registry = new_registry();
        registry.change(&name("D"), &change(vec!["A", "a"], []), &at(0)).unwrap();
        let mut files: BTreeMap<&'static str, File> =
            POOL.iter().map(|granule| (*granule, File::default())).collect();
        for held in ["A", "a"] {
            files.get_mut(held).unwrap().is_held = true;
        }
        let mut model = Model { registry, files, seconds: 0, step: 0, has_root: false };
        for step in &steps {
            model.play(step);
            model.assert_agrees();
        }
        let verified = model.registry.verify(&name("D")).unwrap();
        prop_assert!(verified.mismatches.is_empty(), "{verified:?}");
    }
}
