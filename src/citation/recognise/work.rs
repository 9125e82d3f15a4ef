//! A count of the work that recognising costs, so that tests can assert that it is linear.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Adds steps: bytes examined, or marks moved. Does nothing outside tests.
pub(super) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.set(STEPS.get() + steps);
    #[cfg(not(test))]
    let _ = steps;
}

/// The steps that `run` counts on this thread.
#[cfg(test)]
pub(super) fn steps_of<T>(run: impl FnOnce() -> T) -> usize {
    let before = STEPS.get();
    run();
    STEPS.get() - before
}
