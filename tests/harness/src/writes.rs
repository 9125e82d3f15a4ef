//! Every kind of write, made with the command line in another process.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// A write: its arguments, its standard input, and whether the pages of a registry show it.
#[derive(Debug)]
pub struct Write {
    pub arguments: &'static [&'static str],
    input: &'static str,
    pub is_shown: bool,
}

const fn write(arguments: &'static [&'static str], input: &'static str, is_shown: bool) -> Write {
    Write { arguments, input, is_shown }
}

const CHECKSUMS: &str = "\
2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae  one
fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9  two
";

/// Writes to a registry without datasets. Each can follow the earlier ones.
pub const WRITES: [Write; 10] = [
    write(
        &["ingest", "A", "--id", "one", "--id", "two", "--create", "--at", "2001-01-01"],
        "",
        true,
    ),
    write(&["ingest", "A", "--id", "three", "--at", "2001-02-01"], "", true),
    write(&["delete", "A", "--id", "three", "--at", "2001-03-01"], "", true),
    write(&["dataset", "edit", "A", "--title", "A title", "--at", "now"], "", true),
    write(&["annotate", "A@2001-01-05", "a remark"], "", true),
    write(&["sync", "A", "-", "--at", "now"], "one\ntwo\n", false),
    write(&["cite", "A", "--select", "t*"], "", true),
    write(&["fixity", "add", "A", "-", "--at", "now", "--algorithm", "sha-256"], CHECKSUMS, true),
    write(&["dataset", "withdraw", "A", "--note", "replaced"], "", true),
    write(&["dataset", "rename", "A", "B"], "", true),
];

/// Addresses whose pages show the content of a registry after [`WRITES`].
pub const SHOWN: [&str; 7] = [
    "/",
    "/?withdrawn=listed&format=json",
    "/datasets/A/",
    "/datasets/A/?format=json",
    "/datasets/A/history",
    "/datasets/A@2001-01-05",
    // The set of `two`, which is cited.
    "/DI:c193497a1a06b2c72230e6146ff47080",
];

impl Write {
    /// Makes the write in a registry. `command` is the program with the registry as its option.
    pub fn make(&self, mut command: Command) {
        command.args(self.arguments).args(["--quiet"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {errors}", self.arguments);
    }
}
