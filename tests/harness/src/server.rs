//! A PostgreSQL server for tests: a private one in a temporary directory, on a Unix socket, or one that is
//! already running.
//!
//! Each test has its own database, with an ICU collation. That order differs from the order of bytes, so a
//! column without `COLLATE "C"` is noticed.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, NoTls};

use crate::installed::installed;

/// A running server. If it was started here, it is stopped when dropped.
#[derive(Debug)]
pub struct Server {
    pub(crate) url: String,
    /// The private server, which may be killed. `None` means that the server is shared or from the environment.
    pub(crate) own: Option<Own>,
    /// Keeps the shared server running.
    pub(crate) _shared: Option<Arc<Server>>,
}

#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) directory: tempfile::TempDir,
    programs: PathBuf,
    settings: String,
}

impl Server {
    /// The options with which an empty database is created.
    pub(crate) const EMPTY: &str =
        "template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'";

    /// Starts a private server.
    pub fn start(settings: &[&str]) -> Option<Self> {
        Server::start_with(&[], settings)
    }

    /// Starts a private server, with further arguments for `initdb`.
    pub fn start_with(init: &[&str], settings: &[&str]) -> Option<Self> {
        let mut own = Own::initialised(init)?;
        own.set(settings);
        own.start();
        Some(Server { url: url_of_socket(own.directory.path()), own: Some(own), _shared: None })
    }

    /// The URL of a database.
    pub(crate) fn database(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// Creates an empty database, and returns its URL.
    pub fn new_database(&self) -> String {
        let name = Server::unused_name();
        self.create(&name, Server::EMPTY);
        self.database(&name)
    }

    pub(crate) fn unused_name() -> String {
        // Several tests of one run may use the same server.
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        format!("accession_{}_{number}", std::process::id())
    }

    pub(crate) fn create(&self, name: &str, template: &str) {
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
    /// A private server that is not running, without settings.
    pub(crate) fn initialised(init: &[&str]) -> Option<Self> {
        let programs = installed("initdb")?.parent()?.to_owned();
        let own = Own { directory: directory_of_other_user(), programs, settings: String::new() };
        let always =
            ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
        own.run("initdb", &[&always, init].concat());
        Some(own)
    }

    /// Sets the settings with which it is started.
    pub(crate) fn set(&mut self, settings: &[&str]) {
        let socket = self.directory.path().display();
        // No test cuts the power, and after a kill, the data is intact without syncs.
        self.settings = format!(
            "-k {socket} -c listen_addresses= -c max_connections=200 -c fsync=off -c full_page_writes=off"
        );
        for setting in settings {
            self.settings.push_str(&format!(" -c {setting}"));
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn start(&self) {
        let arguments = self.start_arguments();
        self.run("pg_ctl", &arguments.each_ref().map(String::as_str));
    }

    pub(crate) fn start_arguments(&self) -> [String; 6] {
        let log = self.directory.path().join("log").to_str().unwrap().to_owned();
        ["start", "-w", "-l", &log, "-o", &self.settings].map(ToOwned::to_owned)
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) {
        self.try_run(program, arguments).unwrap();
    }

    pub(crate) fn try_run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(self.program(program));
        command.arg("-D").arg(self.data()).args(arguments);
        self.wait_for(command)
    }

    /// Runs a program as the user of the server. The error is its output.
    pub(crate) fn wait_for(&self, mut command: Command) -> Result<(), String> {
        as_other_user(&mut command);
        // The server inherits the output of pg_ctl, and would keep a pipe open.
        let output = self.directory.path().join("output");
        let file = std::fs::File::create(&output).unwrap();
        let command = command.current_dir("/").stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap();
        let printed = || std::fs::read_to_string(&output).unwrap_or_default();
        if status.success() { Ok(()) } else { Err(format!("{command:?}: {}", printed())) }
    }
}

/// A client without TLS.
pub fn client(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

/// Lets a program run as the user of the server.
pub(crate) fn as_other_user(command: &mut Command) {
    if let Some((uid, gid)) = other_user() {
        command.uid(uid).gid(gid);
    }
}

/// An empty directory of the user of the server.
pub fn directory_of_other_user() -> tempfile::TempDir {
    let directory = crate::directory();
    give_to_other_user(directory.path());
    directory
}

/// Makes the user of the server the owner of a file.
pub fn give_to_other_user(path: &Path) {
    if let Some((uid, gid)) = other_user() {
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
    }
}

/// The URL of a server whose socket is in a directory, without a database.
pub(crate) fn url_of_socket(directory: &Path) -> String {
    format!("postgres://postgres@{}", directory.to_str().unwrap().replace('/', "%2F"))
}

/// The user that runs the server if the tests run as root: PostgreSQL refuses to run as root.
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
