//! The errors of a stored registry that are returned in several files.

use crate::error::{Class, Error, ErrorDetail, ErrorKind};

/// The path of the registry is later put at the beginning of each message.
impl Error {
    /// Creates an error of the store.
    pub(in crate::store) fn stored(class: impl Into<Class>, message: impl Into<String>) -> Self {
        Error::new(class, message).of_store()
    }

    /// There is no registry at the path or the address.
    pub(in crate::store) fn missing() -> Self {
        Error::stored(ErrorKind::RegistryMissing, "there is no registry here")
    }

    /// There is a file or a registry at the path of a new one.
    pub(in crate::store) fn exists() -> Self {
        let message = "there is a file or a registry here already";
        Error::stored(ErrorKind::AlreadyExists, message)
    }

    /// The file or database is not a registry; `what` says why.
    pub(in crate::store) fn not_a_registry(what: impl std::fmt::Display) -> Self {
        Error::stored(ErrorKind::NotARegistry, format!("not a registry: {what}"))
    }

    /// The schema of the registry is not the one of this version: it is from another version, such as a testing
    /// version, or somebody altered it.
    pub(in crate::store) fn other_schema(what: impl std::fmt::Display) -> Self {
        let message = format!(
            "the registry has another schema than this version of accession, as those of testing versions have: {what}"
        );
        Error::stored(ErrorKind::OtherSchema, message)
    }

    /// Another program has added an object to the registry, which makes reading it unsafe.
    pub(in crate::store) fn added_object(what: impl std::fmt::Display) -> Self {
        Error::stored(
            ErrorKind::OtherSchema,
            format!("the schema of the registry was altered: {what}"),
        )
    }

    /// The registry states another version of the schema.
    pub(in crate::store) fn other_version(found: u32, known: u32) -> Self {
        Error::other_schema(format!("it is schema {found}, not {known}"))
    }

    /// Another process did not finish writing within the busy wait.
    pub(in crate::store) fn busy() -> Self {
        let message = "another process was writing to the registry and did not finish in time";
        Error::stored(ErrorKind::Busy, message)
    }

    /// The disk, or a quota, is full.
    pub(in crate::store) fn full() -> Self {
        Error::stored(ErrorKind::Full, "the disk is full")
    }

    /// The registry cannot be written.
    pub(in crate::store) fn read_only() -> Self {
        Error::stored(ErrorKind::Denied, "the registry cannot be written")
    }

    /// The path no longer refers to the registry that was opened.
    pub(in crate::store) fn replaced() -> Self {
        let message = "the registry was moved, removed or replaced while it was open";
        Error::stored(ErrorKind::Replaced, message)
    }

    /// The content of the registry contradicts itself, or cannot be read.
    pub(crate) fn damaged(what: impl std::fmt::Display) -> Self {
        Error::stored(ErrorKind::Damaged, format!("the registry is damaged: {what}"))
    }

    /// The error of an operation that the caller stopped; nothing was changed. An application can return it
    /// from its own part of an operation, so that both parts end with the same error.
    pub fn interrupted() -> Self {
        Error::new(ErrorKind::Interrupted, "stopped; nothing was changed")
    }

    /// The address of a server cannot be parsed. `what` must not repeat the address, since it can contain a
    /// password.
    pub(in crate::store) fn address(what: impl std::fmt::Display) -> Self {
        let message = format!("the address of the registry cannot be read: {what}");
        Error::stored(ErrorKind::Address, message)
    }

    /// The operation needs a registry in a file.
    pub(in crate::store) fn not_a_file(what: &str) -> Self {
        let message = format!("{what} is for a registry in a file, and this one is on a server");
        Error::stored(ErrorDetail::NotAFile, message)
    }

    /// Converts an error of `disk` about a file that the store creates beside a registry, or renames to its
    /// path.
    pub(in crate::store) fn of_disk(self) -> Self {
        match self.kind() {
            ErrorKind::AlreadyExists => Error::exists(),
            ErrorKind::InvalidPath => Error::stored(
                ErrorKind::InvalidPath,
                "a name that ends in -wal, -shm or -journal belongs to a registry beside it",
            ),
            _ => self.of_store(),
        }
    }
}
