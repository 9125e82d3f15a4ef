//! A registry whose commands are killed, and the content that it must have.

use harness::values::{AtTime, clock};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use accession::mirror::manifest::export;
use accession::{HistoryOptions, Registry, Selection, Timestamp};

use crate::checked_files::CheckedFiles;
use crate::dice::Dice;
use crate::ledger::{Entry, Found, Ledger};
use crate::running::program::program;
use harness::oracle::naive;
use harness::values::{change, name, second};

/// The commands that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Ingest,
    Delete,
    Change,
    Sync,
    Revert,
    Import,
    Pull,
    PullManifest,
    Payment,
    Create,
    Backup,
    Annotate,
    Confirm,
    Files,
    Check,
}

pub const KINDS: [Kind; 15] = [
    Kind::Ingest,
    Kind::Delete,
    Kind::Change,
    Kind::Sync,
    Kind::Revert,
    Kind::Import,
    Kind::Pull,
    Kind::PullManifest,
    Kind::Payment,
    Kind::Create,
    Kind::Backup,
    Kind::Annotate,
    Kind::Confirm,
    Kind::Files,
    Kind::Check,
];

/// A command, and the changes that it makes.
#[derive(Debug)]
pub struct Plan {
    kind: Kind,
    arguments: Vec<String>,
    adds: Vec<Entry>,
    /// The granules whose files it records.
    records: BTreeSet<String>,
}

impl Plan {
    /// Whether a command that was not killed succeeded. A check succeeds by finding damaged files.
    pub fn is_done(&self, output: &Output) -> bool {
        output.status.code() == Some(i32::from(self.kind == Kind::Check))
    }

    fn new(kind: Kind, arguments: &str, adds: Vec<Entry>) -> Self {
        Plan { kind, arguments: words(arguments), adds, records: BTreeSet::new() }
    }
}

/// An archive whose history the mirrors follow.
pub struct Primary {
    directory: tempfile::TempDir,
    entries: Vec<Entry>,
}

/// A registry, and the content that it must have.
pub struct Victim<'primary> {
    directory: tempfile::TempDir,
    primary: &'primary Primary,
    /// A reader that keeps the registry open.
    reader: Option<Registry>,
    own: Ledger,
    mirror: Ledger,
    payment_ids: HashSet<String>,
    /// The notes of annotations, in order.
    notes: Vec<String>,
    /// The time at which the listing was last confirmed.
    confirmed: Option<Timestamp>,
    /// The granules for whose file a record was ever made.
    recorded: BTreeSet<String>,
    checked: CheckedFiles,
    created: usize,
    temporary_files: BTreeSet<String>,
}

const PAYMENT_IDS: usize = 20;

impl Primary {
    /// Creates two dozen changes of 300 granules. The state after each is a registry and a manifest.
    pub fn new() -> Self {
        let directory = harness::directory();
        let registry = Registry::create(directory.path().join("primary.db"), clock()).unwrap();
        let mut ledger = Ledger::of("PRIMARY");
        let mut dice = Dice::of(7);
        let mut held = BTreeSet::new();
        for _ in 0..24 {
            let at = ledger.next_time();
            let comes = ledger.new_ids(&mut dice, 40);
            let goes = some_of(&held, &mut dice, 12);
            held = held.union(&comes).filter(|id| !goes.contains(*id)).cloned().collect();
            let change = change(comes.iter().map(String::as_str), goes.iter().map(String::as_str));
            registry.change(&name("PRIMARY"), &change.at(at)).unwrap();
            let state = |kind| directory.path().join(format!("{}.{kind}", ledger.entries.len()));
            registry.back_up(&state("db")).unwrap();
            export(&registry, &name("PRIMARY"), None, &state("jsonl")).unwrap();
            ledger.entries.push(Entry::of(at, held.clone()));
        }
        Primary { directory, entries: ledger.entries }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }
}

