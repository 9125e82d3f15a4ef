//! Many processes issue payment ids, and some of them are killed: no id is issued twice.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use crate::harness::console::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("accession dataset add DATASET");
    sandbox
}

fn issue(sandbox: &Sandbox, worker: usize, count: usize) -> Child {
    let arguments = format!("payment-id new --worker {worker} --count {count}");
    sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn eight_processes_that_issue_1_000_ids_each_with_3_workers_repeat_no_id() {
    let sandbox = sandbox();
    let children: Vec<Child> = (0..8).map(|n| issue(&sandbox, n % 3, 1_000)).collect();
    let mut all = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let ids: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.is_sorted(), "the ids of each process are in order");
        all.extend(ids);
    }
    assert_eq!(all.len(), 8_000);
}

/// When a process that issues ids is killed.
#[derive(Clone, Copy, PartialEq)]
enum KilledAfter {
    Start,
    OpeningTheRegistry,
    FirstId,
    LastId,
}

/// Kills a process at a moment that does not depend on how fast the machine is, and returns the ids
/// that it printed as whole lines.
fn issue_and_kill(sandbox: &Sandbox, count: usize, moment: KilledAfter) -> Vec<String> {
    let mut child = issue(sandbox, 0, count);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let lines_to_read = match moment {
        KilledAfter::Start | KilledAfter::OpeningTheRegistry => 0,
        KilledAfter::FirstId => 1,
        KilledAfter::LastId => count,
    };
    let wal = sandbox.path().join("accession.db-wal");
    while moment == KilledAfter::OpeningTheRegistry
        && !wal.exists()
        && child.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    let mut text = String::new();
    for _ in 0..lines_to_read {
        stdout.read_line(&mut text).unwrap();
    }
    child.kill().unwrap();
    stdout.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    let whole_lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole_lines.map(str::to_owned).collect()
}

#[test]
fn processes_killed_200_times_while_they_issue_repeat_no_id() {
    const ROUNDS: usize = 50;
    const IDS: usize = 40;
    let sandbox = sandbox();
    let mut all = BTreeSet::new();
    let mut count = 0;
    for _ in 0..ROUNDS {
        for moment in [
            KilledAfter::Start,
            KilledAfter::OpeningTheRegistry,
            KilledAfter::FirstId,
            KilledAfter::LastId,
        ] {
            let ids = issue_and_kill(&sandbox, IDS, moment);
            assert!(moment != KilledAfter::FirstId || !ids.is_empty());
            assert!(moment != KilledAfter::LastId || ids.len() == IDS);
            count += ids.len();
            all.extend(ids);
        }
    }
    // The ids that are issued after that are new as well.
    let rest = issue(&sandbox, 0, 100).wait_with_output().unwrap();
    let rest = String::from_utf8(rest.stdout).unwrap();
    count += rest.lines().count();
    all.extend(rest.lines().map(str::to_owned));
    assert!(count >= ROUNDS * (IDS + 1) + 100, "{count}");
    assert_eq!(all.len(), count, "an id was issued twice");
    assert!(sandbox.command("verify").output().unwrap().status.success());
}
