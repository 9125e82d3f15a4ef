//! Publishes the log of statements as `tlog-tiles`: bundles of statements, tiles of hashes, and the signed
//! checkpoint.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::files::{PublishDirectory, text_in};
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::model::ValueError;
use crate::registry::{Registry, SignedCheckpoint, StatementLog};
use crate::signed::{LogCheckpoint, Note, SetStatement, StatementTree};

/// The directory of the statements.
const STATEMENTS: &str = "statements";

/// The longest checkpoint or policy that is read, and the longest bundle of statements.
const MAX_TEXT_BYTES: u64 = 256 * 1_024;
const MAX_BUNDLE_BYTES: u64 = TILE * (SetStatement::MAX_BYTES as u64 + 2);

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

/// The path of a tile: `x001/x234/067` of the number 1234067.
fn path_of(number: u64) -> String {
    let mut path = format!("{:03}", number % 1_000);
    let mut rest = number / 1_000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1_000);
        rest /= 1_000;
    }
    path
}

/// The directory of a tile, and its name there.
fn place_of(directory: &Directory, number: u64) -> Result<(Directory, String)> {
    let path = path_of(number);
    let mut groups: Vec<&str> = path.split('/').collect();
    let name = groups.pop().unwrap_or_default().to_owned();
    // The directory itself, by a handle of its own.
    let mut place = directory.enter_or_create(".")?;
    for group in groups {
        place = place.enter_or_create(group)?;
    }
    Ok((place, name))
}

/// What was published of a log of statements.
pub struct PublishedStatements {
    /// The texts of the statements.
    pub texts: Vec<String>,
    /// The checkpoint, whose root is that of their tree. Its signatures were not verified.
    pub note: Note,
    /// The policy with which it was signed.
    pub policy: String,
}

/// Reads what was published of a log of statements in a directory, and compares it with its checkpoint.
///
/// # Errors
///
/// [`ErrorKind::Io`]: a file cannot be read; [`ErrorKind::PublishedDamaged`]: it is not as it was published.
pub fn read_published_statements(directory: &Path) -> Result<PublishedStatements> {
    let statements = directory.join(STATEMENTS);
    let read = |name: &str, most: u64| {
        let path = statements.join(name);
        let mut content = Vec::new();
        let opened = File::open(&path).and_then(|file| file.take(most).read_to_end(&mut content));
        opened.map(|_| content).map_err(|source| Error::cannot("read", &path, source))
    };
    let text = |name: &str| {
        let damaged = |_| Error::published_damaged(&statements.join(name), None, "it is not UTF-8");
        String::from_utf8(read(name, MAX_TEXT_BYTES)?).map_err(damaged)
    };
    let broken =
        |name: &str, what: String| Error::published_damaged(&statements.join(name), None, what);
    let note: Note = text("checkpoint")?
        .parse()
        .map_err(|error: ValueError| broken("checkpoint", error.to_string()))?;
    let checkpoint = note.body.parse();
    let LogCheckpoint { size, root, .. } =
        checkpoint.map_err(|error: ValueError| broken("checkpoint", error.to_string()))?;
    let (mut texts, mut tree) = (Vec::new(), StatementTree::default());
    for number in 0..size.div_ceil(TILE) {
        let width = (size - number * TILE).min(TILE);
        let part = if width < TILE { format!(".p/{width}") } else { String::new() };
        let name = format!("tile/entries/{}{part}", path_of(number));
        let bundle = read(&name, MAX_BUNDLE_BYTES)?;
        let mut rest = &bundle[..];
        for _ in 0..width {
            let entry = rest.split_first_chunk().and_then(|(length, rest)| {
                rest.split_at_checked(u16::from_be_bytes(*length).into())
            });
            let (statement, after) = entry.ok_or_else(|| broken(&name, "it is cut".to_owned()))?;
            tree.push(statement);
            texts.push(String::from_utf8_lossy(statement).into_owned());
            rest = after;
        }
    }
    match tree.root(size) == Some(root) {
        true => Ok(PublishedStatements { texts, note, policy: text("policy")? }),
        false => {
            Err(broken("checkpoint", "the statements are not those of this checkpoint".to_owned()))
        }
    }
}

/// Writes a file durably, in the place of one that exists.
fn write(directory: &Directory, name: &str, content: &[u8]) -> Result<()> {
    directory.replace(name, |file: &mut File| {
        file.write_all(content)?;
        file.sync_data()
    })?;
    directory.sync()
}
