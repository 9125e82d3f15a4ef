//! Several writers and readers, each in a separate process, use one registry. No change is lost, no command
//! reports that the registry is busy, and every read sees the state of one moment.

use harness::values::clock;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use accession::{Registry, Selection};
use serde_json::Value;

use crate::answers::{assert_sound, granule_ids};
use crate::dice::Dice;
use crate::rounds::{dice, is_long};
use crate::victim::program_in;
use harness::oracle::naive;
use harness::values::name;

/// The registry that they share, and the set that it must hold.
struct Arena {
    directory: tempfile::TempDir,
    is_over: AtomicBool,
    /// The ids that are held, according to the commands that succeeded.
    held: Mutex<BTreeSet<String>>,
    reads: AtomicU64,
}

impl Arena {
    fn new() -> Self {
        Arena {
            directory: harness::directory(),
            is_over: AtomicBool::new(false),
            held: Mutex::default(),
            reads: AtomicU64::new(0),
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = program_in(self.directory.path());
        command.arg("--json").arg("--registry").arg(self.directory.path().join("accession.db"));
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
        Registry::open(self.directory.path().join("accession.db"), clock()).unwrap()
    }

    /// Makes this many changes: ingests new ids, and deletes some of them again.
    fn write(&self, writer: usize, changes: usize, dice: &mut Dice) {
        let mut own: Vec<String> = Vec::new();
        for n in 0..changes {
            if own.len() > 3 && dice.once_in(3) {
                let id = own.swap_remove(dice.within(0..own.len()));
                self.run(&format!("delete SHARED --id {id}"));
                self.held.lock().unwrap().remove(&id);
            } else {
                let ids: Vec<String> = (0..dice.within(1..4))
                    .map(|k| format!("{:03}.{writer}.{n}.{k}", dice.within(0..1_000)))
                    .collect();
                self.run(&format!("ingest SHARED --id {}", ids.join(" --id ")));
                self.held.lock().unwrap().extend(ids.iter().cloned());
                own.extend(ids);
            }
        }
    }

    /// Looks up the latest instance, recomputes its identifier from its granules, and checks that the history
    /// only grows. The last round begins after the last change.
    fn read(&self, changes: usize) {
        let mut seen: Vec<Value> = Vec::new();
        let mut is_last_round = false;
        while !is_last_round {
            is_last_round = self.is_over.load(Ordering::Acquire);
            let latest = rows(&self.run("history SHARED -n 1")).remove(0);
            let identifier = latest["identifier"].as_str().unwrap();
            let granules = rows(&self.run(&format!("granules DI:{identifier}")));
            let ids = granules.iter().map(|granule| granule["granule"].as_str().unwrap());
            assert_eq!(naive(ids).to_string(), identifier);
            assert_eq!(granules.len() as u64, latest["granules"].as_u64().unwrap());

            let history = rows(&self.run("history SHARED"));
            assert!(history.contains(&latest) || history.len() > seen.len());
            assert!(history.len() >= seen.len(), "the history has become shorter");
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
        assert_eq!(seen.len(), changes);
    }
}

fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn four_writers_and_four_readers_lose_nothing_and_see_only_complete_changes() {
    const WRITERS: usize = 4;
    let changes = if is_long() { 1_000 } else { 30 };
    let all_changes = 1 + WRITERS * changes;
    let mut dice = dice("rivals");
    let arena = Arena::new();
    arena.run("ingest SHARED --create --id first");
    arena.held.lock().unwrap().insert("first".to_owned());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| arena.read(all_changes));
        }
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (mut dice, arena) = (dice.split(), &arena);
                scope.spawn(move || arena.write(writer, changes, &mut dice));
            }
        });
        arena.is_over.store(true, Ordering::Release);
    });
    let registry = arena.registry();
    assert_sound(&registry, "rivals");
    let shared = name("SHARED");
    let selection = Selection::Dataset { name: shared.clone(), at: None };
    assert_eq!(granule_ids(&registry, &selection).unwrap(), *arena.held.lock().unwrap());
    assert_eq!(registry.verify(&shared).unwrap().identifiers, all_changes as u64);
    let reads = arena.reads.load(Ordering::Relaxed);
    println!("rivals: {all_changes} changes and {reads} reads, none refused");
}

#[test]
fn reads_succeed_while_a_long_import_is_being_written() {
    const ROWS: usize = 150_000;
    let arena = Arena::new();
    arena.run("ingest SHARED --create --id first");
    let file = arena.directory.path().join("changes.tsv");
    let row = |n: usize| format!("2024-01-{:02}T00:00:00Z\t+\tgranule.{n:07}\n", n % 28 + 1);
    std::fs::write(&file, (0..ROWS).map(row).collect::<String>()).unwrap();
    let import = format!("import LONG {} --create", file.display());
    let mut child = arena.command(&import).stdout(Stdio::null()).spawn().unwrap();
    let (mut reads, mut reads_during_the_write) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let was_being_written = is_being_written(arena.directory.path());
        let latest = rows(&arena.run("history SHARED -n 1")).remove(0);
        assert_eq!(latest["granules"], 1);
        let datasets = rows(&arena.run("dataset list")).len();
        // A reader that waited for the writer would end after it, when both datasets exist.
        if was_being_written && datasets == 1 && child.try_wait().unwrap().is_none() {
            reads_during_the_write += 1;
        }
        reads += 1;
        // The import is complete, or absent.
        let registry = arena.registry();
        if let Ok(verified) = registry.verify(&name("LONG")) {
            assert_eq!((verified.mismatches, verified.identifiers), (vec![], 28));
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(arena.registry().verify(&name("LONG")).unwrap().identifiers, 28);
    println!(
        "readers: {reads} reads during an import of {ROWS} granules, {reads_during_the_write} of \
         them while it was being written"
    );
    assert!(reads_during_the_write > 0, "no read succeeded while the import was being written");
}

/// Whether the -wal file is larger than after an ordinary change.
fn is_being_written(directory: &Path) -> bool {
    std::fs::metadata(directory.join("accession.db-wal")).is_ok_and(|wal| wal.len() > 1_000_000)
}
