//! A hot standby of a private server.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::{Server, client, directory_of_other_user, url_of_socket};

/// A running standby, which is stopped when dropped.
#[derive(Debug)]
pub struct Standby<'server> {
    of: &'server Server,
    directory: tempfile::TempDir,
}

impl<'server> Standby<'server> {
    /// Copies a private server, and starts the copy as a standby that follows it.
    pub fn of(server: &'server Server) -> Self {
        let standby = Standby { of: server, directory: directory_of_other_user() };
        let own = server.own.as_ref().expect("a server of the environment has its own standby");
        let mut copy = Command::new(own.program("pg_basebackup"));
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-U", "postgres"]);
        copy.arg("-h").arg(own.directory.path()).arg("-D").arg(standby.data());
        own.wait_for(copy).unwrap();
        let socket = standby.directory.path().display();
        let options = format!("-k {socket} -c listen_addresses= -c max_connections=200");
        let log = standby.directory.path().join("log");
        standby.control(&["start", "-w", "-l", log.to_str().unwrap(), "-o", &options]);
        standby
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("{}/{database}", url_of_socket(self.directory.path()))
    }

    /// Waits until the standby has everything that its server has committed.
    pub fn catch_up(&self) {
        let position = |url: String, function: &str| -> String {
            let row = client(&url).query_one(&format!("SELECT {function}()::text"), &[]).unwrap();
            row.get(0)
        };
        let wanted = position(self.of.database("postgres"), "pg_current_wal_flush_lsn");
        let has_it = format!("SELECT pg_last_wal_replay_lsn() >= '{wanted}'::pg_lsn");
        let began = Instant::now();
        while !client(&self.url("postgres")).query_one(&has_it, &[]).unwrap().get::<_, bool>(0) {
            assert!(began.elapsed() < Duration::from_secs(60), "the standby does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Promotes the standby, so that it accepts writes.
    pub fn promote(&self) {
        self.control(&["promote", "-w"]);
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn control(&self, arguments: &[&str]) {
        let own = self.of.own.as_ref().expect("it was there when the standby was started");
        let mut command = Command::new(own.program("pg_ctl"));
        command.arg("-D").arg(self.data()).args(arguments);
        own.wait_for(command).unwrap();
    }
}

impl Drop for Standby<'_> {
    fn drop(&mut self) {
        self.control(&["stop", "-m", "immediate", "-w"]);
    }
}
