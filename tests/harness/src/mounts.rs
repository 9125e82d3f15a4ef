//! File systems that a test mounts in its own namespace. If a test may not mount any, it is skipped, and
//! `server/tests/what_was_not_checked.rs` reports it at the end of a run.

use std::process::Command;

/// The command that creates a namespace in which the process may mount file systems: as root, or as an
/// unprivileged user. `None` means that neither works.
pub fn may_mount() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "-r", "--mount"]];
    WAYS.into_iter().find(|way| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        command.output().is_ok_and(|output| output.status.success())
    })
}
