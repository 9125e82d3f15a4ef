//! The module behind the Python package `accession_registry`: commands of the program, run in this process.
//!
//! It keeps a registry open, keeps Python responsive while a command runs, rejects uses that are unsafe in a
//! forked process, and converts tables. The Python package builds the arguments and parses the JSON.

mod arrow_in;
mod arrow_out;
mod error;
mod handle;
mod process;
mod stream;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments after its name, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> i32 {
    let words = std::iter::once(OsString::from("accession")).chain(words);
    py.detach(|| accession_cli::run(words) as i32)
}

/// The native module below the package `accession_registry`.
#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::arrow_in::write_table;
    #[pymodule_export]
    use super::handle::Handle;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::stream::{Stream, lines};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
