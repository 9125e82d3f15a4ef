//! The directory of the files of a dataset, and opening files in it by their paths.
//!
//! # Confinement
//!
//! A path never leads out of the root, whether by `..`, as an absolute path, or by a symbolic link. Links
//! within the root are followed, including absolute ones.
//!
//! On Linux, the kernel resolves a path (`openat2` with `RESOLVE_BENEATH`). Paths that it rejects, and all
//! paths on other systems, are first resolved to the real path, which must be below the real path of the root.
//! Then each directory is opened from its parent, without following links, so a directory that is replaced
//! meanwhile cannot lead elsewhere.
//!
//! A root whose paths were read from the directory itself may follow links anywhere
//! ([`Root::following_links`]).
//!
//! Only regular files are opened, so the type of the file is checked first. If the file is replaced before it
//! is opened, opening it does not wait for the other end of a pipe. The different file is then detected, and is
//! not read.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::check::FileProblem;
use crate::error::{Error, ErrorKind, Result};
use crate::model::quoted;

/// A directory that contains the files of a dataset.
#[derive(Debug)]
pub struct Root {
    mounted: MountCheck,
    /// Its path as the caller wrote it, for messages.
    given: PathBuf,
    links: Links,
    /// Its real path.
    path: PathBuf,
    handle: at::Handle,
}

/// Where symbolic links below a root may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Only to files and directories below the root.
    Within,
    Anywhere,
}

/// Whether the caller knows that this is the right directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MountCheck {
    /// An empty directory is rejected, because it may be an unmounted mount point.
    #[default]
    Unknown,
    /// It is the right directory, even if it is empty.
    Yes,
}

impl Root {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::NotMounted`]: it does not exist, is not a directory, or is empty without
    ///   [`MountCheck::Yes`]
    /// - [`ErrorKind::Io`]: it cannot be read
    pub fn open(directory: &Path, mounted: MountCheck) -> Result<Self> {
        let refused = |what: &str| {
            let message = format!("the root {} {what}", quoted(&directory.to_string_lossy()));
            Error::new(ErrorKind::NotMounted, message).in_path(directory)
        };
        let cannot = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => refused("does not exist"),
            io::ErrorKind::NotADirectory => refused("is not a directory"),
            _ => Error::cannot("read the directory", directory, source),
        };
        let path = fs::canonicalize(directory).map_err(cannot)?;
        let mut entries = fs::read_dir(&path).map_err(cannot)?;
        if mounted == MountCheck::Unknown && entries.next().is_none() {
            return Err(refused("is empty"));
        }
        let handle = at::root(&path).map_err(cannot)?;
        Ok(Root { given: directory.to_owned(), mounted, links: Links::Within, path, handle })
    }

    /// The same directory, with symbolic links followed wherever they lead. For paths that were read from the
    /// directory itself, and that nobody else could choose.
    #[must_use]
    pub fn following_links(self) -> Self {
        Root { links: Links::Anywhere, ..self }
    }

    /// Returns the real path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that at least one of these files exists, of any type. Stops at the first one that does. With
    /// [`MountCheck::Yes`], nothing is checked.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::NotMounted`]: the list is not empty, and none of the files exists
    /// - the errors of `paths`
    pub fn require_any<P: AsRef<str>>(
        &self,
        paths: impl IntoIterator<Item = Result<P>>,
    ) -> Result<()> {
        if self.mounted == MountCheck::Yes {
            return Ok(());
        }
        let mut missing = 0_u64;
        for path in paths {
            if self.find(path?.as_ref()) != Err(FileProblem::MISSING) {
                return Ok(());
            }
            missing += 1;
        }
        if missing == 0 {
            return Ok(());
        }
        let message = format!(
            "the root {} has none of {missing} files that were looked for",
            quoted(&self.given.to_string_lossy())
        );
        Err(Error::new(ErrorKind::NotMounted, message).in_path(&self.given))
    }

    /// Reads the metadata of the regular file at a path, without opening it.
    pub(super) fn find(&self, path: &str) -> Result<FileState, FileProblem> {
        match self.links {
            Links::Within => regular(&at::look(self, path)?),
            Links::Anywhere => {
                let found = fs::metadata(self.path.join(path));
                regular(&found.map_err(|error| FileProblem::of_error(&error))?)
            }
        }
    }

    /// Opens the regular file at a path.
    pub(super) fn open_file(&self, path: &str) -> Result<(File, FileState), FileProblem> {
        let seen = self.find(path)?;
        let file = match self.links {
            Links::Within => at::open(self, path)?,
            Links::Anywhere => at::follow(self, path)?,
        };
        let opened = FileState::of(&file)?;
        match opened.is_same_file(&seen) {
            true => Ok((file, opened)),
            false => Err(FileProblem::unreadable("replaced while it was opened")),
        }
    }

    /// The real path of a file relative to the root. No part of it is a link.
    fn real(&self, path: &str) -> Result<PathBuf, FileProblem> {
        let joined = self.path.join(path);
        let is_outside = |component| !matches!(component, Component::Normal(_) | Component::CurDir);
        if Path::new(path).components().any(is_outside) {
            return Err(FileProblem::unreadable("the path leads out of the root"));
        }
        let real = fs::canonicalize(&joined).map_err(|error| FileProblem::of_error(&error))?;
        let within = real.strip_prefix(&self.path).ok();
        let within = within.filter(|within| !within.as_os_str().is_empty());
        within.map(Path::to_owned).ok_or_else(|| FileProblem::unreadable("a link out of the root"))
    }
}

