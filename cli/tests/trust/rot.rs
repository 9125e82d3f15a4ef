//! Bits that flip on the disk, and truncated files: nothing panics, nothing hangs, and `verify` finds every
//! wrong report.
//!
//! A registry with every kind of content is damaged in one place. Then everything in it is read. There are
//! three correct outcomes: nothing differs, a call reports an error, or `verify` and `check_file` find the
//! damage. They recompute what follows from the granule rows, and compare every other row with its checksum.
//! (Without a second copy or a checksum, 241 of 40,000 flipped bits silently changed a result, half of them in
//! notes and dates of recording.)

use harness::values::{AtTime, clock};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use accession::dataset::SharedDoi;
use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::ids::payment::{PaymentId, Scheme};
use accession::{
    Clock, ListingBuilder, ListingEntry, Registry, Selection, SubsetMembers, Timestamp,
};

use crate::answers::{Answers, datasets, history};
use crate::dice::Dice;
use crate::rounds::{dice, rounds};
use crate::scene::granule_id;
use harness::every_field::every_field;
use harness::values::{change, id, name, second, stating, step, with_file};

/// A check of one damaged copy that takes longer than this counts as hanging. An ordinary check takes
/// milliseconds, so the speed of the machine does not matter.
const HANG: Duration = Duration::from_secs(600);

