//! Groups of files in which each file uses every other one, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::Use;

/// Every group of files that import each other, with the imports inside the group.
///
/// A re-export that the file does not use itself is not an import: `mod.rs` re-exports the items of
/// the files beside it, and these may use the types that `mod.rs` defines.
pub fn cycles(uses: &BTreeSet<Use>) -> Vec<BTreeSet<&Use>> {
    let imports: Vec<&Use> = uses.iter().filter(|one| !one.is_reexport).collect();
    let mut imported_by: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        imported_by.entry(&import.from).or_default().insert(&import.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imported_by.keys().map(|file| (*file, reachable(file, &imported_by))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
    let mut cycles = BTreeMap::new();
    for import in imports {
        if reaches(&import.to, &import.from) {
            let is_in_cycle =
                |file: &&&str| reaches(&import.from, file) && reaches(file, &import.from);
            let first = reached.keys().find(is_in_cycle);
            cycles.entry(first).or_insert_with(BTreeSet::new).insert(import);
        }
    }
    cycles.into_values().collect()
}

/// The files that a file imports, directly or indirectly.
fn reachable<'a>(
    file: &str,
    imported_by: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = vec![file];
    while let Some(file) = next.pop() {
        for imported in imported_by.get(file).into_iter().flatten() {
            if reached.insert(*imported) {
                next.push(imported);
            }
        }
    }
    reached
}
