//! A registry with a history, and one command of each kind that changes it.

use harness::values::{AtTime, clock};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use accession::Registry;
use accession::chain::Chain;

use crate::answers::{Answers, datasets, examine};
use crate::victim::program_in;
use harness::values::{change, name, second};

/// The registry before a command, the files that the commands read, and the commands.
pub struct Scene {
    directory: tempfile::TempDir,
    pub actions: Vec<Action>,
}

/// A command that changes the registry.
pub struct Action {
    pub name: &'static str,
    pub arguments: Vec<String>,
    /// Whether it creates the registry.
    pub creates: bool,
    /// The registry's reports before the command, if it exists then, and after it.
    pub before: Option<Answers>,
    pub after: Answers,
}

/// A copy of the registry in a new directory.
pub struct Place {
    _outside: tempfile::TempDir,
    pub directory: PathBuf,
}

/// The n-th id in canonical order. A checkpoint follows every fortieth id, instead of one in 1,024.
pub fn granule_id(n: usize) -> &'static str {
    static IDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let id = |n: usize| match n % 40 {
            21 => (0..)
                .map(|k| format!("granule.{n:05}.{k}"))
                .find(|id| Chain::is_checkpoint(id))
                .unwrap(),
            _ => format!("granule.{n:05}"),
        };
        (0..400).map(id).collect()
    });
    &IDS[n]
}

fn lines(numbers: impl Iterator<Item = usize>) -> String {
    numbers.flat_map(|n| [granule_id(n), "\n"]).collect()
}

impl Scene {
    /// Creates 350 granules, with every eighth number unused, a mirror that is behind, and a payment worker.
    pub fn new() -> Self {
        let directory = harness::directory();
        let mut scene = Scene { directory, actions: Vec::new() };
        std::fs::create_dir(scene.path("template")).unwrap();
        let registry = scene.path("template/accession.db");
        scene.make_registry(&registry);
        std::fs::copy(&registry, scene.path("primary.db")).unwrap();
        scene.write_inputs();
        let output = scene.program(&scene.path("primary.db"), "dataset export OWN");
        std::fs::write(scene.path("manifest.jsonl"), output.stdout).unwrap();

        let directory = scene.directory.path().to_str().unwrap().to_owned();
        let actions = [
            ("ingest", "ingest OWN --at LATER --note night DIR/ingest.txt"),
            ("delete", "delete OWN --at LATER DIR/delete.txt"),
            ("delete", "ingest OWN --at LATER DIR/ingest.txt --delete DIR/delete.txt"),
            ("sync", "sync OWN --at LATER --note night DIR/listing.txt"),
            ("revert", "revert OWN OWN@EARLY --at LATER"),
            ("import", "import OWN DIR/changes.tsv"),
            (
                "mirror pull",
                "mirror pull MIRROR DIR/primary.db --primary-dataset OWN --expect DI:OF_PRIMARY --at SOON",
            ),
            (
                "mirror pull of a manifest",
                "mirror pull MIRROR DIR/manifest.jsonl --expect DI:OF_PRIMARY --at SOON",
            ),
            ("dataset edit", "dataset edit OWN --title Granules --creator Someone"),
            ("dataset correct", "dataset correct OWN --after EARLY"),
            ("dataset remove", "dataset remove UNUSED"),
            ("ids payment", "ids payment --worker 7 --count 20"),
            ("creation by ingest", "ingest NEW --create --at LATER DIR/ingest.txt"),
            ("creation by import", "import NEW --create DIR/new.tsv"),
        ];
        let times = [("EARLY", 1), ("SOON", 50), ("LATER", 100)];
        let held = scene.held_by_primary();
        let written = |arguments: &str| {
            let arguments = arguments.replace("OF_PRIMARY", &held).replace("DIR", &directory);
            times.into_iter().fold(arguments, |text, (word, seconds)| {
                text.replace(word, &second(seconds).to_string())
            })
        };
        let actions = actions.map(|(name, arguments)| scene.action(name, &written(arguments)));
        scene.actions.extend(actions);
        scene
    }