/// The observed effect of damage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// All answers are unchanged.
    Nothing,
    /// A call reported an error of this kind.
    Said(&'static str),
    /// The pages and indexes are damaged.
    FoundInFile,
    /// `verify` found it.
    FoundInRows,
    /// All answers are those of this number of changes ago.
    Earlier(usize),
    /// The answers on these subjects differ, and nothing reports the reason.
    Silent(BTreeSet<&'static str>),
}

/// An undamaged registry file, and its reports.
struct Original {
    bytes: Vec<u8>,
    /// A -wal file with later changes, and the reports of the registry with it.
    wal: Vec<u8>,
    with_wal: Vec<Answers>,
    answers: Answers,
    payment_time: Timestamp,
}

/// The path of the damaged copies, which are written one at a time.
struct Copies {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Original {
    /// Creates several datasets of a few hundred granules on several pages, with deletions,
    /// checkpoints, notes, producers' ids, records and payment ids.
    fn new() -> Self {
        let copies = Copies::new();
        let registry = Registry::create(&copies.path, clock()).unwrap();
        for (dataset, from, to) in [("ONE", 0, 300), ("TWO", 100, 400), ("THREE", 150, 180)] {
            let ids = |numbers: std::ops::Range<usize>| numbers.map(granule_id);
            for (step, (ingest, delete)) in [
                (ids(from..to - 10), ids(0..0)),
                (ids(to - 10..to - 5), ids(from + 3..from + 9)),
                (ids(from + 5..from + 7), ids(from + 20..from + 21)),
                (ids(to - 5..to), ids(0..0)),
            ]
            .into_iter()
            .enumerate()
            {
                let mut change = change([], delete);
                for granule_id in ingest {
                    let producer = || id(&format!("{granule_id}.of.producer"));
                    let producer_granule = (step == 1).then(producer);
                    let entry = ListingEntry { producer_granule, ..id(granule_id).into() };
                    change.ingest(entry).unwrap();
                }
                if step % 2 == 1 {
                    change.options = change.options.note(format!("what happened in step {step}"));
                }
                let on_duty = || registry.recorded_by("Somebody on duty".parse().unwrap());
                let registry = if step == 2 { on_duty() } else { registry.clone() };
                registry.change(&name(dataset), &change.at(second(step as i64 * 1_000))).unwrap();
            }
            let sum = Checksum::from_bytes(Algorithm::Sha256, &[7; 32]).unwrap();
            let stated =
                ids(from + 10..from + 18).map(|id| with_file(id, "x", Some(7), Some(sum.clone())));
            registry.change(&name(dataset), &stating(stated).at(second(5_000))).unwrap();
            let edit = every_field(dataset);
            registry.edit_dataset_with(&name(dataset), SharedDoi::Refused, edit).unwrap();
            let all = Selection::Dataset { name: name(dataset), at: None };
            let annotation = NewAnnotation::new("One of them is not good").unwrap();
            registry.annotate(&all, &annotation).unwrap();
            let patterns = SubsetMembers::Patterns(vec!["*1*".parse().unwrap()]);
            let mut named = ListingBuilder::new();
            (from + 9..from + 15).for_each(|n| named.add(id(granule_id(n))).unwrap());
            let named = named.finish();
            for wanted in [patterns, SubsetMembers::Listed(named)] {
                registry.cite_subset(&name(dataset), None, &wanted).unwrap();
            }
        }
        let payment_time = second(26 * 365 * 86_400);
        let scheme = Scheme::default();
        let lease = |registry: &Registry, worker, count| {
            let worker = scheme.worker(worker).unwrap();
            registry
                .with_clock(Clock::fixed(payment_time))
                .lease_payment_ids(scheme, worker, count)
                .unwrap()
        };
        let taken: Vec<PaymentId> =
            lease(&registry, 5, 9).ids.into_iter().map(|decoded| decoded.id).collect();
        registry.reserve_payment_ids(&taken).unwrap();
        for worker in [3, 8] {
            lease(&registry, worker, 7);
        }
        drop(registry);
        let bytes = std::fs::read(&copies.path).unwrap();
        assert!(!copies.wal().exists());
        assert!(bytes.len() > 15 * 4_096, "only {} bytes", bytes.len());
        let (answers, wal, with_wal) = (Answers::default(), Vec::new(), Vec::new());
        let mut original = Original { bytes, wal, with_wal, answers, payment_time };
        original.answers = original.ask(&copies.path).unwrap().1;
        original.add_wal(&copies);
        original
    }

    /// Makes five changes that remain in the -wal file, since a reader has the registry open.
    fn add_wal(&mut self, copies: &Copies) {
        copies.write(&self.bytes);
        let reader = Registry::open(&copies.path, clock()).unwrap();
        let registry = Registry::open(&copies.path, clock()).unwrap();
        for n in 0..5 {
            let later = format!("later.{n}");
            step(&registry, "ONE", 10_000 + n as i64, [later.as_str()], [granule_id(200 + n)]);
            self.with_wal.push(all_answers(&registry).unwrap());
        }
        self.wal = std::fs::read(copies.wal()).unwrap();
        drop((registry, reader));
        // Each change writes at least one page.
        assert!(self.wal.len() > 5 * 4_096);
    }

    /// Reads everything. Returns the first finding, if any, and the answers.
    fn ask(&self, path: &Path) -> accession::Result<(Option<Seen>, Answers)> {
        let registry = Registry::open(path, clock())?;
        let mut answers = all_answers(&registry)?;
        let mut found = None;
        for listed in datasets(&registry)? {
            if !registry.verify(&listed.dataset.name)?.ok {
                found = Some(Seen::FoundInRows);
            }
        }
        if !registry.check_file()?.is_empty() {
            found = Some(Seen::FoundInFile);
        }
        let scheme = Scheme::default();
        for worker in [3, 8] {
            let worker = scheme.worker(worker)?;
            let lease = registry
                .with_clock(Clock::fixed(self.payment_time))
                .lease_payment_ids(scheme, worker, 20)?;
            answers.add("payment ids", &lease.ids);
        }
        Ok((found, answers))
    }

    fn changes_ago(&self, answers: &Answers) -> Option<usize> {
        let answers = answers.clone().without("payment ids");
        self.with_wal.iter().rev().position(|then| *then == answers)
    }

    /// The observed effect of damage to the registry at this path.
    fn seen(&self, path: &Path) -> Seen {
        match self.ask(path) {
            Err(error) => Seen::Said(error.kind().as_str()),
            Ok((Some(found), _)) => found,
            Ok((None, answers)) if answers == self.answers => Seen::Nothing,
            Ok((None, answers)) => match self.changes_ago(&answers) {
                Some(changes) => Seen::Earlier(changes),
                None => Seen::Silent(answers.differing(&self.answers)),
            },
        }
    }
}

/// The reports of a registry, with what was recorded about its datasets.
fn all_answers(registry: &Registry) -> accession::Result<Answers> {
    let mut answers = Answers::of(registry)?;
    for listed in datasets(registry)? {
        let name = &listed.dataset.name;
        for instance in history(registry, name)? {
            answers.add("annotations", &instance.annotations);
        }
        answers.add("versions", &registry.snapshot()?.record_versions(name)?);
        answers.add("limits", &listed.limits);
    }
    Ok(answers)
}

impl Copies {
    fn new() -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        Copies { _directory: directory, path }
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(end);
        path.into()
    }

    fn wal(&self) -> PathBuf {
        self.beside("-wal")
    }

    fn write(&self, bytes: &[u8]) {
        for end in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(self.beside(end));
        }
        std::fs::write(&self.path, bytes).unwrap();
    }
}

/// Damages the registry in one way after another, and counts the observed effects.
fn count(
    what: &'static str,
    times: u64,
    damage: impl Fn(&Original, &Copies, &mut Dice) -> String + Send + 'static,
) -> BTreeMap<Seen, u64> {
    let (start, memory) = (Instant::now(), peak_kilobytes());
    let mut dice = dice(what);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (original, copies) = (Original::new(), Copies::new());
        for _ in 0..times {
            let context = damage(&original, &copies, &mut dice);
            // Sent before the check begins, so that the damage is known if the check hangs.
            let _ = sender.send((context.clone(), None));
            let seen = catch_unwind(AssertUnwindSafe(|| original.seen(&copies.path)));
            let _ = sender.send((context, Some(seen)));
        }
    });
    let counts = collect(&receiver);
    println!("rot: {what}: {times} in {:.1?}", start.elapsed());
    for (seen, count) in &counts {
        println!("rot: {what}: {seen:?}: {count}");
    }
    assert_eq!(counts.values().sum::<u64>(), times);
    let grown = peak_kilobytes().saturating_sub(memory); // Linux counts approximately.
    assert!(grown < 1_000_000, "{what} took {grown} kB of memory");
    counts
}

