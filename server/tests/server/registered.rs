//! `POST /datasets/NAME/subsets`: subsets that clients register.

use harness::values::clock;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use accession::{DatasetFilter, Registry};
use accession_server::{Body, Registration, ServerLimits};
use futures_util::{StreamExt, stream};
use hyper::Method;
use hyper::body::Bytes;

use crate::site::{Answer, SECOND, Served};
use harness::seed::ids;

const SUBSETS: &str = "/datasets/US.FOOL2.002/subsets";
const LINES: [(&str, &str); 1] = [("content-type", "text/plain; charset=utf-8")];
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Serves the seed. The registry is opened as by the program, but hardly waits for another writer.
fn served(token: Option<&str>, limits: ServerLimits) -> Served {
    let at = std::sync::Arc::new(std::sync::OnceLock::<PathBuf>::new());
    let path = std::sync::Arc::clone(&at);
    let open = Box::new(move || {
        let busy_wait = Duration::from_millis(50);
        let registry = Registry::open(path.get().unwrap(), clock())?.with_busy_wait(busy_wait);
        Ok(registry.public_view(DatasetFilter::Only(vec!["US.FOOL2.002".parse().unwrap()])))
    });
    let token = token.map(str::to_owned);
    let served = Served::registering(Registration { open, token }, limits);
    at.set(served.directory.path().join("accession.db")).unwrap();
    served
}

fn post(served: &Served, headers: &[(&str, &str)], body: &str) -> Answer {
    served.ask(Method::POST, SUBSETS, headers, body)
}

