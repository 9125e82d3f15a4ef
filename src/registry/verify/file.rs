//! The check of the registry file, which is made once, whatever the number of datasets.

use super::finding::{Code, Finding, Findings, Verification, VerifyWork, readable};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::store::DatasetKey;

impl Registry {
    /// Makes SQLite check the pages and indexes of the file, the second copies of data that cannot
    /// be recomputed, and that every row refers to rows that exist. Returns the findings, which are
    /// empty if the file is sound. Costs one pass over the file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: the registry was replaced, or cannot be opened. Damage is not an error.
    pub fn check_file(&self) -> Result<Vec<Finding>> {
        Ok(self.verify_file(&[])?.mismatches)
    }

    /// The same for these datasets, if the registry is on a server and any is given.
    pub(super) fn verify_file(&self, datasets: &[DatasetKey]) -> Result<Verification> {
        let progress = self.begin("checking", "pages", None);
        let check = || Ok(self.read()?.integrity(datasets)?);
        let found = readable(check()).map_err(|error: Error| self.named(error))?;
        drop(progress);
        let mut findings = Findings::default();
        match found {
            Ok(found) => {
                found.into_iter().for_each(|text| findings.add(Code::File, None, None, text));
            }
            Err(error) => findings.add_unreadable("the file cannot be checked", &error),
        }
        let work = VerifyWork { file_checks: 1, ..VerifyWork::default() };
        Ok(Verification::new(None, 0, findings, work))
    }
}
