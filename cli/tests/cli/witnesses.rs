//! `proof sign` with witnesses, and several processes that sign with one key.

use harness::values::clock;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accession::Registry;
use accession::proof::{LogCheckpoint, Note};

use crate::running::console::Sandbox;
use harness::web_server::WebServer;
use harness::witness_key::WitnessKey;

/// The key of all witnesses in these tests.
fn witness_key() -> WitnessKey {
    WitnessKey::of_seed("w.example", [5; 32])
}

/// The behaviour of a witness in a test.
#[derive(Clone, Copy)]
enum Manner {
    Cosigns,
    /// Reports that it has seen this size, whatever the request.
    HasSeen(u64),
    Responds(u16),
    CosignsAnother,
    SendsNoise,
    /// Accepts the connection, and never responds.
    Stalls,
}

/// A witness over HTTP, which remembers one tree and the bodies of its requests.
struct TestWitness {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TestWitness {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/w/", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut size = 1;
            for stream in listener.incoming() {
                respond(stream.unwrap(), manner, &mut size, &seen);
            }
        });
        TestWitness { address, requests }
    }
}

fn respond(mut stream: TcpStream, manner: Manner, size: &mut u64, seen: &Mutex<Vec<String>>) {
    let (mut request, mut buffer) = (String::new(), [0; 4_096]);
    let body = loop {
        let read = stream.read(&mut buffer).unwrap();
        request.push_str(&String::from_utf8_lossy(&buffer[..read]));
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            assert!(head.starts_with("post /w/add-checkpoint http/1.1"), "{head}");
            break body.to_owned();
        }
    };
    let (asked, note) = body.split_once("\n\n").unwrap();
    let old: u64 = asked.lines().next().unwrap()["old ".len()..].parse().unwrap();
    let note: Note = note.parse().unwrap();
    let witness = witness_key();
    let at = "2001-01-01T00:00:05Z".parse().unwrap();
    let (status, sent) = match manner {
        Manner::Responds(status) => (status, String::new()),
        Manner::HasSeen(size) => (409, format!("{size}\n")),
        _ if old != *size => (409, format!("{size}\n")),
        Manner::Cosigns => {
            *size = note.body.parse::<LogCheckpoint>().unwrap().size;
            (200, format!("{}\n", witness.sign(&note.body, at)))
        }
        Manner::CosignsAnother => (200, format!("{}\n", witness.sign("other\n", at))),
        Manner::SendsNoise => (200, "x".repeat(100_000)),
        Manner::Stalls => {
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
    };
    seen.lock().unwrap().push(asked.to_owned());
    let length = sent.len();
    write!(
        stream,
        "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{sent}"
    )
    .unwrap();
}

/// A registry with a dataset, and a key to sign it.
fn sandbox() -> Sandbox {
    Sandbox::after(&[
        "accession ingest D --create --at 2001-01-02 --id A --id B",
        "accession proof keygen us.example.org/statements --output us.key > us.vkey",
    ])
}

#[test]
fn what_a_witness_does_is_a_warning_unless_it_has_seen_another_log() {
    let sandbox = sandbox();
    let witness = witness_key().verification_key().to_string();
    let sign = |address: &str| {
        let policy = format!("witness near {witness} {address}\nquorum near\n");
        std::fs::write(sandbox.path().join("policy"), policy).unwrap();
        sandbox.run("(printf 'log '; cat us.vkey) >> policy");
        sandbox.run("accession proof sign --key us.key --policy policy --timeout 1; echo $?")
    };
    let state = |printed: &str| (printed.lines().last().map(str::to_owned), printed.to_owned());
    for (manner, status, printed) in [
        (Manner::Stalls, "0", "warning: the witness near has not cosigned"),
        (Manner::Responds(503), "0", "it responded with 503"),
        (Manner::CosignsAnother, "0", "it sent no cosignature of this checkpoint by w.example"),
        (Manner::SendsNoise, "0", "it sent no cosignature of this checkpoint by w.example"),
        (Manner::HasSeen(7), "2", "it has seen a tree of 7 statements, and this one has 1"),
        (Manner::Responds(422), "2", "it has seen another tree of these statements"),
        (Manner::HasSeen(1), "2", "it has seen another tree of these statements"),
        (
            Manner::Cosigns,
            "0",
            "stated 0 new of 1 statement; signed us.example.org/statements; seen by near\n",
        ),
    ] {
        let witness = TestWitness::start(manner);
        let (last, shown) = state(&sign(&witness.address));
        assert_eq!(last.as_deref(), Some(status), "{shown}");
        assert!(shown.contains(printed), "{shown}");
        let asked: &[&str] = match manner {
            Manner::Responds(_) | Manner::HasSeen(7) | Manner::Stalls => &["old 0"],
            // The witness responds with the size that it has seen, and gets a second request.
            _ => &["old 0", "old 1"],
        };
        assert_eq!(*witness.requests.lock().unwrap(), asked, "{shown}");
    }
    // It gets no further request, and its cosignature remains valid, until there is a new statement.
    let (last, shown) = state(&sign("http://127.0.0.1:1/"));
    assert!(last.as_deref() == Some("0") && shown.contains("; seen by near\n"), "{shown}");
    // If the witness has seen another log, the new statement is stored but not signed. The next run continues.
    sandbox.run("accession ingest D --at 2001-01-03 --id C");
    let (last, shown) = state(&sign(&TestWitness::start(Manner::HasSeen(9)).address));
    assert!(last.as_deref() == Some("2") && shown.contains("has seen a tree of 9"), "{shown}");
    let witness = TestWitness::start(Manner::Cosigns);
    let (last, shown) = state(&sign(&witness.address));
    assert_eq!(last.as_deref(), Some("0"));
    let registry = Registry::open(sandbox.path().join("accession.db"), clock()).unwrap();
    let tree = registry.snapshot().unwrap().statement_log().unwrap().tree;
    let path = tree.consistency(1, 3).unwrap();
    let path: Vec<String> = path.iter().map(LogCheckpoint::hash_text).collect();
    let asked = format!("old 1\n{}", path.join("\n"));
    assert_eq!(*witness.requests.lock().unwrap(), [asked], "it had seen one statement");
    assert!(shown.contains("stated 0 new of 3 statements"), "{shown}");
    assert!(sandbox.run("accession verify").ends_with("all ok\n"));
}

