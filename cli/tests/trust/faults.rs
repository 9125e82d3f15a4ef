//! Each call that changes a file fails once, in turn. The command either reports this correctly or succeeds
//! nevertheless. The change is made completely or not at all.
//!
//! This test found a bug: if the disk was full when a new registry's -wal file was merged into it, the registry
//! was put in place without its first change, and success was reported.
//!
//! The n-th call fails, for n = 1, 2, … until a command makes fewer than n calls. There are six kinds of disk:
//! it fails once; it is full once; it fails from the n-th call on; it is full from the n-th call on; it writes
//! only half, which is not an error; or it writes half and is full from then on. The short run leaves out most
//! of these faults. `TRUST=2` tries all.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::interposed::{Errno, Fault, Interposed, Mode};
use crate::rounds::is_long;
use crate::scene::{Action, Place, Scene};

const DISKS: [(Mode, Errno); 6] = [
    (Mode::Once, Errno::Eio),
    (Mode::From, Errno::Enospc),
    (Mode::Once, Errno::Enospc),
    (Mode::From, Errno::Eio),
    (Mode::Fill, Errno::Enospc),
    (Mode::Short, Errno::Eio),
];

/// The error kinds that are correct for a failing disk.
const CORRECT: [&str; 5] = ["full", "io", "database", "denied", "temporary"];

/// The number of commands that ended in each way, according to their output.
#[derive(Default)]
struct Counts {
    points: BTreeMap<(&'static str, Mode, Errno), u64>,
    ends: BTreeMap<(Mode, Errno, String), u64>,
    /// Errors of commands whose change was made nevertheless, by the call that failed.
    made_despite_error: BTreeMap<String, u64>,
    temporary_files: usize,
}

/// How a command ended: with success, or with the kind and the message of its error.
enum End {
    Done,
    Trouble { kind: String, message: String },
}

#[test]
fn whatever_call_fails_the_error_is_correct_and_the_change_made_completely_or_not_at_all() {
    let start = Instant::now();
    let scene = Scene::new();
    let (counts, next) = (Mutex::new(Counts::default()), AtomicUsize::new(0));
    let runs: Vec<(&Action, Mode, Errno)> = scene
        .actions
        .iter()
        .flat_map(|action| DISKS.map(|(mode, errno)| (action, mode, errno)))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&(action, mode, errno)) =
                    runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    fail_each_call(&scene, action, mode, errno, &counts);
                }
            });
        }
    });
    counts.into_inner().unwrap().report(start);
}

fn fail_each_call(
    scene: &Scene,
    action: &Action,
    mode: Mode,
    errno: Errno,
    counts: &Mutex<Counts>,
) {
    // The short run makes every second call fail once, and fewer on the other kinds of disk. Most calls of a
    // pull of a manifest concern a temporary file.
    let step = match (DISKS[0] == (mode, errno), action.name) {
        _ if is_long() => 1,
        (true, "mirror pull of a manifest") => 6,
        (true, _) => 2,
        (false, _) => 5,
    };
    let run = |nth: u64| {
        let place = scene.place(action.creates);
        let disk = Interposed::failing(&place.directory, Fault { mode, errno, nth });
        let mut command = disk.command(&place.temporary());
        let output = place.with_action(&mut command, action).output().unwrap();
        let (hits, calls) = disk.hits();
        let context =
            format!("{}, {mode:?} {errno:?} at call {nth}: {hits:?}: {output:?}", action.name);
        (place, output, hits, calls, context)
    };
    let (.., least, _) = run(0);
    assert!(least > 20, "{}: only {least} calls", action.name);
    let mut nth = 1;
    loop {
        let (place, output, hits, _, context) = run(nth);
        if !hits.is_empty() {
            judge(action, &place, (&output, &hits), &context, (mode, errno), counts);
        } else if nth > least {
            assert!(output.status.success(), "{context}: nothing failed");
            return;
        }
        nth += step;
    }
}

