//! The crash of a private server.

use super::server::Server;

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
}
