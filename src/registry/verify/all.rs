//! Verifies several datasets or all of them, and the file once.

use super::finding::{Code, Findings, Verification, VerifyWork, readable};
use crate::model::{DatasetName, quoted};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::registry::snapshot::dataset_of;
use crate::store;

/// The number of dataset names in a page.
const PAGE_NAMES: u32 = 1_024;

/// The result of [`Registry::verify_all`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of datasets that were verified.
    pub datasets: u64,
    /// The number of identifiers that were recomputed.
    pub identifiers: u64,
    /// The number of findings, including those about the file. 0 means that everything agrees.
    pub findings: u64,
    /// The work that it took.
    pub work: VerifyWork,
}

impl Verified {
    fn add(&mut self, verification: &Verification) {
        self.datasets += u64::from(verification.dataset.is_some());
        self.identifiers += verification.identifiers;
        self.findings += verification.mismatches.len() as u64;
        self.work += verification.work;
    }
}

impl Registry {
    /// Checks the file once, and then verifies these datasets, or all of them if none is named.
    /// Calls `show` with a [`Verification`] of the file if it has findings, and then with one for
    /// each dataset. Damage in one dataset does not prevent the verification of others. No lock is
    /// held while `show` runs.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`], before anything is verified; [`Error::Store`]: the registry was
    /// replaced, or cannot be opened; the errors of `show`. Damage is not an error.
    pub fn verify_all<E: From<Error>>(
        &self,
        datasets: &[DatasetName],
        mut show: impl FnMut(Verification) -> Result<(), E>,
    ) -> Result<Verified, E> {
        self.refuse_unknown(datasets)?;
        let mut verified = Verified::default();
        let mut show = |verification: Verification| {
            verified.add(&verification);
            show(verification)
        };
        let mut file = self.verify_file()?;
        let work = std::mem::take(&mut file.work);
        if !file.ok {
            show(file)?;
        }
        if datasets.is_empty() {
            self.verify_every_dataset(&mut show)?;
        } else {
            datasets.iter().try_for_each(|dataset| show(self.verify(dataset)?))?;
        }
        verified.work += work;
        Ok(verified)
    }

    fn refuse_unknown(&self, datasets: &[DatasetName]) -> Result<()> {
        let refuse = || {
            let read = self.read()?;
            for name in datasets {
                // A record that cannot be read is a finding, not a reason to stop.
                if read.dataset_key(name)?.is_none() {
                    dataset_of(&read, name)?;
                }
            }
            Ok(())
        };
        refuse().map_err(|error| self.named(error))
    }

    fn verify_every_dataset<E: From<Error>>(
        &self,
        show: &mut impl FnMut(Verification) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = String::new();
        loop {
            let page = || Ok(self.read()?.dataset_names_after(&after, PAGE_NAMES)?);
            let names = match readable(page()).map_err(|error: Error| self.named(error))? {
                Ok(names) => names,
                Err(error) => {
                    let mut findings = Findings::default();
                    findings.add_unreadable("the list of datasets cannot be read", &error);
                    return show(Verification::new(None, 0, findings, VerifyWork::default()));
                }
            };
            for name in &names {
                match DatasetName::from_stored(name) {
                    Ok(dataset) => show(self.verify(&dataset)?)?,
                    Err(_) => show(of_impossible_name(name))?,
                }
            }
            match names.into_iter().last() {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }
}

fn of_impossible_name(name: &str) -> Verification {
    let mut findings = Findings::default();
    let text =
        format!("a dataset has the name {}, which is not a valid dataset name", quoted(name));
    findings.add(Code::File, None, None, text);
    Verification::new(None, 0, findings, VerifyWork::default())
}

/// For [`Registry::verify_all`]: stops at the first thing that does not agree.
///
/// # Errors
///
/// [`Error::Inconsistent`]; of kind `damaged` if it is about the file.
pub(in crate::registry) fn refuse_mismatch(verification: Verification) -> Result<()> {
    let Some(finding) = verification.mismatches.into_iter().next() else { return Ok(()) };
    let text = finding.text;
    match verification.dataset {
        Some(dataset) => Err(Error::Inconsistent { what: format!("{dataset}: {text}") }),
        None => Err(store::Error::Damaged { what: text }.into()),
    }
}
