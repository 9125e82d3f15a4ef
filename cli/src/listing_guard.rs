//! Refusals by the readers of a command's listings.

use std::cell::RefCell;

use accession::ChangeOptions;

/// The reason for which readers refuse a command's listings, such as missing pages.
///
/// A reader continues after such a refusal, so that the change can be computed. [`ListingGuard::guarding`] adds
/// the reason to the guards of the change. The change is then refused with this reason and with the set to
/// expect. It is made if `--expect` names this set.
#[derive(Debug, Default)]
pub struct ListingGuard(RefCell<Option<accession::Error>>);

impl ListingGuard {
    /// Refuses a listing. Only the first reason is reported.
    pub fn refuse(&self, reason: accession::Error) {
        self.0.borrow_mut().get_or_insert(reason);
    }

    /// Adds the refusal to the options of the change. Called after the listings were read.
    pub fn guarding(self, options: ChangeOptions) -> ChangeOptions {
        options.refused(self.0.into_inner())
    }
}
