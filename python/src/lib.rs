//! The Python package `accession_registry`: the library's public API, and nothing else.
//!
//! What is here converts values, keeps Python responsive while the library works, and refuses what a
//! forked process must not use. What a registry does is in the library.

mod address;
mod arrow_in;
mod arrow_out;
mod comparison;
mod dataset;
mod edit;
mod error;
mod files;
mod fixity;
mod html;
mod ids;
mod lists;
mod mirror;
mod process;
mod record;
mod registry;
mod set;
mod time;
mod work;

use pyo3::prelude::*;

/// What the package `accession_registry` consists of, which re-exports it.
#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::comparison::{Comparison, Ids, MirrorComparison};
    #[pymodule_export]
    use super::dataset::Dataset;
    #[pymodule_export]
    use super::files::Files;
    #[pymodule_export]
    use super::lists::{Granules, History};
    #[pymodule_export]
    use super::registry::{Registry, identify, open, open_set, read};
    #[pymodule_export]
    use super::set::Set;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::error::add_to(module)
    }
}