#[test]
fn a_checkpoint_that_a_witness_rejects_stays_beside_the_key() {
    let sandbox = sandbox();
    sandbox.run("accession proof sign --key us.key; accession registry backup night.db");
    sandbox.run("accession ingest D --at 2001-01-03 --id C");
    for manner in [Manner::Responds(422), Manner::HasSeen(3), Manner::HasSeen(9)] {
        let (witness, key) =
            (TestWitness::start(manner), witness_key().verification_key().to_string());
        let policy = format!("witness near {key} {}\nquorum near\n", witness.address);
        std::fs::write(sandbox.path().join("policy"), policy).unwrap();
        sandbox.run("(printf 'log '; cat us.vkey) >> policy");
        let printed = sandbox.run("accession proof sign --key us.key --policy policy; echo $?");
        assert!(
            printed.starts_with(
                "error: the witness near was sent the signed checkpoint of 3 statements, and refuses it: http://"
            ),
            "{printed}"
        );
        assert!(printed.contains("\nhint: if this history is the true one, sign again with a --policy without this witness"), "{printed}");
        assert!(printed.ends_with("\n2\n"), "{printed}");
        assert!(sandbox.run("cat us.key.last").contains("/statements\n3\n"));
    }
    // The restored backup would sign a second tree.
    sandbox.run(
        "cp accession.db today.db; cp night.db accession.db; accession ingest D --at 2001-01-04 --id X",
    );
    let printed = sandbox.run("accession proof sign --key us.key; echo $?");
    assert!(printed.contains("the registry has 1 statement, but 3 were signed"), "{printed}");
    assert!(printed.ends_with("\n2\n"), "{printed}");
    // The registry that signed continues without that witness.
    sandbox
        .run("cp today.db accession.db; (printf 'log '; cat us.vkey; echo quorum none) > policy");
    let printed = sandbox.run("accession proof sign --key us.key --policy policy");
    assert_eq!(
        printed,
        "stated 0 new of 3 statements; signed us.example.org/statements; no witness\n"
    );
}