impl<'primary> Victim<'primary> {
    /// Creates a registry in a directory. If a reader keeps it open, the -wal file remains between commands.
    pub fn new(
        primary: &'primary Primary,
        directory: tempfile::TempDir,
        with_reader: bool,
    ) -> Self {
        for sub in ["registry", "input", "tmp"] {
            std::fs::create_dir(directory.path().join(sub)).unwrap();
        }
        let path = directory.path().join("registry/accession.db");
        let registry = Registry::create(&path, clock()).unwrap();
        let (mut own, mut mirror) = (Ledger::of("OWN"), Ledger::of("MIRROR"));
        let mut dice = Dice::of(3);
        for ledger in [&mut own, &mut mirror] {
            // Two sets, so that there is always one to revert to.
            for count in [150, 10] {
                let (at, ids) = (ledger.next_time(), ledger.new_ids(&mut dice, count));
                let change = change(ids.iter().map(String::as_str), []);
                registry.change(&ledger.dataset, &change.at(at)).unwrap();
                let held = ledger.held().union(&ids).cloned().collect();
                ledger.entries.push(Entry::of(at, held));
            }
        }
        let checked = CheckedFiles::new(&registry, directory.path().join("files"));
        drop(registry);
        let reader = with_reader.then(|| Registry::open(&path, clock()).unwrap());
        let victim = Victim {
            directory,
            primary,
            reader,
            own,
            mirror,
            payment_ids: HashSet::new(),
            notes: Vec::new(),
            confirmed: None,
            recorded: BTreeSet::new(),
            checked,
            created: 0,
            temporary_files: BTreeSet::new(),
        };
        let root = victim.checked.root.display();
        let plan = Plan::new(
            Kind::Check,
            &format!("fixity compute FILES --root {root} --algorithm crc32"),
            Vec::new(),
        );
        assert!(victim.command(&plan).output().unwrap().status.success());
        victim
    }

    /// Plans a command of a kind, with random arguments.
    pub fn plan(&mut self, kind: Kind, dice: &mut Dice) -> Plan {
        let ids = dice.within(1..60);
        match kind {
            Kind::Ingest => self.plan_change(kind, dice, ids, 0),
            Kind::Delete => self.plan_change(kind, dice, 0, ids.min(12)),
            Kind::Change => self.plan_change(kind, dice, ids, ids.min(12)),
            Kind::Sync => self.plan_sync(dice, ids),
            Kind::Revert => self.plan_revert(dice),
            Kind::Import => self.plan_import(dice),
            Kind::Pull => self.plan_pull(kind, dice, "db"),
            Kind::PullManifest => self.plan_pull(kind, dice, "jsonl"),
            Kind::Payment => {
                // Few workers, so that the next lease after a kill is often one of the same worker.
                let worker = dice.within(0..3);
                let arguments = format!("ids payment --worker {worker} --count {PAYMENT_IDS}");
                Plan::new(kind, &arguments, Vec::new())
            }
            Kind::Create => {
                self.created += 1;
                let ids = Ledger::of("NEW").new_ids(dice, ids);
                let from = self.input("ids.txt", &lines(&ids));
                let arguments = format!("ingest NEW --create --at {} {from}", second(1));
                Plan::new(kind, &arguments, vec![Entry::of(second(1), ids)])
            }
            Kind::Backup => {
                self.created += 1;
                Plan::new(
                    kind,
                    &format!("registry backup {}", self.created().display()),
                    Vec::new(),
                )
            }
            Kind::Annotate => {
                let arguments = format!("annotate OWN note-{} --at now", self.notes.len());
                Plan::new(kind, &arguments, Vec::new())
            }
            Kind::Confirm => {
                let from = self.input("listing.txt", &lines(&self.own.held()));
                // Each confirmation is of a later listing, and earlier than the next change.
                let last = self.own.entries.last().unwrap().at;
                let last = last.max(self.confirmed.unwrap_or(last));
                let at = last.next().unwrap();
                Plan::new(kind, &format!("sync OWN --at {at} {from}"), Vec::new())
            }
            Kind::Files => self.plan_files(dice, ids),
            Kind::Check => Plan::new(kind, &self.checked.plan(dice), Vec::new()),
        }
    }

    /// Granules with their checksums, or checksums of granules that are held.
    fn plan_files(&mut self, dice: &mut Dice, ids: usize) -> Plan {
        let held = self.own.held();
        let without = held.difference(&self.recorded).cloned().collect();
        let held_only = some_of(&without, dice, ids);
        let is_held = !held_only.is_empty() && dice.once_in(2);
        let at = self.own.next_time();
        let records = if is_held { held_only } else { self.own.new_ids(dice, ids) };
        let sums = records.iter().map(|id| format!("{}  {id}\n", naive([id.as_str()])));
        let from = self.input("sums.md5", &sums.collect::<String>());
        let plan = match is_held {
            true => {
                let arguments = format!("fixity add OWN --at {at} {from}");
                Plan::new(Kind::Files, &arguments, vec![Entry::of(at, held)])
            }
            false => {
                let entry = Entry::of(at, held.union(&records).cloned().collect());
                let arguments = format!("ingest OWN --at {at} {from}");
                Plan::new(Kind::Files, &arguments, vec![entry])
            }
        };
        Plan { records, ..plan }
    }

