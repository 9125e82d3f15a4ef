//! A monitor that is a function.

use std::ops::ControlFlow;

use accession::Monitor;

/// Calls a function whenever work was done, with how much; its result is whether the work goes on.
#[derive(Debug)]
pub struct AtAdvance<Called>(pub Called);

impl<Called: Fn(u64) -> ControlFlow<()> + Send + Sync> Monitor for AtAdvance<Called> {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, more: u64) -> ControlFlow<()> {
        self.0(more)
    }

    fn end(&self) {}
}
