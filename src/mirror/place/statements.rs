//! The log of statements of a site, which is published beside its datasets: `tlog-tiles`.

use std::io;
use std::path::{Path, PathBuf};

use super::Failure;
use super::address::Address;
use super::client::Client;
use crate::disk::{Directory, Spool, read_small};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ValueError, quoted};
use crate::signed::{LogCheckpoint, Note, Policy, SetStatement, StatementTree};

/// The directory of the statements of a site, and the file of what was signed last.
const STATEMENTS: &str = "statements";
const CHECKPOINT: &str = "checkpoint";

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
    fn file(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, Failure> {
        let root = match &self.0 {
            Root::Address(client, root) => {
                return client.content(&root.file(&format!("{STATEMENTS}/{name}")), most);
            }
            Root::Directory(root) => root,
        };
        let opened = Directory::open(root)?.read_below(&format!("{STATEMENTS}/{name}"))?;
        let Some(opened) = opened else { return Ok(None) };
        let content = read_small(opened, most);
        let cannot = |source| Error::cannot("read", Path::new(&self.name(name)), source);
        Ok(Some(content.map_err(cannot)?))
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

    fn text(&self, file: &str, most: u64) -> Result<Option<String>, Failure> {
        let content = self.file(file, most)?;
        let text = content.map(String::from_utf8).transpose();
        Ok(text.map_err(|_| self.refused(file, "it is not UTF-8"))?)
    }

    /// The checkpoint, of which no signature was verified. `None` means that nothing is published here.
    ///
    /// # Errors
    ///
    /// It is not a checkpoint; it is required, and missing; those of requests.
    pub fn checkpoint(&self, is_required: bool) -> Result<Option<(Note, LogCheckpoint)>> {
        match self.checkpoint_if_any() {
            Ok(None) if is_required => Err(self.refused(CHECKPOINT, "it is missing")),
            // Some servers forbid what does not exist, or send a page in its place.
            Err(Failure::Lasting(error))
                if !is_required
                    && matches!(error.kind(), ErrorKind::Response | ErrorKind::NotPublished) =>
            {
                Ok(None)
            }
            read => Ok(read?),
        }
    }

    fn checkpoint_if_any(&self) -> Result<Option<(Note, LogCheckpoint)>, Failure> {
        let text = self.text(CHECKPOINT, Note::MAX_BYTES as u64 + 1)?;
        let Some(text) = text else { return Ok(None) };
        let refused = |error: ValueError| self.refused(CHECKPOINT, error);
        let note: Note = text.parse().map_err(refused)?;
        let checkpoint: LogCheckpoint = note.body.parse().map_err(refused)?;
        if checkpoint.size > MAX_STATEMENTS {
            let what = format!("it has more than {MAX_STATEMENTS} statements");
            return Err(self.refused(CHECKPOINT, what).into());
        }
        Ok(Some((note, checkpoint)))
    }

    /// Verifies that a key of a log signed its checkpoint, and that no signature of a known key is wrong.
    /// Those of unknown keys are removed: anyone can add them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotSigned`].
    pub fn verify(&self, note: &mut Note, origin: &str, policy: &Policy) -> Result<()> {
        let refused = |what: String| {
            Error::new(ErrorKind::NotSigned, format!("{}: {what}", self.name(CHECKPOINT)))
        };
        let logs = || policy.logs.iter().filter(|key| key.name() == origin);
        let keys: Vec<_> = logs().chain(policy.witnesses.iter().map(|it| &it.key)).collect();
        for key in &keys {
            note.verified(key).map_err(|error| refused(error.to_string()))?;
        }
        let is_of_log = note.body.lines().next() == Some(origin);
        if is_of_log && logs().any(|key| matches!(note.verified(key), Ok(Some(_)))) {
            note.signatures.retain(|signature| keys.iter().any(|key| key.is_named_by(signature)));
            // There is room for a cosignature.
            note.signatures.truncate(Note::MAX_SIGNATURES - 1);
            return Ok(());
        }
        let signed_by = note.signatures.iter().map(|it| format!("{}+{:08x}", it.name, it.key_id));
        let signed_by = signed_by.collect::<Vec<_>>().join(" ");
        Err(refused(format!(
            "it is not signed by a key of {} that is believed, but by {}",
            quoted(origin),
            quoted(&signed_by)
        )))
    }

    /// The text of the policy with which it was signed.
    pub fn policy(&self) -> Result<String> {
        let missing = || {
            Error::cannot("read", Path::new(&self.name("policy")), io::ErrorKind::NotFound.into())
        };
        self.text("policy", MAX_POLICY_BYTES)?.ok_or_else(missing)
    }

    /// Reads all statements of a checkpoint.
    ///
    /// # Errors
    ///
    /// Their tree is another one; those of [`StatementPlace::statements`].
    pub fn all_of(&self, checkpoint: &LogCheckpoint) -> Result<(StatementTree, Spool)> {
        let (mut tree, mut texts) = (StatementTree::default(), Spool::default());
        self.statements(0, checkpoint.size, |text| {
            tree.push(text);
            texts.add(text).map(drop)
        })?;
        match tree.root(checkpoint.size) == Some(checkpoint.root) {
            true => Ok((tree, texts)),
            false => {
                let what = "the statements are not those of this checkpoint";
                Err(self.refused(CHECKPOINT, what))
            }
        }
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
        if first >= size {
            return Ok(());
        }
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