#[test]
fn a_subset_is_stored_once_and_resolves() {
    let served = served(None, ServerLimits::default());
    let all = ids("us-2001-01-02.txt");
    let new = post(&served, &LINES, &format!("{}\r\n\n{}", all[1], all[0]));
    assert_eq!(new.status, 201, "{}", new.text());
    let location = new.header("location").to_owned();
    assert!(served.page(&location).contains("US.FOOL2.002"));
    for body in [format!("{}\n{}\n", all[0], all[1]), format!("{0}\n{1}\n{0}", all[0], all[1])] {
        let again = post(&served, &LINES, &body);
        assert_eq!((again.status, again.header("location")), (200, &*location));
        assert_eq!(again.body, new.body);
    }
    let row: serde_json::Value = serde_json::from_slice(&new.body).unwrap();
    assert_eq!(format!("/DI:{}", row["identifier"].as_str().unwrap()), location);
    // A selection at another time is another citation. A selection of the whole set needs no subset.
    let patterns = r#"{"patterns":["FOOL2.v2.1?.*"],"at":"2001-02-05"}"#;
    assert_eq!(post(&served, &JSON, patterns).status, 201);
    assert_eq!(post(&served, &JSON, patterns).status, 200);
    let whole = post(&served, &JSON, r#"{"patterns":["*"],"at":"2001-01-05"}"#);
    assert_eq!((whole.status, whole.header("location")), (200, &*format!("/DI:{SECOND}")));
    let at = format!("{SUBSETS}?at=2001-01-05");
    assert_eq!(served.ask(Method::POST, &at, &LINES, &all[1]).status, 201);
    let read = served.ask(Method::GET, SUBSETS, &[], "");
    assert_eq!((read.status, read.header("allow")), (405, "POST"));
}

#[test]
fn what_cannot_be_registered_is_named_and_stores_nothing() {
    let limits = ServerLimits { daily_subsets: 1, ..ServerLimits::default() };
    let served = served(None, limits);
    served.change("HIDDEN", "2001-01-02T00:00:00Z", &["A"], &[]);
    let held = ids("us-2001-01-02.txt").remove(0);
    let long = "A".repeat((1 << 20) + 1);
    let many: String = (0..25).map(|n| format!("not-{n:02}\n")).collect();
    for (headers, body, status, kind, says) in [
        (&LINES, "", 400, "usage", "no ids"),
        (&LINES, "A\nB\u{0}", 400, "usage", "Line 2"),
        (&LINES, &*format!("{held}\nno\nnor"), 422, "selects-nothing", "\"no\""),
        (&LINES, &many, 422, "selects-nothing", "\"not-19\" and 5 more"),
        (&LINES, &long, 413, "too-long", "1048576 bytes"),
        (&JSON, "{}", 400, "usage", "missing field"),
        (&JSON, r#"{"patterns":[]}"#, 400, "usage", "1 to 20"),
        (&JSON, r#"{"patterns":["[x"]}"#, 400, "usage", "pattern"),
        (&JSON, r#"{"patterns":["*"],"when":"2001-01-05"}"#, 400, "usage", "when"),
        (&JSON, r#"{"patterns":["*"],"at":"noon"}"#, 400, "usage", "noon"),
        (&JSON, r#"{"patterns":["*"],"at":"2999-01-01"}"#, 400, "usage", "in the future"),
        (&JSON, r#"{"patterns":["X*"]}"#, 422, "selects-nothing", "selected"),
        (&[("content-type", "text/html")], "A", 415, "unsupported-media-type", "text/plain"),
    ] {
        let refused = post(&served, headers, body);
        let (got, of_kind) = refused.problem();
        let start: String = body.chars().take(40).collect();
        assert_eq!((got.as_u16(), &*of_kind), (status, kind), "{start}: {}", refused.text());
        assert!(refused.text().contains(&says.replace('"', "\\\"")), "{}", refused.text());
    }
    for dataset in ["HIDDEN", "NONE"] {
        let path = format!("/datasets/{dataset}/subsets");
        assert_eq!(served.ask(Method::POST, &path, &LINES, "A").status, 404);
    }
    // One more subset can be stored today. One that is already stored does not count.
    assert_eq!(post(&served, &LINES, &held).status, 201);
    let refused = post(&served, &JSON, r#"{"patterns":["FOOL2.v2.1?.*"]}"#);
    assert_eq!(refused.problem().1, "too-many-subsets");
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").parse::<u32>().unwrap() <= 86_400);
    assert_eq!(post(&served, &LINES, &held).status, 200);
}

#[test]
fn a_token_is_needed_where_there_is_one_and_nothing_is_taken_where_it_is_off() {
    let served = served(Some("a-token-of-24-characters"), ServerLimits::default());
    let held = ids("us-2001-01-02.txt").remove(0);
    for (token, status) in [
        ("", 401),
        ("Bearer", 401),
        ("Bearer a-token-of-24-character", 401),
        ("Basic a-token-of-24-characters", 401),
        ("bearer a-token-of-24-characters", 201),
    ] {
        let headers = [LINES[0], ("authorization", token)];
        let answer = post(&served, &headers, &held);
        assert_eq!(answer.status, status, "{token}");
        assert_eq!(answer.header("www-authenticate").is_empty(), status != 401);
    }
    let off = Served::seed();
    let refused = post(&off, &LINES, &held);
    assert_eq!((refused.problem().0.as_u16(), refused.header("allow")), (405, ""));
}

#[test]
fn what_goes_wrong_is_said_and_readers_do_not_wait() {
    let limits =
        ServerLimits { request_time: Duration::from_millis(300), ..ServerLimits::default() };
    let slow = served(None, limits);
    let body = |end: Option<io::Error>| {
        let first = stream::iter([Ok(Bytes::from_static(b"FOOL2"))]);
        match end {
            Some(error) => Body::from_stream(first.chain(stream::iter([Err(error)]))),
            None => Body::from_stream(first.chain(stream::pending::<io::Result<Bytes>>())),
        }
    };
    let refused = slow.post(SUBSETS, &LINES, body(None));
    assert_eq!((refused.status, &*refused.problem().1), (408, "too-slow"));
    let refused = slow.post(SUBSETS, &LINES, body(Some(io::ErrorKind::ConnectionReset.into())));
    assert_eq!((refused.status, &*refused.problem().1), (400, "usage"));

    // Another writer, such as the archivist, holds the lock.
    let served = served(None, ServerLimits::default());
    let held = ids("us-2001-01-02.txt").remove(0);
    let path = served.directory.path().join("accession.db");
    let writer = rusqlite::Connection::open(path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = post(&served, &LINES, &held);
    assert_eq!((busy.status, &*busy.problem().1), (503, "busy"));
    assert!(!busy.header("retry-after").is_empty());
    assert_eq!(served.get("/datasets/US.FOOL2.002/").status, 200);
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(post(&served, &LINES, &held).status, 201);

    let missing = || Registry::open("/srv/nothing/accession.db", clock());
    let registration = Registration { open: Box::new(missing), token: None };
    let served = Served::registering(registration, ServerLimits::default());
    let refused = post(&served, &LINES, &held);
    assert_eq!((refused.status, &*refused.problem().1), (503, "registry-missing"));
    assert!(!refused.text().contains("/srv"), "{}", refused.text());
    assert_eq!(served.get("/datasets/US.FOOL2.002/").status, 200);
}

#[test]
fn the_bytes_of_new_subsets_are_limited_for_each_day() {
    let held = ids("us-2001-01-02.txt");
    let daily_subset_bytes = held[0].len() as u64 + 2;
    let served = served(None, ServerLimits { daily_subset_bytes, ..ServerLimits::default() });
    assert_eq!(post(&served, &LINES, &held[..2].join("\n")).problem().1, "too-many-subsets");
    assert_eq!(post(&served, &LINES, &held[0]).status, 201);
    assert_eq!(post(&served, &LINES, &held[0]).status, 200);
    assert_eq!(post(&served, &LINES, &held[1]).problem().1, "too-many-subsets");
}
