//! Mirrors that read a server over TLS and through a proxy, with the installed program.

use harness::values::clock;
use std::path::PathBuf;
use std::process::Command;

use accession::Registry;

use crate::running::program::program;
use crate::running::serving::Serving;
use crate::sockets::serve;
use harness::authority::{Authority, Validity};
use harness::connect_proxy::{Asked, ConnectProxy};
use harness::values::step;

/// A primary, the program that serves it, and a certificate authority.
struct World {
    directory: tempfile::TempDir,
    serving: Serving,
    authority: Authority,
}

/// The output of a command.
struct Printed {
    status: i32,
    text: String,
}

impl World {
    fn new() -> Self {
        let directory = harness::directory();
        let path = directory.path().join("us.db");
        let us = Registry::create(&path, clock()).unwrap();
        step(&us, "US", 0, ["A", "B"], []);
        let serving = serve(&path, &[]);
        let authority = Authority::new();
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        World { directory, serving, authority }
    }

    /// Starts a TLS server in front of the primary, and returns its address.
    fn front(&self, host: &str, validity: Validity) -> String {
        self.authority.front(&self.serving.address, host, validity)
    }

    fn mirror(&self) -> PathBuf {
        self.directory.path().join("mirror.db")
    }

    /// `mirror pull` with options and an environment.
    fn pull(&self, root: &str, options: &[&str], environment: &[(&str, &str)]) -> Printed {
        let output = Command::new(program())
            .current_dir(self.directory.path())
            .env_clear()
            .envs(environment.iter().copied())
            .args(["--registry", "mirror.db", "--json", "mirror", "pull", "US", "--create"])
            .arg(format!("{root}/datasets/US/"))
            .args(options)
            .output()
            .unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        Printed { status: output.status.code().unwrap(), text }
    }

    /// Asserts that a pull fails with an error of this kind and with these words, and that no registry was
    /// created.
    fn assert_refused(&self, printed: &Printed, kind: &str, words: &[&str]) {
        assert_eq!(printed.status, 2, "{}", printed.text);
        assert!(printed.text.contains(&format!("\"kind\":\"{kind}\"")), "{}", printed.text);
        for word in words {
            assert!(printed.text.contains(word), "{word}: {}", printed.text);
        }
        assert!(!self.mirror().exists());
    }

    /// Asserts that a pull succeeded, and removes the mirror.
    fn assert_pulled(&self, printed: &Printed) {
        assert_eq!(printed.status, 0, "{}", printed.text);
        assert!(printed.text.contains("\"holds\":2") || printed.text.contains("\"granules\":2"));
        std::fs::remove_file(self.mirror()).unwrap();
    }
}

const CA: &[&str] = &["--ca-file", "ca.pem"];

#[test]
fn a_certificate_of_a_private_authority_is_accepted_with_its_file_only() {
    let world = World::new();
    let root = format!("https://{}", world.front("127.0.0.1", Validity::Now));
    let head = format!("{root}/datasets/US/head.json: ");
    for options in [&[][..], &["--insecure"]] {
        let printed = world.pull(&root, options, &[]);
        let words = [head.as_str(), "not from an authority that is trusted", "--ca-file"];
        world.assert_refused(&printed, "certificate", &words);
    }
    world.assert_pulled(&world.pull(&root, CA, &[]));
    // The system's authorities do not count then, nor does another authority.
    std::fs::write(world.directory.path().join("other.pem"), Authority::new().pem()).unwrap();
    let printed = world.pull(&root, &["--ca-file", "other.pem"], &[]);
    world.assert_refused(&printed, "certificate", &[&head]);
    // A file may contain several certificates, with other text between them.
    let both = format!("# ours\n{}\n{}", Authority::new().pem(), world.authority.pem());
    std::fs::write(world.directory.path().join("both.pem"), both).unwrap();
    world.assert_pulled(&world.pull(&root, &["--ca-file", "both.pem"], &[]));
}

#[test]
fn a_certificate_of_another_host_or_another_time_is_refused() {
    let world = World::new();
    for (host, validity, why) in [
        ("archive.example", Validity::Now, "it is for another host"),
        ("127.0.0.1", Validity::Past, "it has expired"),
        ("127.0.0.1", Validity::Future, "it is not valid yet"),
    ] {
        let root = format!("https://{}", world.front(host, validity));
        for options in [CA, &["--ca-file", "ca.pem", "--insecure"]] {
            let printed = world.pull(&root, options, &[]);
            let words = [root.as_str(), "the certificate of the server is refused", why];
            world.assert_refused(&printed, "certificate", &words);
        }
    }
}

#[test]
fn a_server_without_tls_is_not_read_as_one_with_it() {
    let world = World::new();
    let root = format!("https://{}", world.serving.address);
    let printed = world.pull(&root, CA, &[]);
    world.assert_refused(&printed, "unreachable", &["the server does not use TLS on this port"]);
    // The reverse: a server with TLS, read without it.
    let root = format!("http://{}", world.front("127.0.0.1", Validity::Now));
    let printed = world.pull(&root, &["--timeout", "1"], &[]);
    assert_eq!(printed.status, 2, "{}", printed.text);
    assert!(!world.mirror().exists());
}

/// This host does not exist, so only the proxy leads to it.
const ARCHIVE: &str = "https://archive.invalid";

