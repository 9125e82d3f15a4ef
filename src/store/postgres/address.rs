//! The address of a registry on a PostgreSQL server.
//!
//! A URL in the syntax of libpq (postgresql.org/docs/current/libpq-connect.html § Connection URIs). libpq's
//! environment variables add what the URL does not state. No message contains the password.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::store::Error;

/// The scheme that the driver expects at the beginning of an address.
const SCHEME: &str = "postgres://";

/// The port of a server, unless the address names another port.
const DEFAULT_PORT: u16 = 5432;

/// How long to wait for a connection, unless the address states another time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The directories of a server's socket on Unix by default: Debian's, and that of the PostgreSQL sources.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The address of a registry on a PostgreSQL server, with everything needed to connect to it.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) config: Box<Config>,
    pub(super) tls: Tls,
    shown: String,
}

/// How the server's certificate is verified, and the files of certificates.
#[derive(Debug, Clone, Default)]
pub(super) struct Tls {
    /// `verify-full`: a trusted authority must have signed the server's certificate, for its host. If false, an
    /// encrypted connection may be to any server.
    pub is_verified: bool,
    /// The certificates to trust, in PEM. `None` means the system's certificates.
    pub roots: Option<PathBuf>,
    /// The client's certificate and its key, in PEM.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// An address as messages show it: without its password, or only the scheme if it cannot be parsed.
pub fn shown(name: &Path) -> PathBuf {
    Endpoint::parse(name).map_or_else(|_| PathBuf::from(SCHEME), |it| it.to_string().into())
}

impl fmt::Display for Endpoint {
    /// The address without the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl Endpoint {
    /// Parses an address, with the environment of the process.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Address`]: the address cannot be parsed. The error does not repeat it, since a password may
    /// be anywhere in it.
    pub fn parse(name: &Path) -> Result<Self, Error> {
        Endpoint::parse_with(name, |variable| std::env::var_os(variable))
    }

    fn parse_with(name: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let refused = |what: &str| Error::address(what);
        let text = name.to_str().ok_or_else(|| refused("it is not UTF-8"))?;
        let variable = |name: &str| variable(name)?.into_string().ok().filter(|it| !it.is_empty());
        // The scheme may be in any letter case, but the driver accepts only lower case.
        let (_, text) = text.split_once("://").ok_or_else(|| refused("it has no ://"))?;
        let (before, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut settings = Settings::default();
        let mut others = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (key, value) = parameter
                .split_once('=')
                .ok_or_else(|| refused("a parameter after the ? has no value"))?;
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| refused("a parameter after the ? is not UTF-8"))?;
            if !settings.take(key, &value) {
                others.push(parameter);
            }
        }
        settings.add_environment(&variable);
        let rest = match others.is_empty() {
            true => format!("{SCHEME}{before}"),
            false => format!("{SCHEME}{before}?{}", others.join("&")),
        };
        let mut config: Config = rest.parse().map_err(|_| {
            refused("write postgres://USER@HOST:PORT/DATABASE, with other characters than letters and digits as %XX, and parameters that libpq has")
        })?;
        add_environment(&mut config, &variable);
        let (mode, is_verified, roots) = settings.trust()?;
        config.ssl_mode(mode);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("accession");
        }
        if config.get_password().is_none()
            && let Some(password) = password_of(&config, settings.passfile.as_deref(), &variable)
        {
            config.password(password);
        }
        let client = settings.certificate.zip(settings.key);
        let tls = Tls { is_verified, roots, client };
        let shown = without_password(&config);
        Ok(Endpoint { config: Box::new(config), tls, shown })
    }
}

/// Settings that libpq has and the driver does not.
#[derive(Default)]
struct Settings {
    mode: Option<String>,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    passfile: Option<PathBuf>,
}

