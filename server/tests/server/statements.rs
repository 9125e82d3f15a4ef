//! `/statements/…` has the bytes that `publish` writes, and `/DI:…/proof` the output of `proof create`.

use accession::Registry;
use accession::proof::SignedCheckpoint;
use accession::proof::{Note, SigningKey, StatementProof};
use accession_server::ServerLimits;
use hyper::Method;

use crate::site::{FIRST, SECOND, Served};
use harness::values::{name, now};

/// Adds statements about new sets, and signs them.
pub fn sign(registry: &Registry) {
    let key = SigningKey::of_seed("us.example/statements", [1; 32]).unwrap();
    let log = registry.add_statements(&[]).unwrap();
    let checkpoint = log.checkpoint(key.verification_key().name());
    let mut note = Note::new(checkpoint.to_string());
    note.sign(&key);
    let policy = format!("log {}\nquorum none\n", key.verification_key());
    let signed = SignedCheckpoint { checkpoint, note, policy, signed: now() };
    registry.save_checkpoint(&log.tree, &signed).unwrap();
}

const FILES: [&str; 4] = ["checkpoint", "policy", "tile/entries/000.p/5", "tile/0/000.p/5"];

#[test]
fn the_log_of_statements_is_served_as_it_is_published() {
    let served = Served::seed();
    let proof = format!("/DI:{SECOND}/proof");
    for file in FILES {
        let path = format!("/statements/{file}");
        served.get(&path).problem();
        let status = if file.starts_with("tile/") { 404 } else { 405 };
        assert_eq!(served.ask(Method::POST, &path, &[], "").status, status, "{path}");
    }
    assert_eq!(served.get(&proof).problem().1, "not-stated");
    sign(&served.registry);
    let directory = harness::directory();
    assert_eq!(served.registry.publish_statements(directory.path()).unwrap(), 5);
    for file in FILES {
        let path = format!("/statements/{file}");
        let (kind, keep) = match file.starts_with("tile/") {
            true => ("application/octet-stream", "public, max-age=31536000, immutable"),
            false => ("text/plain; charset=utf-8", "no-cache"),
        };
        let answer = served.get(&path);
        let published = std::fs::read(directory.path().join("statements").join(file)).unwrap();
        assert_eq!((answer.status, &answer.body), (200, &published), "{path}");
        assert_eq!(answer.header("content-type"), kind);
        assert_eq!(answer.header("cache-control"), keep);
        let head = served.ask(Method::HEAD, &path, &[], "");
        assert_eq!(head.header("content-length"), published.len().to_string());
        let known = [("if-none-match", answer.header("etag"))];
        assert_eq!(served.ask(Method::GET, &path, &known, "").status, 304);
        assert_eq!(served.ask(Method::POST, &path, &[], "").status, 405);
    }
    for path in [
        "",
        "/",
        "/other",
        "/tile/0/000",
        "/tile/0/000.p/6",
        "/tile/1/000.p/1",
        "/tile/entries/001",
    ] {
        assert_eq!(served.get(&format!("/statements{path}")).status, 404, "{path}");
    }

    let answer = served.get(&proof);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    let identifier = SECOND.parse().unwrap();
    let selection = accession::Selection::Identifier { identifier, dataset: None, at: None };
    let proved = served.registry.snapshot().unwrap().prove(&selection, None).unwrap().proof;
    assert_eq!(answer.text(), proved.to_string());
    let at = |at: &str, dataset: &str| served.get(&format!("{proof}?at={at}&dataset={dataset}"));
    assert_eq!(at("2001-01-05", "US.FOOL2.002").body, answer.body);
    assert_eq!(at("2001-02-03", "").problem().1, "identifier-unknown");
    assert_eq!(at("2001-01-05", "NO").status, 404);
    assert_eq!(at("x", "").status, 400);
    assert_eq!(served.ask(Method::POST, &proof, &[], "").status, 405);
    assert_eq!(served.get("/DI:nothing/proof").status, 404);
    let latest = format!("/DI:{}/proof?at=2999-01-01", served.latest("US.FOOL2.002"));
    assert_eq!(served.get(&latest).problem().1, "not-stated");

    // A damaged or lost row results in an error, instead of another tile or proof.
    let sql = [
        "UPDATE statement SET text = replace(text, '2', '3') WHERE number = 3",
        "DELETE FROM statement WHERE number = 3",
    ];
    let file = rusqlite::Connection::open(served.directory.path().join("accession.db")).unwrap();
    for sql in sql {
        assert_eq!(file.execute(sql, []).unwrap(), 1);
        for path in FILES.map(|file| format!("/statements/{file}")).iter().chain([&proof]) {
            let answer = served.again().get(path);
            assert_eq!((answer.status, answer.problem().1.as_str()), (500, "damaged"), "{path}");
        }
    }
}

#[test]
fn statements_that_name_another_dataset_are_not_served() {
    let served = Served::with(&["OPEN"], ServerLimits::default());
    let status = |file: &str| served.get(&format!("/statements/{file}")).status;
    served.change("OPEN", "2001-01-01T00:00:00Z", &["A", "B"], &[]);
    sign(&served.registry);
    assert_eq!([status("checkpoint"), status("tile/0/000.p/1")], [200, 200]);
    served.change("SECRET", "2002-01-01T00:00:00Z", &["HIDDEN"], &[]);
    sign(&served.registry);
    assert_eq!(["checkpoint", "policy", "tile/0/000.p/1"].map(status), [404; 3]);
    // A proof names no other dataset. A server with both datasets public serves the statements of both.
    let proof = served.get(&format!("/DI:{}/proof", served.latest("OPEN"))).text();
    let proof: StatementProof = proof.parse().unwrap();
    assert_eq!(proof.statement.dataset, name("OPEN"));
    assert_eq!(served.again().get("/statements/checkpoint").status, 200);
    assert_eq!(served.get(&format!("/DI:{FIRST}/proof")).status, 404);
}
