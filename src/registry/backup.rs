//! A copy of the whole registry, verified before it is put in place.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use super::error::{Error, Result};
use super::handle::Registry;
use super::verify::refuse_mismatch;
use crate::store::{self, Access};

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
    /// read and write it. The copy appears whole, and only after everything in it was verified.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `registry-exists`: there is a file already; of other kinds: the
    /// registry cannot be read, or nothing can be written there. [`Error::Inconsistent`]: what was
    /// copied does not verify, and was removed again.
    pub fn back_up(&self, target: &Path) -> Result<BackedUp> {
        let in_target = |error: store::Error| Error::from(error).in_file(target);
        let read = self.read()?;
        let mut progress = self.begin("copying", "pages", None);
        let mut copied = 0;
        let copy = read.copy_beside(target, |done, _| {
            let more = done - copied;
            copied = done;
            match progress.advance_by(more) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        drop(progress);
        drop(read);
        let file = copy.map_err(in_target)?;
        // What is wrong with the copy is wrong with the registry: the temporary file's name would
        // say nothing.
        let of_registry = |error: Error| match error {
            Error::Store { source, .. } => self.named(Error::from(source)),
            other => other,
        };
        let copy = Registry::open(file.path(), Access::Read)
            .map(|copy| copy.reporting_as(self))
            .map_err(of_registry)?;
        let verified = copy.verify_all(&[], refuse_mismatch).map_err(of_registry)?;
        drop(copy);
        let bytes = std::fs::metadata(file.path()).map(|metadata| metadata.len());
        let unseen = |source| store::Error::Io { verb: "look at", path: target.into(), source };
        let bytes = bytes.map_err(|source| in_target(unseen(source)))?;
        file.put_closed_in_place().map_err(in_target)?;
        Ok(BackedUp { bytes, datasets: verified.datasets, identifiers: verified.identifiers })
    }
}
