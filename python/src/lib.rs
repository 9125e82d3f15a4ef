//! The Python package `accession_registry`: the library's public API, and nothing else.
//!
//! What is here converts values, keeps Python responsive while the library works, and refuses what a
//! forked process must not use. What a registry does is in the library.

mod arrow_in;
mod asked;
mod citation;
mod comparison;
mod dataset;
mod edit;
mod error;
mod fixity;
mod hint;
mod ids;
mod keywords;
mod mirror;
mod opened;
mod pages;
mod plot;
mod process;
mod record;
mod registry;
mod response;
mod rows;
mod set;
mod target;
mod temporary_file;
mod time;
mod work;

use pyo3::prelude::*;

/// What the package `accession_registry` consists of, which re-exports it.
#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::asked::{Dataset, Set};
    #[pymodule_export]
    use super::citation::cite_list;
    #[pymodule_export]
    use super::comparison::Sides;
    #[pymodule_export]
    use super::plot::plot;
    #[pymodule_export]
    use super::registry::{Registry, identify, open, open_set};
    #[pymodule_export]
    use super::response::read_page;
    #[pymodule_export]
    use super::rows::Rows;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
