//! `kill -9` at random moments of `publish`, of `mirror pull` and of `import` from an address. The killed
//! command did everything or nothing, and the next run continues.

use harness::values::clock;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use accession::mirror::{Primary, PrimaryOptions};
use accession::{
    DatasetFilter, HistoryOptions, Identifier, IfMissing, Import, Registry, Timestamp,
};

use crate::dice::Dice;
use crate::kill::{Spans, run_and_kill};
use crate::rounds::{dice, rounds};
use crate::victim::program_in;
use harness::values::{name, now, step};
use harness::web_server::WebServer;

/// The commands that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Publish,
    Pull,
    Import,
}

const KINDS: [Kind; 3] = [Kind::Publish, Kind::Pull, Kind::Import];

/// After this many changes everything begins anew, since the cost of a round grows with the history.
const CHANGES_OF_A_WORLD: i64 = 30;

/// A primary with its published directory on a web server, and two copies.
struct World {
    directory: tempfile::TempDir,
    us: Registry,
    server: WebServer,
    held: Vec<String>,
    seconds: i64,
}

impl World {
    fn new() -> Self {
        let directory = harness::directory();
        for sub in ["www", "tmp", "copies"] {
            std::fs::create_dir(directory.path().join(sub)).unwrap();
        }
        let us = Registry::create(directory.path().join("us.db"), clock()).unwrap();
        let server = WebServer::over(&directory.path().join("www"));
        // A delay, so that a command can be killed while it waits for the primary.
        server.misbehave(|_, _| std::thread::sleep(Duration::from_millis(4)));
        World { directory, us, server, held: Vec::new(), seconds: 0 }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// Makes one more change at the primary, large enough to complete a segment from time to time.
    fn change(&mut self, dice: &mut Dice) {
        self.seconds += 1;
        let number = self.seconds;
        let ids = 0..dice.within(1..1_500);
        let new: Vec<String> =
            ids.map(|n| format!("{number:05}.{n:05}.{}", "x".repeat(300))).collect();
        let gone = if self.held.is_empty() { Vec::new() } else { vec![self.held.swap_remove(0)] };
        let gone = gone.iter().map(String::as_str);
        step(&self.us, "US", number, new.iter().map(String::as_str), gone);
        self.held.extend(new);
    }

    fn command(&self, kind: Kind) -> Command {
        let mut command = program_in(&self.path("tmp"));
        let address = self.server.dataset("US");
        let (registry, words): (_, Vec<&str>) = match kind {
            Kind::Publish => ("us.db", vec!["publish"]),
            Kind::Pull => ("copies/mirror.db", vec!["mirror", "pull", "US", &address, "--create"]),
            Kind::Import => ("copies/replica.db", vec!["import", "US", &address, "--create"]),
        };
        command.arg("--registry").arg(self.path(registry)).args(words);
        if kind == Kind::Publish {
            command.arg(self.path("www"));
        }
        command
    }

    /// The identifiers of the primary's history.
    fn history(&self) -> Vec<(Timestamp, Identifier)> {
        identifiers(&self.us)
    }

    /// The published changes, as a reader finds them at this moment. Asserts that everything that the head
    /// announces exists. `None` means that there is no head yet.
    fn published(&self) -> Option<Vec<(Timestamp, Identifier)>> {
        let dataset = self.path("www/datasets/US");
        let head = std::fs::read(dataset.join("head.json")).ok()?;
        let announced: serde_json::Value = serde_json::from_slice(&head).unwrap();
        let mut bytes = Vec::new();
        for (index, segment) in announced["segments"].as_array().unwrap().iter().enumerate() {
            let file = std::fs::read(dataset.join(format!("log/{index:06}.jsonl"))).unwrap();
            let length = usize::try_from(segment["bytes"].as_u64().unwrap()).unwrap();
            bytes.extend(&file[..length]);
        }
        bytes.extend(std::fs::read(dataset.join("subsets.jsonl")).unwrap());
        bytes.extend(head);
        let mut import = Import::new();
        import.options = import.options.if_missing(IfMissing::Create);
        let (bytes, options) = (Cursor::new(bytes), PrimaryOptions::default());
        let primary = Primary::from_reader(bytes, "published", options).unwrap();
        primary.read_into(&name("US"), &mut import, now(), |_| {}).unwrap();
        let copy = Registry::temporary(clock()).unwrap();
        copy.import(&name("US"), &import).unwrap();
        Some(identifiers(&copy))
    }
}

fn identifiers(registry: &Registry) -> Vec<(Timestamp, Identifier)> {
    let history = registry.history(&name("US"), &HistoryOptions::new());
    history.map(|it| it.map(|it| (it.timestamp, it.identifier)).unwrap()).collect()
}

/// The history of a copy, whose registry must be sound. It is empty if the copy does not exist.
fn copied(path: &Path, context: &str) -> Vec<(Timestamp, Identifier)> {
    if !path.exists() {
        return Vec::new();
    }
    let registry = Registry::open(path, clock()).unwrap();
    assert_eq!(registry.check_file().unwrap(), [], "{context}");
    assert!(registry.verify(&name("US")).unwrap().ok, "{context}");
    identifiers(&registry)
}

#[test]
fn a_killed_publish_pull_or_import_goes_on_the_next_time() {
    let kills = usize::try_from(rounds(60)).unwrap();
    let mut dice = dice("kill-mirrors");
    let mut world = World::new();
    let (mut killed, mut finished, mut undone) = ([0; 3], [0; 3], [0; 3]);
    let mut spans = Spans(KINDS.map(|kind| (kind, Duration::from_millis(60))).into());
    while killed.iter().any(|killed| *killed < kills / 3) {
        if world.seconds == CHANGES_OF_A_WORLD {
            world = World::new();
        }
        world.change(&mut dice);
        for (index, kind) in KINDS.into_iter().enumerate() {
            let file = match kind {
                Kind::Publish => None,
                Kind::Pull => Some(world.path("copies/mirror.db")),
                Kind::Import => Some(world.path("copies/replica.db")),
            };
            let state = |world: &World, context: &str| match &file {
                None => world.published().unwrap_or_default(),
                Some(file) => copied(file, context),
            };
            let before = state(&world, "before");
            let delay = spans.delay(kind, &mut dice);
            let (was_killed, output) = run_and_kill(&mut world.command(kind), delay);
            let context = format!("{kind:?} killed after {delay:?}: {output:?}");
            assert!(was_killed || output.status.success(), "{context}");
            spans.learn(kind, was_killed);
            killed[index] += usize::from(was_killed);
            finished[index] += usize::from(!was_killed);
            // All or nothing.
            let found = state(&world, &context);
            let is_undone = found == before;
            undone[index] += usize::from(was_killed && is_undone);
            let history = world.history();
            match kind {
                _ if is_undone => {}
                Kind::Publish | Kind::Import => assert_eq!(found, history, "{context}"),
                // The change has its own time, the latest of the mirror.
                Kind::Pull => {
                    assert_eq!(found.len(), before.len() + 1, "{context}");
                    assert_eq!(found.last().unwrap().1, history.last().unwrap().1, "{context}");
                }
            }
            let again = world.command(kind).output().unwrap();
            assert!(again.status.success(), "{context}: and then {again:?}");
            let found = state(&world, &context);
            match kind {
                Kind::Pull => assert_eq!(found.last().unwrap().1, history.last().unwrap().1),
                Kind::Publish | Kind::Import => assert_eq!(found, history, "{context}"),
            }
        }
        // The published files are the same as without any kill.
        let whole = harness::directory();
        world
            .us
            .publish(whole.path(), &DatasetFilter::All, |_, published| published.map(drop))
            .unwrap();
        for entry in std::fs::read_dir(whole.path().join("datasets/US/log")).unwrap() {
            let entry = entry.unwrap();
            let published = world.path("www/datasets/US/log").join(entry.file_name());
            assert!(std::fs::read(entry.path()).unwrap() == std::fs::read(published).unwrap());
        }
    }
    for (index, kind) in KINDS.into_iter().enumerate() {
        let (killed, finished, undone) = (killed[index], finished[index], undone[index]);
        println!(
            "kill: {kind:?}: {killed} killed, {undone} of them before anything was done; {finished} were too late"
        );
        assert!(undone > 0, "{kind:?}: no kill was in time");
    }
    println!("kill: the web server was asked {} times", world.server.served().len());
}
