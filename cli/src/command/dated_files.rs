//! The files of dated listings, and the dates in their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use accession::text::quoted;
use accession::{DatasetName, Moment, Timestamp};

use super::dates_in_names::{times_in, times_of};
use crate::error::{Context, Error, Result};
use crate::input_file::InputFile;
use crate::output::for_shell;
use crate::session::Session;

/// A listing, and the time at which the dataset held its granules.
pub struct Dated {
    pub at: Timestamp,
    pub file: InputFile,
}

impl Dated {
    /// Whether the path of its file is or ends with `path`. For an inventory, the path of its directory also
    /// counts.
    pub fn is_at(&self, path: &Path) -> bool {
        self.file.path().is_some_and(|own| {
            let directory = own.parent().filter(|_| own.ends_with("manifest.json"));
            own.ends_with(path) || directory.is_some_and(|directory| directory.ends_with(path))
        })
    }
}

/// What to do with a hidden file or a directory without a date in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undated {
    /// Skip it, because it was found in a directory.
    Skipped,
    /// Reject it, because it was named.
    Refused,
}

/// The entries of a directory.
pub fn paths_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", quoted(&directory.to_string_lossy()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(cannot)? {
        paths.push(entry.with_context(cannot)?.path());
    }
    Ok(paths)
}

/// The paths of the named files.
pub fn paths_of(files: &[InputFile]) -> Result<Vec<PathBuf>> {
    let path = |file: &InputFile| match file {
        InputFile::Path(path) => Ok(path.clone()),
        InputFile::StandardInput => Err(Error::usage("standard input has no date in its name")
            .with_hint("save it in a file with a date in its name, such as 2016-04-05.txt")),
    };
    files.iter().map(path).collect()
}

/// Rejects files with different dates in their names: they are not parts of one listing.
///
/// # Errors
///
/// Two files have different dates.
pub fn refuse_dated(files: &[InputFile], dataset: &DatasetName, session: &Session) -> Result<()> {
    let paths = files.iter().filter_map(InputFile::path).filter(|path| !path.is_dir());
    let times = |path| times_of(path).unwrap_or_default();
    let mut dated = paths.map(|path| (path, times(path))).filter(|(_, times)| !times.is_empty());
    let Some((first, times)) = dated.next() else { return Ok(()) };
    let Some((other, _)) = dated.find(|(_, others)| *others != times) else { return Ok(()) };
    let [first, other] = [first, other].map(|path| path.to_string_lossy().into_owned());
    let named: Vec<String> = match files {
        [_, _] | [_, _, _] => files.iter().map(|file| for_shell(&file.name())).collect(),
        _ => vec!["FILE...".to_owned()],
    };
    let message =
        format!("{} and {} have different dates in their names", quoted(&first), quoted(&other));
    Err(Error::usage(message).with_hint(format!(
        "`{} import {dataset} {}` records a change for each date",
        session.program(),
        named.join(" ")
    )))
}

/// The dated listings among paths, ordered by time. An S3 inventory is a directory with a manifest.
pub fn dated_of(mut paths: Vec<PathBuf>, undated: Undated) -> Result<Vec<Dated>> {
    let mut dated = BTreeMap::new();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shown = quoted(&path.to_string_lossy()).to_string();
        let refused = |message: String| {
            Err(Error::usage(message).with_hint(
                "nothing was changed; the name of each listing has one date, such as 2016-04-05, and no two have the same",
            ))
        };
        let times = match times_in(&name) {
            Ok(times) => times,
            Err(digits) => {
                return refused(format!(
                    "{shown}: the digits after the date in {} are not understood as a time",
                    quoted(&digits)
                ));
            }
        };
        let at = match times.as_slice() {
            [at] => *at,
            // Hidden files, and the data files of inventories.
            [] if undated == Undated::Skipped && (name.starts_with('.') || path.is_dir()) => {
                continue;
            }
            [] => return refused(format!("{shown} has no date in its name")),
            [_, ..] => return refused(format!("{shown} has several dates in its name")),
        };
        let file = if path.is_dir() { path.join("manifest.json") } else { path };
        if let Some(other) = dated.insert(at, file) {
            let other = other.to_string_lossy().into_owned();
            return refused(format!("{} and {shown} are both of {}", quoted(&other), date(at)));
        }
    }
    let dated = dated.into_iter();
    Ok(dated.map(|(at, path)| Dated { at, file: InputFile::Path(path) }).collect())
}

/// A time as it is in the names of listings: a date if the time is the start of a day.
pub fn date(at: Timestamp) -> Moment {
    let day = at.day();
    if day.start() == at { Moment::Day(day) } else { Moment::Instant(at) }
}