    fn plan_change(&mut self, kind: Kind, dice: &mut Dice, comes: usize, goes: usize) -> Plan {
        let held = self.own.held();
        let (at, comes) = (self.own.next_time(), self.own.new_ids(dice, comes));
        let goes = some_of(&held, dice, goes);
        let ingest = self.input("ingest.txt", &lines(&comes));
        let delete = self.input("delete.txt", &lines(&goes));
        let arguments = match kind {
            Kind::Ingest => format!("ingest OWN --at {at} {ingest}"),
            Kind::Delete => format!("delete OWN --at {at} {delete}"),
            _ => format!("ingest OWN --at {at} {ingest} --delete {delete}"),
        };
        let held = held.union(&comes).filter(|id| !goes.contains(*id)).cloned().collect();
        let entry = Entry::of(at, held);
        let arguments = format!("{arguments} --expect DI:{}", entry.identifier);
        Plan::new(kind, &arguments, vec![entry])
    }

    /// An unsorted full listing, in which some ids are new, some are missing, and one is repeated.
    fn plan_sync(&mut self, dice: &mut Dice, comes: usize) -> Plan {
        let held = self.own.held();
        let (at, comes) = (self.own.next_time(), self.own.new_ids(dice, comes));
        let goes = some_of(&held, dice, comes.len().min(12));
        let listed: BTreeSet<String> =
            held.union(&comes).filter(|id| !goes.contains(*id)).cloned().collect();
        let mut lines: Vec<&str> = listed.iter().map(String::as_str).collect();
        lines.push(lines[0]);
        let first = dice.within(0..lines.len());
        lines.rotate_left(first);
        let from = self.input("listing.txt", &(lines.join("\n") + "\n"));
        let entry = Entry::of(at, listed);
        let arguments = format!("sync OWN --at {at} {from} --expect DI:{}", entry.identifier);
        Plan::new(Kind::Sync, &arguments, vec![entry])
    }

    /// Reverts to a set that was held before, named by its time or by its identifier.
    fn plan_revert(&mut self, dice: &mut Dice) -> Plan {
        let (now, at) = (self.own.held(), self.own.next_time());
        let others: Vec<&Entry> =
            self.own.entries.iter().filter(|entry| entry.held != now).collect();
        let to = *dice.pick(&others);
        let to_text = match dice.once_in(2) {
            true => format!("OWN@{}", to.at),
            false => format!("DI:{}", to.identifier),
        };
        let arguments = format!("revert OWN {to_text} --at {at}");
        Plan::new(Kind::Revert, &arguments, vec![Entry::of(at, to.held.clone())])
    }

    fn plan_import(&mut self, dice: &mut Dice) -> Plan {
        let (mut held, mut adds, mut log) = (self.own.held(), Vec::new(), String::new());
        for _ in 0..dice.within(2..6) {
            let (at, comes) = (self.own.next_time(), self.own.new_ids(dice, 30));
            let goes = some_of(&held, dice, 8);
            for (sign, ids) in [("+", &comes), ("-", &goes)] {
                ids.iter().for_each(|id| writeln!(log, "{at}\t{sign}\t{id}").unwrap());
            }
            held = held.union(&comes).filter(|id| !goes.contains(*id)).cloned().collect();
            adds.push(Entry::of(at, held.clone()));
        }
        let file = self.input("changes.tsv", &log);
        Plan::new(Kind::Import, &format!("import OWN {file}"), adds)
    }

    fn plan_pull(&mut self, kind: Kind, dice: &mut Dice, primary: &str) -> Plan {
        let held = self.mirror.held();
        let states = self.primary.entries.iter().enumerate();
        let others: Vec<(usize, &Entry)> = states.filter(|(_, entry)| entry.held != held).collect();
        let (state, entry) = *dice.pick(&others);
        let at = self.mirror.next_time();
        let primary = self.primary.path(&format!("{state}.{primary}"));
        let primary = primary.display();
        let expected = Entry::of(at, entry.held.clone());
        let arguments =
            format!("mirror pull MIRROR {primary} --at {at} --expect DI:{}", expected.identifier);
        Plan::new(kind, &arguments, vec![expected])
    }

