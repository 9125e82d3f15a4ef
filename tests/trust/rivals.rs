//! Writers and readers, each a process of its own, on one registry: no change is lost, nobody is
//! told that the registry is busy, and whatever is read was true at one moment.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use accession::{Access, Registry, Selection};
use rusqlite::{Connection, TransactionBehavior};
use serde_json::Value;

use crate::answers::{assert_sound, granule_ids};
use crate::dice::Dice;
use crate::harness::history::name;
use crate::harness::oracle::naive;
use crate::rounds::{dice, is_long};
use crate::victim::program_in;

/// What all of them share.
struct Arena {
    folder: tempfile::TempDir,
    is_over: AtomicBool,
    /// Ids that a writer was told are held, and those it was told are not held any more.
    held: Mutex<BTreeSet<String>>,
    changes: AtomicU64,
    reads: AtomicU64,
    longest_write: Mutex<Duration>,
}

impl Arena {
    fn new() -> Self {
        Arena {
            folder: tempfile::tempdir().unwrap(),
            is_over: AtomicBool::new(false),
            held: Mutex::default(),
            changes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            longest_write: Mutex::default(),
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = program_in(self.folder.path());
        command.arg("--json").arg("--registry").arg(self.folder.path().join("accession.db"));
        command.args(arguments.split_whitespace());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        let output = self.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {error}");
        output
    }

    fn registry(&self) -> Registry {
        Registry::open(&self.folder.path().join("accession.db"), Access::Read).unwrap()
    }

    /// Brings ids of its own, and takes some of them away again.
    fn write(&self, writer: usize, dice: &mut Dice) {
        let mut own: Vec<String> = Vec::new();
        for n in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let start = Instant::now();
            if own.len() > 3 && dice.once_in(3) {
                let id = own.swap_remove(dice.within(0..own.len()));
                self.run(&format!("delete SHARED {id}"));
                self.held.lock().unwrap().remove(&id);
            } else {
                let ids: Vec<String> = (0..dice.within(1..4))
                    .map(|k| format!("{:03}.{writer}.{n}.{k}", dice.within(0..1_000)))
                    .collect();
                self.run(&format!("ingest SHARED {}", ids.join(" ")));
                self.held.lock().unwrap().extend(ids.iter().cloned());
                own.extend(ids);
            }
            let mut longest = self.longest_write.lock().unwrap();
            *longest = longest.max(start.elapsed());
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Looks up, and has the answer borne out; sees the history grow and nothing in it change.
    fn read(&self) {
        let mut seen: Vec<Value> = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let latest = rows(&self.run("lookup SHARED")).remove(0);
            let identifier = latest["identifier"].as_str().unwrap();
            let granules = rows(&self.run(&format!("granules SHARED --identifier {identifier}")));
            let ids = granules.iter().map(|granule| granule["granule"].as_str().unwrap());
            assert_eq!(naive(ids).to_string(), identifier);
            assert_eq!(granules.len() as u64, latest["granules"].as_u64().unwrap());

            let history = rows(&self.run("history SHARED"));
            assert!(history.contains(&latest) || history.len() > seen.len());
            assert!(history.len() >= seen.len(), "the history has shrunk");
            for (index, (before, now)) in seen.iter().zip(&history).enumerate() {
                let mut before = before.clone();
                if index + 1 == seen.len() {
                    before["until"] = now["until"].clone();
                }
                assert_eq!(before, *now, "the history was rewritten");
            }
            seen = history;
            self.reads.fetch_add(3, Ordering::Relaxed);
        }
        assert!(seen.len() > 5, "a reader saw hardly anything");
    }
}

fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn four_writers_and_four_readers_lose_nothing_and_see_nothing_half_done() {
    let seconds = if is_long() { 60 } else { 5 };
    let mut dice = dice("rivals");
    let arena = Arena::new();
    arena.run("ingest SHARED --create first");
    arena.held.lock().unwrap().insert("first".to_owned());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (mut dice, arena) = (dice.split(), &arena);
            scope.spawn(move || arena.write(writer, &mut dice));
        }
        for _ in 0..4 {
            scope.spawn(|| arena.read());
        }
        std::thread::sleep(Duration::from_secs(seconds));
        arena.is_over.store(true, Ordering::Relaxed);
    });
    let mut registry = arena.registry();
    assert_sound(&mut registry, "rivals");
    let shared = name("SHARED");
    let selection = Selection::Dataset { name: shared.clone(), at: None };
    assert_eq!(granule_ids(&mut registry, &selection).unwrap(), *arena.held.lock().unwrap());
    let (changes, reads) =
        (arena.changes.load(Ordering::Relaxed), arena.reads.load(Ordering::Relaxed));
    assert_eq!(registry.verify(&shared).unwrap().identifiers, changes + 1);
    println!(
        "rivals: in {seconds} s {changes} changes and {reads} reads, none refused; the longest write \
         took {:.1?}",
        arena.longest_write.lock().unwrap()
    );
    assert!(changes > seconds && reads > 3 * seconds);
}

