//! The files of the log of statements: `tlog-tiles`.

use std::fs::File;
use std::io::Write;
use std::iter;

use crate::disk::Directory;
use crate::error::{Error, Result};
use crate::registry::{Snapshot, StatementLog};
use crate::signed::StatementTree;

/// The number of hashes or statements in a full tile.
const TILE: u64 = StatementTree::TILE;

/// A file with some statements, or with some hashes of their tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tile {
    /// The level of the hashes; the hashes of the statements are level 0. `None` means the statements.
    level: Option<u32>,
    /// The number of the tile on its level, from 0.
    number: u64,
    /// The number of its hashes or statements, from 1 to 256.
    width: u64,
}

impl Tile {
    /// The tiles of a log of `size` statements that are new since `before` statements were published.
    pub fn new_in(size: u64, before: u64) -> impl Iterator<Item = Tile> {
        let levels = (0_u32..).take_while(move |level| items(size, Some(*level)) > 0).map(Some);
        iter::once(None).chain(levels).flat_map(move |level| {
            let (before, now) = (items(before, level), items(size, level));
            (before / TILE..now.div_ceil(TILE)).map(move |number| {
                let width = (now - number * TILE).min(TILE);
                Tile { level, number, width }
            })
        })
    }

    /// The tile with a path, in a log of `size` statements. `None` means that there is no such tile.
    pub fn named(path: &str, size: u64) -> Option<Self> {
        let (level, rest) = path.strip_prefix("tile/")?.split_once('/')?;
        let level = match level {
            "entries" => None,
            level => Some(level.parse().ok()?),
        };
        let (number, width) = match rest.split_once(".p/") {
            None => (rest, TILE),
            Some((number, width)) => (number, width.parse().ok()?),
        };
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        let tile = Tile { level, number: digits.parse().ok()?, width };
        let end = tile.number.checked_mul(TILE)?.checked_add(width)?;
        let is_there = (1..=TILE).contains(&width) && end <= items(size, level);
        (is_there && tile.path() == path).then_some(tile)
    }

    /// The path of the tile below the directory of the statements.
    pub fn path(&self) -> String {
        StatementTree::tile_path(self.level, self.number, self.width)
    }

    /// The bytes of the tile. Each statement is after its length in two bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a statement differs from its hash in the log.
    pub fn content(&self, log: &StatementLog, snapshot: &Snapshot) -> Result<Vec<u8>> {
        let Tile { level, number, width } = *self;
        if let Some(level) = level {
            return Ok(log.tree.tile(level, number, width).concat());
        }
        let (first, mut bundle) = (number * TILE, Vec::new());
        let texts = snapshot.statement_texts(first, width)?;
        for number in first..first + width {
            let text = texts.get((number - first) as usize).map_or(&[][..], |text| text.as_bytes());
            if !log.tree.is_leaf(number, text) {
                return Err(Error::damaged(format!("the statement {number} is another one")));
            }
            // A statement has at most 60,000 bytes.
            bundle.extend_from_slice(&(text.len() as u16).to_be_bytes());
            bundle.extend_from_slice(text);
        }
        Ok(bundle)
    }

    /// Writes the tile. When it is full, removes its partial files.
    pub fn publish(&self, statements: &Directory, content: &[u8]) -> Result<()> {
        let path = self.path();
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", &path));
        // Opens the same directory again.
        let mut place = statements.enter_or_create(".")?;
        for directory in directories.split('/') {
            place = place.enter_or_create(directory)?;
        }
        replace(&place, name, content)?;
        if let Some(parts) = place.enter(&format!("{name}.p"))? {
            for name in parts.names()? {
                parts.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// The number of hashes on a level in a tree of `size` statements, or the number of statements.
fn items(size: u64, level: Option<u32>) -> u64 {
    let bits = level.unwrap_or(0).saturating_mul(8);
    size.checked_shr(bits).unwrap_or(0)
}

/// Writes a file durably, replacing an existing one.
pub(super) fn replace(directory: &Directory, name: &str, content: &[u8]) -> Result<()> {
    directory.replace(name, |file: &mut File| {
        file.write_all(content)?;
        file.sync_data()
    })?;
    directory.sync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_has_a_path_by_which_it_is_found_and_no_other() {
        let size = 1_234_067 * TILE + 5;
        let paths: Vec<String> = Tile::new_in(size, size - 5 - TILE).map(|it| it.path()).collect();
        assert_eq!(
            paths,
            [
                "tile/entries/x001/x234/066",
                "tile/entries/x001/x234/067.p/5",
                "tile/0/x001/x234/066",
                "tile/0/x001/x234/067.p/5",
                "tile/1/x004/820.p/147",
                "tile/2/018.p/212",
                "tile/3/000.p/18",
            ]
        );
        for path in paths {
            assert_eq!(Tile::named(&path, size).map(|it| it.path()), Some(path));
        }
        assert_eq!(Tile::new_in(0, 0).count(), 0);
        for other in [
            "tile/0/001.p/4x",
            "tile/0/001.p/0",
            "tile/0/001.p/+3",
            "tile/0/001.p/45",
            "tile/0/001.p/256",
            "tile/0/001",
            "tile/0/1",
            "tile/0/000/",
            "tile/0/x000/000",
            "tile/00/000",
            "tile/9/000.p/1",
            "tile/4294967295/000",
            "tile/-1/000",
            "tile/data/000",
            "tile/0/99999999999999999999",
            "tile/0/x072/x057/x594/x037/x927/936",
            "tile/0/",
            "tile/0",
            "checkpoint",
        ] {
            assert_eq!(Tile::named(other, 300), None, "{other}");
        }
        assert_eq!(Tile::named("tile/0/001.p/44", 300).map(|tile| tile.width), Some(44));
    }
}
