//! Values of the library as the classes of `accession_registry._records`, whose fields are those of the
//! command line's JSON.

use accession::Warning;
use accession::{ChangeReport, DatasetName};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::Failure;
use crate::hint;

/// A value of the library, as an object of this class.
///
/// # Errors
///
/// It has other fields than the class.
pub fn object<'py>(
    py: Python<'py>,
    class: &str,
    value: &impl serde::Serialize,
) -> Result<Bound<'py, PyAny>, Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::usage(format!("{class}: {error}"), ""))?;
    Ok(py.import("accession_registry._records")?.call_method1("made", (class, text))?)
}

/// Values of the library, as a list of objects of this class.
///
/// # Errors
///
/// They have other fields than the class.
pub fn objects<'py>(
    py: Python<'py>,
    class: &str,
    values: &[impl serde::Serialize],
) -> Result<Bound<'py, PyList>, Failure> {
    let objects = values.iter().map(|value| object(py, class, value));
    Ok(PyList::new(py, objects.collect::<Result<Vec<_>, _>>()?)?)
}

/// What a change of a dataset did, which was named `asked`, with its warnings and those of what was read.
pub fn applied<'py>(
    py: Python<'py>,
    (applied, of_reading): (&ChangeReport, &[Warning]),
    asked: &DatasetName,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    warn_all(py, of_reading)?;
    warn_all(py, &applied.warnings(asked, crate::time::now()))?;
    shown(py, applied, dry_run)
}

/// What a change or an import of a dataset did.
pub fn shown<'py>(
    py: Python<'py>,
    applied: &ChangeReport,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    let value = serde_json::json!({
        "changed": applied.instance().is_some(),
        "added": applied.added(),
        "removed": applied.removed(),
        "dry_run": dry_run,
        "instance": applied.in_force,
        "skipped": applied.skipped,
        "created_dataset": applied.created_dataset,
    });
    object(py, "Applied", &value)
}

/// Warns of what the library warns of.
pub fn warn_all(py: Python<'_>, warnings: &[Warning]) -> PyResult<()> {
    let class = py.get_type::<pyo3::exceptions::PyUserWarning>();
    let module = py.import("warnings")?;
    for warning in warnings {
        let message = match hint::of_warning(warning.kind) {
            Some(hint) => format!("{}; {hint}", warning.message),
            None => warning.message.clone(),
        };
        module.call_method1("warn", (message, &class, 2))?;
    }
    Ok(())
}
