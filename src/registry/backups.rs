//! A directory of backups: their names, and which of them are removed.
//!
//! A backup is called `NAME-20260131T030000Z.db`: the name of the registry (of a file without `.db`,
//! of a database on a server its own) and the time in UTC, to the second; where that is taken,
//! `-2`, `-3`, … follow the time. Only a regular file with such a name that is a copy of this registry
//! is ever removed: another one may have the same name, and the same directory.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::copy::BackedUp;
use super::handle::Registry;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, RecordVersion, Timestamp};
use crate::store::{self, Access};

/// The length of a time in a name: `20260131T030000Z`.
const STAMP_BYTES: usize = 16;

/// The greatest number of backups that one second can have.
const MAX_SUFFIX: u32 = 1_000;

/// How many datasets of a file are looked up to find whether it is a copy of a registry.
const COMPARED_DATASETS: u32 = 100;

impl Registry {
    /// Makes a [backup](Registry::back_up) in a directory that exists, under a name that is not taken.
    /// Returns its path.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::back_up`].
    pub fn back_up_into(&self, directory: &Path, now: Timestamp) -> Result<(PathBuf, BackedUp)> {
        let (name, stamp) = (self.name_of_backups(), stamp_of(now));
        for suffix in 1..MAX_SUFFIX {
            let file = match suffix {
                1 => format!("{name}-{stamp}.db"),
                suffix => format!("{name}-{stamp}-{suffix}.db"),
            };
            let path = directory.join(file);
            match self.back_up(&path) {
                Err(error) if error.kind() == ErrorKind::RegistryExists => {}
                backed_up => return Ok((path, backed_up?)),
            }
        }
        let message = format!("there are {MAX_SUFFIX} backups of this second already");
        Err(Error::new(ErrorKind::RegistryExists, message).in_path(directory))
    }

    /// Removes the oldest backups of this registry from a directory, and keeps so many, the one at `new`
    /// included, which is never removed: the clock may have been wrong when the others were made.
    /// Returns the paths of those that were removed. Whatever is not a backup that
    /// [`Registry::back_up_into`] made of this registry is left as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): the directory cannot be read, or a backup cannot be
    /// removed.
    pub fn remove_old_backups(
        &self,
        directory: &Path,
        new: &Path,
        keep: NonZeroUsize,
    ) -> Result<Vec<PathBuf>> {
        let unread = |source| Error::cannot("read", directory, source);
        let name = self.name_of_backups();
        let mut backups = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let file = entry.file_name();
            let Some(age) = file.to_str().and_then(|file| age_of(&name, file)) else { continue };
            // A link is not a file of its own.
            let is_file = entry.file_type().map_err(unread)?.is_file();
            let path = entry.path();
            // What cannot be read is not known to be a copy, so it is kept.
            if is_file && path != new && self.has_copy_at(&path).unwrap_or(false) {
                backups.push((age, path));
            }
        }
        backups.sort();
        let excess = backups.len().saturating_sub(keep.get() - 1);
        let mut removed = Vec::new();
        for (_, path) in backups.drain(..excess) {
            std::fs::remove_file(&path).map_err(|source| Error::cannot("remove", &path, source))?;
            removed.push(path);
        }
        Ok(removed)
    }

    /// Whether a file is a copy of an earlier state of this registry: it has a dataset that was added to
    /// both at the same time.
    fn has_copy_at(&self, path: &Path) -> Result<bool> {
        let copy = Registry::open(path, Access::Read)?;
        let (copy, read) = (copy.read()?, self.read()?);
        for name in copy.dataset_names_after("", COMPARED_DATASETS)? {
            let Ok(name) = name.parse::<DatasetName>() else { continue };
            let (Some((copied, _)), Some((own, _))) = (copy.dataset(&name)?, read.dataset(&name)?)
            else {
                continue;
            };
            let added = |versions: Vec<RecordVersion>| {
                versions.into_iter().next().map(|first| first.recorded)
            };
            let added_to_copy = added(copy.record_versions(copied, 0, 1)?);
            if added_to_copy.is_some() && added_to_copy == added(read.record_versions(own, 0, 1)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the backups of this registry are called.
    fn name_of_backups(&self) -> String {
        let path = self.path().map(store::full_name).unwrap_or_default();
        let path = path.to_string_lossy();
        let name = match path.split_once("://") {
            Some((_, address)) => {
                let address = address.split('?').next().unwrap_or_default();
                address.split_once('/').map_or("", |(_, database)| database)
            }
            None => {
                path.rsplit('/').next().map_or("", |file| file.strip_suffix(".db").unwrap_or(file))
            }
        };
        let plain = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => character,
            _ => '_',
        };
        match name.trim_start_matches('.') {
            "" => "registry".to_owned(),
            name => name.chars().map(plain).collect(),
        }
    }
}

/// A time as names have it.
fn stamp_of(now: Timestamp) -> String {
    let text = now.to_string();
    let seconds = text.get(..19).unwrap_or(&text);
    let digits: String = seconds.chars().filter(|character| !"-:".contains(*character)).collect();
    format!("{digits}Z")
}

/// When a backup was made, to be compared with others. `None`: the name is not that of a backup.
fn age_of(name: &str, file: &str) -> Option<(String, u32)> {
    let rest = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".db")?;
    let (stamp, suffix) = (rest.get(..STAMP_BYTES)?, rest.get(STAMP_BYTES..)?);
    let is_stamp = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    let number = match suffix.strip_prefix('-') {
        None if suffix.is_empty() => 1,
        Some(digits) if !digits.starts_with('0') && !digits.starts_with('+') => {
            digits.parse().ok()?
        }
        _ => return None,
    };
    let is_number = (1..MAX_SUFFIX).contains(&number) && (number > 1 || suffix.is_empty());
    (is_stamp && is_number).then(|| (stamp.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_backups_are_recognised() {
        let of = |file: &str| age_of("archive", file);
        let stamp = "20260131T030000Z".to_owned();
        assert_eq!(stamp_of("2026-01-31T03:00:00.999999Z".parse().unwrap()), stamp);
        assert_eq!(of("archive-20260131T030000Z.db"), Some((stamp.clone(), 1)));
        assert_eq!(of("archive-20260131T030000Z-12.db"), Some((stamp, 12)));
        for other in [
            "archive.db",
            "archive-2026-01-31.db",
            "archive-20260131T030000Z",
            "archive-20260131T030000Z.db-wal",
            "archive-20260131T030000Z-1.db",
            "archive-20260131T030000Z-02.db",
            "archive-20260131T030000Z-+2.db",
            "archive-20260131T030000Z-x.db",
            "archive-20260131T030000Zx.db",
            "archive-20260131X030000Z.db",
            "archive-2-20260131T030000Z.db",
            "other-20260131T030000Z.db",
            "archive-é0260131T030000Z.db",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
