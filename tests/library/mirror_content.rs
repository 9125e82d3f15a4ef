//! A mirror and its primary that know, or do not know, the same of the bytes of files.

use std::collections::{BTreeMap, BTreeSet};

use accession::mirror::{Outcome, Primary, PullOptions, Pulled, Status, compare, manifest, pull};
use accession::model::{Algorithm, Checksum, FileContent, FilePath, FileRecord, SourceOptions};
use accession::registry::{FileCounts, FileListing, FileOptions, PaymentIds};
use accession::{Access, ErrorKind, Registry, Selection, Stamp};
use proptest::prelude::*;

use crate::harness::primary_at_address::{FOLLOW, RESET, World};
use crate::harness::store::new_registry;
use crate::harness::values::{change, id, name, now, second};

/// What is known of a file: its size, an MD5 and an SHA-256, each by a number.
pub type Known = [Option<u8>; 3];

fn records(granule: &str, known: Known) -> Vec<FileRecord> {
    let checksum = |algorithm: Algorithm, value: u8| {
        let bytes = vec![value; algorithm.checksum_bytes().unwrap()];
        Checksum::from_bytes(algorithm, &bytes).unwrap()
    };
    let [size, md5, sha256] = known;
    let size = size.map(u64::from);
    let contents = [
        md5.map(|value| checksum(Algorithm::Md5, value)),
        sha256.map(|value| checksum(Algorithm::Sha256, value)),
    ];
    let mut contents: Vec<FileContent> = contents
        .into_iter()
        .flatten()
        .map(|checksum| FileContent::new(size, Some(checksum)).unwrap())
        .collect();
    if contents.is_empty() {
        contents.extend(FileContent::new(size, None));
    }
    let path = || FilePath::new(granule).unwrap();
    contents.into_iter().map(|content| FileRecord::new(id(granule), path(), content)).collect()
}

pub fn add(registry: &Registry, dataset: &str, granule: &str, known: Known, note: &str) {
    let mut listing = FileListing::new();
    records(granule, known).iter().for_each(|record| listing.add(record, None).unwrap());
    let note = Some(note.to_owned());
    let options = FileOptions { accept_content: true, note, ..FileOptions::default() };
    registry.add_files(&name(dataset), &listing, &options, &Stamp::now(now())).unwrap();
}

/// What a registry knows of each file.
pub fn known(registry: &Registry, dataset: &str) -> BTreeMap<String, Known> {
    let snapshot = registry.snapshot().unwrap();
    let selection = Selection::Dataset { name: name(dataset), at: None };
    let set = snapshot.select(&selection).unwrap().set;
    let mut known = BTreeMap::new();
    let files = snapshot.files(&set).unwrap();
    drop(snapshot);
    for granule in files {
        let granule = granule.unwrap();
        for file in granule.files {
            let of = |algorithm| {
                let found = file.checksums.iter().find(|it| *it.algorithm() == algorithm);
                found.map(|checksum| checksum.as_bytes()[0])
            };
            let size = file.size.map(|size| u8::try_from(size).unwrap());
            known.insert(
                granule.granule_id.to_string(),
                [size, of(Algorithm::Md5), of(Algorithm::Sha256)],
            );
        }
    }
    known
}

pub fn differing(pulled: &Pulled) -> Vec<String> {
    let text = |id: accession::error::Result<Vec<u8>>| String::from_utf8(id.unwrap()).unwrap();
    pulled.content_differs.records().map(text).collect()
}

pub fn counts(added: u64, equal: u64, replaced: u64) -> FileCounts {
    FileCounts { added, equal, replaced }
}

/// How the mirror reads its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Address,
    Manifest,
    File,
}

/// A primary and its mirror, which hold A, B and C.
pub struct Archives {
    pub world: World,
    pub way: Way,
}

impl Archives {
    pub fn new(way: Way) -> Self {
        let mut world = World::new();
        world.mirror = new_registry();
        world.us = match way {
            Way::File => Registry::create(&world.directory.path().join("us.db")).unwrap(),
            Way::Address | Way::Manifest => new_registry(),
        };
        let stamp = Stamp::at(second(0), now());
        world.us.change(&name("us"), &change(["A", "B", "C"], []), &stamp).unwrap();
        let archives = Archives { world, way };
        assert!(archives.pull(None).is_identical());
        archives
    }

