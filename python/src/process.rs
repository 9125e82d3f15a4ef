//! Values that belong to one process. A SQLite connection that is used in a forked child can corrupt the file,
//! and two processes that use one socket mix their streams.

use std::mem;

use crate::error::Failure;

/// A value that only the process that created it may use or drop.
pub struct Owned<T> {
    /// `None` only while it is being dropped.
    value: Option<T>,
    process: u32,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Self {
        Owned { value: Some(value), process: std::process::id() }
    }

    /// Borrows the value.
    ///
    /// # Errors
    ///
    /// `forked`: this process is a child of the process that created the value.
    pub fn get(&self) -> Result<&T, Failure> {
        self.check()?;
        self.value.as_ref().ok_or_else(Failure::closed)
    }

    /// Borrows the value mutably.
    ///
    /// # Errors
    ///
    /// The same as [`Owned::get`].
    pub fn get_mut(&mut self) -> Result<&mut T, Failure> {
        self.check()?;
        self.value.as_mut().ok_or_else(Failure::closed)
    }

    fn check(&self) -> Result<(), Failure> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Failure::forked()),
        }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // Closing the value here would end transactions of the process that owns it.
        if self.process != std::process::id() {
            mem::forget(self.value.take());
        }
    }
}
