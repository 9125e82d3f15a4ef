//! Files of a directory that no granule has.

use std::fs;
use std::path::Path;

use accession::fixity::{DirectoryFiles, Mounted, Root};

fn unexpected(root: &Path, expected: &[&str]) -> Vec<String> {
    let root = Root::open(root, Mounted::Unknown).unwrap();
    let mut files = DirectoryFiles::list(&root).unwrap();
    for path in expected {
        files.expect(path).unwrap();
    }
    let unexpected = files.unexpected().unwrap().map(Result::unwrap);
    unexpected.map(|(path, problem)| format!("{path} {}", problem.status)).collect()
}

#[test]
fn files_that_no_granule_has_are_listed_in_order_of_path() {
    let directory = tempfile::tempdir().unwrap();
    for path in ["b/2", "b/1", "b/c/d/e", "b.nc", "a", "z/only"] {
        let file = directory.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    fs::create_dir(directory.path().join("empty")).unwrap();
    let all = ["a", "b.nc", "b/1", "b/2", "b/c/d/e", "z/only"];
    let shown: Vec<String> = all.iter().map(|path| format!("{path} unexpected")).collect();
    assert_eq!(unexpected(directory.path(), &[]), shown);
    assert_eq!(unexpected(directory.path(), &all), [""; 0]);
    // Paths of granules are in any order, repeated, missing, and written in several ways.
    let expected = ["z//only", "./b/2", "none", "b/c/./d/e", "a", "b", "a"];
    assert_eq!(unexpected(directory.path(), &expected), ["b.nc unexpected", "b/1 unexpected"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_a_file_unless_it_leads_to_a_directory() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("data")).unwrap();
    fs::write(path("data/a"), "").unwrap();
    symlink("data", path("directory")).unwrap();
    symlink(".", path("data/loop")).unwrap();
    symlink("data/a", path("file")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::write(directory.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    assert_eq!(
        unexpected(directory.path(), &["data/a"]),
        ["dangling unexpected", "file unexpected", "\u{fffd} unexpected"]
    );
}