    fn primary(&self) -> Primary {
        let path = self.world.directory.path().join("us.jsonl");
        match self.way {
            Way::Address => {
                self.world.publish();
                self.world.primary()
            }
            Way::Manifest => {
                let mut file = std::fs::File::create(&path).unwrap();
                manifest::write(&self.world.us, &name("us"), &mut file).unwrap();
                Primary::open(&path, &name("mirror"), None, now()).unwrap()
            }
            Way::File => {
                let path = self.world.directory.path().join("us.db");
                Primary::open(&path, &name("mirror"), None, now()).unwrap()
            }
        }
    }

    pub fn pull(&self, accept: Option<&str>) -> Pulled {
        self.pull_with(&self.primary(), accept)
    }

    fn pull_with(&self, primary: &Primary, accept: Option<&str>) -> Pulled {
        let options = PullOptions {
            create_dataset: true,
            policy: FOLLOW,
            accept_content: accept,
            ..PullOptions::default()
        };
        let stamp = Stamp { is_clock_confirmed: true, ..Stamp::now(now()) };
        pull(&self.world.mirror, &name("mirror"), primary, options, &stamp).unwrap()
    }

    /// Compares, and remembers it. Returns the granules whose files differ.
    fn compare(&self) -> Vec<String> {
        let mirror = &self.world.mirror;
        let compared = compare(mirror, &name("mirror"), &self.primary(), None).unwrap();
        let found = compared.content_differs(&name("mirror")).unwrap();
        let stamp = Stamp::now(now());
        compared.remember(mirror, &name("mirror"), &stamp, Outcome::Compared).unwrap();
        found.records().map(|id| String::from_utf8(id.unwrap()).unwrap()).collect()
    }

    pub fn us(&self, granule: &str, known: Known, note: &str) {
        add(&self.world.us, "us", granule, known, note);
    }

    pub fn them(&self, granule: &str, known: Known) {
        add(&self.world.mirror, "mirror", granule, known, "own");
    }
}

pub const WAYS: [Way; 3] = [Way::Address, Way::Manifest, Way::File];

#[test]
fn new_records_come_along_also_when_the_names_are_identical() {
    for way in WAYS {
        let archives = Archives::new(way);
        archives.us("A", [Some(1), Some(1), None], "first");
        assert_eq!(archives.pull(None).files, counts(1, 0, 0), "{way:?}");
        archives.us("B", [Some(2), None, Some(2)], "second");
        assert_eq!(archives.pull(None).files, counts(1, 0, 0), "{way:?}");
        assert_eq!(archives.pull(None).files, counts(0, 0, 0), "{way:?}");
        assert_eq!(known(&archives.world.mirror, "mirror"), known(&archives.world.us, "us"));
        assert!(archives.world.mirror.verify(&name("mirror")).unwrap().ok);
    }
}

#[test]
fn a_contradiction_is_named_tonight_and_every_night_until_a_record_changes() {
    for way in WAYS {
        let archives = Archives::new(way);
        archives.us("A", [Some(1), Some(1), None], "first");
        archives.us("B", [None, Some(1), None], "first");
        archives.them("B", [None, Some(9), None]);
        archives.them("C", [None, Some(9), None]);
        for night in 0..3 {
            // Names are pulled all the same.
            if night == 1 {
                let stamp = Stamp { is_clock_confirmed: true, ..Stamp::at(second(9), now()) };
                archives.world.us.change(&name("us"), &change(["D"], []), &stamp).unwrap();
            }
            assert_eq!(archives.compare(), ["B"], "{way:?}");
            let pulled = archives.pull(None);
            assert_eq!((differing(&pulled), pulled.is_identical()), (vec!["B".to_owned()], true));
            assert_eq!(archives.compare(), ["B"], "{way:?}");
        }
        let mirror = known(&archives.world.mirror, "mirror");
        assert_eq!((mirror["A"], mirror["B"][1]), ([Some(1), Some(1), None], Some(9)));
        // The mirror finds that the primary was right.
        archives.them("B", [None, Some(1), None]);
        assert_eq!(archives.compare(), [""; 0], "{way:?}");
        assert_eq!(differing(&archives.pull(None)), [""; 0]);
        // Now the primary changes its mind, and the mirror does not agree.
        archives.us("C", [None, Some(3), None], "late");
        assert_eq!(differing(&archives.pull(None)), ["C"]);
        let accepted = archives.pull(Some("theirs are good"));
        assert_eq!((differing(&accepted), accepted.files), (vec![], counts(0, 0, 1)), "{way:?}");
        assert_eq!(known(&archives.world.mirror, "mirror"), known(&archives.world.us, "us"));
        assert_eq!(differing(&archives.pull(None)), [""; 0]);
        assert!(archives.world.mirror.verify(&name("mirror")).unwrap().ok);
    }
}