    fn input(&self, file: &str, text: &str) -> String {
        let path = self.directory.path().join("input").join(file);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn in_directory(&self, file: &str) -> PathBuf {
        self.directory.path().join("registry").join(file)
    }

    /// The registry or backup that the latest command of such a kind creates.
    fn created(&self) -> PathBuf {
        self.in_directory(&format!("created-{}.db", self.created))
    }

    fn registry_of(&self, kind: Kind) -> PathBuf {
        match kind {
            Kind::Create => self.created(),
            _ => self.in_directory("accession.db"),
        }
    }

    pub fn command(&self, plan: &Plan) -> Command {
        let mut command = program_in(&self.directory.path().join("tmp"));
        command.arg("--registry").arg(self.registry_of(plan.kind)).args(&plan.arguments);
        command
    }

    /// Whether a -wal file exists, which the command would have removed at its end.
    pub fn was_wal_left(&self) -> bool {
        self.reader.is_none()
            && std::fs::metadata(self.in_directory("accession.db-wal"))
                .is_ok_and(|wal| wal.len() > 0)
    }

    /// Compares the registry with the content that it must have, and returns whether the plan's
    /// change was made.
    pub fn settle(&mut self, plan: &Plan, output: &Output, context: &str) -> Found {
        if matches!(plan.kind, Kind::Create | Kind::Backup) {
            return self.settle_created(plan, context);
        }
        let open = |path: &Path| Registry::open(path, clock());
        let registry = open(&self.in_directory("accession.db"))
            .unwrap_or_else(|error| panic!("{context}: cannot open the registry: {error:?}"));
        let findings = registry.check_file().unwrap_or_else(|error| panic!("{context}: {error:?}"));
        assert_eq!(findings, [], "{context}");
        let (own, mirror): (&[Entry], &[Entry]) = match plan.kind {
            Kind::Pull | Kind::PullManifest => (&[], &plan.adds),
            _ => (&plan.adds, &[]),
        };
        let found = [
            self.own.settle(&registry, own, context),
            self.mirror.settle(&registry, mirror, context),
        ];
        let beside = self.settle_beside(&registry, plan, context);
        let checked = self.checked.settle(&registry, context);
        if plan.kind == Kind::Check {
            return checked;
        }
        if let Some(beside) = beside {
            let changed = found[0];
            assert!(own.is_empty() || beside == changed, "{context}: {beside:?}, {changed:?}");
            return beside;
        }
        if plan.kind == Kind::Payment {
            let printed = String::from_utf8(output.stdout.clone()).unwrap();
            for id in printed.lines() {
                assert_eq!(id.len(), 9, "{context}");
                assert!(self.payment_ids.insert(id.to_owned()), "{context}: {id} came before");
            }
            let all = printed.lines().count() == PAYMENT_IDS;
            assert!(all || printed.is_empty(), "{context}: only some of the ids were printed");
            return if all { Found::After } else { Found::Before };
        }
        found[usize::from(own.is_empty())]
    }

    /// Compares what is stored beside the history: annotations, the last confirmation, and records of files.
    /// Returns whether the plan's addition was made. `None` means that the plan makes none.
    fn settle_beside(&mut self, registry: &Registry, plan: &Plan, context: &str) -> Option<Found> {
        let found = |is_after| if is_after { Found::After } else { Found::Before };
        let snapshot = registry.snapshot().unwrap();
        let history = snapshot
            .registry()
            .history(&self.own.dataset, &HistoryOptions::new())
            .map(Result::unwrap);
        let annotations = history.flat_map(|instance| instance.annotations);
        let mut notes: Vec<String> = annotations.map(|annotation| annotation.note).collect();
        // They are ordered by their instances, which may be another order.
        notes.sort_by_key(|note| note.trim_start_matches("note-").parse::<usize>().unwrap());
        let is_annotated = notes.len() > self.notes.len();
        let expected = (0..notes.len()).map(|n| format!("note-{n}")).collect::<Vec<_>>();
        assert_eq!(notes, expected, "{context}");
        assert!(notes.len() - self.notes.len() <= usize::from(plan.kind == Kind::Annotate));
        self.notes = notes;

        let confirmed = snapshot.dataset(&self.own.dataset).unwrap().confirmed;
        let at = confirmed.as_ref().map(|confirmation| confirmation.recorded);
        let is_confirmed = at > self.confirmed;
        assert!(is_confirmed || at == self.confirmed, "{context}");
        if let Some(confirmation) = confirmed.filter(|_| is_confirmed) {
            assert_eq!(confirmation.granules, self.own.held().len() as u64, "{context}");
        }
        self.confirmed = at;

        let selection = Selection::Dataset { name: self.own.dataset.clone(), at: None };
        let set = snapshot.select(&selection).unwrap().set;
        let files = snapshot.registry().files(&set).map(Result::unwrap);
        let known: BTreeSet<String> = files
            .filter(|granule| !granule.content.is_empty())
            .map(|granule| granule.granule_id.to_string())
            .collect();
        let stated = plan.records.intersection(&known).count();
        let are_recorded = stated > 0;
        assert_eq!(stated, if are_recorded { plan.records.len() } else { 0 }, "{context}: in part");
        if are_recorded {
            self.recorded.extend(plan.records.iter().cloned());
        }
        match plan.kind {
            Kind::Annotate => Some(found(is_annotated)),
            // A sync that changes the dataset confirms its listing in the same transaction.
            Kind::Confirm | Kind::Sync => Some(found(is_confirmed)),
            Kind::Files => Some(found(are_recorded)),
            _ => {
                assert!(!is_annotated && !is_confirmed && !are_recorded, "{context}");
                None
            }
        }
    }

    /// A new registry or backup must exist completely or not at all. If it does not exist, the same command
    /// creates it now, and removes the files that the killed one left.
    fn settle_created(&mut self, plan: &Plan, context: &str) -> Found {
        let path = self.created();
        let found = if path.exists() { Found::After } else { Found::Before };
        if found == Found::Before {
            let output = self.command(plan).output().unwrap();
            assert!(output.status.success(), "{context}: and then {output:?}");
            self.temporary_files = self.temporary_files();
            assert_eq!(self.temporary_files, BTreeSet::new(), "{context}: not removed");
        }
        let registry = Registry::open(&path, clock())
            .unwrap_or_else(|error| panic!("{context}: cannot open the registry: {error:?}"));
        if plan.kind == Kind::Create {
            let mut ledger = Ledger::of("NEW");
            assert_eq!(ledger.settle(&registry, &plan.adds, context), Found::After);
        } else {
            self.own.settle(&registry, &[], context);
            self.mirror.settle(&registry, &[], context);
        }
        drop(registry);
        assert!(std::fs::remove_file(path).is_ok());
        found
    }

    /// Whether the killed command left its temporary file. Files of earlier commands may be gone, since the
    /// next command that creates a file in that directory removes them.
    pub fn temporary_files_left(&mut self, kind: Kind, context: &str) -> bool {
        let temporary_files = self.temporary_files();
        let more = temporary_files.difference(&self.temporary_files).count();
        self.temporary_files = temporary_files;
        let left = &self.temporary_files;
        let creates = matches!(kind, Kind::Create | Kind::Backup);
        assert!(more == 0 || (more == 1 && creates), "{context}: {left:?}");
        more > 0
    }

    /// The stems of the temporary files beside the registry.
    fn temporary_files(&self) -> BTreeSet<String> {
        self.files().iter().filter_map(|file| temporary_stem(file)).map(str::to_owned).collect()
    }

    /// Asserts that only the registry's own files and temporary files are beside it.
    pub fn assert_no_other_files(&self, context: &str) {
        let own = ["accession.db", "accession.db-wal", "accession.db-shm"];
        for file in self.files() {
            let is_known = own.contains(&file.as_str()) || temporary_stem(&file).is_some();
            assert!(is_known, "{context}: {file} was left");
        }
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path().join("registry")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Asserts that the program verifies a registry that the library finds sound.
    pub fn assert_program_verifies(&self) {
        let mut command = program_in(&self.directory.path().join("tmp"));
        let output =
            command.arg("--registry").arg(self.in_directory("accession.db")).arg("verify").output();
        assert!(output.unwrap().status.success());
    }
}

/// The program, with a separate directory for temporary files.
pub fn program_in(temporary: &Path) -> Command {
    let mut command = Command::new(program());
    command.env_clear().env("TMPDIR", temporary).env("SQLITE_TMPDIR", temporary);
    command
}

fn some_of(held: &BTreeSet<String>, dice: &mut Dice, count: usize) -> BTreeSet<String> {
    let held: Vec<&String> = held.iter().collect();
    (0..count.min(held.len())).map(|_| (*dice.pick(&held)).clone()).collect()
}

fn lines(ids: &BTreeSet<String>) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// The stem of a temporary file, of its lock file, or of a file that SQLite keeps beside it.
fn temporary_stem(file: &str) -> Option<&str> {
    let (stem, ending) = file.strip_prefix(".accession-")?.split_once('.')?;
    matches!(ending, "lock" | "new" | "new-journal" | "new-wal" | "new-shm").then_some(stem)
}

fn words(arguments: &str) -> Vec<String> {
    arguments.split_whitespace().map(str::to_owned).collect()
}
