//! Being told how work goes on.

/// Is told how long work goes on; the library itself prints nothing.
pub trait Monitor {
    /// Work begins on about so many things, `"granules"` for one; 0: nobody knows how many.
    fn begin(&mut self, what: &'static str, things: &'static str, total: u64);

    /// So many more are done.
    fn advance(&mut self, more: u64);

    /// The work has ended, well or not.
    fn end(&mut self);
}

/// Tells nobody.
impl Monitor for () {
    fn begin(&mut self, _: &'static str, _: &'static str, _: u64) {}

    fn advance(&mut self, _: u64) {}

    fn end(&mut self) {}
}
