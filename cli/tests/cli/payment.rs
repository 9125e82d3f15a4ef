//! Many processes issue payment ids at the same time, and no id is issued twice. (`trust` kills some of them.)

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use crate::running::console::Sandbox;

#[test]
fn eight_processes_that_issue_1_000_ids_each_with_3_workers_repeat_no_id() {
    let sandbox = Sandbox::after(&["accession dataset create DATASET"]);
    let issue = |worker| sandbox.command(&format!("ids payment --worker {worker} --count 1000"));
    let spawn = |mut issuing: Command| issuing.stdout(Stdio::piped()).spawn().unwrap();
    let children: Vec<Child> = (0..8).map(|n| spawn(issue(n % 3))).collect();
    let mut all = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let ids: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.is_sorted(), "the ids of each process are in order");
        all.extend(ids);
    }
    assert_eq!(all.len(), 8_000);
}
