//! What an open registry consists of, which its datasets, sets and lists share.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use accession::{Access, CancelToken, Error, ErrorKind, Registry, Snapshot, Stamp};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::process::Owned;
use crate::time::{ChangeTime, now};
use crate::work::run;

/// An open registry.
pub struct Opened {
    /// The path or the address, as it was given.
    pub name: PathBuf,
    by: Option<String>,
    state: Owned<Mutex<Option<Connections>>>,
}

// The address may have a password.
impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// As the command line does it: reading never writes, and the first change opens it for writing.
#[derive(Debug)]
pub struct Connections {
    reader: Registry,
    writer: Option<Registry>,
}

impl Opened {
    /// Opens a registry, and creates it before if it does not exist and `create` says so.
    ///
    /// # Errors
    ///
    /// It does not exist, or cannot be read.
    pub fn open(name: &Path, create: bool, by: Option<String>) -> Result<Self, Failure> {
        if create && !Registry::exists(name)? {
            match Registry::prepare(name).and_then(|new| new.put_in_place()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => created?,
            }
        }
        let reader = Registry::open(name, Access::Read)?;
        let connections = Some(Connections { reader, writer: None });
        let state = Owned::new(Mutex::new(connections));
        Ok(Opened { name: name.to_owned(), by, state })
    }

    fn connections(&self) -> Result<MutexGuard<'_, Option<Connections>>, Failure> {
        Ok(self.state.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The registry, for reading.
    ///
    /// # Errors
    ///
    /// Of kind `forked`, or `closed`.
    pub fn reader(&self, token: CancelToken) -> Result<Registry, Failure> {
        let connections = self.connections()?;
        let open = connections.as_ref().ok_or_else(Failure::closed)?;
        Ok(open.reader.cancelled_by(&token))
    }

    /// The registry, for writing. It is opened for that once.
    ///
    /// # Errors
    ///
    /// Those of [`Opened::reader`]; it cannot be written.
    pub fn writer(&self, token: CancelToken) -> Result<Registry, Failure> {
        let mut connections = self.connections()?;
        let open = connections.as_mut().ok_or_else(Failure::closed)?;
        let writer = match &open.writer {
            Some(writer) => writer,
            None => open.writer.insert(Registry::open(&self.name, Access::Write)?),
        };
        Ok(writer.cancelled_by(&token))
    }

    /// The same for what can also do without: of the library are all errors.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn writable(&self, token: CancelToken) -> Result<Registry, Error> {
        self.writer(token).map_err(|failure| match failure {
            Failure::Library(error) => error,
            // It was closed meanwhile.
            _ => Error::interrupted(),
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

    /// The stamp of a change.
    pub fn stamp(&self, at: ChangeTime) -> Stamp {
        let stamp = Stamp::new(at.at, now);
        Stamp { recorded_by: self.by.clone(), is_clock_confirmed: at.is_given, ..stamp }
    }

    /// The absolute path, or the address without its password.
    pub fn address(&self) -> String {
        Registry::full_name(&self.name).to_string_lossy().into_owned()
    }

    /// The absolute path, or the address as it was given, with its password, so that another process can open
    /// it.
    pub fn whole_address(&self) -> String {
        let is_server = self.name.to_string_lossy().contains("://");
        if is_server { self.name.to_string_lossy().into_owned() } else { self.address() }
    }

    /// Closes the registry: whatever uses it fails afterwards.
    ///
    /// # Errors
    ///
    /// Of kind `forked`.
    pub fn close(&self) -> Result<Option<Connections>, Failure> {
        Ok(self.connections()?.take())
    }
}
