//! Programs that a machine may lack. If a test does not find its program, it has nothing to test, and
//! `server/tests/what_was_not_checked.rs` reports it at the end of a run.

use std::path::{Path, PathBuf};

/// The path of a program. Searches Debian's directories of PostgreSQL, the newest version first, then `PATH`,
/// then the directory of servers.
pub fn installed(program: &str) -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let entries = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut directories: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    directories.sort_by_key(|path| std::cmp::Reverse(version(path)));
    directories.iter_mut().for_each(|path| path.push("bin"));
    directories.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    directories.push("/usr/sbin".into());
    directories.iter().map(|directory| directory.join(program)).find(|path| path.is_file())
}