    /// The identifier of the primary's latest set.
    pub fn held_by_primary(&self) -> String {
        let primary = Registry::open(self.path("primary.db"), clock()).unwrap();
        let held = primary.snapshot().unwrap().dataset(&name("OWN")).unwrap().latest.unwrap();
        held.identifier.to_string()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    fn make_registry(&self, path: &Path) {
        let ids = |numbers: std::ops::Range<usize>| {
            numbers.filter(|n| n % 8 != 0).map(granule_id).collect::<Vec<_>>()
        };
        let registry = Registry::create(path, clock()).unwrap();
        for (dataset, ingest, delete) in [
            ("MIRROR", ids(0..150), vec![]),
            ("OWN", ids(0..300), vec![]),
            ("OWN", ids(300..400), ids(102..104)),
            ("OWN", ids(102..103), ids(201..206)),
        ] {
            let at = datasets(&registry).unwrap().iter().flat_map(|listed| &listed.latest).count();
            let listed = registry.snapshot().unwrap().dataset(&name(dataset));
            let history = listed.ok().and_then(|listed| listed.latest);
            let seconds = history.map_or(at as i64, |latest| {
                (latest.timestamp.as_micros() - second(0).as_micros()) / 1_000_000 + 1
            });
            let change = change(ingest.iter().copied(), delete.iter().copied());
            registry.change(&name(dataset), &change.at(second(seconds))).unwrap();
        }
        drop(registry);
        assert!(self.program(path, "dataset create UNUSED").status.success());
        let output = self.program(path, "ids payment --worker 7 --count 5");
        assert!(output.status.success());
    }

    fn write_inputs(&self) {
        let write = |file: &str, text: &str| std::fs::write(self.path(file), text).unwrap();
        write("ingest.txt", &lines((0..50).map(|n| n * 8)));
        write("delete.txt", &lines((20..90).filter(|n| n % 8 == 3)));
        // The set held then, with some ids added, some removed, and one repeated, in a scattered order.
        let held = (0..400).filter(|n| n % 8 != 0 && *n != 103 && !(201..206).contains(n));
        let listed = held.filter(|n| n % 40 != 3).chain((0..30).map(|n| n * 8)).chain([1]);
        let mut listed: Vec<usize> = listed.collect();
        listed.sort_by_key(|n| n * 7_919 % 1_009);
        write("listing.txt", &lines(listed.into_iter()));
        let (mut changes, mut new) = (String::new(), String::new());
        for n in 0..50 {
            let (at, id) = (second(100 + n as i64 / 20), granule_id(n * 8));
            writeln!(changes, "{at}\t+\t{id}").unwrap();
            writeln!(new, "{at}\t+\t{id}").unwrap();
        }
        writeln!(changes, "{}\t-\t{}", second(110), granule_id(5)).unwrap();
        write("changes.tsv", &changes);
        write("new.tsv", &new);
    }

    fn program(&self, registry: &Path, arguments: &str) -> Output {
        let mut command = program_in(self.directory.path());
        command.arg("--registry").arg(registry).args(arguments.split_whitespace());
        command.output().unwrap()
    }

    /// A command, and its result without a fault.
    fn action(&self, name: &'static str, arguments: &str) -> Action {
        let creates = arguments.contains("--create");
        let place = self.place(creates);
        let before = (!creates).then(|| examine(&place.registry(), name));
        let output = self.program(&place.registry(), arguments);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let after = examine(&place.registry(), name);
        let is_told = !arguments.starts_with("ids payment");
        assert_eq!(before.as_ref() != Some(&after), is_told, "{name} changes something");
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Action { name, arguments, creates, before, after }
    }

    /// A working copy of the registry, or an empty directory.
    pub fn place(&self, is_empty: bool) -> Place {
        let outside = harness::directory();
        let directory = outside.path().canonicalize().unwrap().join("watched");
        std::fs::create_dir_all(directory.join("tmp")).unwrap();
        if !is_empty {
            std::fs::copy(self.path("template/accession.db"), directory.join("accession.db"))
                .unwrap();
        }
        Place { _outside: outside, directory }
    }
}

impl Place {
    pub fn registry(&self) -> PathBuf {
        self.directory.join("accession.db")
    }

    pub fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    /// Passes an action to the program.
    pub fn with_action<'a>(&self, command: &'a mut Command, action: &Action) -> &'a mut Command {
        command.arg("--json").arg("--registry").arg(self.registry()).args(&action.arguments)
    }

    /// The registry's reports, if it exists. Asserts that it is sound.
    pub fn examine(&self, context: &str) -> Option<Answers> {
        self.registry().exists().then(|| examine(&self.registry(), context))
    }

    /// Asserts that the directory contains only the registry and SQLite's files beside it. After a failed
    /// creation, there may also be a temporary file that could not be removed.
    pub fn assert_tidy(&self, context: &str) -> usize {
        let mut temporary_files = 0;
        for entry in std::fs::read_dir(&self.directory).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            match file.as_str() {
                "accession.db" | "accession.db-wal" | "accession.db-shm" | "tmp" => {}
                draft if draft.starts_with(".accession-") => temporary_files += 1,
                other => panic!("{context}: {other} was left"),
            }
        }
        temporary_files
    }

    /// Opens the registry for reading, and keeps it open.
    pub fn reader(&self) -> Registry {
        Registry::open(self.registry(), clock()).unwrap()
    }
}
