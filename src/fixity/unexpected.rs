//! Files in a directory that belong to no granule.

use std::fs::{self, FileType, ReadDir};
use std::io;
use std::iter::Peekable;
use std::path::Path;

use super::check::FileProblem;
use super::root::Root;
use crate::disk::{SortedEntries, Sorter};
use crate::error::Result;

/// The files in a directory, and the paths of the files of granules.
///
/// Both are sorted by path in a temporary file, because a directory may have any number of files, and granules
/// are not in the order of their paths.
#[derive(Debug)]
pub struct DirectoryFiles {
    /// The files. The value is the reason why a directory cannot be read, else empty.
    present: Sorter,
    expected: Sorter,
}

impl DirectoryFiles {
    /// Lists all files below a root. Links to directories are not followed, because their targets are elsewhere
    /// below the root, or outside of it.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`](crate::ErrorKind::Io): the root cannot be read
    /// - [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written
    pub fn list(root: &Root) -> Result<Self> {
        let mut present = Sorter::default();
        // The directories that are being read, one for each level.
        let mut levels = vec![(String::new().into_bytes(), read_directory(root.path())?)];
        while let Some((path, entries)) = levels.last_mut() {
            let Some(entry) = entries.next() else {
                levels.pop();
                continue;
            };
            let of_entry = |name: &[u8]| [path.as_slice(), name].concat();
            let read = entry.and_then(|entry| {
                let name = of_entry(entry.file_name().as_encoded_bytes());
                let (path, kind) = (entry.path(), entry.file_type()?);
                Ok((name, path, kind))
            });
            let (name, path, kind) = match read {
                Ok(entry) => entry,
                Err(error) => {
                    // The rest of this directory is unknown.
                    present.add(&[&of_entry(b".")], &[why(&error).as_bytes()])?;
                    levels.pop();
                    continue;
                }
            };
            if !kind.is_dir() {
                if !leads_to_directory(&path, kind) {
                    present.add(&[&name], &[])?;
                }
                continue;
            }
            match fs::read_dir(&path) {
                Ok(entries) => levels.push(([&name, &b"/"[..]].concat(), entries)),
                Err(error) => present.add(&[&name], &[why(&error).as_bytes()])?,
            }
        }
        Ok(DirectoryFiles { present, expected: Sorter::default() })
    }

    /// Adds the path of a granule's file, whether the file exists or not.
    pub fn expect(&mut self, path: &str) -> Result<()> {
        self.expected.add(&[plain(path).as_bytes()], &[])
    }

    /// The files that belong to no granule, sorted by path. The problem is [`FileProblem::UNEXPECTED`], or
    /// `unreadable` for a directory that cannot be read.
    pub fn unexpected(self) -> Result<UnexpectedFiles> {
        let expected = SortedEntries::of(&self.expected)?.peekable();
        Ok(UnexpectedFiles { present: SortedEntries::of(&self.present)?, expected })
    }
}

fn read_directory(path: &Path) -> Result<ReadDir> {
    fs::read_dir(path).map_err(|source| crate::Error::cannot("read the directory", path, source))
}

fn why(error: &io::Error) -> String {
    FileProblem::of_error(error).found.unwrap_or_else(|| "removed while it was read".to_owned())
}

fn leads_to_directory(path: &Path, kind: FileType) -> bool {
    kind.is_symlink() && fs::metadata(path).is_ok_and(|target| target.is_dir())
}

/// Normalises a path to the form in a directory listing: without `.` and without repeated slashes.
pub(super) fn plain(path: &str) -> String {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    names.collect::<Vec<_>>().join("/")
}

/// An iterator over the files that belong to no granule, each with its path and its problem.
pub struct UnexpectedFiles {
    present: SortedEntries,
    expected: Peekable<SortedEntries>,
}

crate::model::debug_fields!(UnexpectedFiles);

impl UnexpectedFiles {
    fn is_expected(&mut self, path: &[u8]) -> Result<bool> {
        while let Some(expected) = self.expected.peek() {
            match expected {
                Ok((expected, _)) if &**expected < path => {}
                Ok((expected, _)) => return Ok(&**expected == path),
                Err(_) => {}
            }
            self.expected.next().transpose()?;
        }
        Ok(false)
    }
}

impl Iterator for UnexpectedFiles {
    type Item = Result<(String, FileProblem)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, reason) = match self.present.next()? {
                Ok(present) => present,
                Err(error) => return Some(Err(error)),
            };
            let problem = match reason.is_empty() {
                true => FileProblem::UNEXPECTED,
                false => FileProblem::unreadable(String::from_utf8_lossy(&reason)),
            };
            match self.is_expected(&path) {
                Ok(true) if problem == FileProblem::UNEXPECTED => {}
                Ok(_) => {
                    // The file of a granule cannot have a path that is not UTF-8.
                    return Some(Ok((String::from_utf8_lossy(&path).into_owned(), problem)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::MountCheck;
    use super::*;

    fn unexpected(root: &Path, expected: &[&str]) -> Vec<String> {
        let root = Root::open(root, MountCheck::Unknown).unwrap();
        let mut files = DirectoryFiles::list(&root).unwrap();
        for path in expected {
            files.expect(path).unwrap();
        }
        let unexpected = files.unexpected().unwrap().map(Result::unwrap);
        unexpected.map(|(path, problem)| format!("{path} {}", problem.status)).collect()
    }

    #[test]
    fn files_that_no_granule_has_are_listed_in_order_of_path() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["b/2", "b/1", "b/c/d/e", "b.nc", "a", "z/only"] {
            let file = directory.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        fs::create_dir(directory.path().join("empty")).unwrap();
        let all = ["a", "b.nc", "b/1", "b/2", "b/c/d/e", "z/only"];
        let shown: Vec<String> = all.iter().map(|path| format!("{path} unexpected")).collect();
        assert_eq!(unexpected(directory.path(), &[]), shown);
        assert_eq!(unexpected(directory.path(), &all), [""; 0]);
        // Paths of granules are in any order, repeated, missing, and written in several ways.
        let expected = ["z//only", "./b/2", "none", "b/c/./d/e", "a", "b", "a"];
        assert_eq!(unexpected(directory.path(), &expected), ["b.nc unexpected", "b/1 unexpected"]);
    }

    #[test]
    fn a_link_is_a_file_unless_it_leads_to_a_directory() {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("data")).unwrap();
        fs::write(path("data/a"), "").unwrap();
        symlink("data", path("directory")).unwrap();
        symlink(".", path("data/loop")).unwrap();
        symlink("data/a", path("file")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        fs::write(directory.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
        assert_eq!(
            unexpected(directory.path(), &["data/a"]),
            ["dangling unexpected", "file unexpected", "\u{fffd} unexpected"]
        );
    }
}
