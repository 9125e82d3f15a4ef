//! An open registry, and the commands that run on it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accession::{CancelToken, Clock, ErrorKind, Location, Registry};
use accession_cli::{Call, Outcome, call};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Failure, warnings_of};
use crate::process::Owned;
use crate::stream::Stream;
use crate::work::run;

/// A registry that stays open between commands. Without an address, each command finds the registry as the
/// program does.
#[pyclass(frozen, module = "accession_registry._native")]
pub struct Handle {
    /// The absolute path, or the address as it was given. An address may contain a password.
    address: Option<PathBuf>,
    state: Owned<Mutex<State>>,
}

/// Whether the registry is open.
struct State {
    registry: Option<Registry>,
    is_closed: bool,
}

// Leaves out the address, which may contain a password.
impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

#[pymethods]
impl Handle {
    /// Opens a registry. Creates it first if it does not exist and `create` is true.
    #[new]
    fn new(py: Python<'_>, address: Option<PathBuf>, create: bool) -> Result<Self, Failure> {
        let Some(named) = address else {
            let state = Owned::new(Mutex::new(State { registry: None, is_closed: false }));
            return Ok(Handle { address: None, state });
        };
        let location = Location::from(&named);
        let opened = run(py, |_| opened(&location, create).map_err(of_library))?;
        let address = if location.is_file() { location.full_name() } else { named };
        let state = Owned::new(Mutex::new(State { registry: Some(opened), is_closed: false }));
        Ok(Handle { address: Some(address), state })
    }

    /// The absolute path, or the address with its password. Another process can open the registry with it.
    #[getter]
    fn address(&self) -> Option<&OsStr> {
        self.address.as_deref().map(Path::as_os_str)
    }

    /// The absolute path, or the address without its password.
    #[getter]
    fn name(&self) -> String {
        let name = self.address.as_ref().map(|address| Location::from(address).full_name());
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Runs a command, and returns its output, and its warnings as JSON. Messages omit the path of the
    /// directory `inputs`.
    fn call<'py>(
        &self,
        py: Python<'py>,
        words: Vec<OsString>,
        inputs: Option<PathBuf>,
    ) -> Result<(Bound<'py, PyBytes>, Vec<String>), Failure> {
        let registry = self.registry()?;
        let words = self.words(words);
        let printed = Printed::default();
        let out = printed.clone();
        let outcome = run(py, |token| {
            let outcome = call(Call { words, registry, token, inputs }, Box::new(out));
            if is_interrupted(&outcome) { Err(Failure::interrupted()) } else { Ok(outcome) }
        })?;
        let warnings = warnings_of(outcome)?;
        let printed = printed.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((PyBytes::new(py, &printed), warnings))
    }

    /// Runs a command, and returns a stream of its output, which is read while the command runs.
    fn rows(&self, words: Vec<OsString>, inputs: Option<PathBuf>) -> Result<Stream, Failure> {
        let (registry, token) = (self.registry()?, CancelToken::new());
        let words = self.words(words);
        Stream::of(Call { words, registry, token, inputs })
    }

    /// Closes the registry. Later uses of it fail.
    fn close(&self, py: Python<'_>) -> Result<(), Failure> {
        let mut state = self.state()?;
        let registry = state.registry.take();
        state.is_closed = true;
        drop(state);
        py.detach(|| drop(registry));
        Ok(())
    }
}

impl Handle {
    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        Ok(self.state.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The open registry. `None` means that each command opens its own.
    fn registry(&self) -> Result<Option<Registry>, Failure> {
        let state = self.state()?;
        if state.is_closed { Err(Failure::closed()) } else { Ok(state.registry.clone()) }
    }

    fn words(&self, words: Vec<OsString>) -> Vec<OsString> {
        let Some(address) = &self.address else { return words };
        let mut all = vec!["--registry".into(), address.clone().into()];
        all.extend(words);
        all
    }
}

fn opened(location: &Location, create: bool) -> accession::Result<Registry> {
    if create && !location.exists()? {
        match Registry::create(location, Clock::system()) {
            // Another process created it first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => drop(created?),
        }
    }
    Registry::open(location, Clock::system())
}

/// Converts an error of the library, and adds the hint of the program.
fn of_library(error: accession::Error) -> Failure {
    Failure::Command(Outcome::failed_with(error).error.unwrap_or_default())
}

/// Whether a command ended because its work was cancelled.
fn is_interrupted(outcome: &Outcome) -> bool {
    outcome.error.as_ref().is_some_and(|error| error["kind"] == ErrorKind::Interrupted.as_str())
}

/// The output of a command, in memory.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
