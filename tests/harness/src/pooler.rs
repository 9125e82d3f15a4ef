//! pgbouncer in front of a private server, in transaction mode: each transaction may get another session.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::installed::installed;
use crate::server::{Server, as_other_user, directory_of_other_user, url_of_socket};

/// A running pooler, which is stopped when dropped.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    directory: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler with this many sessions. `None` means that pgbouncer is not installed.
    pub fn before(server: &Server, sessions: u32) -> Option<Self> {
        let program = installed("pgbouncer")?;
        let directory = directory_of_other_user();
        let here = directory.path().display();
        let own = server.own.as_ref().expect("a server of the environment has its own pooler");
        let socket = own.directory.path().display();
        let settings = format!(
            "[databases]\n* = host={socket} port=5432 user=postgres\n[pgbouncer]\n\
             pool_mode = transaction\ndefault_pool_size = {sessions}\nmax_client_conn = 200\n\
             auth_type = any\nlisten_port = 5432\nunix_socket_dir = {here}\nlogfile = {here}/log\n"
        );
        let file = directory.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        command.arg("--quiet").arg(&file).current_dir("/");
        as_other_user(&mut command);
        let child = command.spawn().unwrap();
        let began = Instant::now();
        while !directory.path().join(".s.PGSQL.5432").exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "pgbouncer did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Pooler { child, directory })
    }

    /// The URL of a database of the server.
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", url_of_socket(self.directory.path()))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
