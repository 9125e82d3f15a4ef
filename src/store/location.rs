//! The location of a registry: the path of a file, or the address of a server.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
use super::postgres;
use super::{Error, Result};
use crate::disk::reserved;

/// The location of a registry.
///
/// A string or a path that begins with `postgres://`, or looks like another address, is an address. Anything
/// else is the path of a file.
///
/// # Examples
///
/// ```
/// use accession::Location;
///
/// assert!(Location::from("archive.db").is_file());
/// let server = Location::from("postgres://us:secret@db.example.org/archive");
/// assert!(!server.is_file());
/// assert!(!format!("{server} {server:?}").contains("secret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Location(Place);

/// The two kinds of locations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The path of a file.
    File(PathBuf),
    /// The address of a registry on a server.
    Server(ServerAddress),
}

/// The address of a registry on a server, or text that was meant as one. It is parsed when the registry is
/// opened.
///
/// It can contain a password, which neither `Display` nor `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ServerAddress(PathBuf);

impl Location {
    /// The location of a file, even if its path looks like an address.
    pub(super) fn of_file(path: PathBuf) -> Self {
        Location(Place::File(path))
    }

    /// The path or the address.
    pub(super) fn place(&self) -> &Place {
        &self.0
    }

    /// Whether it is the path of a file.
    pub fn is_file(&self) -> bool {
        matches!(self.0, Place::File(_))
    }

    /// Whether something exists at the location: a registry, or another file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Address`](crate::ErrorKind::Address): the address cannot be parsed; the error does not
    /// repeat it, since it can contain a password. [`ErrorKind::Unreachable`](crate::ErrorKind::Unreachable),
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied): the server does not tell.
    pub fn exists(&self) -> Result<bool> {
        match &self.0 {
            // No registry can be created at a dangling link.
            Place::File(path) if path.is_symlink() => Ok(true),
            Place::File(path) => {
                use std::io::ErrorKind::{InvalidFilename, NotADirectory};
                match path.try_exists() {
                    // Opening or creating it reports what is wrong with the path.
                    Err(source) if matches!(source.kind(), InvalidFilename | NotADirectory) => {
                        Ok(false)
                    }
                    exists => exists.map_err(|source| Error::cannot("look for", path, source)),
                }
            }
            Place::Server(address) => address.exists().map_err(|error| self.named(error)),
        }
    }

    /// The path of the file. `what`, for the message, is the operation that needs a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): the registry is on a server.
    /// [`ErrorKind::Address`](crate::ErrorKind::Address): the location is neither the path of a file nor the
    /// address of a registry; the error does not repeat it, since it can contain a password.
    pub fn file(&self, what: &str) -> Result<&Path> {
        let not_a_file = |address: &ServerAddress| match address.read() {
            Ok(_) => Error::not_a_file(what),
            Err(error) => error,
        };
        match &self.0 {
            Place::File(path) => Ok(path),
            Place::Server(address) => Err(self.named(not_a_file(address))),
        }
    }

    /// Whether a path has the name of the registry's file, or of a file that SQLite creates beside it.
    pub fn owns(&self, path: &Path) -> bool {
        match &self.0 {
            Place::File(file) => reserved::is_own(file, path),
            Place::Server(_) => false,
        }
    }

    /// The real path of the registry's file. `None` means that the registry is on a server, or does not exist.
    pub(crate) fn real_file(&self) -> Option<PathBuf> {
        match &self.0 {
            Place::File(file) => file.canonicalize().ok(),
            Place::Server(_) => None,
        }
    }

    /// The full location, for messages. A path is absolute, with links resolved if it exists. An address has no
    /// password.
    pub fn full_name(&self) -> PathBuf {
        match &self.0 {
            Place::File(path) => {
                let full = path.canonicalize().or_else(|_| std::path::absolute(path));
                full.unwrap_or_else(|_| path.clone())
            }
            Place::Server(address) => address.shown(),
        }
    }

    /// The path as it was given, or the address without its password.
    pub(crate) fn shown(&self) -> PathBuf {
        match &self.0 {
            Place::File(path) => path.clone(),
            Place::Server(address) => address.shown(),
        }
    }

    /// Adds the location to an error of the store, if the error has none yet.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.in_registry(&self.shown())
    }
}