/// The identity of a file, and the metadata that change when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    pub size: u64,
    /// The device and the inode number of the file. 0 if they are not known.
    identity: (u64, u64),
    /// When its content was modified, in seconds and nanoseconds.
    modified: (i64, i64),
    /// When its content or its metadata were changed.
    changed: (i64, i64),
}

impl FileState {
    /// The present state of an open file.
    pub fn of(file: &File) -> Result<Self, FileProblem> {
        regular(&file.metadata().map_err(|error| FileProblem::of_error(&error))?)
    }

    pub(super) fn is_same_file(&self, other: &FileState) -> bool {
        self.identity == other.identity
    }

    /// Whether the file was written between the two states. The time of its metadata is ignored, because it
    /// also changes when a hard link or a permission is added.
    pub fn is_written_since(&self, before: &FileState) -> bool {
        (self.size, self.modified) != (before.size, before.modified)
    }

    /// Whether the content or the metadata of the file changed between the two states.
    pub fn is_touched_since(&self, before: &FileState) -> bool {
        self != before
    }
}

/// The state of a regular file. For others, the problem names their type.
fn regular(metadata: &Metadata) -> Result<FileState, FileProblem> {
    match at::kind(metadata) {
        None => Ok(at::state(metadata)),
        Some(kind) => Err(FileProblem::unreadable(kind)),
    }
}

mod at {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::{FileProblem, FileState, Root};

    pub type Handle = OwnedFd;

    /// For reading metadata without opening the file.
    #[cfg(target_os = "linux")]
    const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
    const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    /// Opening a pipe does not wait, and a terminal does not become that of the process.
    const READ: OFlags =
        OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

    pub fn root(path: &Path) -> io::Result<Handle> {
        Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
    }

    #[cfg(target_os = "linux")]
    pub fn look(root: &Root, path: &str) -> Result<Metadata, FileProblem> {
        let found = match beneath(root, path, LOOK) {
            Err(Beneath::Refused(refusal)) => return Err(refusal),
            Err(Beneath::Unresolved) => File::from(descend(root, path, LOOK)?),
            Ok(found) => found,
        };
        found.metadata().map_err(|error| FileProblem::of_error(&error))
    }

    /// Other systems cannot refer to a file without opening it.
    #[cfg(not(target_os = "linux"))]
    pub fn look(root: &Root, path: &str) -> Result<Metadata, FileProblem> {
        let real = root.path().join(root.real(path)?);
        std::fs::symlink_metadata(real).map_err(|error| FileProblem::of_error(&error))
    }

    pub fn open(root: &Root, path: &str) -> Result<File, FileProblem> {
        #[cfg(target_os = "linux")]
        match beneath(root, path, READ) {
            Err(Beneath::Refused(refusal)) => return Err(refusal),
            Err(Beneath::Unresolved) => {}
            Ok(file) => return Ok(file),
        }
        walk(root, path)
    }

