//! A copy of a registry in one consistent state, made while others read and write it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::create::TemporaryRegistry;
use super::{Result, connection, files};
use crate::disk::reserved;
use crate::store::Error;

/// Pages that are copied between two calls of the progress function.
const STEP_PAGES: i32 = 4_096;

/// How long to wait before a lock is requested again.
const RETRY: Duration = Duration::from_millis(10);

/// Copies the state that a connection sees into a temporary file beside `target`, where no file
/// exists yet, with the permissions of the registry at `of`, if it has a path. `progress` is called with the number of pages copied and the total number of pages.
///
/// In a transaction that has begun to read, the copy is of the state that the transaction sees.
///
/// # Errors
///
/// [`ErrorKind::ReservedName`], [`ErrorKind::RegistryExists`], [`ErrorKind::Full`], and the errors of reading;
/// [`ErrorKind::Interrupted`]: `progress` returned `Break`.
pub fn copy_beside(
    source: &Connection,
    of: Option<&Path>,
    target: &Path,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<TemporaryRegistry> {
    // Checked first: otherwise a file that SQLite created there would be reported as existing.
    reserved::check(target).map_err(Error::of_disk)?;
    if target.symlink_metadata().is_ok() {
        return Err(Error::exists());
    }
    let temporary = TemporaryRegistry::without_bytes(target)?;
    if let Some(metadata) = of.map(files::metadata).transpose()?.flatten() {
        temporary.take_permissions(&metadata)?;
    }
    fill(&temporary, source, busy_wait, progress)?;
    Ok(temporary)
}

/// Copies the state that a connection sees into a temporary file.
pub(super) fn fill(
    temporary: &TemporaryRegistry,
    source: &Connection,
    busy_wait: Duration,
    progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    let mut copy = connection::open(temporary.path())?;
    connection::configure(&copy, busy_wait)?;
    copy_into(source, &mut copy, busy_wait, progress)?;
    Ok(copy.close().map_err(|(_, error)| error)?)
}

/// Copies the state that a connection sees into another database, whose content is replaced.
pub(super) fn copy_into(
    source: &Connection,
    copy: &mut Connection,
    busy_wait: Duration,
    mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<()> {
    let backup = Backup::new(source, copy)?;
    let mut waited = Duration::ZERO;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            StepResult::Busy | StepResult::Locked if waited < busy_wait => {
                std::thread::sleep(RETRY);
                waited += RETRY;
            }
            _ => return Err(Error::busy()),
        }
        let pages = backup.progress();
        let all = u64::try_from(pages.pagecount).unwrap_or_default();
        let left = u64::try_from(pages.remaining).unwrap_or_default();
        if progress(all - left, all).is_break() {
            return Err(Error::interrupted());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn large() -> Connection {
        let source = Connection::open_in_memory().unwrap();
        source.execute_batch("CREATE TABLE large (bytes BLOB) STRICT").unwrap();
        for _ in 0..20 {
            source.execute("INSERT INTO large VALUES (zeroblob(1000000))", []).unwrap();
        }
        source
    }

    #[test]
    fn a_large_copy_is_made_in_steps_and_reports_them() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("copy.db");
        let source = large();
        let mut reported = Vec::new();
        let progress = |done, all| {
            reported.push((done, all));
            ControlFlow::Continue(())
        };
        drop(copy_beside(&source, None, &target, Duration::ZERO, progress).unwrap());
        let all: i64 = source.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let (step, all) = (STEP_PAGES as u64, all as u64);
        assert!(all > step);
        assert_eq!(reported, [(step, all)]);
    }

    #[test]
    fn a_copy_that_is_stopped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("copy.db");
        let stop = |_, _| ControlFlow::Break(());
        let copied = copy_beside(&large(), None, &target, Duration::ZERO, stop);
        assert_eq!(copied.err().unwrap().kind(), ErrorKind::Interrupted);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