impl ServerAddress {
    /// The address of a server, which can contain a password.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Address`](super::ErrorKind::Address): it is another kind of address, or libpq's parameters.
    /// The error does not repeat it, since either can contain a password.
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported).
    #[cfg(feature = "postgres")]
    pub(super) fn read(&self) -> Result<&Path> {
        self.check().map(|()| self.0.as_path())
    }

    /// An address cannot be used without the feature `postgres`.
    #[cfg(not(feature = "postgres"))]
    pub(super) fn read(&self) -> Result<std::convert::Infallible> {
        self.check()?;
        Err(Error::stored(
            super::ErrorKind::Unsupported,
            "this program was built without the feature `postgres`",
        ))
    }

    fn check(&self) -> Result<()> {
        let text = lower_case(&self.0);
        if !is_of_server(&text) {
            let what = match text.starts_with("file://") {
                true => "a file is named by its path, without file://",
                false => {
                    "it is neither the path of a file nor an address that begins with postgres://"
                }
            };
            return Err(Error::address(what));
        }
        Ok(())
    }

    #[cfg(feature = "postgres")]
    fn exists(&self) -> Result<bool> {
        postgres::ServerStore::exists(self.read()?)
    }

    #[cfg(not(feature = "postgres"))]
    fn exists(&self) -> Result<bool> {
        match self.read()? {}
    }

    /// The address without its password. If it cannot be parsed, only its scheme, since the rest can contain a
    /// password.
    fn shown(&self) -> PathBuf {
        #[cfg(feature = "postgres")]
        if let Ok(address) = self.read() {
            return postgres::shown(address);
        }
        let is_of_scheme =
            |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
        match self.0.to_string_lossy().split_once("://") {
            Some((scheme, _)) if scheme.chars().all(is_of_scheme) => format!("{scheme}://").into(),
            _ => PathBuf::from("(an address)"),
        }
    }
}

/// The schemes of the address of a server, in any letter case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

fn lower_case(name: &Path) -> String {
    name.to_string_lossy().to_ascii_lowercase()
}

fn is_of_server(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Whether a name is an address, of a server or another kind, or libpq's parameters of one.
fn is_address(name: &Path) -> bool {
    let text = lower_case(name);
    // libpq also accepts `host=… dbname=…`, and people type a scheme with one slash or none. Each can contain a
    // password, and none of these is the name of a file.
    let is_of_libpq = || {
        let has_parameter = |name: &str| {
            let names = text.match_indices(name).map(|(at, _)| text.split_at(at));
            names.into_iter().any(|(before, rest)| {
                before.chars().next_back().is_none_or(char::is_whitespace)
                    && rest[name.len()..].trim_start().starts_with('=')
            })
        };
        ["host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "sslmode"]
            .into_iter()
            .any(has_parameter)
            || ["postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme))
    };
    let states_password =
        || text.split("password").skip(1).any(|rest| rest.trim_start().starts_with('='));
    text.contains("://") || states_password() || is_of_libpq()
}

impl From<PathBuf> for Location {
    fn from(name: PathBuf) -> Self {
        match is_address(&name) {
            true => Location(Place::Server(ServerAddress(name))),
            false => Location(Place::File(name)),
        }
    }
}

macro_rules! from_names {
    ($($name:ty),+) => {
        $(impl From<$name> for Location {
            fn from(name: $name) -> Self {
                PathBuf::from(name).into()
            }
        })+
    };
}

from_names!(&str, String, &String, &Path, &PathBuf);

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

impl fmt::Display for Location {
    /// The path as it was given, or the address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shown().display())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ServerAddress {
    /// The address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shown().display())
    }
}

impl fmt::Debug for ServerAddress {
    /// The address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerAddress").field(&self.shown()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address and libpq's parameters are not checked before a registry is opened, and each can contain a
    /// password.
    #[test]
    fn what_is_written_like_an_address_is_no_file_and_not_shown() {
        for (name, shown) in [
            ("http://us:secret@db/archive", "http://"),
            ("postgres:us:secret@db", "(an address)"),
            ("host=db password=secret", "(an address)"),
            ("file:///secret.db", "file://"),
        ] {
            let location = Location::from(name);
            assert!(!location.is_file(), "{name}");
            assert_eq!(location.to_string(), shown, "{name}");
            assert!(!format!("{location:?}").contains("secret"), "{name}");
            let error = location.exists().unwrap_err();
            assert_eq!(error.kind(), super::super::ErrorKind::Address, "{name}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[cfg(not(feature = "postgres"))]
    #[test]
    fn the_address_of_a_server_needs_the_feature() {
        let error = Location::from("postgres://user@localhost/archive").exists().err().unwrap();
        assert_eq!(error.kind(), super::super::ErrorKind::Unsupported);
        assert!(error.to_string().contains("`postgres`"), "{error}");
    }
}
