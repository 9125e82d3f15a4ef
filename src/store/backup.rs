//! A copy of the registry as it is at one moment, while others read and write it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::open::{Draft, configure};
use super::{BUSY_WAIT, Error, Read, Result};

/// Pages that are copied before the monitor is told.
const STEP_PAGES: i32 = 4_096;

/// How long to wait before a lock is asked for again.
const RETRY: Duration = Duration::from_millis(10);

impl Read<'_> {
    /// Copies the registry beside `target`, where there is no file yet; it is put there when the
    /// draft is published. `progress` is told the pages copied and the pages there are.
    ///
    /// The copy is of the state that this read sees: SQLite's backup begins anew when the file
    /// changes under it, but within a transaction it does not.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::Full`], and what reading may give.
    pub fn copy_beside(&self, target: &Path, progress: impl FnMut(u64, u64)) -> Result<Draft> {
        // So that the transaction, which is deferred, begins.
        self.transaction.pragma_query(None, "schema_version", |_| Ok(()))?;
        copy_beside(&self.transaction, target, progress)
    }
}

/// Copies what a connection sees beside `target`.
pub(super) fn copy_beside(
    source: &Connection,
    target: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<Draft> {
    if target.symlink_metadata().is_ok() {
        return Err(Error::Exists);
    }
    let draft = Draft::empty_beside(target)?;
    let mut copy = Connection::open(draft.path())?;
    configure(&copy)?;
    {
        let backup = Backup::new(source, &mut copy)?;
        let mut waited = Duration::ZERO;
        loop {
            match backup.step(STEP_PAGES)? {
                StepResult::Done => break,
                StepResult::More => {}
                StepResult::Busy | StepResult::Locked if waited < BUSY_WAIT => {
                    std::thread::sleep(RETRY);
                    waited += RETRY;
                }
                _ => return Err(Error::Busy),
            }
            let pages = backup.progress();
            let all = u64::try_from(pages.pagecount).unwrap_or_default();
            let left = u64::try_from(pages.remaining).unwrap_or_default();
            progress(all - left, all);
        }
    }
    copy.close().map_err(|(_, error)| error)?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_copy_is_made_in_steps_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy.db");
        let source = Connection::open_in_memory().unwrap();
        source.execute_batch("CREATE TABLE large (bytes BLOB) STRICT").unwrap();
        for _ in 0..20 {
            source.execute("INSERT INTO large VALUES (zeroblob(1000000))", []).unwrap();
        }
        let mut told = Vec::new();
        drop(copy_beside(&source, &target, |done, all| told.push((done, all))).unwrap());
        let all: i64 = source.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let (step, all) = (STEP_PAGES as u64, all as u64);
        assert!(all > step);
        assert_eq!(told, [(step, all)]);
    }
}