    /// Opens a file, following the links in its path anywhere.
    pub fn follow(root: &Root, path: &str) -> Result<File, FileProblem> {
        let opened = openat(&root.handle, path, READ, Mode::empty());
        Ok(File::from(opened.map_err(|error| FileProblem::of_error(&error.into()))?))
    }

    /// Why the kernel did not open a file.
    #[cfg(target_os = "linux")]
    enum Beneath {
        Refused(FileProblem),
        /// It does not support the call, or the path has a link that it does not follow within a directory: an
        /// absolute one, or one that leads out.
        Unresolved,
    }

    #[cfg(target_os = "linux")]
    fn beneath(root: &Root, path: &str, flags: OFlags) -> Result<File, Beneath> {
        use rustix::fs::{ResolveFlags, openat2};
        use rustix::io::Errno;

        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match openat2(&root.handle, path, flags, Mode::empty(), resolve) {
            Ok(opened) => Ok(opened.into()),
            // EAGAIN: something was renamed while a link with ".." was followed. EPERM: a sandbox does not know
            // the call.
            Err(
                Errno::XDEV
                | Errno::AGAIN
                | Errno::NOSYS
                | Errno::PERM
                | Errno::INVAL
                | Errno::TOOBIG,
            ) => Err(Beneath::Unresolved),
            Err(error) => Err(Beneath::Refused(FileProblem::of_error(&error.into()))),
        }
    }

    /// Opens a file by its real path.
    pub fn walk(root: &Root, path: &str) -> Result<File, FileProblem> {
        descend(root, path, READ).map(File::from)
    }

    /// Opens the real path directory by directory, without following links.
    fn descend(root: &Root, path: &str, flags: OFlags) -> Result<OwnedFd, FileProblem> {
        let real = root.real(path)?;
        let mut names = real.iter().peekable();
        let mut directory = None;
        while let Some(name) = names.next() {
            let flags = if names.peek().is_some() { DIRECTORY } else { flags } | OFlags::NOFOLLOW;
            let from = directory.as_ref().unwrap_or(&root.handle);
            let opened = openat(from, name, flags, Mode::empty());
            directory = Some(opened.map_err(|error| FileProblem::of_error(&error.into()))?);
        }
        directory.ok_or(FileProblem::MISSING)
    }

    /// The type of a file that is not a regular file, else `None`.
    pub fn kind(metadata: &Metadata) -> Option<&'static str> {
        let kind = metadata.file_type();
        match kind {
            _ if kind.is_file() => None,
            _ if kind.is_dir() => Some("a directory"),
            _ if kind.is_fifo() => Some("a FIFO"),
            _ if kind.is_socket() => Some("a socket"),
            _ if kind.is_symlink() => Some("replaced while it was opened"),
            _ => Some("a device"),
        }
    }

    pub fn state(metadata: &Metadata) -> FileState {
        FileState {
            size: metadata.size(),
            identity: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// This is the path taken on systems without `openat2`.
    #[test]
    fn a_path_that_the_kernel_does_not_resolve_is_resolved_below_the_root() {
        let directory = tempfile::tempdir().unwrap();
        let (path, outside) = (directory.path().join("root"), directory.path().join("outside"));
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(path.join("a/b/file"), "abc").unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        symlink("a/b", path.join("inner")).unwrap();
        symlink(path.join("a"), path.join("absolute")).unwrap();
        symlink("../outside", path.join("outer")).unwrap();
        let root = Root::open(&path, MountCheck::Unknown).unwrap();
        for found in ["a/b/file", "./a//b/file", "inner/file", "absolute/b/file"] {
            let mut text = String::new();
            at::walk(&root, found).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "abc", "{found}");
        }
        let refused = |path: &str| at::walk(&root, path).map(drop).unwrap_err();
        assert_eq!(refused("a/b/none"), FileProblem::MISSING);
        assert_eq!(refused("a/b/file/none"), FileProblem::MISSING);
        assert_eq!(refused("outer/file"), FileProblem::unreadable("a link out of the root"));
        let outside = FileProblem::unreadable("the path leads out of the root");
        for path in ["../outside/file", "/etc/passwd", "a/../../outside/file"] {
            assert_eq!(refused(path), outside, "{path}");
        }
    }
}
