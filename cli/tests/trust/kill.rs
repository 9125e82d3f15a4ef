//! `kill -9` at any moment: every change is made completely or not at all, and acknowledged changes are kept.
//!
//! A command is killed after a random fraction of its duration. The duration depends on the load of the
//! machine, so it is adapted: after a kill that was too late, kills of the same kind come earlier, and after
//! one that was in time, slightly later. About three in four are in time, spread evenly from before the
//! transaction to after it. Half of the kills are on a disk, where syncs take most of the time. The other half
//! are in memory, where the work between syncs does.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::dice::Dice;
use crate::ledger::Found;
use crate::rounds::{dice, rounds};
use crate::victim::{KINDS, Kind, Primary, Victim};
use harness::directory::{directory, directory_on_disk};

/// After this many kills, the registry is replaced by a new one, since its history grows.
const KILLS_A_REGISTRY: usize = 40;

/// The results of the commands of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    killed: u64,
    finished: u64,
    killed_before: u64,
    killed_after: u64,
    wal_left: u64,
    temporary_files_left: u64,
}

#[derive(Default)]
struct Counts(BTreeMap<Kind, Count>);

/// The duration of the commands of each kind, according to the runs so far.
pub struct Spans<Kind>(pub BTreeMap<Kind, Duration>);

impl Spans<Kind> {
    /// Measures each kind once, without a kill.
    fn measured(primary: &Primary, place: fn() -> TempDir, dice: &mut Dice) -> Self {
        let mut victim = Victim::new(primary, place(), false);
        let span = |kind: &Kind| {
            let plan = victim.plan(*kind, dice);
            let start = Instant::now();
            let output = victim.command(&plan).output().unwrap();
            let span = start.elapsed();
            assert!(plan.is_done(&output), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(victim.settle(&plan, &output, "measured"), Found::After);
            (*kind, span)
        };
        Spans(KINDS.iter().map(span).collect())
    }
}

impl<Kind: Ord> Spans<Kind> {
    pub fn delay(&self, kind: Kind, dice: &mut Dice) -> Duration {
        let share = (dice.number() % 10_000) as f64 / 10_000.0;
        // The commit is near the end.
        let share = if dice.once_in(2) { 1.0 - share / 5.0 } else { share };
        self.0[&kind].mul_f64(share)
    }

    pub fn learn(&mut self, kind: Kind, was_killed: bool) {
        let span = self.0.get_mut(&kind).unwrap();
        // Adapts fast enough for a machine with varying load.
        *span = span.mul_f64(if was_killed { 1.15 } else { 0.6 });
    }
}

/// Kills a command after this delay, unless it has ended. Returns whether it was killed.
pub fn run_and_kill(command: &mut Command, delay: Duration) -> (bool, Output) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.signal() == Some(9), output)
}

#[test]
fn a_killed_change_is_made_completely_or_not_at_all() {
    // Enough for each kind of command to be killed before and after its commit.
    let kills = rounds(500).max(250);
    let mut dice = dice("kill");
    let primary = Primary::new();
    let start = Instant::now();
    let counts = Mutex::new(Counts::default());
    std::thread::scope(|scope| {
        for place in [directory_on_disk as fn() -> TempDir, directory] {
            let (mut dice, counts, primary) = (dice.split(), &counts, &primary);
            scope.spawn(move || {
                let mut spans = Spans::measured(primary, place, &mut dice);
                while !counts.lock().unwrap().are_enough(kills) {
                    kill_commands(primary, place(), &mut spans, &mut dice, counts, kills);
                }
            });
        }
    });
    counts.into_inner().unwrap().report(start.elapsed());
}

/// Kills command after command on one registry.
fn kill_commands(
    primary: &Primary,
    directory: TempDir,
    spans: &mut Spans<Kind>,
    dice: &mut Dice,
    counts: &Mutex<Counts>,
    kills: u64,
) {
    let mut victim = Victim::new(primary, directory, dice.once_in(2));
    for _ in 0..KILLS_A_REGISTRY {
        let kind = *dice.pick(&KINDS);
        let plan = victim.plan(kind, dice);
        let delay = spans.delay(kind, dice);
        let (was_killed, output) = run_and_kill(&mut victim.command(&plan), delay);
        let context = format!("{kind:?} killed after {delay:?}: {plan:?} {output:?}");
        assert!(was_killed || plan.is_done(&output), "{context}");
        spans.learn(kind, was_killed);
        let wal_left = victim.was_wal_left();
        let temporary_files_left = victim.temporary_files_left(kind, &context);
        let found = victim.settle(&plan, &output, &context);
        assert!(
            was_killed || found == Found::After,
            "{context}: the change was acknowledged, but not made"
        );
        victim.assert_no_other_files(&context);

        let mut counts = counts.lock().unwrap();
        counts.0.entry(kind).or_default().add(was_killed, found, wal_left, temporary_files_left);
        if counts.are_enough(kills) {
            return;
        }
        drop(counts);
        if dice.once_in(20) {
            victim.assert_program_verifies();
        }
    }
}

impl Count {
    fn add(&mut self, was_killed: bool, found: Found, wal_left: bool, temporary_files_left: bool) {
        self.killed += u64::from(was_killed);
        self.finished += u64::from(!was_killed);
        self.killed_before += u64::from(was_killed && found == Found::Before);
        self.killed_after += u64::from(was_killed && found == Found::After);
        self.wal_left += u64::from(was_killed && wal_left);
        self.temporary_files_left += u64::from(was_killed && temporary_files_left);
    }
}

impl Counts {
    fn sum(&self) -> Count {
        let mut sum = Count::default();
        for count in self.0.values() {
            sum.killed += count.killed;
            sum.finished += count.finished;
            sum.killed_before += count.killed_before;
            sum.killed_after += count.killed_after;
            sum.wal_left += count.wal_left;
            sum.temporary_files_left += count.temporary_files_left;
        }
        sum
    }

    /// Whether there were this many kills, with some at each stage of a command. The stage depends on the load
    /// of the machine, so more kills are made if a stage is missing.
    fn are_enough(&self, kills: u64) -> bool {
        let sum = self.sum();
        let is_complete = sum.killed_after > 0 && sum.wal_left > 0 && sum.temporary_files_left > 0;
        sum.killed >= kills && (is_complete || sum.killed >= 10 * kills)
    }

    fn report(&self, elapsed: Duration) {
        let sum = self.sum();
        for (kind, count) in &self.0 {
            println!("kill: {kind:?}: {count:?}");
            assert!(count.killed_before > 0, "{kind:?}: no kill was before the commit");
        }
        println!("kill: {sum:?} in {elapsed:.1?}");
        assert_eq!(self.0.len(), KINDS.len(), "every kind of command was killed");
        assert!(sum.killed > sum.finished, "the kills are too late");
        assert!(sum.killed_after > 0, "no kill was after the commit");
        assert!(sum.wal_left > 0, "no kill was during a transaction");
        assert!(sum.temporary_files_left > 0, "no kill was during the creation of a registry");
    }
}
