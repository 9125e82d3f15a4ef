//! The crash of a private server.

use super::server::Server;

impl Server {
    /// Kills every process of a private server, as a failing machine does, and starts it again.
    pub fn crash(&self) {
        let own = self.own.as_ref().expect("a server of the environment is not killed");
        own.run("pg_ctl", &["stop", "-m", "immediate", "-w"]);
        own.start();
    }
}
