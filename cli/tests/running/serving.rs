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
    /// The command that serves a registry on any free port.
    pub fn command(registry: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .arg("--registry")
            .arg(registry)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(options)
            .stderr(Stdio::null());
        command
    }

    /// Runs a command that serves.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        let address = address.trim_end_matches('/').to_owned();
        Serving { child, address }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