impl Settings {
    /// Accepts a parameter of the URL. `false` means that the driver must read it.
    fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "sslmode" => self.mode = Some(value.to_owned()),
            "sslrootcert" => self.roots = Some(value.into()),
            "sslcert" => self.certificate = Some(value.into()),
            "sslkey" => self.key = Some(value.into()),
            "passfile" => self.passfile = Some(value.into()),
            _ => return false,
        }
        true
    }

    fn add_environment(&mut self, variable: &impl Fn(&str) -> Option<String>) {
        let path = |name: &str| variable(name).map(PathBuf::from);
        self.mode = self.mode.take().or_else(|| variable("PGSSLMODE"));
        self.roots = self.roots.take().or_else(|| path("PGSSLROOTCERT"));
        self.certificate = self.certificate.take().or_else(|| path("PGSSLCERT"));
        self.key = self.key.take().or_else(|| path("PGSSLKEY"));
        self.passfile = self.passfile.take().or_else(|| path("PGPASSFILE"));
    }

    /// Returns whether to encrypt the connection, whether to verify the certificate, and the file of
    /// certificates to trust. `verify-ca`, and `require` with `sslrootcert`, mean `verify-full`, because libpq
    /// would accept the certificate of another host. `sslrootcert=system` rejects any other stated mode, like
    /// libpq.
    fn trust(&self) -> Result<(SslMode, bool, Option<PathBuf>), Error> {
        let refused = |what: &str| Err(Error::address(what));
        let of_system = self.roots.as_deref().is_some_and(|roots| roots == Path::new("system"));
        let roots = self.roots.clone().filter(|_| !of_system);
        let (mode, is_verified) = match self.mode.as_deref() {
            None if of_system => (SslMode::Require, true),
            Some("disable") => (SslMode::Disable, false),
            None | Some("allow" | "prefer") => (SslMode::Prefer, false),
            Some("require") => (SslMode::Require, roots.is_some()),
            Some("verify-ca" | "verify-full") => (SslMode::Require, true),
            Some(_) => {
                return refused(
                    "sslmode is disable, allow, prefer, require, verify-ca or verify-full",
                );
            }
        };
        if of_system && !matches!(self.mode.as_deref(), None | Some("verify-full")) {
            return refused("sslrootcert=system needs sslmode=verify-full");
        }
        Ok((mode, is_verified, roots))
    }
}

/// Adds the values of libpq's environment variables for what the URL does not state.
fn add_environment(config: &mut Config, variable: &impl Fn(&str) -> Option<String>) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        match variable("PGHOST") {
            Some(hosts) => hosts.split(',').for_each(|host| {
                config.host(host);
            }),
            None => {
                let socket = |directory: &&str| Path::new(directory).is_dir();
                let default = SOCKET_DIRECTORIES.iter().find(|it| cfg!(unix) && socket(it));
                config.host(default.copied().unwrap_or("localhost"));
            }
        }
    }
    if config.get_ports().is_empty()
        && let Some(port) = variable("PGPORT").and_then(|port| port.parse().ok())
    {
        config.port(port);
    }
    if config.get_user().is_none()
        && let Some(user) = variable("PGUSER").or_else(|| variable("USER"))
    {
        config.user(&user);
    }
    if config.get_password().is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(database) = variable("PGDATABASE")
    {
        config.dbname(&database);
    }
    if config.get_options().is_none()
        && let Some(options) = variable("PGOPTIONS")
    {
        config.options(&options);
    }
    if config.get_application_name().is_none()
        && let Some(name) = variable("PGAPPNAME")
    {
        config.application_name(&name);
    }
    if config.get_connect_timeout().is_none()
        && let Some(seconds) = variable("PGCONNECT_TIMEOUT").and_then(|text| text.parse().ok())
    {
        config.connect_timeout(Duration::from_secs(seconds));
    }
}

/// The password for an address, from the password file (postgresql.org/docs/current/libpq-pgpass.html). A file
/// that others may read is ignored, as in libpq.
fn password_of(
    config: &Config,
    passfile: Option<&Path>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let file = passfile.map(Path::to_owned).or_else(home)?;
    if std::fs::metadata(&file).ok()?.mode() & 0o077 != 0 {
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    let host = config.get_hosts().first().map_or("localhost".to_owned(), |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    });
    let port = config.get_ports().first().copied().unwrap_or(DEFAULT_PORT).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let wanted = [host.as_str(), port.as_str(), database, user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields_of(line);
        let (password, fields) = fields.split_last()?;
        let is_match = fields.len() == wanted.len()
            && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        is_match.then(|| password.clone())
    })
}

/// The fields of a line of a password file. They are separated by colons; `\` escapes a colon or `\` in a
/// field.
fn fields_of(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("there is a field").extend(characters.next()),
            other => fields.last_mut().expect("there is a field").push(other),
        }
    }
    fields
}

