//! The log of statements of a site, as `proof sign --recover` reads it: `tlog-tiles`.

use std::path::{Path, PathBuf};

use super::Failure;
use super::address::Address;
use super::client::Client;
use crate::disk::{Directory, Spool, read_small};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ParseError, quoted};
use crate::registry::PublishedStatements;
use crate::signed::{KeyUse, LogCheckpoint, Note, Policy, SetStatement, StatementTree};

/// The directory of the statements of a site, and the file with the latest signed checkpoint.
const STATEMENTS: &str = "statements";
const CHECKPOINT: &str = "checkpoint";

/// The greatest length of a bundle of statements, in bytes.
const MAX_BUNDLE_BYTES: u64 = StatementTree::TILE * (SetStatement::MAX_BYTES as u64 + 2);

/// The greatest number of statements that are read from a log, because its tree is in memory. A thousand
/// datasets have as many in eighty years.
const MAX_STATEMENTS: u64 = 4_000_000;

/// The location of the log of statements of a site.
pub(crate) struct StatementPlace<'a>(Root<'a>);

enum Root<'a> {
    Address(&'a Client, Address),
    Directory(PathBuf),
}

impl<'a> StatementPlace<'a> {
    /// The statements of the site whose root is at this address.
    pub(super) fn at_address(client: &'a Client, root: Address) -> Self {
        StatementPlace(Root::Address(client, root))
    }

    /// The statements in a directory into which datasets are published.
    pub fn in_directory(root: &Path) -> Self {
        StatementPlace(Root::Directory(root.to_owned()))
    }

    /// Reads a file. `None` means that the file does not exist.
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

    /// The name of a file in messages.
    fn name(&self, file: &str) -> String {
        match &self.0 {
            Root::Address(_, root) => root.file(&format!("{STATEMENTS}/{file}")).to_string(),
            Root::Directory(root) => {
                root.join(STATEMENTS).join(file).to_string_lossy().into_owned()
            }
        }
    }

    /// The error for an invalid file.
    fn refused(&self, file: &str, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::PrimaryInvalid, format!("{}: {what}", self.name(file)))
    }

    /// Reads the latest signed checkpoint, with the signatures of the keys of a policy, and all of its
    /// statements.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryInvalid`]: no key of the log in the policy signed the checkpoint, a signature of a
    /// key of the policy is wrong, a file is missing or truncated, or the statements are not those of the
    /// checkpoint; those of requests.
    pub fn read(&self, origin: &str, policy: &Policy) -> Result<PublishedStatements> {
        let refused = |error: ParseError| self.refused(CHECKPOINT, error);
        let content = self.file(CHECKPOINT, Note::MAX_BYTES as u64 + 1)?;
        let content = content.ok_or_else(|| self.refused(CHECKPOINT, "it is missing"))?;
        let text = String::from_utf8(content);
        let text = text.map_err(|_| self.refused(CHECKPOINT, "it is not UTF-8"))?;
        let mut note: Note = text.parse().map_err(refused)?;
        let checkpoint: LogCheckpoint = note.body.parse().map_err(refused)?;
        if checkpoint.size > MAX_STATEMENTS {
            let what = format!("it has more than {MAX_STATEMENTS} statements");
            return Err(self.refused(CHECKPOINT, what));
        }
        self.verify(&mut note, origin, policy)?;
        let texts = self.statements(&checkpoint)?;
        Ok(PublishedStatements { note, checkpoint, texts })
    }

    /// Verifies that a key of the log signed its checkpoint, and that no signature of a key of the policy is
    /// wrong. Keeps one signature of each of these keys, because anyone can add others.
    fn verify(&self, note: &mut Note, origin: &str, policy: &Policy) -> Result<()> {
        let mut verified = Vec::new();
        let mut is_signed = false;
        for key in policy.logs.iter().chain(policy.witnesses.iter().map(|it| &it.key)) {
            if note.verified(key).map_err(|error| self.refused(CHECKPOINT, error))?.is_some() {
                let mut of_key = note.signatures.iter().filter(|it| key.is_named_by(it));
                verified.extend(of_key.next().cloned());
                is_signed |= key.key_use() == KeyUse::Log && key.name() == origin;
            }
        }
        if is_signed && note.body.lines().next() == Some(origin) {
            note.signatures = verified;
            return Ok(());
        }
        let signed_by = note.signatures.iter().map(|it| format!("{}+{:08x}", it.name, it.key_id));
        let signed_by = signed_by.collect::<Vec<_>>().join(" ");
        let what = format!(
            "it is not signed by a key of {} in the policy, but by {}",
            quoted(origin),
            quoted(&signed_by)
        );
        Err(self.refused(CHECKPOINT, what))
    }

    /// Reads the statements of a checkpoint, and verifies that their tree is the signed one.
    fn statements(&self, checkpoint: &LogCheckpoint) -> Result<Spool> {
        const TILE: u64 = StatementTree::TILE;
        let (size, mut tree, mut texts) =
            (checkpoint.size, StatementTree::default(), Spool::default());
        for tile in 0..size.div_ceil(TILE) {
            let path = |width| StatementTree::tile_path(None, tile, width);
            let mut file = path((size - tile * TILE).min(TILE));
            let mut content = self.file(&file, MAX_BUNDLE_BYTES)?;
            if content.is_none() {
                // The partial tiles of a tile are removed when it is full.
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
                SetStatement::read(statement).map_err(|error| {
                    self.refused(&file, format!("the statement {number} is {error}"))
                })?;
                tree.push(statement);
                texts.add(statement)?;
            }
        }
        if tree.root(size) == Some(checkpoint.root) {
            Ok(texts)
        } else {
            Err(self.refused(CHECKPOINT, "the statements are not those of this checkpoint"))
        }
    }
}
