//! The power fails at any moment. Changes that were acknowledged before are kept, and the change in progress is
//! made completely or not at all.
//!
//! A run of commands is recorded in a journal, beginning with the creation of the registry. After each call in
//! the journal the power fails, and the registry is opened in a possible state of the disk ([`crate::disk`]).
//! The test also checks that the journal is complete: without a power failure, it results in the existing files
//! byte for byte.

use harness::values::clock;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use accession::ids::payment::Scheme;
use accession::{Clock, Registry, Timestamp};

use crate::answers::{Answers, assert_sound, examine};
use crate::dice::Dice;
use crate::disk::{Content, Disk, Record, records};
use crate::interposed::Interposed;
use crate::rounds::{dice, rounds};
use crate::scene::{Place, Scene, granule_id};
use harness::values::{second, step};

/// A run of commands, as the disk sees it.
struct Run {
    place: Place,
    records: Vec<Record>,
    /// The position in the journal at the end of each command, and what the registry reported then.
    ends: Vec<(usize, Option<Answers>)>,
    payment: Option<(usize, Vec<String>, Timestamp)>,
}

/// Whether another process keeps the registry open, so that the -wal file remains and grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    None,
    Stays,
}

impl Run {
    fn of(commands: &[String], reader: Reader) -> Self {
        let scene = Scene::new();
        let place = scene.place(true);
        let journal = place.directory.with_extension("journal");
        let disk = Interposed::keeping(&place.directory, &journal);
        let mut ends = vec![(0, None)];
        let (mut payment, mut readers) = (None, Vec::new());
        for command in commands {
            let primary = scene.path("primary.db");
            let words = command.replace("OF_PRIMARY", &scene.held_by_primary());
            let words = words.replace("PRIMARY", primary.to_str().unwrap());
            let output = disk
                .command(&place.temporary())
                .arg("--json")
                .arg("--registry")
                .arg(place.registry())
                .args(words.split_whitespace())
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
            let end = std::fs::metadata(&journal).unwrap().len() as usize;
            ends.push((end, Some(examine_copy(&place, command))));
            if command.starts_with("ids payment") {
                payment = Some(printed(&output.stdout, end));
            }
            if reader == Reader::Stays && readers.is_empty() {
                readers.push(place.reader());
            }
        }
        let records = records(&std::fs::read(journal).unwrap());
        let run = Run { place, records, ends, payment };
        run.assert_complete();
        drop(readers);
        run
    }