#[test]
fn the_proxy_of_the_environment_is_used_in_each_spelling() {
    let world = World::new();
    let proxy = ConnectProxy::to(&world.front("archive.invalid", Validity::Now), None);
    let value = format!("http://{}", proxy.address);
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        world.assert_pulled(&world.pull(ARCHIVE, CA, &[(variable, &value)]));
        let asked = proxy.asked();
        assert!(!asked.is_empty(), "{variable}");
        for asked in asked {
            assert_eq!((asked.target.as_str(), asked.credentials), ("archive.invalid:443", None));
        }
    }
    // The address of the proxy may lack its scheme.
    world.assert_pulled(&world.pull(ARCHIVE, CA, &[("HTTPS_PROXY", &proxy.address)]));
    proxy.asked();
    // A proxy for other hosts is not used. A host that is not found is looked up several times, so the cases
    // run in parallel.
    let environments = [
        &[("HTTPS_PROXY", value.as_str()), ("NO_PROXY", "archive.invalid")][..],
        &[("HTTPS_PROXY", value.as_str()), ("no_proxy", "other.invalid,.invalid")],
        &[("HTTPS_PROXY", value.as_str()), ("NO_PROXY", "*")],
        &[("HTTPS_PROXY", "")],
    ];
    std::thread::scope(|scope| {
        for environment in environments {
            scope.spawn(|| {
                let printed = world.pull(ARCHIVE, CA, environment);
                world.assert_refused(&printed, "unreachable", &[ARCHIVE]);
                assert!(!printed.text.contains("proxy"), "{}", printed.text);
            });
        }
    });
    assert_eq!(proxy.asked(), []);
    let environment = [("HTTPS_PROXY", value.as_str()), ("NO_PROXY", "other.invalid")];
    world.assert_pulled(&world.pull(ARCHIVE, CA, &environment));
}

#[test]
fn a_proxy_that_is_reached_over_tls_must_have_a_certificate_too() {
    let world = World::new();
    let front = world.front("archive.invalid", Validity::Now);
    for (host, kind) in [("127.0.0.1", None), ("proxy.invalid", Some("certificate"))] {
        let config = world.authority.config(host, Validity::Now);
        let proxy = ConnectProxy::over_tls(&front, config);
        let value = format!("https://{}", proxy.address);
        let printed = world.pull(ARCHIVE, CA, &[("HTTPS_PROXY", &value)]);
        match kind {
            None => {
                world.assert_pulled(&printed);
                assert_eq!(proxy.asked()[0].target, "archive.invalid:443");
            }
            Some(kind) => {
                let why = format!("through the proxy {}: it is for another host", proxy.address);
                world.assert_refused(&printed, kind, &[&why]);
                assert_eq!(proxy.asked(), []);
            }
        }
    }
}

#[test]
fn an_address_that_is_not_encrypted_may_have_a_proxy_and_this_machine_has_none() {
    let world = World::new();
    let proxy = ConnectProxy::to(&world.serving.address, None);
    let value = format!("http://{}", proxy.address);
    let environment = [("HTTP_PROXY", value.as_str())];
    let printed = world.pull("http://archive.invalid", &[], &environment);
    world.assert_refused(&printed, "address", &["--insecure"]);
    assert_eq!(proxy.asked(), []);
    world.assert_pulled(&world.pull("http://archive.invalid", &["--insecure"], &environment));
    assert_eq!(proxy.asked()[0].target, "archive.invalid:80");
    // Requests to this machine need no encryption, and do not go to a proxy elsewhere.
    let root = format!("http://{}", world.serving.address);
    world.assert_pulled(&world.pull(&root, &[], &environment));
    assert_eq!(proxy.asked(), []);
}

#[test]
fn credentials_go_to_the_proxy_and_into_no_message() {
    let world = World::new();
    let front = world.front("archive.invalid", Validity::Now);
    // user:s3cret
    let credentials = "Basic dXNlcjpzM2NyZXQ=";
    let proxy = ConnectProxy::to(&front, Some(credentials));
    let with = |userinfo: &str| format!("http://{userinfo}@{}", proxy.address);
    world.assert_pulled(&world.pull(ARCHIVE, CA, &[("HTTPS_PROXY", &with("user:s3cret"))]));
    let asked = Asked {
        target: "archive.invalid:443".to_owned(),
        credentials: Some(credentials.to_owned()),
    };
    assert!(proxy.asked().iter().all(|it| *it == asked));

    let named = format!("through the proxy {}: ", proxy.address);
    // No process listens at this address: the other servers of these tests are at 127.0.0.1.
    let gone = proxy.address.replace("127.0.0.1", "127.0.0.2");
    let gone_named = format!("through the proxy {gone}: ");
    // Repeated requests wait in between, so the cases run in parallel.
    let cases = [
        (with("user:wr0ng"), "unreachable", [ARCHIVE, &named, "responded 407"]),
        (format!("http://{}", proxy.address), "unreachable", [ARCHIVE, &named, "responded 407"]),
        (
            format!("socks5://user:s3cret@{}", proxy.address),
            "unreachable",
            ["environment", "http", ""],
        ),
        (format!("http://user:s3cret@{gone}"), "unreachable", [ARCHIVE, &gone_named, "refused"]),
    ];
    std::thread::scope(|scope| {
        for (value, kind, words) in &cases {
            for verbose in [&[][..], &["--verbose"]] {
                scope.spawn(|| {
                    let options = [CA, verbose].concat();
                    let printed = world.pull(ARCHIVE, &options, &[("HTTPS_PROXY", value)]);
                    world.assert_refused(&printed, kind, words);
                    for secret in ["user:", "s3cret", "wr0ng", "dXNlcjpz"] {
                        assert!(!printed.text.contains(secret), "{secret}: {}", printed.text);
                    }
                });
            }
        }
    });
}
