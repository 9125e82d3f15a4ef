//! The memory of a command on a server's registry does not grow with the number of rows.

use harness::values::clock;
use std::fmt::Write;
use std::path::Path;

use accession::Registry;

use crate::scene::{Scene, command, succeed};
use harness::peak_memory::peak_memory;

/// A registry with granules that have checksums.
fn with_granules(scene: &Scene, directory: &Path, granules: u32) -> String {
    let url = scene.server.new_database();
    drop(Registry::create(Path::new(&url), clock()).unwrap());
    let (list, mut lines) = (directory.join("list"), String::new());
    for number in 0..granules {
        let checksum = "0123456789abcdef".repeat(4);
        writeln!(lines, "{checksum}  granule.{number:08}").unwrap();
    }
    std::fs::write(&list, lines).unwrap();
    let from = [list.to_str().unwrap(), "--format", "checksums", "--algorithm", "sha-256"];
    succeed(&url, &[&["ingest", "D", "--create", "--at", "2001-01-02"], &from[..]].concat());
    url
}

/// Once, the server sent a whole table at once, and the program kept it in memory: 290 bytes a row.
#[test]
fn verify_and_backup_need_no_more_memory_for_more_granules_on_a_server() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let registries = [25_000, 100_000].map(|many| with_granules(&scene, directory.path(), many));
    let copy = directory.path().join("copy.db");
    for arguments in [&["verify"][..], &["registry", "backup", "copy.db"]] {
        let [few, many] = registries.each_ref().map(|url| {
            let mut command = command(url, arguments);
            let (output, peak) = peak_memory(command.current_dir(directory.path()));
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            let _ = std::fs::remove_file(&copy);
            peak
        });
        println!("{arguments:?}: {few} kB, and {many} kB with four times as many granules");
        assert!(many * 10 < few * 12, "{arguments:?}: {few} kB, {many} kB");
    }
}
