//! A copy of the whole registry, proved before it is given out.

use std::path::Path;

use serde::Serialize;

use super::{Access, Registry};
use crate::{Error, Result};

/// A copy that was made, and what was verified in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// Its size in bytes.
    pub bytes: u64,
    /// How many datasets it has.
    pub datasets: u64,
    /// How many identifiers were recomputed in it: every one ever issued.
    pub identifiers: u64,
}

impl Registry {
    /// Copies the registry as it is now to `target`, where there is no file yet, while others may
    /// read and write it. The copy appears whole, and only once everything in it was verified.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `registry-exists`: there is a file already; of other kinds: the
    /// registry cannot be read, or nothing written there. [`Error::Inconsistent`]: what was copied
    /// does not verify, and was taken away again.
    pub fn back_up(&mut self, target: &Path) -> Result<BackedUp> {
        let draft = self.reading(|read, monitor| {
            let mut copied = 0;
            let draft = read.copy_beside(target, |done, all| {
                if copied == 0 {
                    monitor.begin("copying", "pages", all);
                }
                monitor.advance(done - copied);
                copied = done;
            });
            monitor.end();
            draft.map_err(|error| Error::from(error).in_file(target))
        })?;
        let in_target = |error: crate::store::Error| Error::from(error).in_file(target);
        // What is wrong with the copy is wrong with the registry; the draft's name says nothing.
        let path = self.path().to_owned();
        let of_registry = |error: Error| match error {
            Error::Store { source, .. } => Error::from(source).in_file(&path),
            other => other,
        };
        let mut copy = Registry::open(draft.path(), Access::Read).map_err(of_registry)?;
        std::mem::swap(&mut copy.monitor, &mut self.monitor);
        let verified = copy.verify_all();
        std::mem::swap(&mut copy.monitor, &mut self.monitor);
        drop(copy);
        let (datasets, identifiers) = verified.map_err(of_registry)?;
        let bytes = std::fs::metadata(draft.path())
            .map_err(|source| Error::File { path: target.to_owned(), source })?
            .len();
        draft.put_in_place().map_err(in_target)?;
        Ok(BackedUp { bytes, datasets, identifiers })
    }

    /// Verifies everything; returns how many datasets and how many identifiers there are.
    fn verify_all(&mut self) -> Result<(u64, u64)> {
        self.check_file()?;
        let (mut datasets, mut identifiers) = (0, 0);
        for listed in self.datasets()? {
            let verification = self.verify(&listed.dataset.name)?;
            if let Some(finding) = verification.mismatches.first() {
                let what = format!("{}: {}", verification.dataset, finding.text);
                return Err(Error::Inconsistent { what });
            }
            datasets += 1;
            identifiers += verification.identifiers;
        }
        Ok((datasets, identifiers))
    }
}
