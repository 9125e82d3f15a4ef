//! Runs the program as a user who owns nothing, since root may write everywhere.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use super::console::{Sandbox, program};

/// Runs the program as nobody. The directory of the sandbox has the given mode.
pub fn as_nobody(sandbox: &Sandbox, directory_mode: u32, arguments: &str) -> Output {
    let bin = sandbox.path().join("accession");
    set_mode(sandbox.path(), 0o755);
    if !bin.exists() {
        std::fs::copy(program(), &bin).unwrap();
    }
    set_mode(sandbox.path(), directory_mode);
    let mut command = Command::new(bin);
    command.args(arguments.split_whitespace()).current_dir(sandbox.path());
    if Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
        command.uid(65_534);
    }
    let output = loop {
        match command.output() {
            // A process that another test is starting may still have the copy open for writing.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::yield_now();
            }
            output => break output.unwrap(),
        }
    };
    set_mode(sandbox.path(), 0o755);
    output
}

pub fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
