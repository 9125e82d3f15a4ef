//! Checks that the replicas of a file on several nodes have the same checksum.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::content::WrittenFile;
use crate::error::{Error, ErrorDetail};
use crate::model::quoted;

/// The checksums of files by node, to detect a replica with a different checksum. Remembers the first 100,000
/// files, and no further ones after more than 1,000 nodes.
#[derive(Default)]
pub(super) struct Replicas {
    /// By the hash of the id: the hash of the checksum, and the index of the node.
    checksums: HashMap<u64, (u64, usize)>,
    nodes: Vec<String>,
}

impl Replicas {
    const MAX: usize = 100_000;

    /// Rejects a replica whose checksum differs from that of the same file on another node.
    pub(super) fn check(
        &mut self,
        id: &str,
        node: &str,
        files: &[WrittenFile],
    ) -> Result<(), Error> {
        let Some(checksum) = files.first().and_then(|file| file.checksum.as_deref()) else {
            return Ok(());
        };
        let hash = |text: &str| {
            let mut hasher = DefaultHasher::new();
            text.to_ascii_lowercase().hash(&mut hasher);
            hasher.finish()
        };
        let index = match self.nodes.iter().position(|known| known == node) {
            Some(index) => index,
            None => {
                self.nodes.push(node.to_owned());
                self.nodes.len() - 1
            }
        };
        let is_full = self.checksums.len() >= Replicas::MAX || self.nodes.len() > 1_000;
        match self.checksums.get(&hash(id)) {
            Some((known, other)) if *known != hash(checksum) && *other != index => {
                let (one, other) = (quoted(&self.nodes[*other]), quoted(node));
                let message = format!(
                    "{one} and {other} have replicas of {} with different checksums",
                    quoted(id)
                );
                let hint = "ask ESGF's index with replica=false, which returns one of them (inputs.md, Replicas)";
                Err(Error::new(ErrorDetail::FileMetadata, message).with_hint(hint))
            }
            None if !is_full => {
                self.checksums.insert(hash(id), (hash(checksum), index));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
