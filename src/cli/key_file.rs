//! The files that hold private keys, which only their owner can read, and beside each the last checkpoint
//! that it signed.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use accession::ErrorKind;
use accession::disk::AtomicFile;
use accession::model::quoted;
use accession::signed::{LogCheckpoint, SigningKey};

use super::error::{Context, Error, Result};

/// Writes a key to a file that does not exist yet.
pub fn create(path: &Path, key: &SigningKey) -> Result<()> {
    let name = path.to_string_lossy();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} already exists: a key is never replaced", quoted(&name));
            return Err(Error::new(ErrorKind::FileExists, message)
                .with_hint("keep it: what it signed needs it; name another file for a new key"));
        }
        opened => opened.with_context(|| format!("cannot create {}", quoted(&name)))?,
    };
    let written = writeln!(file, "{}", key.secret_text()).and_then(|()| file.sync_all());
    // What is written in part is not a key.
    written
        .inspect_err(|_| drop(fs::remove_file(path)))
        .with_context(|| format!("cannot write {}", quoted(&name)))
}

/// The longest file that may hold a key.
const MAX_BYTES: u64 = 1_024;

/// Reads a key, unless others may read it, too.
pub fn read(path: &Path) -> Result<SigningKey> {
    let name = quoted(&path.to_string_lossy()).to_string();
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mode = file.metadata().with_context(|| format!("cannot look at {name}"))?.mode();
    if mode & 0o077 != 0 {
        let message =
            format!("{name} is a private key that others may read (mode {:03o})", mode & 0o777);
        return Err(Error::usage(message).with_hint(
            "who has read it can sign in your name: make another key; or `chmod 600` it if nobody has",
        ));
    }
    file.take(MAX_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {name}"))?;
    let key = text.strip_suffix('\n').unwrap_or(&text).parse::<SigningKey>();
    key.map_err(|error| Error::usage(format!("{name}: {error}")))
}

/// Where the last checkpoint that a key signed is kept.
fn path_of_last(key: &Path) -> PathBuf {
    let mut path = key.as_os_str().to_owned();
    path.push(".last");
    path.into()
}

/// The last checkpoint that a key signed. `None` means that it signed none.
pub fn last_signed(key: &Path) -> Result<Option<LogCheckpoint>> {
    let path = path_of_last(key);
    let name = quoted(&path.to_string_lossy()).to_string();
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::from(error)).with_context(|| format!("cannot read {name}")),
        Ok(text) => {
            let checkpoint = text.parse();
            checkpoint.map(Some).map_err(|error| Error::usage(format!("{name}: {error}")))
        }
    }
}

/// Keeps what a key is about to sign: a signature of it may leave the process after this.
pub fn keep_last(key: &Path, body: &str) -> Result<()> {
    let mut file = AtomicFile::beside(&path_of_last(key))?;
    let name = path_of_last(key);
    let written = file.as_file_mut().write_all(body.as_bytes());
    written.with_context(|| format!("cannot write {}", quoted(&name.to_string_lossy())))?;
    Ok(file.replace()?)
}
