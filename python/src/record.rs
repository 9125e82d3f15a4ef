//! Values of the library as the classes of `accession_registry._records`, whose fields are those of the
//! command line's JSON.

use accession::model::Warning;
use accession::{Applied, DatasetName, Timestamp};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

use crate::error::Failure;
use crate::time::datetime;

/// The fields that are times.
const TIMES: [&str; 10] = [
    "timestamp",
    "until",
    "recorded",
    "from",
    "cited",
    "identical",
    "since",
    "started",
    "read",
    "first_seen",
];

/// The fields that have a class of their own.
const CLASSES: [(&str, &str); 14] = [
    ("instance", "Instance"),
    ("latest", "Instance"),
    ("primary", "Instance"),
    ("mirror", "Instance"),
    ("annotations", "Annotation"),
    ("confirmed", "Confirmation"),
    ("mismatches", "Finding"),
    ("skipped", "Skipped"),
    ("changed", "LastChange"),
    ("findings", "FileFinding"),
    ("fixity", "FilesChecked"),
    ("mirrors", "Mirrored"),
    ("first", "OpenFinding"),
    ("roots", "RootState"),
];

/// A value of the library, as an object of this class.
///
/// # Errors
///
/// It has other fields than the class.
pub fn object<'py>(
    py: Python<'py>,
    class: &'static str,
    value: &impl serde::Serialize,
) -> Result<Bound<'py, PyAny>, Failure> {
    let value = serde_json::to_value(value)
        .map_err(|error| Failure::usage(format!("{class}: {error}"), ""))?;
    Ok(made(py, class, &value)?)
}

/// Values of the library, as a list of objects of this class.
///
/// # Errors
///
/// They have other fields than the class.
pub fn objects<'py>(
    py: Python<'py>,
    class: &'static str,
    values: &[impl serde::Serialize],
) -> Result<Bound<'py, PyList>, Failure> {
    let list = PyList::empty(py);
    for value in values {
        list.append(object(py, class, value)?)?;
    }
    Ok(list)
}

fn made<'py>(py: Python<'py>, class: &str, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("accession_registry._records")?.unbind())
    })?;
    let fields = PyDict::new(py);
    for (name, field) in value.as_object().into_iter().flatten() {
        let of_period = class == "Period" && ["ingested", "deleted"].contains(&name.as_str());
        let converted = match of_period {
            true => time(py, field)?,
            false => converted(py, name, field)?,
        };
        // A word of Python cannot be the name of a field.
        fields.set_item(if name == "from" { "from_" } else { name }, converted)?;
    }
    module.bind(py).getattr(class)?.call((), Some(&fields))
}

fn converted<'py>(py: Python<'py>, name: &str, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let class = CLASSES.iter().find(|(field, _)| *field == name).map(|(_, class)| *class);
    match (value, class) {
        (Value::Object(_), Some(class)) => made(py, class, value),
        (Value::Array(elements), Some(class)) => {
            let list = PyList::empty(py);
            for element in elements {
                list.append(made(py, class, element)?)?;
            }
            Ok(list.into_any())
        }
        _ if TIMES.contains(&name) => time(py, value),
        _ => plain(py, value),
    }
}

fn time<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(at) => datetime(py, at),
        None => plain(py, value),
    }
}

/// A value of JSON.
fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => value.into_pyobject(py)?.into_any(),
            (_, Some(value)) => value.into_pyobject(py)?.into_any(),
            _ => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(elements) => {
            let list = PyList::empty(py);
            for element in elements {
                list.append(plain(py, element)?)?;
            }
            list.into_any()
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (name, member) in members {
                dict.set_item(name, converted(py, name, member)?)?;
            }
            dict.into_any()
        }
    })
}

/// What a change of a dataset did, which was named `asked`, with its warnings.
pub fn applied<'py>(
    py: Python<'py>,
    applied: &Applied,
    asked: &DatasetName,
    dry_run: bool,
) -> Result<Bound<'py, PyAny>, Failure> {
    let change = applied.instance.as_ref();
    warn_all(py, &applied.warnings(asked, crate::time::now(), "accession"))?;
    let value = serde_json::json!({
        "changed": change.is_some(),
        "added": change.map_or(0, |change| change.ingested),
        "removed": change.map_or(0, |change| change.deleted),
        "dry_run": dry_run,
        "instance": applied.in_force,
        "skipped": applied.skipped,
        "created_dataset": applied.created_dataset,
    });
    object(py, "Applied", &value)
}

/// Warns of what the library warns of.
pub fn warn_all(py: Python<'_>, warnings: &[Warning]) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| warn(py, &warning.message))
}

/// Warns as Python does.
pub fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    warnings
        .call_method1("warn", (message, py.get_type::<pyo3::exceptions::PyUserWarning>(), 2))?;
    Ok(())
}
