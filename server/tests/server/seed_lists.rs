//! The lists of the seed, in `fixtures/seed/`.

use std::path::Path;

/// The ids in a list.
pub fn ids(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/seed").join(file);
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}
