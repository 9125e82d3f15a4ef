//! A copy of the registry as it is at one moment, while others read and write it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::open::{BUSY_WAIT, NewFile, configure};
use super::session::Snapshot;
use crate::store::{Error, Result};

/// Pages that are copied before the monitor is told.
const STEP_PAGES: i32 = 4_096;

/// How long to wait before a lock is asked for again.
const RETRY: Duration = Duration::from_millis(10);

impl Snapshot {
    /// Copies the registry beside `target`, where there is no file yet; it is put there when the
    /// draft is published. `progress` is told the pages copied and the pages there are.
    ///
    /// The copy is of the state that this read sees: SQLite's backup begins anew when the file
    /// changes under it, but within a transaction it does not.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], [`Error::Full`], and what reading may give.
    pub fn copy_beside(
        &self,
        target: &Path,
        progress: impl FnMut(u64, u64) -> bool,
    ) -> Result<NewFile> {
        // So that the transaction, which is deferred, begins.
        self.connection().pragma_query(None, "schema_version", |_| Ok(()))?;
        copy_beside(self.connection(), target, progress)
    }
}

/// Copies what a connection sees beside `target`.
pub(super) fn copy_beside(
    source: &Connection,
    target: &Path,
    mut progress: impl FnMut(u64, u64) -> bool,
) -> Result<NewFile> {
    if target.symlink_metadata().is_ok() {
        return Err(Error::Exists);
    }
    let draft = NewFile::empty_beside(target)?;
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
                _ => return Err(Error::Busy { waited: BUSY_WAIT }),
            }
            let pages = backup.progress();
            let all = u64::try_from(pages.pagecount).unwrap_or_default();
            let left = u64::try_from(pages.remaining).unwrap_or_default();
            if !progress(all - left, all) {
                return Err(Error::Interrupted);
            }
        }
    }
    copy.close().map_err(|(_, error)| error)?;
    Ok(draft)
}