/// Checks the registry after a fault.
fn judge(
    action: &Action,
    place: &Place,
    (output, hits): (&Output, &[String]),
    context: &str,
    (mode, errno): (Mode, Errno),
    counts: &Mutex<Counts>,
) {
    let end = end_of(output, context);
    let temporary_files = place.assert_tidy(context);
    assert!(temporary_files == 0 || action.creates, "{context}: a temporary file was left");
    let found = place.examine(context);
    let is_there = found.as_ref() == Some(&action.after);
    assert!(is_there || found == action.before, "{context}: only a part of the change was made");
    let ids = ids_of(&output.stdout);
    match &end {
        End::Done => {
            assert!(is_there, "{context}: the change was acknowledged, but not made");
            let is_issuing = action.name == "ids payment";
            assert_eq!(ids.len(), if is_issuing { 20 } else { 0 }, "{context}");
        }
        End::Trouble { kind, message } => {
            assert!(CORRECT.contains(&kind.as_str()), "{context}: the error kind is not correct");
            assert_ne!(mode, Mode::Short, "{context}: a short write is not an error");
            let says_nothing_changed = message.contains("nothing was changed");
            let was_changed = is_there && action.before.as_ref() != Some(&action.after);
            assert!(!(was_changed && says_nothing_changed), "{context}: the registry was changed");
        }
    }
    again(action, place, is_there, &ids, context);
    let mut counts = counts.lock().unwrap();
    *counts.points.entry((action.name, mode, errno)).or_default() += 1;
    counts.temporary_files += temporary_files;
    let end = match end {
        End::Done => "done".to_owned(),
        End::Trouble { kind, .. } => {
            let was_changed = is_there && action.before.as_ref() != Some(&action.after);
            if was_changed {
                let call = format!("{}: {}", action.name, call_of(&hits[0]));
                *counts.made_despite_error.entry(call).or_default() += 1;
            }
            kind
        }
    };
    *counts.ends.entry((mode, errno, end)).or_default() += 1;
}

/// A call that failed, without the directory: `S accession.db-wal`.
fn call_of(hit: &str) -> String {
    let (what, path) = hit.split_once(' ').unwrap();
    let file = path.rsplit('/').next().unwrap();
    match file.strip_prefix(".accession-").and_then(|rest| rest.split_once('.')) {
        Some((_, end)) => format!("{what} .accession-*.{end}"),
        None => format!("{what} {file}"),
    }
}

/// Runs the same command again, on a disk that does not fail.
fn again(action: &Action, place: &Place, was_there: bool, before: &[String], context: &str) {
    let mut command = crate::victim::program_in(&place.temporary());
    let output = place.with_action(&mut command, action).output().unwrap();
    let end = end_of(&output, context);
    assert!(was_there || matches!(end, End::Done), "{context}: and then {output:?}");
    assert_eq!(
        place.examine(context).as_ref(),
        Some(&action.after),
        "{context}: and then {output:?}"
    );
    for id in ids_of(&output.stdout) {
        assert!(!before.contains(&id), "{context}: {id} was issued twice");
    }
}

fn end_of(output: &Output, context: &str) -> End {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{context}");
    match output.status.code() {
        Some(0) => End::Done,
        Some(2) => {
            let report: serde_json::Value =
                serde_json::from_str(stderr.lines().last().unwrap_or_default())
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
            let field = |field: &str| report["error"][field].as_str().unwrap().to_owned();
            let (kind, message) = (field("kind"), field("message"));
            assert!(!message.is_empty(), "{context}");
            End::Trouble { kind, message }
        }
        _ => panic!("{context}: the exit status is neither 0 nor 2"),
    }
}

/// The payment ids that were printed.
fn ids_of(stdout: &[u8]) -> Vec<String> {
    let rows = String::from_utf8_lossy(stdout);
    let id = |row: &str| {
        let row: serde_json::Value = serde_json::from_str(row).ok()?;
        (row.get("worker").is_some()).then(|| row["id"].as_str().unwrap().to_owned())
    };
    rows.lines().filter_map(id).collect()
}

impl Counts {
    fn report(&self, start: Instant) {
        for ((action, mode, errno), points) in &self.points {
            println!("faults: {action}: {mode:?} {errno:?}: {points}");
            assert!(*points > 1, "{action}: too few calls were made to fail");
        }
        for ((mode, errno, end), count) in &self.ends {
            println!("faults: {mode:?} {errno:?}: {end}: {count}");
        }
        let points: u64 = self.points.values().sum();
        println!(
            "faults: {points} in {:.1?}; temporary files that were left: {}",
            start.elapsed(),
            self.temporary_files
        );
        for (call, count) in &self.made_despite_error {
            println!("faults: an error although the change was made: {call}: {count}");
        }
    }
}
