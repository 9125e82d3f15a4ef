//! A file that appears under its final name only when it is complete.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, Metadata, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, PathPersistError, TempPath};

use super::directory::Directory;
use super::reserved::{self, LOCK, PREFIX, STEM_LENGTH};
use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// A temporary file in the directory of its target, which an atomic rename puts in place.
///
/// Dropping it before that removes it. A killed process leaves it behind; the next process that creates an
/// `AtomicFile` in that directory removes it.
pub struct AtomicFile {
    // The fields are dropped in this order, so the lock file is removed last.
    companions: Companions,
    file: NamedTempFile,
    target: PathBuf,
    lock: Lock,
}

crate::model::debug_fields!(AtomicFile: target);

impl AtomicFile {
    /// Creates an empty temporary file in the directory of `target`, with the permissions of a new file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`]; [`ErrorKind::Io`]: the directory does not exist or cannot be written.
    pub fn beside(target: &Path) -> Result<Self> {
        reserved::check(target)?;
        let directory = directory_of(target);
        remove(directory);
        let create = || {
            let lock = Lock::new(directory)?;
            let file = lock.new_file()?;
            Ok((lock, file))
        };
        let (lock, file) = create().map_err(|source: io::Error| {
            // Leaves out the name of the temporary file, which the user did not choose.
            let source = match source.kind() {
                io::ErrorKind::NotFound => {
                    io::Error::new(io::ErrorKind::NotFound, "the directory does not exist")
                }
                kind => kind.into(),
            };
            Error::cannot("create a file in", directory, source)
        })?;
        Ok(AtomicFile {
            companions: Companions::of(file.path()),
            file,
            target: target.into(),
            lock,
        })
    }

    /// The path of the temporary file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The path to which the file will be renamed.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The temporary file, open for reading and writing.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// The temporary file, open for reading and writing.
    pub fn as_file_mut(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the file the permissions of another file and, if the user may do that, its owner and group. Call
    /// this before anything is written, so that nobody else can read it meanwhile.
    ///
    /// The owner can always read and write the file. If the group cannot be set, the group gets only the
    /// permissions that everybody has.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: the permissions cannot be set.
    pub fn take_permissions(&self, of: &Metadata) -> Result<()> {
        let file = self.as_file();
        // Only root may change the owner. Other users may change the group only to one of their own groups.
        let _ = fchown(file, Some(of.uid()), None);
        let _ = fchown(file, None, Some(of.gid()));
        let set = || {
            let mut mode = of.mode() & 0o777 | 0o600;
            if file.metadata()?.gid() != of.gid() {
                mode &= !0o070 | (mode & 0o007) << 3;
            }
            file.set_permissions(Permissions::from_mode(mode))
        };
        set().map_err(|source| Error::cannot("set the permissions of", &self.target, source))
    }

    /// Syncs the content of the file. [`AtomicFile::rename`] then only has to rename it.
    pub fn sync(&self) -> Result<()> {
        let synced = self.file.as_file().sync_all();
        synced.map_err(|source| Error::cannot("write", &self.target, source))
    }

    /// Renames the file to its target, where no file may exist yet. Syncs neither the content nor the name.
    pub fn rename(self) -> Result<()> {
        self.persist(|path, target| path.persist_noclobber(target))
    }

    /// Syncs the file and renames it to its target, where no file may exist yet. The file is durable when this
    /// returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: a file exists there; it is not changed. [`ErrorKind::Io`]: the file cannot
    /// be synced or renamed.
    pub fn put_in_place(self) -> Result<()> {
        self.finish(|path, target| path.persist_noclobber(target))
    }

    /// Syncs the file and renames it to its target, replacing any file there. The file is durable when this
    /// returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: the file cannot be synced or renamed; the target is not changed.
    pub fn replace(self) -> Result<()> {
        self.finish(|path, target| path.persist(target))
    }

    fn finish(
        self,
        rename: impl FnOnce(TempPath, &Path) -> std::result::Result<(), PathPersistError>,
    ) -> Result<()> {
        self.sync()?;
        // Opened before the rename, so that a directory that cannot be opened is an error before anything is
        // changed.
        let directory = Directory::open(directory_of(&self.target))?;
        self.persist(rename)?;
        directory.sync()
    }

    fn persist(
        self,
        rename: impl FnOnce(TempPath, &Path) -> std::result::Result<(), PathPersistError>,
    ) -> Result<()> {
        let AtomicFile { companions, file, target, lock } = self;
        // Closed before others can open it: on Unix, closing a file releases every lock that SQLite holds on it
        // in this process.
        let path = file.into_temp_path();
        rename(path, &target).map_err(|persist| match persist.error.kind() {
            io::ErrorKind::AlreadyExists => {
                let message = format!("{} already exists", quoted(&target.to_string_lossy()));
                Error::new(ErrorKind::AlreadyExists, message).in_path(&target)
            }
            _ => Error::cannot("create", &target, persist.error),
        })?;
        drop((companions, lock));
        Ok(())
    }
}

/// The directory of a path; for a bare file name, the current directory.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// The lock that protects the temporary file with the same stem. Dropping it removes the lock file.
pub(super) struct Lock {
    file: NamedTempFile,
}

/// Removes SQLite's files beside a temporary file when dropped.
pub(super) struct Companions {
    path: PathBuf,
}

impl Lock {
    /// Creates a lock file in a directory, and locks it.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        loop {
            let file = lock_file(directory)?;
            match file.as_file().try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                // On a file system without locks, no other process can lock the file either, so none removes
                // it.
                Err(TryLockError::Error(_)) => return Ok(Lock { file }),
            }
            if file.path().try_exists()? {
                return Ok(Lock { file });
            }
        }
    }

    /// Creates the temporary file that this lock protects.
    pub(super) fn new_file(&self) -> io::Result<NamedTempFile> {
        let path = reserved::new_of(self.file.path());
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(path)?))
    }

    /// Creates the temporary directory that this lock protects, accessible only to its owner.
    pub(super) fn new_directory(&self) -> io::Result<PathBuf> {
        let path = reserved::new_of(self.file.path());
        DirBuilder::new().mode(0o700).create(&path).map(|()| path)
    }
}