type Told = (String, Option<Result<Seen, Box<dyn Any + Send>>>);

fn collect(receiver: &Receiver<Told>) -> BTreeMap<Seen, u64> {
    let (mut counts, mut under_way) = (BTreeMap::new(), String::new());
    loop {
        match receiver.recv_timeout(HANG) {
            Ok((context, None)) => under_way = context,
            Ok((context, Some(Err(_)))) => panic!("{context}: a panic"),
            Ok((_, Some(Ok(seen)))) => *counts.entry(seen).or_insert(0) += 1,
            Err(RecvTimeoutError::Timeout) => panic!("{under_way}: it hangs"),
            Err(RecvTimeoutError::Disconnected) => return counts,
        }
    }
}

/// The peak memory of this process. 0 means that the system does not report it.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

#[test]
fn a_flipped_bit_never_gives_a_wrong_answer_that_verify_accepts() {
    let counts = count("flipped bits", rounds(1_000), |original, copies, dice| {
        let mut bytes = original.bytes.clone();
        let (byte, bit) = (dice.within(0..bytes.len()), dice.within(0..8));
        bytes[byte] ^= 1 << bit;
        copies.write(&bytes);
        format!("bit {bit} of byte {byte} flipped")
    });
    let silent: Vec<&Seen> = counts.keys().filter(|seen| matches!(seen, Seen::Silent(_))).collect();
    assert!(silent.is_empty(), "wrong answers that verify does not find: {silent:?}");
    assert!(counts.len() > 3, "there was only one kind of effect");
}

/// If the ids of a page are out of order, a reader that continues after its last id can return to rows that it
/// has already read.
#[test]
fn an_id_that_is_out_of_order_never_makes_a_reader_loop() {
    let counts = count("ids out of order", rounds(500), |original, copies, dice| {
        let mut bytes = original.bytes.clone();
        let ids: Vec<usize> = bytes
            .windows(8)
            .enumerate()
            .filter_map(|(at, window)| (window == b"granule.").then_some(at))
            .collect();
        let at = ids[dice.within(0..ids.len())];
        bytes[at] ^= 1 << 4; // g becomes w
        copies.write(&bytes);
        format!("bit 4 of byte {at} flipped")
    });
    assert!(!counts.keys().any(|seen| matches!(seen, Seen::Silent(_))), "{counts:?}");
}

#[test]
fn a_truncated_file_is_reported() {
    let counts = count("cut files", rounds(200), |original, copies, dice| {
        let mut size = dice.within(0..original.bytes.len());
        if dice.once_in(2) {
            size -= size % 4_096;
        }
        copies.write(&original.bytes[..size]);
        format!("cut to {size} bytes")
    });
    let loud = |seen: &Seen| matches!(seen, Seen::Said(_) | Seen::FoundInFile | Seen::FoundInRows);
    assert!(counts.keys().all(loud), "{counts:?}");
}

#[test]
fn a_wal_file_of_random_bytes_is_ignored() {
    let counts = count("rubbish beside it", rounds(100), |original, copies, dice| {
        copies.write(&original.bytes);
        let size = dice.within(1..40_000);
        let mut rubbish: Vec<u8> = (0..size).map(|_| dice.number() as u8).collect();
        if dice.once_in(2) && size > 4 {
            // The first bytes of a -wal file (sqlite.org/fileformat.html § 4.1).
            rubbish[..4].copy_from_slice(&[0x37, 0x7f, 0x06, 0x82]);
        }
        std::fs::write(copies.wal(), &rubbish).unwrap();
        if dice.once_in(2) {
            std::fs::write(copies.beside("-shm"), &rubbish).unwrap();
        }
        format!("{size} bytes of rubbish")
    });
    assert_eq!(counts.keys().collect::<Vec<_>>(), [&Seen::Nothing]);
}

/// Documents a limitation of SQLite's -wal file: everything after a damaged part is interpreted as the rest of
/// an interrupted change, and skipped. The file exists only while a process has the registry open, or after a
/// crash.
#[test]
fn a_flipped_bit_of_a_wal_file_only_returns_to_an_earlier_change() {
    let counts = count("flipped bits of a -wal file", rounds(200), |original, copies, dice| {
        copies.write(&original.bytes);
        let mut wal = original.wal.clone();
        let (byte, bit) = (dice.within(0..wal.len()), dice.within(0..8));
        wal[byte] ^= 1 << bit;
        std::fs::write(copies.wal(), &wal).unwrap();
        format!("bit {bit} of byte {byte} flipped in the -wal file")
    });
    // `Nothing` means the state before all five changes.
    let is_whole = |seen: &Seen| matches!(seen, Seen::Earlier(_) | Seen::Nothing | Seen::Said(_));
    assert!(counts.keys().all(is_whole), "{counts:?}");
    assert!(counts.len() > 3, "{counts:?}");
}
