//! The names of backups in a directory.
//!
//! A backup is called `NAME-20260131T030000Z.db`: the name of the registry (of a file without `.db`,
//! of a database on a server its own) and the time in UTC, to the second; where that is taken,
//! `-2`, `-3`, … follow the time.

use std::path::{Path, PathBuf};

use super::copy::BackedUp;
use super::handle::Registry;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Timestamp;
use crate::store;

/// The greatest number of backups that one second can have.
const MAX_SUFFIX: u32 = 1_000;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_name_ends_with_the_second() {
        let now = "2026-01-31T03:00:00.999999Z".parse().unwrap();
        assert_eq!(stamp_of(now), "20260131T030000Z");
    }
}
