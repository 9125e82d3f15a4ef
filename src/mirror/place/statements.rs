//! The log of statements of a site, which is published beside its datasets: `tlog-tiles`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::address::Address;
use super::client::Client;
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::model::ValueError;
use crate::signed::{LogCheckpoint, Note, SetStatement, StatementTree};

/// The directory of the statements of a site.
const STATEMENTS: &str = "statements";

/// The longest policy that is read, and the longest bundle of statements.
const MAX_POLICY_BYTES: u64 = 256 * 1_024;
const MAX_BUNDLE_BYTES: u64 = StatementTree::TILE * (SetStatement::MAX_BYTES as u64 + 2);

/// The greatest number of statements that are read of a log, whose tree is in memory: those of a thousand
/// datasets in eighty years.
const MAX_STATEMENTS: u64 = 4_000_000;

/// Where the log of statements of a site is.
pub(crate) struct StatementPlace<'a>(Root<'a>);

enum Root<'a> {
    Address(&'a Client, Address),
    Directory(PathBuf),
}

impl<'a> StatementPlace<'a> {
    /// That of a site at an address, which is its root.
    pub(super) fn at_address(client: &'a Client, root: Address) -> Self {
        StatementPlace(Root::Address(client, root))
    }

    /// That of a directory into which datasets are published.
    pub fn in_directory(root: &Path) -> Self {
        StatementPlace(Root::Directory(root.to_owned()))
    }

    /// Reads a file. `None` means that there is none.
    fn file(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let root = match &self.0 {
            Root::Address(client, root) => {
                return client.content(&root.file(&format!("{STATEMENTS}/{name}")), most);
            }
            Root::Directory(root) => root,
        };
        let mut directory = Directory::open(root)?;
        let (directories, file) = name.rsplit_once('/').unwrap_or((".", name));
        for name in std::iter::once(STATEMENTS).chain(directories.split('/')) {
            let Some(inner) = directory.enter(name)? else { return Ok(None) };
            directory = inner;
        }
        let Some(opened) = directory.read(file)? else { return Ok(None) };
        let mut content = Vec::new();
        let read = opened.take(most).read_to_end(&mut content);
        read.map_err(|source| Error::cannot("read", &directory.path_of(file), source))?;
        Ok(Some(content))
    }

    /// What messages call a file.
    pub fn name(&self, file: &str) -> String {
        match &self.0 {
            Root::Address(_, root) => root.file(&format!("{STATEMENTS}/{file}")).to_string(),
            Root::Directory(root) => {
                root.join(STATEMENTS).join(file).to_string_lossy().into_owned()
            }
        }
    }

    /// The error of a file that is not what it should be.
    pub fn refused(&self, file: &str, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::NotPublished, format!("{}: {what}", self.name(file)))
    }

    fn text(&self, file: &str, most: u64) -> Result<Option<String>> {
        let content = self.file(file, most)?;
        let text = content.map(String::from_utf8).transpose();
        text.map_err(|_| self.refused(file, "it is not UTF-8"))
    }

    /// The checkpoint, of which no signature was verified. `None` means that nothing is published here.
    pub fn checkpoint(&self) -> Result<Option<(Note, LogCheckpoint)>> {
        let file = "checkpoint";
        let Some(text) = self.text(file, Note::MAX_BYTES as u64 + 1)? else { return Ok(None) };
        let refused = |error: ValueError| self.refused(file, error);
        let note: Note = text.parse().map_err(refused)?;
        let checkpoint: LogCheckpoint = note.body.parse().map_err(refused)?;
        match checkpoint.size <= MAX_STATEMENTS {
            true => Ok(Some((note, checkpoint))),
            false => {
                Err(self.refused(file, format!("it has more than {MAX_STATEMENTS} statements")))
            }
        }
    }

    /// The text of the policy with which it was signed.
    pub fn policy(&self) -> Result<String> {
        let missing = || {
            Error::cannot("read", Path::new(&self.name("policy")), io::ErrorKind::NotFound.into())
        };
        self.text("policy", MAX_POLICY_BYTES)?.ok_or_else(missing)
    }

    /// Reads the statements of a log of `size` from a number on.
    ///
    /// # Errors
    ///
    /// A file is missing or cut; what is in it is not a statement; those of `take`.
    pub fn statements(
        &self,
        first: u64,
        size: u64,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        const TILE: u64 = StatementTree::TILE;
        for tile in first / TILE..size.div_ceil(TILE) {
            let path = |width| StatementTree::tile_path(None, tile, width);
            let mut file = path((size - tile * TILE).min(TILE));
            let mut content = self.file(&file, MAX_BUNDLE_BYTES)?;
            if content.is_none() {
                // The parts of a tile go when it is full.
                file = path(TILE);
                content = self.file(&file, MAX_BUNDLE_BYTES)?;
            }
            let content = content.ok_or_else(|| self.refused(&file, "it is missing"))?;
            let mut rest = &content[..];
            for number in tile * TILE..size.min((tile + 1) * TILE) {
                let entry = rest.split_first_chunk().and_then(|(length, rest)| {
                    rest.split_at_checked(u16::from_be_bytes(*length).into())
                });
                let (statement, after) = entry.ok_or_else(|| self.refused(&file, "it is cut"))?;
                rest = after;
                if number >= first {
                    SetStatement::read(statement).map_err(|error| {
                        self.refused(&file, format!("the statement {number} is {error}"))
                    })?;
                    take(statement)?;
                }
            }
        }
        Ok(())
    }
}
