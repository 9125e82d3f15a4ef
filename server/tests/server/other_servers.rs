//! A published directory on Caddy and on Apache, with the documented configurations.

use harness::values::{AtTime, clock};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use accession::Registry;
use accession_server::{SiteSettings, publish_pages};

use harness::exported::publish_all;
use harness::history::{change, instances, name, second};
use harness::installed::installed;

/// A web server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The configuration that the documents show after these words.
fn documented(words: &str, www: &Path) -> String {
    let guide = include_str!("../../../docs/guide/publish.md");
    let lines = &guide[guide.find(words).unwrap()..];
    let lines = lines.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    lines.replace("/srv/www", www.to_str().unwrap())
}

/// The configuration of Caddy, without its administration port and without encryption.
fn caddy(here: &Path, port: u16) -> String {
    let lines = documented("With Caddy", &here.join("www"));
    let site = lines.replace("registry.archive.example", &format!("http://127.0.0.1:{port}"));
    format!("{{\n\tadmin off\n}}\n{site}")
}

/// The configuration of Apache, with the modules that Debian loads and the module for headers.
fn apache(here: &Path, port: u16) -> String {
    let lines = documented("With Apache", &here.join("www"));
    let modules = ["mpm_event", "authz_core", "dir", "mime", "headers"].map(|module| {
        format!("LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so\n")
    });
    let (here, modules) = (here.display(), modules.concat());
    format!(
        "ServerRoot {here}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {here}/pid\n\
         ErrorLog {here}/error.log\n{modules}TypesConfig /etc/mime.types\n\
         <Directory />\nRequire all denied\n</Directory>\n{lines}"
    )
}

type Configuration = fn(&Path, u16) -> String;

const SERVERS: [(&str, &[&str], Configuration); 2] = [
    ("caddy", &["run", "--adapter", "caddyfile", "--config"], caddy),
    ("apache2", &["-X", "-f"], apache),
];

#[test]
fn a_directory_resolves_on_caddy_and_on_apache_with_the_documented_lines() {
    // Caddy hides everything below a directory whose name begins with a dot.
    let directory = tempfile::Builder::new().prefix("www").tempdir().unwrap();
    let here = directory.path().canonicalize().unwrap();
    let us = Registry::temporary(clock()).unwrap();
    us.change(&name("us"), &change(["A"], []).at(second(0))).unwrap();
    publish_all(&us, &here.join("www")).unwrap();
    publish_pages(&us, &here.join("www"), &SiteSettings::default(), &[]).unwrap();
    let latest = instances(&us, &name("us")).pop().unwrap();
    for (program, arguments, configuration) in SERVERS {
        let Some(path) = installed(program) else { continue };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = here.join(program);
        std::fs::write(&file, configuration(&here, port)).unwrap();
        let started = Command::new(path)
            .args(arguments)
            .arg(&file)
            .envs([("XDG_DATA_HOME", &here), ("XDG_CONFIG_HOME", &here)])
            .stderr(Stdio::null())
            .spawn();
        let mut running = Running(started.unwrap());
        let get = |path: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            let request = "HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
            write!(stream, "GET {path} {request}").ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            Some(answer)
        };
        while get("/").is_none() {
            assert!(running.0.try_wait().unwrap().is_none(), "{program} has not started");
            std::thread::sleep(Duration::from_millis(20));
        }
        let month = &latest.timestamp.to_string()[..7];
        for (path, media_type) in [
            ("/", "text/html"),
            (&format!("/datasets/us/history/{month}.html"), "text/html"),
            ("/datasets/us/log/000000.jsonl", "application/jsonl"),
            ("/di/00.json", "application/json"),
            ("/script.js", "text/javascript"),
            ("/feed.atom", "application/atom+xml"),
        ] {
            let answer = get(path).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{program} {path}: {answer}");
            assert!(answer.contains(&format!("Content-Type: {media_type}")), "{program}: {answer}");
            for header in ["Access-Control-Allow-Origin: *", "Cache-Control: no-cache"] {
                assert!(answer.contains(header), "{program} {path}: {answer}");
            }
        }
        // The script of the 404 page leads to the set.
        for path in [format!("/DI:{}", latest.identifier), format!("/{}", latest.digest)] {
            let answer = get(&path).unwrap();
            assert!(answer.starts_with("HTTP/1.1 404"), "{program} {path}: {answer}");
            assert!(answer.contains("data-resolve"), "{program} {path}: {answer}");
        }
        let hidden = get("/.accession-publish.json").unwrap();
        assert!(!hidden.contains("accession_publish"), "{program}: {hidden}");
    }
}