/// The address as messages show it, built from its parts without the password.
fn without_password(config: &Config) -> String {
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(directory) => directory.to_string_lossy().replace('/', "%2F"),
        };
        let ports = match config.get_ports() {
            // The driver adds the default port if the address has none.
            ports if ports.iter().all(|port| *port == DEFAULT_PORT) => &[],
            ports => ports,
        };
        match ports.get(index).or_else(|| ports.first().filter(|_| ports.len() == 1)) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    format!("postgres://{user}{hosts}/{}", config.get_dbname().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Endpoint, Error> {
        Endpoint::parse_with(Path::new(text), |name| {
            let found = environment.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            (
                "postgres://me:secret@db.example.org:6432/archive",
                "postgres://me@db.example.org:6432/archive",
            ),
            ("postgresql://me@db/archive?password=secret", "postgres://me@db/archive"),
            ("postgres://me:secret@a,b:7000/archive", "postgres://me@a:5432,b:7000/archive"),
            ("postgres://me:secret@%2Frun%2Fpg/archive", "postgres://me@%2Frun%2Fpg/archive"),
            ("postgres:///archive?host=/run/pg&user=me", "postgres://me@%2Frun%2Fpg/archive"),
            ("PostgreSQL://me:secret@db/Archive", "postgres://me@db/Archive"),
        ] {
            assert_eq!(parse(text, &[]).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        for text in [
            "postgres://me:sec?ret=1@db/archive",
            "postgres://me:secret@db:notaport/archive",
            "postgres://me:secret@db/archive?secret",
            "postgres://me:secret@db/archive?sslmode=secret",
            "postgres://me:secret%@db/%ff",
        ] {
            let Err(error) = parse(text, &[]) else { continue };
            let message = error.to_string();
            assert!(!message.contains("sec") && error.kind() == ErrorKind::Address, "{message}");
        }
    }

    #[test]
    fn the_certificates_of_the_system_are_only_trusted_with_the_name_of_the_host() {
        let trust = |text: &str, environment: &[(&str, &str)]| {
            let address = parse(text, environment).map_err(|error| error.kind().as_str())?;
            assert_eq!(address.tls.roots, None);
            Ok((address.config.get_ssl_mode(), address.tls.is_verified))
        };
        let full = Ok((SslMode::Require, true));
        let of_system = [("PGSSLROOTCERT", "system")];
        assert_eq!(trust("postgres://db/a?sslrootcert=system", &[]), full);
        assert_eq!(trust("postgres://db/a", &of_system), full);
        assert_eq!(trust("postgres://db/a?sslmode=verify-full", &of_system), full);
        for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
            let address = format!("postgres://db/a?sslmode={mode}");
            assert_eq!(trust(&address, &of_system), Err("address"), "{mode}");
            let stated = [("PGSSLMODE", mode)];
            let refused = trust("postgres://db/a?sslrootcert=system", &stated);
            assert_eq!(refused, Err("address"), "{mode}");
        }
    }

    #[test]
    fn the_environment_supplies_what_the_address_does_not_state() {
        let environment = [
            ("PGHOST", "db.example.org"),
            ("PGPORT", "6432"),
            ("PGUSER", "me"),
            ("PGPASSWORD", "secret"),
            ("PGDATABASE", "archive"),
            ("PGSSLMODE", "verify-full"),
        ];
        let address = parse("postgres://", &environment).unwrap();
        assert_eq!(address.to_string(), "postgres://me@db.example.org:6432/archive");
        assert_eq!(address.config.get_password(), Some(b"secret".as_slice()));
        assert!(address.tls.is_verified);
        let address = parse("postgres://you@other:1/one?sslmode=disable", &environment).unwrap();
        assert_eq!(address.to_string(), "postgres://you@other:1/one");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
    }

    #[test]
    fn a_password_file_is_read_unless_others_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pgpass");
        std::fs::write(&file, "# ours\nother:*:*:*:no\ndb:5432:ar\\:ch:me:se\\:cret\n").unwrap();
        let environment = [("PGPASSFILE", file.to_str().unwrap())];
        let password = || {
            let address = parse("postgres://me@db/ar%3Ach", &environment).unwrap();
            address.config.get_password().map(<[u8]>::to_vec)
        };
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(password(), Some(b"se:cret".to_vec()));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(password(), None);
    }
}