#[test]
fn a_reprocessing_that_the_primary_accepted_reaches_the_mirror_with_its_note() {
    for way in WAYS {
        let archives = Archives::new(way);
        archives.us("A", [Some(1), Some(1), None], "first");
        archives.pull(None);
        // What the mirror computed itself of the same bytes is superseded with them.
        archives.them("A", [None, None, Some(1)]);
        archives.us("A", [Some(2), Some(2), None], "processed again");
        assert_eq!(archives.compare(), [""; 0], "{way:?}");
        let pulled = archives.pull(None);
        assert_eq!((differing(&pulled), pulled.files), (vec![], counts(0, 0, 1)), "{way:?}");
        assert_eq!(known(&archives.world.mirror, "mirror")["A"], [Some(2), Some(2), None]);
        let mut written = Vec::new();
        manifest::write(&archives.world.mirror, &name("mirror"), &mut written).unwrap();
        let last = String::from_utf8(written).unwrap();
        let last = last.lines().rev().nth(1).unwrap().to_owned();
        assert!(last.contains("\"note\":\"processed again\""), "{last}");
    }
}

#[test]
fn only_the_new_end_of_the_log_is_read_and_nothing_of_it_if_only_names_are_wanted() {
    let archives = Archives::new(Way::Address);
    let world = &archives.world;
    for value in 0..200 {
        archives.us("A", [Some(value), None, None], &"x".repeat(1_000));
    }
    world.publish();
    world.server.served();
    let options = SourceOptions { no_files: true, ..SourceOptions::default() };
    archives.pull_with(&world.primary().with_options(options.clone()), None);
    let is_of_files = |path: &str| path.contains("/files/");
    assert!(world.server.served().iter().all(|(request, _)| !is_of_files(&request.path)));
    // The head that was agreed with by its names only is not one that was agreed with.
    let pulled = archives.pull(None);
    assert!(pulled.files.has_any());
    let whole = world.file("datasets/us/files/000000.jsonl").len();
    archives.us("B", [Some(1), None, None], "one more");
    world.publish();
    world.server.served();
    assert_eq!(archives.pull(None).files, counts(1, 0, 0));
    let read: usize = world
        .server
        .served()
        .iter()
        .filter(|(request, _)| is_of_files(&request.path))
        .map(|(_, bytes)| bytes)
        .sum();
    assert!(read > 0 && read * 50 < whole, "{read} of {whole}");
    // Nothing new: the head is not even sent.
    world.server.served();
    archives.pull_with(&world.primary(), None);
    let served = world.server.served();
    assert_eq!((served.len(), served[0].1), (1, 0));
}

#[test]
fn records_of_an_older_or_another_log_change_nothing_unless_the_mirror_is_reset() {
    let archives = Archives::new(Way::Manifest);
    archives.us("A", [Some(1), None, None], "first");
    let old = archives.primary();
    archives.pull_with(&old, None);
    let mut bytes = Vec::new();
    manifest::write(&archives.world.us, &name("us"), &mut bytes).unwrap();
    archives.us("B", [Some(1), None, None], "second");
    archives.pull(None);
    let path = archives.world.directory.path().join("us.jsonl");
    std::fs::write(&path, &bytes).unwrap();
    let primary = || Primary::open(&path, &name("mirror"), None, now()).unwrap();
    let stale = archives.pull_with(&primary(), None);
    assert_eq!((stale.before.status, stale.is_identical()), (Status::Stale, false));

    // The same changes, but other records.
    let other = new_registry();
    let stamp = Stamp::at(second(0), now());
    other.change(&name("us"), &change(["A", "B", "C"], []), &stamp).unwrap();
    for granule in ["C", "B", "A"] {
        add(&other, "us", granule, [Some(1), None, None], "other");
    }
    let mut file = std::fs::File::create(&path).unwrap();
    manifest::write(&other, &name("us"), &mut file).unwrap();
    for _ in 0..2 {
        let rewritten = archives.pull_with(&primary(), None);
        let status = rewritten.before.status;
        assert_eq!((status, rewritten.is_identical()), (Status::Rewritten, false));
    }
    assert_eq!(known(&archives.world.mirror, "mirror").len(), 2);
    let options = PullOptions { policy: RESET, ..PullOptions::default() };
    let stamp = Stamp::now(now());
    let reset = pull(&archives.world.mirror, &name("mirror"), &primary(), options, &stamp).unwrap();
    assert_eq!(reset.files.added, 1);
    let again = archives.pull_with(&primary(), None);
    assert_eq!((again.before.status, again.is_identical()), (Status::Identical, true));
}