    /// Asserts that the journal results in the existing files. (The -shm file is memory, not a file.)
    fn assert_complete(&self) {
        let mut disk = Disk::default();
        self.records.iter().for_each(|record| disk.apply(record, &self.place.directory));
        let mut content = disk.content();
        content.retain(|name, _| !name.ends_with("-shm"));
        let copy = harness::directory();
        copy_files(&self.place.directory, copy.path());
        let mut there = Content::new();
        for entry in std::fs::read_dir(copy.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if !name.ends_with("-shm") {
                there.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
        assert_eq!(content.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>());
        assert!(content == there, "the journal is not complete");
    }

    /// Fails the power after every call, or after some of them. Returns how often it failed, and how often
    /// there was unsynced data.
    fn lose_power(&self, times: u64, step: usize, dice: &mut Dice) -> (u64, u64) {
        let mut disk = Disk::default();
        let (mut states, mut unsynced) = (0, 0);
        let mut skip = 0;
        for (index, record) in self.records.iter().enumerate() {
            disk.apply(record, &self.place.directory);
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = if step > 1 { dice.within(0..2 * step) } else { 0 };
            for _ in 0..times {
                let content = disk.after_power_loss(dice);
                let context = format!("power lost after call {} of the journal", index + 1);
                self.assert_nothing_lost(record.end, &content, dice, &context);
                states += 1;
                unsynced += u64::from(disk.pending() > 0);
            }
        }
        (states, unsynced)
    }

    /// Counts the states of a disk that ignores syncs, and those without an acknowledged change.
    fn lose_power_of_a_disk_that_ignores_syncs(&self, dice: &mut Dice) -> (u64, u64) {
        let mut disk = Disk::default();
        let (mut states, mut lost) = (0, 0);
        for record in self.records.iter().filter(|record| !record.is_sync()) {
            disk.apply(record, &self.place.directory);
            let directory = harness::directory();
            for (name, bytes) in &disk.after_power_loss(dice) {
                std::fs::write(directory.path().join(name), bytes).unwrap();
            }
            let acknowledged = self.ends.iter().rposition(|(at, _)| *at <= record.end).unwrap();
            let found = Registry::open(directory.path().join("accession.db"), clock())
                .and_then(|registry| Answers::of(&registry))
                .ok()
                .map(Answers::timeless);
            let may_be = &self.ends[acknowledged..self.ends.len().min(acknowledged + 2)];
            states += 1;
            lost += u64::from(may_be.iter().all(|(_, answers)| *answers != found));
        }
        (states, lost)
    }

    fn assert_nothing_lost(&self, end: usize, content: &Content, dice: &mut Dice, context: &str) {
        let directory = harness::directory();
        for (name, bytes) in content {
            // Shared memory is never synced, so the file is missing or has any content.
            let rubbish: Vec<u8>;
            let bytes = match name.ends_with("-shm") {
                true if dice.once_in(2) => continue,
                true => {
                    rubbish = (0..32_768).map(|_| dice.number() as u8).collect();
                    &rubbish
                }
                false => bytes,
            };
            std::fs::write(directory.path().join(name), bytes).unwrap();
        }
        let acknowledged = self.ends.iter().rposition(|(at, _)| *at <= end).unwrap();
        let path = directory.path().join("accession.db");
        let found = path.exists().then(|| examine(&path, context));
        let may_be = &self.ends[acknowledged..self.ends.len().min(acknowledged + 2)];
        assert!(
            may_be.iter().any(|(_, answers)| *answers == found),
            "{context}: {acknowledged} commands were acknowledged, but the registry differs: {:?}",
            found.map(|found| may_be
                .iter()
                .flat_map(|(_, answers)| answers)
                .map(|answers| found.differing(answers))
                .collect::<Vec<_>>())
        );
        if path.exists() {
            self.assert_it_goes_on(&path, acknowledged, context);
        }
    }

    /// Asserts that the registry still accepts changes, and issues no payment id again.
    fn assert_it_goes_on(&self, path: &Path, acknowledged: usize, context: &str) {
        let registry = Registry::open(path, clock()).unwrap();
        step(&registry, "OWN", 10_000, ["after.the.loss"], []);
        if let Some((end, ids, time)) = &self.payment
            && *end <= self.ends[acknowledged].0
        {
            let scheme = Scheme::default();
            let worker = scheme.worker(7).unwrap();
            let lease = registry
                .with_clock(Clock::fixed(*time))
                .lease_payment_ids(scheme, worker, 3)
                .unwrap();
            assert!(
                lease.ids.iter().all(|decoded| !ids.contains(&decoded.id.to_string())),
                "{context}: a payment id was issued twice"
            );
        }
        assert_sound(&registry, context);
    }
}

/// The registry's reports, read from a copy, since opening the registry would remove files.
fn examine_copy(place: &Place, context: &str) -> Answers {
    let copy = harness::directory();
    copy_files(&place.directory, copy.path());
    examine(&copy.path().join("accession.db"), context)
}

/// Copies files with another process, since closing them in this one would drop the locks of its readers.
fn copy_files(from: &Path, to: &Path) {
    let script = "cp $0/accession.db* $0/.accession-* $1 2>/dev/null; test -e $1/accession.db";
    let status = Command::new("sh").args(["-c", script]).args([from, to]).status().unwrap();
    assert!(status.success());
}

fn printed(stdout: &[u8], end: usize) -> (usize, Vec<String>, Timestamp) {
    let rows: Vec<serde_json::Value> = String::from_utf8_lossy(stdout)
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let ids = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    (end, ids, rows[0]["time"].as_str().unwrap().parse().unwrap())
}

/// The ids of some granules, as values of `--id`.
fn some(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(granule_id).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" --id ")
}

/// Ten commands, including every kind that changes something.
fn commands() -> Vec<String> {
    let at = |n: i64| second(n);
    vec![
        format!("ingest OWN --create --at {} --id {}", at(1), some((0..200).step_by(2))),
        format!("delete OWN --at {} --id {}", at(2), some((20..60).step_by(4))),
        format!("ingest OWN --at {} --note back --id {}", at(3), some((20..40).step_by(4))),
        "ids payment --worker 7 --count 9".to_owned(),
        "dataset edit OWN --title Granules --creator Someone".to_owned(),
        format!("mirror pull MIRROR PRIMARY --primary-dataset OWN --create --at {}", at(4)),
        format!("ingest OWN --at {} --id {}", at(5), some((1..150).step_by(2))),
        format!("delete MIRROR --at {} --id {}", at(6), some((1..7).chain(9..12))),
        format!(
            "mirror pull MIRROR PRIMARY --primary-dataset OWN --expect DI:OF_PRIMARY --at {}",
            at(7)
        ),
        format!("delete OWN --at {} --id {}", at(8), some((1..90).step_by(2))),
    ]
}

#[test]
fn no_acknowledged_change_is_lost_by_a_power_failure() {
    let mut dice = dice("power loss");
    for reader in [Reader::None, Reader::Stays] {
        let start = Instant::now();
        let run = Run::of(&commands(), reader);
        let (states, unsynced) = run.lose_power(rounds(1), 1, &mut dice);
        println!(
            "power loss, reader {reader:?}: {states} states after {} calls, {unsynced} with something \
             unsynced, in {:.1?}",
            run.records.len(),
            start.elapsed()
        );
        assert!(states > 150 && unsynced * 2 > states);
        let (states, lost) = run.lose_power_of_a_disk_that_ignores_syncs(&mut dice);
        println!("power loss, a disk that lies: {lost} of {states} states lack a change");
        assert!(lost * 4 > states, "this test could not detect a loss");
    }
}

#[test]
fn no_change_is_lost_by_a_power_failure_while_a_large_one_is_moved_into_the_registry() {
    // Ids of 900 characters fill more than a thousand pages. After these, SQLite itself moves the contents of
    // the -wal file into the registry, and begins the file anew.
    let mut dice = dice("power loss, large");
    let start = Instant::now();
    let directory = harness::directory();
    let (file, mut commands) = (directory.path().join("ids.txt"), commands());
    let ids = (0..4_800).map(|n| format!("granule.{n:0>892}\n")).collect::<String>();
    std::fs::write(&file, ids).unwrap();
    commands.truncate(3);
    commands.push("dataset edit OWN --max-add 5000".to_owned());
    commands.push(format!("ingest OWN --at {} {}", second(4), file.display()));
    commands.push(format!("ingest OWN --at {} --id last", second(5)));
    let run = Run::of(&commands, Reader::Stays);
    let step = run.records.len() / 30;
    let (states, unsynced) = run.lose_power(rounds(1), step, &mut dice);
    println!(
        "power loss, large: {states} states after {} calls, {unsynced} with something unsynced, in \
         {:.1?}",
        run.records.len(),
        start.elapsed()
    );
    let registry = run.place.registry();
    let written = run.records.iter().filter(|record| record.is_write_to(&registry)).count();
    assert!(written > 1_000 && states > 15, "the -wal file was not moved into the registry");
}
