//! Compares a published directory with the registry.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use accession::text::quoted;
use accession::{DatasetFilter, DatasetName, Registry};
use serde_json::Value;

use crate::error::{Context, Error, Exit, Result};
use crate::output::{AsText, Output, counted, in_words, one_line};
use crate::session::Session;

/// A published site, or one dataset of it.
pub struct Published {
    site: PathBuf,
    datasets: DatasetFilter,
}

/// The first file to read in the directory of a dataset.
const HEAD: &str = "head.json";

/// The directory of the datasets in a site.
const DATASETS: &str = "datasets";

impl Published {
    /// The published datasets in a directory. `None` means that nothing was published there.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or it is the directory of a dataset outside a site.
    pub fn find(directory: &Path) -> Result<Option<Self>> {
        if !directory.join(HEAD).is_file() {
            let is_site = directory.join(DATASETS).is_dir();
            let site = directory.to_owned();
            return Ok(is_site.then_some(Published { site, datasets: DatasetFilter::All }));
        }
        let name = quoted(&directory.to_string_lossy()).to_string();
        let whole = directory.canonicalize().with_context(|| format!("cannot read {name}"))?;
        let dataset: Option<DatasetName> =
            whole.file_name().and_then(|name| name.to_str()?.parse().ok());
        let datasets = whole.parent().filter(|parent| parent.ends_with(DATASETS));
        match (datasets.and_then(Path::parent), dataset) {
            (Some(site), Some(dataset)) => {
                let datasets = DatasetFilter::Only(vec![dataset]);
                Ok(Some(Published { site: site.to_owned(), datasets }))
            }
            _ => Err(Error::usage(format!("{name} is not {DATASETS}/NAME in a published site"))
                .with_hint("name the directory into which `accession publish` wrote")),
        }
    }
}

/// Compares a published directory with the registry, and prints the findings.
pub fn verify_published(
    registry: &Registry,
    published: &Published,
    session: &mut Session,
) -> Result<Exit> {
    let Published { site, datasets } = published;
    let text: AsText = if session.is_quiet() { write_differences } else { write_found };
    let mut exit = Exit::Done;
    registry.verify_published(site, datasets, |found| -> Result<()> {
        if !found.ok {
            exit = Exit::Differs;
        }
        session.present(&found, text)?;
        Ok(())
    })?;
    // Statements name all datasets.
    let stated = match datasets {
        DatasetFilter::All => registry.verify_published_statements(site)?,
        DatasetFilter::Only(_) => None,
    };
    if let Some(found) = stated {
        if !found.ok {
            exit = Exit::Differs;
        }
        session.present(&found, text)?;
    }
    Ok(exit)
}

/// Writes the findings about a dataset or the statements.
fn write_found(out: &mut Output, found: &Value) -> io::Result<()> {
    write_differences(out, found)?;
    let what = match found["dataset"].as_str() {
        Some(dataset) => format!("{dataset}: {}", counted(&found["changes"], "change")),
        None => counted(&found["statements"], "statement"),
    };
    let state = match (found["ok"] == true, found["current"] == true) {
        (false, _) => "NOT ok",
        (true, true) => "ok",
        (true, false) => "ok, but not all that the registry has now",
    };
    writeln!(out, "{what}: {state}")
}

/// Writes the files that differ from what was published.
fn write_differences(out: &mut Output, found: &Value) -> io::Result<()> {
    for difference in found["differences"].as_array().into_iter().flatten() {
        let line = &difference["line"];
        let line = if line.is_null() { String::new() } else { format!(", line {line}") };
        let text = in_words(&difference["text"]);
        writeln!(out, "{}{line}: {}", in_words(&difference["file"]), one_line(&text))?;
    }
    Ok(())
}