impl Companions {
    pub(super) fn of(path: &Path) -> Self {
        Companions { path: path.to_owned() }
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        for ending in reserved::ENDINGS {
            let _ = std::fs::remove_file(reserved::beside(&self.path, ending));
        }
    }
}

/// Removes the temporary files and directories in a directory whose process no longer exists.
///
/// A file that cannot be listed, locked or removed belongs to another user, and stays.
pub(super) fn remove(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let stems: BTreeSet<String> =
        names.filter_map(|name| reserved::stem(&name).map(str::to_owned)).collect();
    for stem in stems {
        remove_stem(&directory.join(reserved::lock_of(&stem)));
    }
}

/// Removes all files with the stem of a lock file, unless a process holds that lock.
fn remove_stem(lock_path: &Path) {
    let lock = match File::options().read(true).write(true).open(lock_path) {
        Ok(file) => match file.try_lock() {
            Ok(()) => Some(file),
            Err(_) => return,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return,
    };
    let path = reserved::new_of(lock_path);
    drop(Companions::of(&path));
    // If it is a link, the link itself is removed.
    if std::fs::remove_file(&path).is_err() {
        let _ = std::fs::remove_dir_all(&path);
    }
    if lock.is_some() {
        let _ = std::fs::remove_file(lock_path);
    }
}

/// Creates an empty lock file with the permissions that the umask allows, so that anyone who may write to the
/// directory can remove what a killed process left there.
fn lock_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(LOCK).rand_bytes(STEM_LENGTH);
    builder.permissions(Permissions::from_mode(0o666));
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn filled(target: &Path, text: &str) -> AtomicFile {
        let mut file = AtomicFile::beside(target).unwrap();
        file.as_file_mut().write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_file_appears_complete_and_overwrites_only_by_replace() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        let (first, second) = (filled(&target, "first"), filled(&target, "second"));
        assert!(!target.exists());
        first.put_in_place().unwrap();
        assert!(second.put_in_place().unwrap_err().kind() == ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "first");
        filled(&target, "third").replace().unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "third");
        assert_eq!(names(directory.path()), ["target"]);
    }

    #[test]
    fn a_file_that_is_dropped_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = filled(&directory.path().join("target"), "text");
        std::fs::write(reserved::beside(file.path(), "-wal"), "changes").unwrap();
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn files_of_a_killed_process_are_removed_and_files_in_use_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [
            ".accession-dead01.lock",
            ".accession-dead01.new",
            ".accession-dead01.new-wal",
            ".accession-dead01.new-shm",
            ".accession-dead02.lock",
            // Earlier versions created no lock file.
            ".accession-dead03.new",
            ".accession-dead03.new-journal",
        ] {
            std::fs::write(at(name), "left").unwrap();
        }
        for name in ["accession.db", "accession.db-wal", ".accession-notes", "x.new"] {
            std::fs::write(at(name), "mine").unwrap();
        }
        let used = filled(&at("first"), "used");
        std::fs::write(reserved::beside(used.path(), "-wal"), "used").unwrap();
        drop(filled(&at("second"), "other"));
        let stem = used.path().file_stem().unwrap().to_str().unwrap().to_owned();
        let mut expected: Vec<String> =
            ["accession.db", "accession.db-wal", ".accession-notes", "x.new"]
                .map(String::from)
                .into();
        expected.extend(["lock", "new", "new-wal"].map(|ending| format!("{stem}.{ending}")));
        expected.sort();
        assert_eq!(names(directory.path()), expected);
        used.put_in_place().unwrap();
        assert_eq!(std::fs::read_to_string(at("first")).unwrap(), "used");
    }

    /// Eight threads create and finish files in one directory. Each removes leftovers before it creates its own
    /// file, which must not remove a file of another thread. Locks belong to open files, so threads exclude
    /// each other as processes do.
    #[test]
    fn removing_leftovers_concurrently_never_removes_a_file_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: String| directory.path().join(name);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove(directory.path());
                }
            });
            let workers: Vec<_> = (0..8)
                .map(|worker| {
                    scope.spawn(move || {
                        for n in 0..50 {
                            let file = filled(&at(format!("{worker}.{n}")), "whole");
                            assert!(file.path().exists());
                            file.put_in_place().unwrap();
                        }
                    })
                })
                .collect();
            let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            is_over.store(true, Ordering::Relaxed);
            results.into_iter().for_each(|result| result.unwrap());
        });
        assert_eq!(names(directory.path()).len(), 400);
    }

    #[test]
    fn an_error_names_the_directory_and_not_the_temporary_file() {
        let error = AtomicFile::beside(Path::new("/nowhere/target")).err().unwrap();
        assert_eq!(error.to_string(), "cannot create a file in \"/nowhere\"");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(!source.contains(".accession"), "{source}");
    }

    #[test]
    fn a_bare_name_is_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("accession.db")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/accession.db")), Path::new("a"));
        assert_eq!(directory_of(Path::new("/accession.db")), Path::new("/"));
    }
}
