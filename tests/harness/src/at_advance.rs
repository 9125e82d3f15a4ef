//! An observer that is a function.

use accession::{Observer, Progress};

/// Calls a function whenever work was done, with how much.
#[derive(Debug)]
pub struct AtAdvance<Called>(pub Called);

impl<Called: Fn(u64) + Send + Sync> Observer for AtAdvance<Called> {
    fn event(&self, event: Progress) {
        if let Progress::Advance(more) = event {
            self.0(more);
        }
    }
}
