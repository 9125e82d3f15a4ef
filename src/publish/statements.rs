//! Publishes the log of statements as `tlog-tiles`: bundles of statements, tiles of hashes, and the signed
//! checkpoint.

use std::path::Path;

use super::site_directory::{SiteDirectory, text_in};
use super::tile::{Tile, replace};
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::model::ParseError;
use crate::registry::{Registry, SignedCheckpoint, Snapshot, StatementLog};
use crate::signed::{LogCheckpoint, Note};

/// The directory of the statements.
pub(super) const STATEMENTS: &str = "statements";
/// The latest signed checkpoint.
pub(super) const CHECKPOINT: &str = "checkpoint";
/// The keys and witnesses of the checkpoint.
pub(super) const POLICY: &str = "policy";

impl Registry {
    /// Publishes the signed statements into a directory into which datasets are published. Returns the number
    /// of statements; 0 means that nothing was signed. Statements name all datasets of the registry.
    ///
    /// The checkpoint is written last, by an atomic rename. What was published never changes: only new files
    /// are written. When a tile is full, its partial files are removed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TreeDiffers`]: the log does not continue the published one, because the registry was
    /// restored from an older backup, or is another one. [`ErrorKind::Io`]: a file cannot be written.
    pub fn publish_statements(&self, directory: &Path) -> Result<u64> {
        let log = self.snapshot()?.statement_log()?;
        let Some(signed) = &log.signed else { return Ok(0) };
        let size = signed.checkpoint.size;
        let place = SiteDirectory::open_or_create(directory)?;
        let statements = place.root.enter_or_create(STATEMENTS)?;
        let published = published_size(&statements, &log)?;
        if published > size {
            let what = format!("{published} statements were published, and only {size} are signed");
            return Err(Error::new(ErrorKind::TreeDiffers, what));
        }
        for tile in Tile::new_in(size, published) {
            tile.publish(&statements, &tile.content(&log, &self.snapshot()?)?)?;
        }
        let SignedCheckpoint { note, policy, .. } = signed;
        replace(&statements, POLICY, policy.as_bytes())?;
        replace(&statements, CHECKPOINT, note.to_string().as_bytes())?;
        Ok(size)
    }
}

/// The size of the published tree. The log must continue that tree.
fn published_size(statements: &Directory, log: &StatementLog) -> Result<u64> {
    let Some((_, checkpoint)) = published_checkpoint(statements)? else { return Ok(0) };
    match log.tree.root(checkpoint.size) {
        Some(root) if root == checkpoint.root => Ok(checkpoint.size),
        _ => {
            let what = "the statements are not those that were published in this directory";
            Err(Error::new(ErrorKind::TreeDiffers, what).in_path(statements.path_of(CHECKPOINT)))
        }
    }
}

/// The published checkpoint, with its signatures. `None` means that there is none.
pub(super) fn published_checkpoint(
    statements: &Directory,
) -> Result<Option<(Note, LogCheckpoint)>> {
    let Some(text) = text_in(statements, CHECKPOINT)? else { return Ok(None) };
    let read = || {
        let note: Note = text.parse()?;
        let checkpoint = note.body.parse()?;
        Ok((note, checkpoint))
    };
    read().map(Some).map_err(|error: ParseError| {
        let path = statements.path_of(CHECKPOINT);
        Error::published_damaged(&path, None, error.to_string())
    })
}

impl Snapshot {
    /// The bytes of a file of the log of statements, such as `checkpoint` or `tile/0/000`, as
    /// [`Registry::publish_statements`] writes them. `None` means that the file does not exist, or that
    /// statements name datasets that this snapshot hides.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: statements were lost or altered.
    pub fn statement_file(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let log = self.statement_log()?;
        let Some(signed) = log.signed.as_ref().filter(|_| log.is_shown) else { return Ok(None) };
        match path {
            CHECKPOINT => Ok(Some(signed.note.to_string().into_bytes())),
            POLICY => Ok(Some(signed.policy.clone().into_bytes())),
            path => {
                let tile = Tile::named(path, signed.checkpoint.size);
                tile.map(|tile| tile.content(&log, self)).transpose()
            }
        }
    }
}
