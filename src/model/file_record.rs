//! What is known of one file of a granule.

use std::fmt;

use super::checksum::Checksum;
use super::granule_id::GranuleId;

/// The path of a file, relative to the root directory of a dataset's files.
///
/// # Syntax
///
/// Non-empty UTF-8 of at most [`FilePath::MAX_BYTES`] bytes without U+0000. It does not begin with `/`,
/// and no segment of it is `..`. Everything else is kept, line ends included.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Box<str>);

impl FilePath {
    /// The greatest length of a path, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 1_024;

    /// Checks `text` and takes it as a path.
    ///
    /// # Errors
    ///
    /// - `""`: empty
    /// - `"/data/A.nc"`: not relative
    /// - `"../A.nc"`: leads out of the root directory
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, FilePathError> {
        let text = text.into();
        if text.is_empty() {
            Err(FilePathError::Empty)
        } else if text.len() > FilePath::MAX_BYTES {
            Err(FilePathError::TooLong { bytes: text.len() })
        } else if text.contains('\0') {
            Err(FilePathError::Nul)
        } else if text.starts_with('/') || text.split('/').any(|segment| segment == "..") {
            Err(FilePathError::Outside)
        } else {
            Ok(FilePath(text))
        }
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Why a string is not the path of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilePathError {
    /// The empty string.
    #[error("the path of a file cannot be empty")]
    Empty,
    /// More than [`FilePath::MAX_BYTES`] bytes.
    #[error("the path of a file has at most 1,024 bytes, but this one has {bytes}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// U+0000.
    #[error("the path of a file does not contain U+0000")]
    Nul,
    /// Absolute, or with a segment `..`.
    #[error("the path of a file is relative to a root directory, and has no \"..\"")]
    Outside,
}

/// What is known of the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileContent {
    /// Its size in bytes, and no checksum.
    Size(u64),
    /// A checksum.
    Checksum {
        /// The checksum.
        checksum: Checksum,
        /// The size in bytes. `None` means that it is not known.
        size: Option<u64>,
    },
}

impl FileContent {
    /// What a size and a checksum say. `None` means that neither is known.
    pub fn new(size: Option<u64>, checksum: Option<Checksum>) -> Option<Self> {
        match (checksum, size) {
            (Some(checksum), size) => Some(FileContent::Checksum { checksum, size }),
            (None, Some(size)) => Some(FileContent::Size(size)),
            (None, None) => None,
        }
    }

    /// Whether both cannot be true of one file: two sizes, or two checksums of one algorithm.
    pub fn contradicts(&self, other: &FileContent) -> bool {
        let sizes = self.size().zip(other.size()).is_some_and(|(one, other)| one != other);
        sizes
            || self
                .checksum()
                .zip(other.checksum())
                .is_some_and(|(one, other)| one.algorithm() == other.algorithm() && one != other)
    }

    /// Returns the size in bytes. `None` means that it is not known.
    pub fn size(&self) -> Option<u64> {
        match self {
            FileContent::Size(size) => Some(*size),
            FileContent::Checksum { size, .. } => *size,
        }
    }

    /// Returns the checksum. `None` means that none is known.
    pub fn checksum(&self) -> Option<&Checksum> {
        match self {
            FileContent::Size(_) => None,
            FileContent::Checksum { checksum, .. } => Some(checksum),
        }
    }
}

/// A record of a file: what is known of one file of a granule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileRecord {
    /// The granule that the file belongs to.
    pub granule_id: GranuleId,
    /// The path. `None` means that it equals the id.
    pub path: Option<FilePath>,
    /// What is known of its bytes.
    pub content: FileContent,
}

impl FileRecord {
    /// A record of the file with this path, which is not stored twice where it equals the id.
    pub fn new(granule_id: GranuleId, path: FilePath, content: FileContent) -> Self {
        let path = (path.as_str() != granule_id.as_str()).then_some(path);
        FileRecord { granule_id, path, content }
    }

    /// Returns the path as a string, also where it equals the id.
    pub fn path(&self) -> &str {
        self.path.as_ref().map_or(self.granule_id.as_str(), FilePath::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_a_file_below_the_root() {
        for path in ["A", "a/b", "./A", "a b", "a\nb", "..A", "größe", "a//b", &"a".repeat(1_024)]
        {
            assert_eq!(FilePath::new(path).unwrap().as_str(), path);
        }
        for (path, error) in [
            ("", FilePathError::Empty),
            ("/a", FilePathError::Outside),
            ("..", FilePathError::Outside),
            ("a/../../b", FilePathError::Outside),
            ("a\0b", FilePathError::Nul),
            (&"a".repeat(1_025), FilePathError::TooLong { bytes: 1_025 }),
        ] {
            assert_eq!(FilePath::new(path), Err(error), "{path:?}");
        }
    }

    #[test]
    fn a_path_that_equals_the_id_is_not_stored_twice() {
        let record = |path: &str| {
            let granule_id = GranuleId::new("A.nc").unwrap();
            FileRecord::new(granule_id, FilePath::new(path).unwrap(), FileContent::Size(7))
        };
        assert_eq!((record("A.nc").path, record("A.nc").path()), (None, "A.nc"));
        assert_eq!(record("d/A.nc").path(), "d/A.nc");
    }
}
