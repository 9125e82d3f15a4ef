//! A directory whose files are opened without following symbolic links.
//!
//! Other users than the owner may be able to write to a directory that a web server serves. If they replace a
//! file or a directory there with a link, they must not decide which file is read or overwritten. So each name
//! is looked up in a directory that is already open, and a link is rejected.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, mkdirat, openat,
    renameat, statat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::check_is_regular;
use super::reserved::SHARED_NEW;
use crate::error::{Error, Result};

const LINK: &str = "it is a symbolic link, and none is followed here";

/// A directory that one process writes to at a time.
pub struct Directory {
    path: PathBuf,
    handle: OwnedFd,
}

crate::model::debug_fields!(Directory: path);

impl Directory {
    /// Opens a directory that the user named. It may be a symbolic link.
    pub fn open(path: &Path) -> Result<Self> {
        let mut options = File::options();
        options.read(true).custom_flags(OFlags::DIRECTORY.bits().cast_signed());
        let opened = options.open(path).map_err(|source| Error::cannot("read", path, source))?;
        Ok(Directory { path: path.to_owned(), handle: opened.into() })
    }

    /// Like [`Directory::open`], but creates the directory if it does not exist.
    pub fn create_all(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|source| Error::cannot("create", path, source))?;
        Self::open(path)
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file with this name.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a directory in this one. `None` means that it does not exist.
    pub fn enter(&self, name: &str) -> Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(&self.handle, name, flags, Mode::empty());
        let handle = self.found(name, "read", opened)?;
        Ok(handle.map(|handle| Directory { path: self.path.join(name), handle }))
    }

    /// Opens a directory in this one, and creates it if it does not exist.
    pub fn enter_or_create(&self, name: &str) -> Result<Self> {
        if let Some(found) = self.enter(name)? {
            return Ok(found);
        }
        match mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(self.failed("create", name, error.into()));
            }
            _ => {}
        }
        let gone = || self.failed("create", name, io::ErrorKind::NotFound.into());
        self.enter(name)?.ok_or_else(gone)
    }

    /// Opens a file for reading. `None` means that it does not exist.
    pub fn read(&self, name: &str) -> Result<Option<File>> {
        self.opened(name, OFlags::RDONLY, "read")
    }

    /// Opens a file for reading, at a path below the directory, such as `log/000000.jsonl`. `None` means that
    /// the file, or a directory on the way, does not exist.
    pub fn read_below(&self, path: &str) -> Result<Option<File>> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.enter_below(directory)? {
            Some(directory) => directory.read(name),
            None => Ok(None),
        }
    }

    /// Opens a directory at a path below this one, such as `datasets/US`. An empty path means this directory.
    /// `None` means that the directory, or one on the way, does not exist.
    pub fn enter_below(&self, path: &str) -> Result<Option<Self>> {
        let mut entered = self.again()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let Some(next) = entered.enter(name)? else { return Ok(None) };
            entered = next;
        }
        Ok(Some(entered))
    }

    /// Like [`Directory::enter_below`], but creates the directories that do not exist.
    pub fn enter_or_create_below(&self, path: &str) -> Result<Self> {
        let mut entered = self.again()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            entered = entered.enter_or_create(name)?;
        }
        Ok(entered)
    }

    /// Opens the same directory again.
    fn again(&self) -> Result<Self> {
        let handle = self.handle.try_clone();
        let handle = handle.map_err(|source| Error::cannot("read", &self.path, source))?;
        Ok(Directory { path: self.path.clone(), handle })
    }

    /// Opens a file for reading and writing. `None` means that it does not exist.
    pub fn write(&self, name: &str) -> Result<Option<File>> {
        self.opened(name, OFlags::RDWR, "write")
    }

    /// Opens a file to lock it, and creates it if it does not exist.
    pub fn lock_file(&self, name: &str) -> Result<File> {
        let file = self.opened(name, OFlags::RDWR | OFlags::CREATE, "lock")?;
        file.ok_or_else(|| self.failed("lock", name, io::ErrorKind::NotFound.into()))
    }

    /// Creates an empty file. An existing file is replaced.
    pub fn create(&self, name: &str) -> Result<File> {
        self.remove(name)?;
        let file = self.opened(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, "create")?;
        file.ok_or_else(|| self.failed("create", name, io::ErrorKind::NotFound.into()))
    }

    /// Writes a file under another name and renames it, so that readers find the whole new file, or the
    /// previous one. `write` must sync what must be durable. If `write` fails with an [`Error`] inside an
    /// [`io::Error::other`], that error is returned unchanged.
    pub fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<()> {
        self.refuse_link(name)?;
        let mut file = self.create(SHARED_NEW)?;
        if let Err(source) = write(&mut file) {
            // It would fill a full disk. If it cannot be removed here, the next replacement removes it.
            let _ = self.remove(SHARED_NEW);
            let failed = source.downcast().unwrap_or_else(|io| self.failed("write", name, io));
            return Err(failed);
        }
        drop(file);
        renameat(&self.handle, SHARED_NEW, &self.handle, name)
            .map_err(|error| self.failed("create", name, error.into()))
    }

    /// Removes a file. Returns whether it existed.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.refuse_link(name)?;
        let removed = unlinkat(&self.handle, name, AtFlags::empty());
        Ok(self.found(name, "remove", removed)?.is_some())
    }

    /// Sets the modification time of a file to the present.
    pub fn touch(&self, name: &str) -> Result<()> {
        self.refuse_link(name)?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        utimensat(&self.handle, name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| self.failed("write", name, error.into()))
    }

    /// The names in the directory, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let failed = |error: Errno| Error::cannot("read", &self.path, error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            // A name that is not UTF-8 is not one of ours.
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Syncs the directory, which makes its names durable.
    pub fn sync(&self) -> Result<()> {
        // Uses the standard library, whose calls the tests of power failures record.
        let synced = self.handle.try_clone().and_then(|handle| File::from(handle).sync_all());
        synced.map_err(|source| Error::cannot("sync", &self.path, source))
    }

    fn opened(&self, name: &str, flags: OFlags, verb: &'static str) -> Result<Option<File>> {
        // A pipe is opened without waiting for its other end. It is then rejected.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat(&self.handle, name, flags, Mode::from_raw_mode(0o666));
        let Some(file) = self.found(name, verb, opened)?.map(File::from) else { return Ok(None) };
        check_is_regular(&file).map_err(|source| self.failed(verb, name, source))?;
        Ok(Some(file))
    }

    fn refuse_link(&self, name: &str) -> Result<()> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
                Err(self.failed("open", name, io::Error::other(LINK)))
            }
            _ => Ok(()),
        }
    }

    /// Returns `None` if nothing has the name.
    fn found<T>(
        &self,
        name: &str,
        verb: &'static str,
        result: std::result::Result<T, Errno>,
    ) -> Result<Option<T>> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                self.refuse_link(name)?;
                Err(self.failed(verb, name, error.into()))
            }
        }
    }

    fn failed(&self, verb: &'static str, name: &str, source: io::Error) -> Error {
        Error::cannot(verb, &self.path.join(name), source)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(file: Option<File>) -> Option<String> {
        let mut text = String::new();
        file?.read_to_string(&mut text).unwrap();
        Some(text)
    }

    #[test]
    fn a_file_is_created_replaced_read_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let root = Directory::create_all(&place.path().join("a/b")).unwrap();
        let inner = root.enter_or_create("c").unwrap();
        assert!(root.enter("d").unwrap().is_none() && inner.read("x").unwrap().is_none());
        inner.create("x").unwrap().write_all(b"one").unwrap();
        assert_eq!(text(inner.read("x").unwrap()).as_deref(), Some("one"));
        // The file is as a killed process leaves it.
        std::fs::write(inner.path_of(SHARED_NEW), "something longer").unwrap();
        inner.replace("x", |file| file.write_all(b"two")).unwrap();
        assert_eq!(text(inner.read("x").unwrap()).as_deref(), Some("two"));
        assert_eq!(inner.names().unwrap(), ["x"]);
        assert!(inner.remove("x").unwrap() && !inner.remove("x").unwrap());
    }

    #[test]
    fn no_link_is_followed_but_the_one_that_the_user_named() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("real/sub")).unwrap();
        std::fs::write(at("victim"), "victim").unwrap();
        symlink(at("real"), at("link")).unwrap();
        let root = Directory::open(&at("link")).unwrap();
        symlink(at("victim"), at("real/file")).unwrap();
        symlink(at("real/sub"), at("real/directory")).unwrap();
        symlink(at("victim"), at("real").join(SHARED_NEW)).unwrap();
        let refused = [
            root.read("file").map(drop),
            root.write("file").map(drop),
            root.lock_file("file").map(drop),
            root.create("file").map(drop),
            root.replace("file", |file| file.write_all(b"x")),
            root.replace("other", |file| file.write_all(b"x")),
            root.remove("file").map(drop),
            root.enter("directory").map(drop),
            root.enter_or_create("directory").map(drop),
        ];
        for refused in refused {
            let source = std::error::Error::source(&refused.unwrap_err()).unwrap().to_string();
            assert_eq!(source, LINK);
        }
        assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "victim");
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let place = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
        assert!(made.unwrap().success());
        let root = Directory::open(place.path()).unwrap();
        assert_eq!(root.read("pipe").err().unwrap().kind().as_str(), "io");
    }
}
