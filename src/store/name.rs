//! What the name of a registry is: the path of a file, or the address of a server.

use std::path::{Path, PathBuf};

use super::storage::Kind;
use super::{Error, Result, sqlite};

/// What the address of a server begins with, whatever its case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The kind of registry that a name belongs to.
///
/// # Errors
///
/// [`ErrorKind::RegistryAddress`], which does not repeat it: it is an address of another kind, or the parameters
/// of one, either of which can contain a password. [`ErrorKind::NoPostgres`].
pub(super) fn kind_of(name: &Path) -> Result<&'static dyn Kind> {
    let text = name.to_string_lossy().to_ascii_lowercase();
    if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        #[cfg(feature = "postgres")]
        return Ok(&super::postgres::Server);
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
        let what = "it is neither the path of a file nor an address that begins with postgres://";
        return Err(Error::address(what));
    }
    Ok(&sqlite::File)
}

/// Refuses the address of a server for what only a file can be used for.
///
/// # Errors
///
/// [`ErrorKind::NotAFile`], [`ErrorKind::RegistryAddress`].
pub(crate) fn check_is_file(name: &Path, what: &'static str) -> Result<()> {
    kind_of(name)?.check_is_file(what)
}

/// The path or the address of a registry as a message shows it: a path is absolute, with links
/// resolved where it exists; an address is without its password.
pub(crate) fn full_name(name: &Path) -> PathBuf {
    kind_of(name).map_or_else(|_| of_unknown_kind(name), |kind| kind.full_name(name))
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
    match check_is_file(name, "a path") {
        Ok(()) => name.to_owned(),
        Err(_) => full_name(name),
    }
}
