//! Checks that the replicas of a file on several nodes have the same checksum.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::content::WrittenFile;
use crate::error::{Error, ErrorDetail};
use crate::model::quoted;

/// The checksums of files by node, to detect a replica with a different checksum. Remembers the first 100,000
/// files of the first 1,000 nodes.
#[derive(Default)]
pub(super) struct Replicas {
    /// By the hash of the id: the hash of the checksum, and the index of the node.
    checksums: HashMap<u64, (u64, usize)>,
    nodes: Vec<String>,
}

impl Replicas {
    const MAX_FILES: usize = 100_000;
    /// Each file is compared with the names of all nodes.
    const MAX_NODES: usize = 1_000;

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
            None if self.nodes.len() < Replicas::MAX_NODES => {
                self.nodes.push(node.to_owned());
                Some(self.nodes.len() - 1)
            }
            known => known,
        };
        match self.checksums.get(&hash(id)) {
            Some((known, other)) if *known != hash(checksum) && Some(*other) != index => {
                let (one, other) = (quoted(&self.nodes[*other]), quoted(node));
                let message = format!(
                    "{one} and {other} have replicas of {} with different checksums",
                    quoted(id)
                );
                let hint = "ask ESGF's index with replica=false, which returns one of them (inputs.md, Replicas)";
                Err(Error::new(ErrorDetail::FileMetadata, message).with_hint(hint))
            }
            Some(_) => Ok(()),
            None => {
                if let Some(index) = index.filter(|_| self.checksums.len() < Replicas::MAX_FILES) {
                    self.checksums.insert(hash(id), (hash(checksum), index));
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_many_nodes_need_no_more_memory_than_those_of_a_thousand() {
        let mut replicas = Replicas::default();
        let file = |checksum: &str| {
            [WrittenFile { checksum: Some(checksum.to_owned()), ..WrittenFile::default() }]
        };
        for node in 0..5_000 {
            replicas.check(&format!("A{node}"), &format!("node-{node}"), &file("11")).unwrap();
        }
        assert_eq!((replicas.nodes.len(), replicas.checksums.len()), (1_000, 1_000));
        replicas.check("A7", "node-4000", &file("11")).unwrap();
        let refused = replicas.check("A7", "node-4000", &file("22")).unwrap_err();
        assert!(refused.to_string().contains("\"node-7\" and \"node-4000\""), "{refused}");
        replicas.check("A7", "node-7", &file("22")).unwrap();
    }
}
