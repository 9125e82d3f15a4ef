//! Files with private keys, which only their owner can read. Beside each key is a file with the latest
//! checkpoint that it signed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use accession::ErrorKind;
use accession::proof::{LogCheckpoint, SigningKey};
use accession::text::{quoted, read_small_text};

use super::error::{Context, Error, Result};

/// Writes a key to a new file.
pub fn create(path: &Path, key: &SigningKey) -> Result<()> {
    let name = path.to_string_lossy();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} already exists: a key is never replaced", quoted(&name));
            return Err(Error::new(ErrorKind::AlreadyExists, message)
                .with_hint("keep it: what it signed needs it; name another file for a new key"));
        }
        opened => opened.with_context(|| format!("cannot create {}", quoted(&name)))?,
    };
    let written = writeln!(file, "{}", key.secret_text()).and_then(|()| file.sync_all());
    // A partially written file is not a key.
    written
        .inspect_err(|_| drop(fs::remove_file(path)))
        .with_context(|| format!("cannot write {}", quoted(&name)))
}

/// The maximum length of a file with a key, and of the file with its latest signed checkpoint.
const MAX_BYTES: u64 = 1_024;

/// Reads a key. Rejects its file if others can read it.
pub fn read(path: &Path) -> Result<SigningKey> {
    Ok(opened(path)?.0)
}

fn opened(path: &Path) -> Result<(SigningKey, File)> {
    let name = quoted(&path.to_string_lossy()).to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let text = read_small_text(&file, MAX_BYTES).with_context(|| format!("cannot read {name}"))?;
    let key = text.strip_suffix('\n').unwrap_or(&text).parse::<SigningKey>();
    let key = key.map_err(|error| {
        Error::usage(format!("{name}: {error}")).with_hint("`accession proof keygen` writes one")
    })?;
    check_private(&file, &name, "a private key").map_err(|error| {
        error.with_hint(
            "who has read it can sign in your name: make another key; or `chmod 600` it if nobody has",
        )
    })?;
    Ok((key, file))
}

/// Rejects a file with a secret that users other than its owner can read. `name` is its name in messages.
pub fn check_private(file: &File, name: &str, what: &str) -> Result<()> {
    let mode = file.metadata().with_context(|| format!("cannot look at {name}"))?.mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => {
            let mode = mode & 0o777;
            Err(Error::usage(format!("{name} is {what} that others may read (mode {mode:03o})")))
        }
    }
}

/// A key for signing. No other process signs with the same file until this is dropped.
pub struct KeyInUse {
    pub key: SigningKey,
    /// The latest checkpoint that the key signed. `None` means that it signed none.
    pub last: Option<LogCheckpoint>,
    path_of_last: PathBuf,
    /// The file for the next checkpoint. It is created first, so that there is room for it before anything is
    /// stated.
    next: NextFile,
    _locked: File,
}

impl KeyInUse {
    /// Opens a key, and waits until no other process signs with it. If `path` is a symbolic link, the
    /// checkpoint beside the target is used.
    pub fn open(path: &Path) -> Result<Self> {
        let (key, locked) = opened(path)?;
        let name = quoted(&path.to_string_lossy()).to_string();
        locked.lock().with_context(|| format!("cannot lock {name}"))?;
        let path = path.canonicalize().with_context(|| format!("cannot look at {name}"))?;
        let path_of_last = path_of_last(&path);
        let last = last_signed(&path_of_last)?;
        let next = NextFile::beside(&path_of_last)?;
        Ok(KeyInUse { key, last, path_of_last, next, _locked: locked })
    }

    /// The name, in messages, of the file with its latest signed checkpoint.
    pub fn name_of_last(&self) -> String {
        quoted(&self.path_of_last.to_string_lossy()).to_string()
    }

    /// Stores the checkpoint that the key is about to sign. After this, the signature may leave the process.
    pub fn keep(&mut self, body: &str) -> Result<()> {
        let kept = self.next.replace(&self.path_of_last, body);
        kept.with_context(|| format!("cannot write {}", self.name_of_last()))
    }
}

/// The file that replaces that of the latest checkpoint. Only the process that locked the key writes it. So it
/// has a fixed name, and a file that a killed process left is replaced.
struct NextFile {
    file: File,
    path: PathBuf,
    /// The directory of the file, synced after the rename. It is opened first, so that a directory that cannot
    /// be opened is an error before anything is changed.
    directory: File,
}

impl NextFile {
    fn beside(path: &Path) -> Result<Self> {
        let mut next = path.as_os_str().to_owned();
        next.push(".new");
        let next = PathBuf::from(next);
        let create = || {
            match fs::remove_file(&next) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let directory = File::open(path.parent().unwrap_or(Path::new("/")))?;
            let file = OpenOptions::new().write(true).create_new(true).open(&next)?;
            Ok(NextFile { file, path: next.clone(), directory })
        };
        create().with_context(|| format!("cannot create {}", quoted(&next.to_string_lossy())))
    }

    /// Replaces the file at `path` with one that has this text. The text is durable on return.
    fn replace(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        self.directory.sync_all()
    }
}

impl Drop for NextFile {
    /// Removes the file, unless it was renamed.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The path of the file with the latest checkpoint that a key signed.
fn path_of_last(key: &Path) -> PathBuf {
    let mut path = key.as_os_str().to_owned();
    path.push(".last");
    path.into()
}

/// The latest checkpoint that a key signed. `None` means that it signed none.
fn last_signed(path: &Path) -> Result<Option<LogCheckpoint>> {
    let name = quoted(&path.to_string_lossy()).to_string();
    let text = match File::open(path).and_then(|file| read_small_text(file, MAX_BYTES)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::from(error)).with_context(|| format!("cannot read {name}"));
        }
        Ok(text) => text,
    };
    let checkpoint = text.parse().map_err(|error| Error::usage(format!("{name}: {error}")))?;
    Ok(Some(checkpoint))
}
