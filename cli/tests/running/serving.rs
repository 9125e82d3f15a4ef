//! The program serving a registry.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::program::program;

/// The program serving a registry, until it is dropped.
pub struct Serving {
    pub child: Child,
    /// The host and the port.
    pub address: String,
}

impl Serving {
    /// The command that serves a registry, on any free port unless the options name an address.
    pub fn command(registry: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("--registry").arg(registry).arg("serve").args(options).stderr(Stdio::null());
        if !options.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command
    }

    /// Runs a command that serves. If it ends instead, the error is its exit status.
    pub fn of(command: &mut Command) -> Result<Self, Option<i32>> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim().strip_prefix("listening on http://") {
            Some(address) => {
                let address = address.trim_end_matches('/').to_owned();
                Ok(Serving { child, address })
            }
            None => Err(child.wait().unwrap().code()),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
