//! What the name of a registry is: the path of a file, or the address of a server.

use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
use super::postgres;
use super::{Error, Result};

/// What the address of a server begins with, whatever its case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Which store the name of a registry belongs to.
pub(super) enum Kind {
    File,
    #[cfg(feature = "postgres")]
    Server,
}

impl Kind {
    /// The kind of a name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryAddress`], which does not repeat it: it is an address of another kind, or the
    /// parameters of one, either of which can contain a password. [`ErrorKind::NoPostgres`].
    pub fn of(name: &Path) -> Result<Self> {
        let text = name.to_string_lossy().to_ascii_lowercase();
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            #[cfg(feature = "postgres")]
            return Ok(Kind::Server);
            #[cfg(not(feature = "postgres"))]
            return Err(Error::stored(
                super::ErrorKind::NoPostgres,
                "this program was built without the feature `postgres`",
            ));
        }
        let states_password =
            || text.split("password").skip(1).any(|rest| rest.trim_start().starts_with('='));
        if text.starts_with("file://") {
            return Err(Error::address("a file is named by its path, without file://"));
        }
        if text.contains("://") || states_password() {
            let what =
                "it is neither the path of a file nor an address that begins with postgres://";
            return Err(Error::address(what));
        }
        Ok(Kind::File)
    }
}

/// Refuses the address of a server for what only a file can be used for.
///
/// # Errors
///
/// [`ErrorKind::NotAFile`], [`ErrorKind::RegistryAddress`].
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "only a server needs it"))]
pub(crate) fn check_is_file(name: &Path, what: &'static str) -> Result<()> {
    match Kind::of(name)? {
        Kind::File => Ok(()),
        #[cfg(feature = "postgres")]
        Kind::Server => Err(Error::not_a_file(what)),
    }
}

/// The path or the address of a registry as a message shows it: a path is absolute, with links
/// resolved where it exists; an address is without its password.
pub(crate) fn full_name(name: &Path) -> PathBuf {
    match Kind::of(name) {
        Ok(Kind::File) => {
            let path = name.canonicalize().or_else(|_| std::path::absolute(name));
            path.unwrap_or_else(|_| name.to_owned())
        }
        #[cfg(feature = "postgres")]
        Ok(Kind::Server) => postgres::shown(name),
        Err(_) => of_unknown_kind(name),
    }
}

/// The scheme of an address: what follows can contain a password.
fn of_unknown_kind(name: &Path) -> PathBuf {
    let is_of_scheme =
        |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    match name.to_string_lossy().split_once("://") {
        Some((scheme, _)) if scheme.chars().all(is_of_scheme) => format!("{scheme}://").into(),
        _ => PathBuf::from("(an address)"),
    }
}

/// The path or the address of a registry as it was given, but an address without its password.
pub(crate) fn shown_name(name: &Path) -> PathBuf {
    match Kind::of(name) {
        Ok(Kind::File) => name.to_owned(),
        _ => full_name(name),
    }
}
