//! Publishes the log of statements as `tlog-tiles`: bundles of statements, tiles of hashes, and the signed
//! checkpoint.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::files::{PublishDirectory, text_in};
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::{Registry, SignedCheckpoint, StatementLog};
use crate::signed::{LogCheckpoint, Note, StatementTree};

/// The directory of the statements.
const STATEMENTS: &str = "statements";

/// How many hashes or statements a full tile has.
const TILE: u64 = StatementTree::TILE;

/// Publishes what was stated and signed into a directory into which datasets are published. Returns the
/// number of statements; 0 means that nothing was signed. Statements name all datasets of the registry.
///
/// The checkpoint is written last, by an atomic rename. What was published never changes: only what is new
/// is written, and the parts of a tile go when it is full.
///
/// # Errors
///
/// [`ErrorKind::TreeDiffers`]: the log does not continue the one that was published; the registry was
/// restored from an older backup, or is another one. [`ErrorKind::Io`]: a file cannot be written.
pub fn publish_statements(registry: &Registry, directory: &Path) -> Result<u64> {
    let log = registry.snapshot()?.statement_log()?;
    let Some(signed) = &log.signed else { return Ok(0) };
    let size = signed.checkpoint.size;
    let place = PublishDirectory::to_publish(directory)?;
    let statements = place.root.enter_or_create(STATEMENTS)?;
    let published = published_size(&statements, &log)?;
    if published > size {
        let what = format!("{published} statements were published, and only {size} are signed");
        return Err(Error::new(ErrorKind::TreeDiffers, what));
    }
    let tiles = statements.enter_or_create("tile")?;
    let entries = tiles.enter_or_create("entries")?;
    write_tiles(&entries, published, size, |number, width| {
        let mut bundle = Vec::new();
        for text in registry.snapshot()?.statement_texts(number * TILE, width)? {
            // A statement has at most 60,000 bytes.
            bundle.extend_from_slice(&(text.len() as u16).to_be_bytes());
            bundle.extend_from_slice(text.as_bytes());
        }
        Ok(bundle)
    })?;
    for level in 0_u32.. {
        let hashes = |size: u64| size >> (8 * level);
        if hashes(size) == 0 {
            break;
        }
        let tiles = tiles.enter_or_create(&level.to_string())?;
        write_tiles(&tiles, hashes(published), hashes(size), |number, width| {
            Ok(log.tree.tile(level, number, width).concat())
        })?;
    }
    let SignedCheckpoint { note, policy, .. } = signed;
    write(&statements, "policy", policy.as_bytes())?;
    write(&statements, "checkpoint", note.to_string().as_bytes())?;
    Ok(size)
}

/// The size of the tree that is published, which the log must continue.
fn published_size(statements: &Directory, log: &StatementLog) -> Result<u64> {
    let Some(text) = text_in(statements, "checkpoint")? else { return Ok(0) };
    let path = statements.path_of("checkpoint");
    let checkpoint = text.parse().and_then(|note: Note| note.body.parse());
    let checkpoint: LogCheckpoint =
        checkpoint.map_err(|error| Error::published_damaged(&path, None, error.to_string()))?;
    match log.tree.root(checkpoint.size) {
        Some(root) if root == checkpoint.root => Ok(checkpoint.size),
        _ => {
            let what = "the statements are not those that were published in this directory";
            Err(Error::new(ErrorKind::TreeDiffers, what).in_path(path))
        }
    }
}

/// Writes the tiles of a list of items that has grown from `before` to `now`. `content` is given the number
/// of a tile and its width.
fn write_tiles(
    directory: &Directory,
    before: u64,
    now: u64,
    content: impl Fn(u64, u64) -> Result<Vec<u8>>,
) -> Result<()> {
    for number in before / TILE..now.div_ceil(TILE) {
        let width = (now - number * TILE).min(TILE);
        let (directory, name) = place_of(directory, number)?;
        let parts = format!("{name}.p");
        if width < TILE {
            let parts = directory.enter_or_create(&parts)?;
            write(&parts, &width.to_string(), &content(number, width)?)?;
        } else {
            write(&directory, &name, &content(number, width)?)?;
            if let Some(parts) = directory.enter(&parts)? {
                for name in parts.names()? {
                    parts.remove(&name)?;
                }
            }
        }
    }
    Ok(())
}

/// The directory and the name of a tile: `x001/x234` and `067` of the number 1234067.
fn place_of(directory: &Directory, number: u64) -> Result<(Directory, String)> {
    let mut groups = vec![format!("{:03}", number % 1_000)];
    let mut rest = number / 1_000;
    while rest > 0 {
        groups.push(format!("x{:03}", rest % 1_000));
        rest /= 1_000;
    }
    let name = groups.remove(0);
    // The directory itself, by a handle of its own.
    let mut place = directory.enter_or_create(".")?;
    for group in groups.iter().rev() {
        place = place.enter_or_create(group)?;
    }
    Ok((place, name))
}

/// Writes a file durably, in the place of one that exists.
fn write(directory: &Directory, name: &str, content: &[u8]) -> Result<()> {
    directory.replace(name, |file: &mut File| {
        file.write_all(content)?;
        file.sync_data()
    })?;
    directory.sync()
}
