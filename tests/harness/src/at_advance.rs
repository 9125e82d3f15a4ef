//! An observer that is a function.

use accession::{Observer, Progress};

/// Calls a function with the amount of work that was done, each time an operation reports some.
#[derive(Debug)]
pub struct AtAdvance<Called>(pub Called);

impl<Called: Fn(u64) + Send + Sync> Observer for AtAdvance<Called> {
    fn event(&self, event: Progress) {
        if let Progress::Advance(more) = event {
            self.0(more);
        }
    }
}
