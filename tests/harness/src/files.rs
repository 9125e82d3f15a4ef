//! The files of a directory.

use std::collections::BTreeMap;
use std::path::Path;

/// Returns the bytes of every file below a directory, by the path from there. If the path is a file, its key is
/// an empty path.
pub fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}
