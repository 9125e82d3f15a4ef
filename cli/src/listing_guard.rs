//! What the readers of a command's listings refuse.

use std::cell::RefCell;

use accession::ChangeOptions;

/// Why the readers of a command's listings refuse them, such as missing pages.
///
/// A reader goes on after it has refused a listing here, so that the change can be computed: the change is made with
/// [`ListingGuard::guarding`], which adds the reason to the guards. It is refused with this reason and the set that
/// would have to be expected, and made if `--expect` names this set.
#[derive(Debug, Default)]
pub struct ListingGuard(RefCell<Option<accession::Error>>);

impl ListingGuard {
    /// Refuses a listing. The first reason is reported.
    pub fn refuse(&self, reason: accession::Error) {
        self.0.borrow_mut().get_or_insert(reason);
    }

    /// The options of a change of the listings, once they are read.
    pub fn guarding(self, options: ChangeOptions) -> ChangeOptions {
        options.refused(self.0.into_inner())
    }
}
