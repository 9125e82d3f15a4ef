//! A copy of the whole registry, verified before it is put in place.

use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use super::copy::PaymentIds;
use super::error::{Error, Result};
use super::handle::Registry;
use super::verify::Verifications;
use crate::error::ErrorKind;
use crate::store::Access;

/// The result of a backup: what was copied and verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackedUp {
    /// The size of the copy in bytes.
    pub bytes: u64,
    /// The number of datasets in it.
    pub datasets: u64,
    /// The number of identifiers that were recomputed in it: all that were ever issued.
    pub identifiers: u64,
}

impl Registry {
    /// Copies the registry in its present state to `target`, where no file exists yet. Other
    /// processes may read and write the registry at the same time. The copy appears at `target` only when it is complete
    /// and everything in it has been verified.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `registry-exists`: a file already exists; of another kind: the
    /// registry cannot be read, or the copy cannot be written. [`Error::Store`] of
    /// kind `damaged`: the copy does not verify, and has been removed.
    pub fn back_up(&self, target: &Path) -> Result<BackedUp> {
        let in_target = |error: crate::error::Error| Error::from(error).in_file(target);
        Registry::check_is_file(target, "a backup")?;
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
        if copy.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotAFile) {
            return self.back_up_rows(target);
        }
        let file = copy.map_err(in_target)?;
        // An error in the copy is an error in the registry, so it is reported with the path of the
        // registry instead of that of the temporary file.
        let of_registry = |error: Error| match error {
            Error::Store { source, .. } => self.named(Error::from(source)),
            other => other,
        };
        let copy = Registry::open(file.path(), Access::Read)
            .map(|copy| copy.reporting_as(self))
            .map_err(of_registry)?;
        let verified =
            copy.verify_all(&[]).and_then(Verifications::refuse_mismatches).map_err(of_registry)?;
        drop(copy);
        let bytes = std::fs::metadata(file.path()).map(|metadata| metadata.len());
        let unseen = |source| crate::error::Error::cannot("look at", target, source).of_store();
        let bytes = bytes.map_err(|source| in_target(unseen(source)))?;
        file.put_closed_in_place().map_err(in_target)?;
        Ok(BackedUp { bytes, datasets: verified.datasets, identifiers: verified.identifiers })
    }
    /// Copies a registry that is not in a file, row by row, into a file.
    fn back_up_rows(&self, target: &Path) -> Result<BackedUp> {
        let in_target = |error: crate::error::Error| Error::from(error).in_file(target);
        let copied = self.copy_to(target, PaymentIds::Copied)?;
        let metadata = std::fs::metadata(target);
        let unseen = |source| crate::error::Error::cannot("look at", target, source).of_store();
        let bytes = metadata.map_err(|source| in_target(unseen(source)))?.len();
        Ok(BackedUp { bytes, datasets: copied.datasets, identifiers: copied.identifiers })
    }
}
