//! A PostgreSQL server for tests: a private one in a temporary directory, on a Unix socket, or one
//! that others have started.
//!
//! Each test has a database of its own, with an ICU collation: its order is not the order of bytes,
//! so that a column without `COLLATE "C"` is noticed.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, NoTls};

/// A running server, which is stopped when dropped if it was started here.
pub struct Server {
    pub(super) url: String,
    pub(super) own: Option<Own>,
    pub(super) databases: AtomicU32,
}

pub(super) struct Own {
    pub(super) directory: tempfile::TempDir,
    programs: PathBuf,
    settings: String,
}

impl Server {
    /// What an empty database is created from.
    pub(super) const EMPTY: &str =
        "template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'";

    /// Starts a private server.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let programs = programs()?;
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path();
        if let Some((uid, gid)) = other_user() {
            std::os::unix::fs::chown(socket, Some(uid), Some(gid)).unwrap();
        }
        let mut options =
            format!("-k {} -c listen_addresses= -c max_connections=200", socket.display());
        for setting in settings {
            options.push_str(&format!(" -c {setting}"));
        }
        let own = Own { directory, programs, settings: options };
        own.run(
            "initdb",
            &["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
        );
        own.start();
        let host = own.directory.path().to_str().unwrap().replace('/', "%2F");
        let url = format!("postgres://postgres@{host}");
        Some(Server { url, own: Some(own), databases: AtomicU32::new(0) })
    }

    /// The URL of a database.
    pub(super) fn database(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// Creates an empty database, and returns its URL.
    pub fn new_database(&self) -> String {
        let name = self.unused_name();
        self.create(&name, Server::EMPTY);
        self.database(&name)
    }

    pub(super) fn unused_name(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        format!("accession_{}_{number}", std::process::id())
    }

    pub(super) fn create(&self, name: &str, template: &str) {
        let mut client = client(&self.database("postgres"));
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {template}")).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            own.run("pg_ctl", &["stop", "-m", "immediate", "-w"]);
        }
    }
}

impl Own {
    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn start(&self) {
        let log = self.directory.path().join("log");
        let arguments = ["start", "-w", "-l", log.to_str().unwrap(), "-o", &self.settings];
        self.run("pg_ctl", &arguments);
    }

    pub(super) fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = other_user() {
            command.uid(uid).gid(gid);
        }
        let command = command.arg("-D").arg(self.data()).args(arguments);
        // The server inherits the output of pg_ctl, and would keep a pipe open.
        let output = self.directory.path().join("output");
        let file = std::fs::File::create(&output).unwrap();
        let command = command.current_dir("/").stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap();
        let printed = || std::fs::read_to_string(&output).unwrap_or_default();
        assert!(status.success(), "{program} {arguments:?}: {}", printed());
    }
}

/// A client without TLS.
pub fn client(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

/// The directory with `initdb`: Debian's, of the newest version, or that of another one in `PATH`.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| version(path));
    let debian = newest.map(|path| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|directory| directory.join("initdb").is_file())
}

/// The user that runs the server where the tests run as root, which PostgreSQL refuses.
fn other_user() -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"])? != 0 {
        return None;
    }
    Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?))
}
