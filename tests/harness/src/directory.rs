//! Temporary directories of tests.

use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// Returns an empty directory. It is in memory, unless `TMPDIR` is set or the system has too little memory:
/// most tests do not depend on a disk, and would only wait for its syncs.
pub fn directory() -> TempDir {
    if *HAS_ROOM_IN_MEMORY { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() }.unwrap()
}

/// Returns an empty directory on the disk, for tests of kills and of power failures.
pub fn directory_on_disk() -> TempDir {
    tempfile::tempdir().unwrap()
}

const MEMORY: &str = "/dev/shm";

static HAS_ROOM_IN_MEMORY: LazyLock<bool> = LazyLock::new(|| {
    const KILOBYTES: u64 = 2_000_000;
    if std::env::var_os("TMPDIR").is_some() {
        return false;
    }
    let output = Command::new("df").args(["--output=avail", MEMORY]).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let free = String::from_utf8_lossy(&text).lines().nth(1).map(|line| line.trim().parse());
    free.is_some_and(|free| free.is_ok_and(|free: u64| free > KILOBYTES))
});
