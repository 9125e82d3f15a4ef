//! The files of a directory as a list of granules.

use std::fs::{self, DirEntry, ReadDir};
use std::path::Path;

use crate::error::{Error, ErrorDetail, Result};
use crate::model::{Content, FileRecord, GranuleId, ListingEntry, quoted};
use crate::registry::{Listing, ListingBuilder, SkippedEntries};

/// Lists the files below a directory by their paths, and with their sizes if requested. The rules are those
/// of [`Listing::read`].
pub(super) fn list(root: &Path, with_sizes: bool) -> Result<Listing> {
    let mut walk = Walk { with_sizes, builder: ListingBuilder::new(), skipped: Default::default() };
    // The directories that are being read: one for each level, with the beginning of the paths in it.
    let mut levels = vec![(String::new(), open(root)?)];
    while let Some((prefix, entries)) = levels.last_mut() {
        let Some(entry) = entries.next() else {
            levels.pop();
            continue;
        };
        let entry = entry.map_err(|source| unreadable(&root.join(&*prefix), source))?;
        if let Some(prefix) = walk.add(prefix, &entry)? {
            levels.push((prefix, open(&entry.path())?));
        }
    }
    Ok(walk.builder.finish_reading(walk.skipped, Vec::new()))
}

fn open(directory: &Path) -> Result<ReadDir> {
    fs::read_dir(directory).map_err(|source| unreadable(directory, source))
}

fn unreadable(directory: &Path, source: std::io::Error) -> Error {
    Error::cannot("read the directory", directory, source)
}

/// What was read of a directory so far.
struct Walk {
    with_sizes: bool,
    builder: ListingBuilder,
    skipped: SkippedEntries,
}

impl Walk {
    /// Adds an entry of the directory whose paths begin with `prefix`. Returns the beginning of the paths in
    /// the entry if it is a directory.
    fn add(&mut self, prefix: &str, entry: &DirEntry) -> Result<Option<String>> {
        let (name, path) = (entry.file_name(), entry.path());
        if name.as_encoded_bytes().starts_with(b".") {
            self.skipped.hidden += 1;
            return Ok(None);
        }
        let cannot = |source| Error::cannot("read", &path, source);
        let refused = |why: &str| {
            let shown = quoted(&path.to_string_lossy()).to_string();
            Error::new(ErrorDetail::NotAGranuleId, format!("{shown} is refused: {why}"))
                .in_path(&path)
        };
        let is_link = entry.file_type().map_err(cannot)?.is_symlink();
        let metadata = fs::metadata(&path).map_err(cannot)?;
        if is_link && metadata.is_dir() {
            self.skipped.directory_links += 1;
            return Ok(None);
        }
        if !metadata.is_dir() && !metadata.is_file() {
            self.skipped.special += 1;
            return Ok(None);
        }
        let name = name.to_str().ok_or_else(|| refused("the name is not UTF-8"))?;
        if metadata.is_dir() {
            return Ok(Some(format!("{prefix}{name}/")));
        }
        let granule_id = GranuleId::new(format!("{prefix}{name}"));
        let granule_id = granule_id.map_err(|cause| refused(&cause.to_string()))?;
        let size = self.with_sizes.then_some(metadata.len());
        let file = FileRecord::new(&granule_id, None, size, None);
        // One file cannot contradict itself.
        let content = Content::of(&granule_id, file.into_iter().collect()).ok();
        let content = content.filter(|content| !content.is_empty());
        self.builder.add(ListingEntry { content, ..ListingEntry::from(granule_id) })?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_file_that_vanishes_after_it_was_listed_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        fs::write(&path, "1").unwrap();
        let entry = open(directory.path()).unwrap().next().unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        let (builder, skipped) = Default::default();
        let error = Walk { with_sizes: true, builder, skipped }.add("", &entry).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.path(), Some(path.as_path()));
    }
}
