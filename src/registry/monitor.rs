//! Being told how work goes on.

/// Is told how long work goes on; the library itself prints nothing.
pub trait Monitor {
    /// Work begins on about so many granules.
    fn begin(&mut self, what: &'static str, granules: u64);

    /// So many more granules are done.
    fn advance(&mut self, granules: u64);

    /// The work has ended, well or not.
    fn end(&mut self);
}

/// Tells nobody.
impl Monitor for () {
    fn begin(&mut self, _: &'static str, _: u64) {}

    fn advance(&mut self, _: u64) {}

    fn end(&mut self) {}
}
