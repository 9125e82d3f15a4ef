//! Many processes issue payment ids at once: no id is issued twice. (`trust` kills some of them.)

use std::collections::BTreeSet;
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
