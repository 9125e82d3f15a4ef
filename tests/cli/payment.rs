//! Payment ids from many processes, some of them killed: no id is issued twice.

use std::collections::BTreeSet;
use std::io::Read;
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
fn eight_processes_issue_1_000_ids_each_for_3_workers_and_no_id_twice() {
    let sandbox = sandbox();
    let children: Vec<Child> = (0..8).map(|n| issue(&sandbox, n % 3, 1_000)).collect();
    let mut all = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let ids: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.is_sorted(), "in order for each process");
        all.extend(ids);
    }
    assert_eq!(all.len(), 8_000);
}

#[test]
fn processes_killed_200_times_while_they_issue_ids_repeat_none() {
    let sandbox = sandbox();
    let mut all = BTreeSet::new();
    let mut count = 0;
    for round in 0..200_u64 {
        let mut child = issue(&sandbox, 0, 40);
        let mut stdout = child.stdout.take().unwrap();
        // The times range from before it opens the registry to after it has printed everything.
        std::thread::sleep(std::time::Duration::from_micros(round * 7_919 % 12_000));
        child.kill().unwrap();
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        let ids: Vec<String> = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect();
        count += ids.len();
        all.extend(ids);
    }
    // The ids that are issued now are new as well.
    let rest = issue(&sandbox, 0, 100).wait_with_output().unwrap();
    let rest = String::from_utf8(rest.stdout).unwrap();
    count += rest.lines().count();
    all.extend(rest.lines().map(str::to_owned));
    assert!(count > 100, "some had time to print: {count}");
    assert_eq!(all.len(), count, "none twice");
    assert!(sandbox.command("verify").output().unwrap().status.success());
}
