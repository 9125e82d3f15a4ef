//! Crashes of a private server, and a full disk.

use std::process::Command;

use crate::server::Server;

impl Server {
    /// Kills every process of a private server, as a failing machine does, and starts it again.
    pub fn crash(&self) {
        self.kill();
        self.restart();
    }

    /// Kills every process of a private server.
    pub fn kill(&self) {
        let own = self.own.as_ref().expect("a server of the environment is not killed");
        own.run("pg_ctl", &["stop", "-m", "immediate", "-w"]);
    }

    /// Starts a private server again.
    pub fn restart(&self) {
        self.own.as_ref().expect("a server of the environment is not killed").start();
    }

    /// Starts a private server again, with a limit on the size of each file, in kilobytes.
    pub fn restart_with_files_of_at_most(&self, kilobytes: u32) {
        let own = self.own.as_ref().expect("a server of the environment is not killed");
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!(r#"ulimit -f {kilobytes} && exec "$0" "$@""#));
        command.arg(own.program("pg_ctl")).arg("-D").arg(own.data()).args(own.start_arguments());
        own.wait_for(command).unwrap();
    }
}
