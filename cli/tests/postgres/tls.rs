//! TLS to the server: which certificates each `sslmode` accepts.

use harness::values::clock;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use accession::Registry;

use crate::scene::{ingest, name};
use harness::authority::{Authority, Validity};
use harness::server::{Server, directory_of_other_user, give_to_other_user};

/// A file that only the server can read.
fn write_secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    give_to_other_user(path);
}

/// Writes the key and the certificate for the host of a server.
fn certify(directory: &Path, authority: &Authority, host: &str, validity: Validity) {
    let certified = authority.certify(host, validity);
    write_secret(&directory.join("server.pem"), &certified.certificate.pem());
    write_secret(&directory.join("server.key"), &certified.key.serialize_pem());
}

#[test]
fn each_mode_accepts_the_certificates_that_it_should() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    let directory = directory_of_other_user();
    let here = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    write_secret(
        Path::new(&here("hba.conf")),
        "local all all trust\n\
         hostssl all certified 127.0.0.1/32 cert\n\
         hostssl all postgres 127.0.0.1/32 trust\n",
    );
    for (file, authority) in [("ca.pem", &authority), ("foreign.pem", &foreign)] {
        std::fs::write(here(file), authority.pem()).unwrap();
    }
    certify(directory.path(), &authority, "localhost", Validity::Now);
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", here("server.pem")),
        format!("ssl_key_file={}", here("server.key")),
        format!("ssl_ca_file={}", here("ca.pem")),
        format!("hba_file={}", here("hba.conf")),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some((server, port)) = Server::start_on_a_port(&settings) else { return };
    let socket = server.new_database();
    let registry = Registry::create(&socket, clock()).unwrap();
    registry.change(&name("D"), &ingest("A")).unwrap();
    drop(registry);
    let database = socket.rsplit('/').next().unwrap();

    let open = |host: &str, user: &str, parameters: &str| -> Result<(), String> {
        let url = format!("postgres://{user}@{host}:{port}/{database}?{parameters}");
        match Registry::open(&url, clock()) {
            Ok(registry) => {
                registry.snapshot().unwrap();
                Ok(())
            }
            Err(error) => {
                assert_eq!(error.kind().as_str(), "unreachable", "{url}: {error}");
                Err(error.to_string())
            }
        }
    };
    let (ca, other) =
        (format!("sslrootcert={}", here("ca.pem")), format!("sslrootcert={}", here("foreign.pem")));
    // The server rejects unencrypted clients.
    assert!(open("127.0.0.1", "postgres", "sslmode=disable").is_err());
    for (host, parameters, is_accepted) in [
        ("127.0.0.1", "sslmode=prefer".to_owned(), true),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        // `verify-ca`, and `require` with an authority, mean `verify-full`. The certificate names localhost.
        ("127.0.0.1", format!("sslmode=require&{ca}"), false),
        ("localhost", format!("sslmode=require&{ca}"), true),
        ("localhost", format!("sslmode=require&{other}"), false),
        ("127.0.0.1", format!("sslmode=verify-ca&{ca}"), false),
        ("localhost", format!("sslmode=verify-ca&{ca}"), true),
        ("localhost", format!("sslmode=verify-ca&{other}"), false),
        ("localhost", "sslmode=verify-ca".to_owned(), false),
        ("127.0.0.1", format!("sslmode=verify-full&{ca}"), false),
        ("localhost", format!("sslmode=verify-full&{ca}"), true),
        ("localhost", format!("sslmode=verify-full&{other}"), false),
        ("localhost", "sslmode=verify-full".to_owned(), false),
    ] {
        let opened = open(host, "postgres", &parameters);
        assert_eq!(opened.is_ok(), is_accepted, "{host} {parameters}: {opened:?}");
    }

    // A client with a certificate, and one without.
    let client = authority.certify("certified", Validity::Now);
    std::fs::write(here("client.pem"), client.certificate.pem()).unwrap();
    std::fs::write(here("client.key"), client.key.serialize_pem()).unwrap();
    let mut owner = harness::server::client(&socket);
    let grant = "CREATE ROLE certified LOGIN; GRANT USAGE ON SCHEMA accession TO certified;
                 GRANT SELECT ON ALL TABLES IN SCHEMA accession TO certified";
    owner.batch_execute(grant).unwrap();
    let certificate = format!(
        "sslmode=verify-full&{ca}&sslcert={}&sslkey={}",
        here("client.pem"),
        here("client.key")
    );
    assert_eq!(open("localhost", "certified", &certificate), Ok(()));
    assert!(open("localhost", "certified", &format!("sslmode=verify-full&{ca}")).is_err());
    drop(owner);

    // Clients that verify certificates reject one that is not valid now.
    for (validity, reason) in [(Validity::Past, "expired"), (Validity::Future, "not valid yet")] {
        certify(directory.path(), &authority, "localhost", validity);
        server.crash();
        assert_eq!(open("localhost", "postgres", "sslmode=require"), Ok(()));
        for mode in ["verify-ca", "verify-full"] {
            let refused = open("localhost", "postgres", &format!("sslmode={mode}&{ca}"));
            let message = refused.unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }
}