#[test]
fn one_key_with_two_names_is_refused_and_two_keys_sign_in_any_order() {
    let sandbox = sandbox();
    sandbox.run("ln us.key hard.key; ln -s us.key soft.key; cp -p us.key copy.key");
    sandbox.run("accession proof keygen us.example.org/statements --output other.key");
    for name in ["us.key", "hard.key", "soft.key", "copy.key"] {
        let printed =
            sandbox.run(&format!("accession proof sign --key us.key --key {name}; echo $?"));
        assert_eq!(printed, format!("error: the key \"{name}\" is named twice\n2\n"));
    }
    let spawn = |keys: &str| {
        let mut command = sandbox.command(&format!("proof sign {keys}"));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let signing: Vec<_> = (0..10)
        .flat_map(|_| ["--key us.key --key other.key", "--key other.key --key us.key"])
        .map(spawn)
        .collect();
    for mut child in signing {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn several_that_sign_with_one_key_wait_for_each_other() {
    let sandbox = sandbox();
    let spawn = |_| {
        let mut command = sandbox.command("proof sign --key us.key");
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let signing: Vec<_> = (0..4).map(spawn).collect();
    let mut printed: Vec<String> = signing
        .into_iter()
        .map(|child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    printed.sort();
    let signed = "of 1 statement; signed us.example.org/statements; no witness\n";
    let [others @ .., first] = &printed[..] else { panic!("four have signed") };
    assert_eq!(*first, format!("stated 1 new {signed}"));
    assert!(others.iter().all(|it| *it == format!("stated 0 new {signed}")), "{printed:?}");
    assert!(sandbox.run("accession verify").ends_with("all ok\n"));
}

#[test]
fn statements_are_taken_back_from_the_address_of_a_site_that_has_all_that_was_signed() {
    let sandbox = sandbox();
    sandbox.run(
        "accession proof sign --key us.key; cp accession.db older.db; cp us.key.last older.last",
    );
    sandbox.run("accession publish old; accession ingest D --at 2001-01-03 --id C");
    sandbox.run("accession proof sign --key us.key; accession publish www");
    // The registry is restored from a backup, and the lost day is recorded again.
    sandbox.run("mv accession.db lost.db; cp older.db accession.db");
    sandbox.run("accession ingest D --at 2001-01-03 --id C");
    let server = WebServer::over(&sandbox.path().join("www"));
    let recover = || {
        let site = server.dataset("D");
        let printed = sandbox.run(&format!("accession proof sign --key us.key --recover {site}"));
        printed.lines().next().unwrap_or_default().to_owned()
    };
    let tile = "statements/tile/entries/000.p/3";
    for (file, status, body, printed) in [
        ("statements/checkpoint", 200, &b"<p>Hello"[..], "checkpoint: not a signed note"),
        ("statements/checkpoint", 404, b"", "checkpoint: it is missing"),
        ("statements/checkpoint", 403, b"", "checkpoint: the server responded with 403"),
        (tile, 404, b"", "000: it is missing"),
        (tile, 200, b"\0\x01{", "000.p/3: the statement 0 is not a statement"),
        (tile, 200, b"\x01\0{", "000.p/3: it is cut"),
    ] {
        server.misbehave(move |request, reply| {
            if request.path == file {
                (reply.status, reply.body) = (status, body.to_vec());
            }
        });
        let shown = recover();
        assert!(shown.contains(printed), "{printed}: {shown}");
    }
    // Rejected: a tile with a changed byte, a log signed with another key, an older state, and another log.
    server.misbehave(move |request, reply| {
        if request.path == tile {
            let at = reply.body.windows(13).position(|it| it == b"\"granules\":2,").unwrap();
            reply.body[at + 11] = b'7';
        }
    });
    assert!(recover().contains("the statements are not those of this checkpoint"));
    sandbox.run("accession proof keygen us.example.org/statements --output other.key");
    sandbox.run(
        "accession --registry other.db ingest D --create --at 2001-01-02 --id A --id B --id X",
    );
    let publish_other =
        "accession --registry other.db publish other; mv other/statements www/other";
    sandbox
        .run(&format!("accession --registry other.db proof sign --key other.key; {publish_other}"));
    sandbox.run("mv old/statements www/old; mkdir once; cp us.key once/");
    sandbox.run(
        "accession --registry again.db ingest D --create --at 2001-01-02 --id A --id B --id X",
    );
    sandbox.run("accession --registry again.db proof sign --key once/us.key");
    sandbox.run("accession --registry again.db publish again; mv again/statements www/again");
    for (place, printed) in [
        ("other", "it is not signed by a key of \"us.example.org/statements\" in the policy"),
        ("old", "the registry has 1 statement, but 3 were signed"),
        (
            "again",
            "the registry has stated something else than what was published, in the statement 0",
        ),
    ] {
        server.misbehave(move |request, reply| {
            if let Some(file) = request.path.strip_prefix("statements/") {
                (reply.status, reply.body) = (301, Vec::new());
                reply.headers = vec![("Location".to_owned(), format!("/{place}/{file}"))];
            }
        });
        let shown = recover();
        assert!(shown.contains(printed), "{printed}: {shown}");
        assert!(sandbox.run("accession proof sign --key us.key").contains("but 3 were signed"));
    }
    // The complete log is accepted, although the record of the last signature is lost. A repetition changes
    // nothing.
    server.misbehave(|_, _| {});
    sandbox.run("mv us.key.last kept.last");
    server.served();
    assert_eq!(recover(), "took back 2 statements that were published");
    // A site cannot decide which keys readers trust, so its policy is not read.
    assert!(server.served().iter().all(|(request, _)| request.path != "statements/policy"));
    assert_eq!(sandbox.run("cmp us.key.last kept.last"), "");
    assert_eq!(recover(), "took back 0 statements that were published");
    assert!(sandbox.run("accession verify").ends_with("all ok\n"));
    assert_eq!(
        sandbox.run("accession publish www --quiet; accession verify www").lines().last(),
        Some("3 statements: ok")
    );
}