#[test]
fn a_copy_of_the_history_gets_the_records_with_their_numbers_and_then_only_new_ones() {
    let archives = Archives::new(Way::Address);
    let world = &archives.world;
    archives.us("A", [Some(1), Some(1), None], "first");
    world.publish();
    assert_eq!(world.import().files, counts(1, 0, 0));
    archives.us("A", [Some(2), Some(1), Some(4)], "again");
    world.publish();
    assert_eq!(world.import().files, counts(1, 0, 1));
    assert_eq!(world.import().files, counts(0, 0, 0));
    let written = |registry: &Registry| {
        let mut bytes = Vec::new();
        manifest::write(registry, &name("us"), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(written(&world.mirror), written(&world.us));
}

#[test]
fn a_copy_of_a_mirror_remembers_what_was_read_of_the_records() {
    for way in WAYS {
        let mut archives = Archives::new(way);
        archives.us("A", [Some(1), Some(1), None], "first");
        archives.us("B", [None, Some(1), None], "first");
        archives.them("B", [None, Some(9), None]);
        assert_eq!(differing(&archives.pull(None)), ["B"]);
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("copy.db");
        archives.world.mirror.copy_to(&copy, PaymentIds::LeftOut).unwrap();
        archives.world.mirror = Registry::open(&copy, Access::Write).unwrap();
        archives.world.server.served();
        // The contradiction is named as before, and no log is read again.
        let primary = match way {
            Way::Address => archives.world.primary(),
            Way::Manifest | Way::File => archives.primary(),
        };
        let pulled = archives.pull_with(&primary, None);
        assert_eq!((differing(&pulled), pulled.files), (vec!["B".to_owned()], counts(0, 0, 0)));
        let served = archives.world.server.served();
        let is_of_logs = |path: &str| path.contains("/files/") || path.contains("/log/");
        let paths = served.iter().map(|(request, _)| request.path.as_str());
        assert_eq!(paths.filter(|path| is_of_logs(path)).count(), 0, "{way:?}: {served:?}");
        // A backup of the copy does the same.
        let backup = directory.path().join("backup.db");
        archives.world.mirror.back_up(&backup).unwrap();
        archives.world.mirror = Registry::open(&backup, Access::Write).unwrap();
        assert_eq!(archives.compare(), ["B"], "{way:?}");
        archives.us("B", [None, Some(9), None], "theirs were good");
        assert_eq!(differing(&archives.pull(None)), [""; 0], "{way:?}");
        assert_eq!(known(&archives.world.mirror, "mirror"), known(&archives.world.us, "us"));
    }
}

#[test]
fn records_come_along_after_either_side_was_renamed_and_the_primary_withdrawn() {
    for way in WAYS {
        let archives = Archives::new(way);
        let World { us, mirror, .. } = &archives.world;
        let stamp = Stamp { is_clock_confirmed: true, ..Stamp::now(now()) };
        archives.us("A", [Some(1), None, None], "first");
        archives.them("B", [Some(9), None, None]);
        assert_eq!(archives.pull(None).files, counts(1, 0, 0), "{way:?}");
        // The mirror has another name, and is still found by its former one.
        mirror.rename_dataset(&name("mirror"), &name("theirs"), &stamp).unwrap();
        archives.us("B", [Some(2), None, None], "second");
        assert_eq!(differing(&archives.pull(None)), ["B"], "{way:?}");
        // So has the primary, whose records go on.
        us.rename_dataset(&name("us"), &name("ours"), &stamp).unwrap();
        archives.us("C", [Some(3), None, None], "third");
        let pulled = archives.pull(None);
        assert_eq!((differing(&pulled), pulled.files), (vec!["B".to_owned()], counts(1, 0, 0)));
        // A withdrawn primary gets no more records, but what it has is taken.
        archives.us("A", [Some(4), None, None], "fourth");
        us.withdraw_dataset(&name("ours"), "superseded", &stamp).unwrap();
        let pulled = archives.pull(Some("theirs are good"));
        assert!(pulled.primary_withdrawn.is_some(), "{way:?}");
        assert_eq!((differing(&pulled), pulled.files), (vec![], counts(0, 0, 2)), "{way:?}");
        assert_eq!(known(mirror, "theirs"), known(us, "ours"), "{way:?}");
        assert!(mirror.verify(&name("theirs")).unwrap().ok);
        // A withdrawn mirror gets nothing.
        us.reinstate_dataset(&name("ours"), &stamp).unwrap();
        archives.us("A", [Some(5), None, None], "fifth");
        mirror.withdraw_dataset(&name("theirs"), "not ours", &stamp).unwrap();
        let options = PullOptions { policy: FOLLOW, ..PullOptions::default() };
        let primary = archives.primary();
        let refused = pull(mirror, &name("mirror"), &primary, options, &stamp).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Withdrawn, "{way:?}");
        mirror.reinstate_dataset(&name("theirs"), &stamp).unwrap();
        assert_eq!(archives.pull(None).files, counts(0, 0, 1), "{way:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Us(usize, Known),
    Them(usize, Known),
    Pull,
    Accept,
    Compare,
}

fn any_known() -> impl Strategy<Value = Known> {
    let value = || prop::option::of(1_u8..4);
    let is_something = |known: &Known| known.iter().any(Option::is_some);
    [value(), value(), value()].prop_filter("nothing", is_something)
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_usize..3, any_known()).prop_map(|(file, known)| Step::Us(file, known)),
        2 => (0_usize..3, any_known()).prop_map(|(file, known)| Step::Them(file, known)),
        3 => Just(Step::Pull),
        1 => Just(Step::Accept),
        1 => Just(Step::Compare),
    ]
}

fn contradict(one: &Known, other: &Known) -> bool {
    (0..3).any(|at| one[at].is_some() && other[at].is_some() && one[at] != other[at])
}

/// Everything that a registry ever knew of a file: what each record that contradicts begins.
#[derive(Debug, Clone, Default)]
struct Oracle(Vec<Known>);

impl Oracle {
    fn now(&self) -> Known {
        self.0.last().copied().unwrap_or_default()
    }

    fn add(&mut self, known: Known) {
        if self.0.is_empty() || contradict(&self.now(), &known) {
            self.0.push(known);
            return;
        }
        let last = self.0.last_mut().unwrap();
        (0..3).for_each(|at| last[at] = last[at].or(known[at]));
    }

    /// Takes what a primary knows. Returns whether it contradicts.
    fn pull(&mut self, us: &Oracle, accept: bool) -> bool {
        let (here, theirs) = (self.now(), us.now());
        if theirs == Known::default() {
            return false;
        }
        let earlier = us.0.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let is_succeeded = earlier.iter().any(|it| {
            !contradict(it, &here)
                && (0..3).all(|at| {
                    here[at].is_none()
                        || theirs[at].is_none()
                        || here[at] == theirs[at]
                        || here[at] == it[at]
                })
        });
        if !contradict(&here, &theirs) || is_succeeded || accept {
            self.add(theirs);
            return false;
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::harness::history::cases(48), ..ProptestConfig::default() })]

    #[test]
    fn a_mirror_takes_what_an_oracle_that_remembers_everything_takes(
        steps in prop::collection::vec(any_step(), 1..24),
        way in 0_usize..3,
    ) {
        let archives = Archives::new(WAYS[way]);
        let names = ["A", "B", "C"];
        let (mut us, mut them): ([Oracle; 3], [Oracle; 3]) = Default::default();
        for step in steps.into_iter().chain([Step::Pull]) {
            match step {
                Step::Us(file, known) => {
                    archives.us(names[file], known, "us");
                    us[file].add(known);
                }
                Step::Them(file, known) => {
                    archives.them(names[file], known);
                    them[file].add(known);
                }
                Step::Compare => {
                    let expected: Vec<&str> = (0..3)
                        .filter(|file| them[*file].clone().pull(&us[*file], false))
                        .map(|file| names[file])
                        .collect();
                    prop_assert_eq!(archives.compare(), expected);
                }
                Step::Pull | Step::Accept => {
                    let accept = matches!(step, Step::Accept);
                    let expected: BTreeSet<String> = (0..3)
                        .filter(|file| them[*file].pull(&us[*file], accept))
                        .map(|file| names[file].to_owned())
                        .collect();
                    let pulled = archives.pull(accept.then_some("theirs"));
                    prop_assert_eq!(BTreeSet::from_iter(differing(&pulled)), expected);
                }
            }
            let expected: BTreeMap<String, Known> = (0..3)
                .filter(|file| them[*file].now() != Known::default())
                .map(|file| (names[file].to_owned(), them[file].now()))
                .collect();
            prop_assert_eq!(known(&archives.world.mirror, "mirror"), expected);
        }
        prop_assert!(archives.world.mirror.verify(&name("mirror")).unwrap().ok);
    }
}