#[test]
fn readers_are_answered_while_a_long_import_runs() {
    const ROWS: usize = 150_000;
    let arena = Arena::new();
    arena.run("ingest SHARED --create first");
    let file = arena.folder.path().join("changes.tsv");
    let row = |n: usize| format!("2024-01-{:02}T00:00:00Z\t+\tgranule.{n:07}\n", n % 28 + 1);
    std::fs::write(&file, (0..ROWS).map(row).collect::<String>()).unwrap();
    let import = format!("import LONG {} --create", file.display());
    let start = Instant::now();
    let mut child = arena.command(&import).stdout(Stdio::null()).spawn().unwrap();
    let mut latencies = Vec::new();
    let mut after_half_way = false;
    while child.try_wait().unwrap().is_none() {
        let begin = Instant::now();
        let latest = rows(&arena.run("lookup SHARED")).remove(0);
        assert_eq!(latest["granules"], 1);
        let datasets = rows(&arena.run("dataset list")).len();
        latencies.push(begin.elapsed() / 2);
        // All of the import is there, or nothing.
        after_half_way |= datasets == 1 && is_being_written(arena.folder.path());
        let mut registry = arena.registry();
        if let Ok(verified) = registry.verify(&name("LONG")) {
            assert_eq!((verified.mismatches, verified.identifiers), (vec![], 28));
        }
    }
    let import = start.elapsed();
    assert!(child.wait().unwrap().success());
    assert_eq!(arena.registry().verify(&name("LONG")).unwrap().identifiers, 28);
    let longest = latencies.iter().max().unwrap();
    println!(
        "readers: {} answers during an import of {ROWS} granules, which took {import:.1?}; the \
         longest wait {longest:.1?}",
        2 * latencies.len()
    );
    assert!(after_half_way, "no reader came while the import was being written");
    assert!(latencies.len() > 3 && *longest < import / 2, "a reader waited for the writer");
}

/// Whether much has been written that is not committed yet: more than an ordinary change makes.
fn is_being_written(folder: &Path) -> bool {
    std::fs::metadata(folder.join("accession.db-wal")).is_ok_and(|wal| wal.len() > 1_000_000)
}

#[test]
fn a_writer_that_waits_too_long_is_told_that_the_registry_is_busy() {
    let arena = Arena::new();
    arena.run("ingest SHARED --create first");
    let path = arena.folder.path().join("accession.db");
    let mut connection = Connection::open(path).unwrap();
    let lock = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let start = Instant::now();
    let mut writers: Vec<_> = ["ingest SHARED second", "payment-id new --worker 1"]
        .map(|arguments| {
            let mut command = arena.command(arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .into();
    let mut reads = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        assert_eq!(rows(&arena.run("lookup SHARED"))[0]["granules"], 1);
        reads += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    let waited = start.elapsed();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("\"kind\":\"busy\""), "{error}");
        assert!(output.stdout.is_empty());
    }
    assert!(waited >= accession::store::BUSY_WAIT, "{waited:?}");
    println!("busy: two writers were told after {waited:.1?}; {reads} reads meanwhile");
    drop(lock);
    drop(connection);
    arena.run("ingest SHARED second");
}
