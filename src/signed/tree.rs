//! The Merkle tree of RFC 6962, 2.1, over the statements of a log.

use sha2::{Digest as _, Sha256};

/// The hash of a leaf or of a node: a SHA-256.
pub type TreeHash = [u8; 32];

/// The hash of a leaf: `SHA-256(00 ‖ statement)`.
pub(super) fn leaf(statement: &[u8]) -> TreeHash {
    let mut hash = Sha256::new();
    hash.update([0]);
    hash.update(statement);
    hash.finalize().into()
}

/// The hash of a node: `SHA-256(01 ‖ left ‖ right)`.
fn node(left: &TreeHash, right: &TreeHash) -> TreeHash {
    let mut hash = Sha256::new();
    hash.update([1]);
    hash.update(left);
    hash.update(right);
    hash.finalize().into()
}

/// A tree of statements, which only grows. It needs 64 bytes for each statement. A root or a proof, of the tree
/// at any earlier size, costs about 2·log₂ of the tree's size in hashes.
#[derive(Debug, Clone, Default)]
pub struct StatementTree {
    /// The hashes of the complete subtrees. List n contains the subtrees of 2ⁿ leaves.
    levels: Vec<Vec<TreeHash>>,
}

impl StatementTree {
    /// The number of statements.
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Adds a statement. Costs two hashes on average.
    pub fn push(&mut self, statement: &[u8]) {
        let mut hash = leaf(statement);
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            let subtrees = &mut self.levels[level];
            subtrees.push(hash);
            let ([.., left, right], true) = (&subtrees[..], subtrees.len().is_multiple_of(2))
            else {
                return;
            };
            hash = node(left, right);
        }
    }

    /// The number of hashes in a full tile.
    pub const TILE: u64 = 256;

    /// The path of a tile with `width` hashes of a level, or with statements (`None`). Tile 1234067 is
    /// `tile/0/x001/x234/067`, and `tile/0/x001/x234/067.p/5` while it has only 5 hashes.
    pub(crate) fn tile_path(level: Option<u32>, number: u64, width: u64) -> String {
        let level = level.map_or("entries".to_owned(), |level| level.to_string());
        let (mut path, mut rest) = (format!("{:03}", number % 1_000), number / 1_000);
        while rest > 0 {
            path = format!("x{:03}/{path}", rest % 1_000);
            rest /= 1_000;
        }
        match width {
            StatementTree::TILE => format!("tile/{level}/{path}"),
            width => format!("tile/{level}/{path}.p/{width}"),
        }
    }

    /// The hashes of a tile (`tlog-tiles`), by its level (0 means the leaves), its number in the level, and the
    /// number of its hashes. The tree must have these hashes.
    pub(crate) fn tile(&self, level: u32, number: u64, width: u64) -> &[TreeHash] {
        let first = (number * StatementTree::TILE) as usize;
        &self.levels[8 * level as usize][first..first + width as usize]
    }

    /// Whether the statement with this number is this one.
    pub(crate) fn is_leaf(&self, number: u64, statement: &[u8]) -> bool {
        self.levels.first().and_then(|leaves| leaves.get(number as usize)) == Some(&leaf(statement))
    }

    /// The root of the tree of the first `size` statements. `None` means that the tree is smaller.
    pub fn root(&self, size: u64) -> Option<TreeHash> {
        match size {
            0 => Some(Sha256::digest([]).into()),
            size => (size <= self.size()).then(|| self.subtree(0, size)),
        }
    }

    /// The hashes from the sibling of a leaf to the child of the root, in the tree of the first `size`
    /// statements: PATH of RFC 6962, 2.1.1. `None` means that this tree does not have the leaf.
    pub(crate) fn inclusion(&self, index: u64, size: u64) -> Option<Vec<TreeHash>> {
        if index >= size || size > self.size() {
            return None;
        }
        let (mut path, mut start, mut end) = (Vec::new(), 0, size);
        while end - start > 1 {
            let middle = start + left_leaves(end - start);
            if index < middle {
                path.push(self.subtree(middle, end));
                end = middle;
            } else {
                path.push(self.subtree(start, middle));
                start = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// The proof that the tree of the first `size` statements continues the tree of the first `old`: PROOF of
    /// RFC 6962, 2.1.2. Empty if `old` is 0 or `size`. `None` means that the trees are not that large.
    pub fn consistency(&self, old: u64, size: u64) -> Option<Vec<TreeHash>> {
        if old > size || size > self.size() {
            return None;
        }
        let (mut path, mut start, mut end) = (Vec::new(), 0, size);
        if old == 0 {
            return Some(path);
        }
        while old < end {
            let middle = start + left_leaves(end - start);
            if old <= middle {
                path.push(self.subtree(middle, end));
                end = middle;
            } else {
                path.push(self.subtree(start, middle));
                start = middle;
            }
        }
        // The verifier of the proof knows the root of the old tree.
        if start > 0 {
            path.push(self.subtree(start, end));
        }
        path.reverse();
        Some(path)
    }

    /// The hash of the leaves from `start` to before `end`; at least one leaf.
    fn subtree(&self, start: u64, end: u64) -> TreeHash {
        let leaves = end - start;
        if leaves.is_power_of_two() {
            return self.levels[leaves.trailing_zeros() as usize][(start / leaves) as usize];
        }
        let middle = start + left_leaves(leaves);
        node(&self.subtree(start, middle), &self.subtree(middle, end))
    }
}

/// The number of leaves in the left subtree: the greatest power of two that is less than their number.
fn left_leaves(leaves: u64) -> u64 {
    1 << (leaves - 1).ilog2()
}

/// The root of a tree of `size` leaves with this leaf at `index` and this path. `None` means that no path of
/// that leaf has this length.
pub(super) fn root_by_path(
    leaf: TreeHash,
    index: u64,
    size: u64,
    path: &[TreeHash],
) -> Option<TreeHash> {
    // The algorithm of RFC 9162, 2.1.3.2.
    let mut last = size.checked_sub(1).filter(|last| index <= *last)?;
    let (mut index, mut root) = (index, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if index % 2 == 1 || index == last {
            root = node(sibling, &root);
            while index.is_multiple_of(2) && index != 0 {
                (index, last) = (index >> 1, last >> 1);
            }
        } else {
            root = node(&root, sibling);
        }
        (index, last) = (index >> 1, last >> 1);
    }
    (last == 0).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition in RFC 6962, 2.1, literally.
    fn naive(leaves: &[Vec<u8>]) -> TreeHash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [only] => leaf(only),
            leaves => {
                let (left, right) = leaves.split_at(left_leaves(leaves.len() as u64) as usize);
                node(&naive(left), &naive(right))
            }
        }
    }

    /// Whether a consistency proof is valid: RFC 9162, 2.1.4.2.
    fn continues(
        old: u64,
        size: u64,
        old_root: TreeHash,
        root: TreeHash,
        path: &[TreeHash],
    ) -> bool {
        if old == 0 || old == size {
            return path.is_empty() && (old == 0 || old_root == root);
        }
        let first = old.is_power_of_two().then_some(old_root);
        let mut path = first.iter().chain(path);
        let Some(first) = path.next() else { return false };
        let (mut from, mut to) = (*first, *first);
        let (mut index, mut last) = (old - 1, size - 1);
        while index % 2 == 1 {
            (index, last) = (index >> 1, last >> 1);
        }
        for hash in path {
            if last == 0 {
                return false;
            }
            if index % 2 == 1 || index == last {
                (from, to) = (node(hash, &from), node(hash, &to));
                while index.is_multiple_of(2) && index != 0 {
                    (index, last) = (index >> 1, last >> 1);
                }
            } else {
                to = node(&to, hash);
            }
            (index, last) = (index >> 1, last >> 1);
        }
        (from, to, last) == (old_root, root, 0)
    }

    /// The roots of the test vectors of RFC 6962's authors (certificate-transparency, merkle_tree_test).
    #[test]
    fn the_roots_are_those_that_others_published() {
        let leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"];
        let roots = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        ];
        let mut tree = StatementTree::default();
        for (size, root) in (0..).zip(roots) {
            assert_eq!(hex::encode(tree.root(size).unwrap()), root, "{size}");
            if let Some(leaf) = leaves.get(size as usize) {
                tree.push(&hex::decode(leaf).unwrap());
            }
        }
    }

    /// Every leaf of every tree of up to 64 leaves and of some of up to 600, and every pair of sizes.
    #[test]
    fn every_path_proves_its_leaf_and_nothing_else() {
        let leaves: Vec<Vec<u8>> = (0..600_u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let mut tree = StatementTree::default();
        let mut roots = vec![tree.root(0).unwrap()];
        for leaf in &leaves {
            tree.push(leaf);
            roots.push(tree.root(tree.size()).unwrap());
        }
        let sizes = (1..=64).chain([127, 128, 129, 255, 256, 257, 511, 512, 513, 599, 600]);
        for size in sizes {
            let root = roots[size as usize];
            assert_eq!(root, naive(&leaves[..size as usize]), "{size}");
            assert_eq!(tree.root(size), Some(root));
            for index in 0..size {
                let path = tree.inclusion(index, size).unwrap();
                let of = leaf(&leaves[index as usize]);
                assert_eq!(root_by_path(of, index, size, &path), Some(root), "{index} of {size}");
                let other = (index + 1) % size;
                assert!(size == 1 || root_by_path(of, other, size, &path) != Some(root));
                let longer = [&path[..], &[root]].concat();
                assert_ne!(root_by_path(of, index, size, &longer), Some(root));
                let shorter = path.get(1..).unwrap_or(&longer);
                assert_ne!(root_by_path(of, index, size, shorter), Some(root));
                let path = tree.consistency(index, size).unwrap();
                assert!(
                    continues(index, size, roots[index as usize], root, &path),
                    "{index}, {size}"
                );
                assert!(index == 0 || !continues(index, size, [7; 32], root, &path));
                assert!(!continues(index, size, roots[index as usize], root, &longer));
            }
        }
        assert_eq!(tree.inclusion(600, 600), None);
        assert_eq!(tree.inclusion(0, 601), None);
        assert_eq!(tree.consistency(600, 600), Some(Vec::new()));
        assert_eq!(tree.root(601), None);
    }
}
