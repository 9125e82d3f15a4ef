//! Two archives on two ports: they hold the same files but for three, as two nodes of the Copernicus
//! climate data store did on 2024-07-16.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use accession::{Registry, Stamp};

use crate::program::program;
use crate::values::{change, name, now, second};

/// An archive: its registry, and the program that serves it.
struct Archive {
    registry: PathBuf,
    child: Child,
    address: String,
}

impl Archive {
    fn new(directory: &Path, node: &str) -> Self {
        let registry = directory.join(format!("{node}.db"));
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/two-archives");
        let list = std::fs::read_to_string(list.join(format!("{node}.txt"))).unwrap();
        let step = change(list.lines(), []);
        let stamp = Stamp::at(second(0), now());
        Registry::create(&registry).unwrap().change(&name("C3S-CMIP5"), &step, &stamp).unwrap();
        let mut child = Command::new(program())
            .arg("--registry")
            .arg(&registry)
            .args(["--quiet", "serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        let root = line.trim().strip_prefix("listening on ").unwrap();
        let address = format!("{root}datasets/C3S-CMIP5/");
        Archive { registry, child, address }
    }

    /// A comparison or a pull with another archive.
    fn mirror(&self, words: &[&str], primary: &Archive) -> (i32, serde_json::Value) {
        let Output { status, stdout, stderr } = Command::new(program())
            .arg("--registry")
            .arg(&self.registry)
            .args(["--json", "mirror"])
            .args(words)
            .args(["C3S-CMIP5", &primary.address])
            .output()
            .unwrap();
        let json = serde_json::from_slice(&stdout);
        (status.code().unwrap(), json.unwrap_or_else(|_| String::from_utf8(stderr).unwrap().into()))
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn two_archives_that_differ_in_three_files_are_identical_after_a_reset() {
    let directory = tempfile::tempdir().unwrap();
    let ipsl = Archive::new(directory.path(), "ipsl");
    let dkrz = Archive::new(directory.path(), "dkrz");
    // The second time from the blocks, since the log was read.
    for _ in 0..2 {
        let (status, compared) = ipsl.mirror(&["compare"], &dkrz);
        assert_eq!((status, compared["status"].as_str()), (1, Some("diverged")));
        let missing = compared["missing"].as_array().unwrap();
        assert_eq!(missing.len(), 3);
        assert!(missing.iter().all(|id| id.as_str().unwrap().contains("/msftmyz/v20121128/")));
        assert_eq!(compared["unexpected"].as_array().unwrap().len(), 0);
        let (status, compared) = dkrz.mirror(&["compare"], &ipsl);
        assert_eq!((status, compared["unexpected"].as_array().unwrap()), (1, missing));
    }
    assert_eq!(ipsl.mirror(&["pull"], &dkrz).0, 1, "it has diverged");
    let (status, pulled) = ipsl.mirror(&["pull", "--reset"], &dkrz);
    assert_eq!(
        (status, pulled["ingested"].as_u64(), pulled["deleted"].as_u64()),
        (0, Some(3), Some(0))
    );
    assert_eq!(ipsl.mirror(&["compare"], &dkrz).0, 0);
    assert_eq!(dkrz.mirror(&["compare"], &ipsl).0, 0);
}
