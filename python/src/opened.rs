//! What an open registry consists of, which its datasets, sets and lists share.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use accession::{CancelToken, Clock, ErrorKind, Location, Registry, Snapshot};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::process::Owned;
use crate::time::ChangeTime;
use crate::work::run;

/// An open registry.
pub struct Opened {
    /// Where it is.
    pub location: Location,
    /// The path or the address, as it was given.
    name: PathBuf,
    by: Option<String>,
    state: Owned<Mutex<Option<Registry>>>,
}

// The address may have a password.
impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Opened {
    /// Opens a registry, and creates it before if it does not exist and `create` says so.
    ///
    /// # Errors
    ///
    /// It does not exist, or cannot be read.
    pub fn open(name: &Path, create: bool, by: Option<String>) -> Result<Self, Failure> {
        let location = Location::from(name);
        if create && !location.exists()? {
            match Registry::create(&location, Clock::system()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => drop(created?),
            }
        }
        let registry = Registry::open(&location, Clock::system())?;
        let state = Owned::new(Mutex::new(Some(registry)));
        Ok(Opened { location, name: name.to_owned(), by, state })
    }

    fn state(&self) -> Result<MutexGuard<'_, Option<Registry>>, Failure> {
        Ok(self.state.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The registry.
    ///
    /// # Errors
    ///
    /// Of kind `forked`, or `closed`.
    pub fn reader(&self, token: CancelToken) -> Result<Registry, Failure> {
        let state = self.state()?;
        Ok(state.as_ref().ok_or_else(Failure::closed)?.cancelled_by(&token))
    }

    /// The registry, for changes that the user makes. A time that was given for a change confirms the clock.
    ///
    /// # Errors
    ///
    /// Those of [`Opened::reader`]; the name of the user has a control character.
    pub fn writer(&self, at: ChangeTime, token: CancelToken) -> Result<Registry, Failure> {
        let registry = self.reader(token)?;
        let registry = match at.is_given {
            true => registry.with_clock(Clock::system().confirmed()),
            false => registry,
        };
        Ok(match &self.by {
            Some(by) => registry.recorded_by(by.parse()?),
            None => registry,
        })
    }

    /// Reads the registry in one snapshot, without Python's lock.
    ///
    /// # Errors
    ///
    /// Those of the work, and those of [`run`].
    pub fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Snapshot) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        run(py, |token| work(self.reader(token)?.snapshot()?))
    }

    /// The absolute path, or the address without its password.
    pub fn address(&self) -> String {
        self.location.full_name().to_string_lossy().into_owned()
    }

    /// The absolute path, or the address as it was given, with its password, so that another process can open
    /// it.
    pub fn whole_address(&self) -> String {
        let is_server = !self.location.is_file();
        if is_server { self.name.to_string_lossy().into_owned() } else { self.address() }
    }

    /// Closes the registry: whatever uses it fails afterwards.
    ///
    /// # Errors
    ///
    /// Of kind `forked`.
    pub fn close(&self) -> Result<Option<Registry>, Failure> {
        Ok(self.state()?.take())
    }
}
