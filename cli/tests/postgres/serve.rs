//! `serve` on a registry on a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::running::serving::Serving;
use crate::scene::{Scene, ingest, name, succeed};
use harness::values::step;
use harness::writes::{SHOWN, WRITES};

/// The program serving a registry.
pub struct Served {
    serving: Serving,
}

impl Served {
    pub fn start(registry: &str) -> Self {
        // Both servers have the same public address, so that their pages are the same.
        let options = ["--public-url", "https://registry.example"];
        Served {
            serving: Serving::of(&mut Serving::command(Path::new(registry), &options)).unwrap(),
        }
    }

    /// The status and the body of a response, requested with `Accept`.
    pub fn get(&self, path: &str, accept: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.serving.address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n");
        write!(stream, "{head}connection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let status = response[9..12].parse().unwrap();
        (status, response.split_once("\r\n\r\n").unwrap().1.to_owned())
    }
}

/// A dataset with metadata and a history of 60 changes.
fn fill(scene: &Scene) {
    let registry = scene.open();
    for number in 0..60 {
        step(&registry, "A", number, [format!("granule-{}", number * 7 % 60).as_str()], []);
    }
    // The latest change was recorded long ago, so the clock must be confirmed.
    let edit = ["dataset", "edit", "A", "--at", "now"];
    let record = ["--doi", "10.9999/A", "--title", "Ä & <b>", "--creator", "Tilmes, Curt"];
    succeed(&scene.url, &[&edit[..], &record].concat());
    succeed(&scene.url, &["cite", "A", "--select", "granule-1*"]);
}

#[test]
fn a_connection_that_was_denied_the_state_is_used_again() {
    let Some(scene) = Scene::new() else { return };
    scene.open().change(&name("A"), &ingest("1")).unwrap();
    let role = format!("no_state_{}", scene.url.rsplit('/').next().unwrap());
    let mut owner = scene.client();
    owner
        .batch_execute(&format!(
            "CREATE ROLE {role} LOGIN;
             GRANT USAGE ON SCHEMA accession TO {role};
             GRANT SELECT ON ALL TABLES IN SCHEMA accession TO {role};
             REVOKE SELECT ON accession.writer FROM {role}"
        ))
        .unwrap();
    let served = Served::start(&scene.url.replace("postgres@", &format!("{role}@")));
    let mut connections = || -> Vec<i32> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE usename = $1 ORDER BY pid";
        owner.query(sql, &[&role]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        // Nothing is cached, since the state is unknown. Everything is read again.
        assert_eq!(served.get("/datasets/A/", "application/json").0, 200);
        seen.push(connections());
    }
    assert!(!seen[0].is_empty() && seen.iter().all(|it| *it == seen[0]), "{seen:?}");
}

#[test]
fn every_page_is_the_same_as_that_of_a_copy_in_a_file() {
    let Some(scene) = Scene::new() else { return };
    fill(&scene);
    let directory = harness::directory();
    let file = directory.path().join("copy.db");
    succeed(&scene.url, &["registry", "copy", &scene.url, file.to_str().unwrap()]);
    let (of_server, of_file) = (Served::start(&scene.url), Served::start(file.to_str().unwrap()));
    let latest = of_file.get("/datasets/A/", "application/json").1;
    let latest: serde_json::Value = serde_json::from_str(&latest).unwrap();
    let set = format!("/DI:{}", latest["latest"]["identifier"].as_str().unwrap());
    for path in [
        "/".to_owned(),
        "/?q=b".to_owned(),
        "/datasets/A/".to_owned(),
        "/datasets/A/?format=bibtex".to_owned(),
        "/datasets/A/history?limit=7".to_owned(),
        "/datasets/A@2001-01-01".to_owned(),
        set.clone(),
        format!("{set}/granules"),
        format!("{set}/granules?limit=5&after=granule-2"),
        format!("{set}/granules?select=granule-3*"),
        "/compare/A@2001-01-01T00:00:05Z...A".to_owned(),
        format!("/check?text={}", &set[1..]),
        "/find?granule=granule-5".to_owned(),
        "/doi/10.9999/A".to_owned(),
        "/datasets/NONE/".to_owned(),
        "/sitemap.xml".to_owned(),
    ] {
        for accept in ["text/html", "application/json, */*;q=0.5"] {
            let expected = of_file.get(&path, accept);
            assert_eq!(of_server.get(&path, accept), expected, "{path} as {accept}");
            assert!(matches!(expected.0, 200 | 303 | 404 | 406), "{path}: {}", expected.0);
        }
    }
}

#[test]
fn every_kind_of_write_of_another_process_shows_in_the_next_response() {
    let Some(scene) = Scene::new() else { return };
    drop(scene.open());
    let served = Served::start(&scene.url);
    let ask_all = |served: &Served| -> Vec<_> {
        let ask = |path| [served.get(path, "text/html"), served.get(path, "*/*")];
        SHOWN.into_iter().flat_map(ask).collect()
    };
    let mut before = ask_all(&served);
    for write in &WRITES {
        write.make(scene.command(&[]));
        let after = ask_all(&served);
        assert!(after == ask_all(&Served::start(&scene.url)), "{:?}", write.arguments);
        assert!(!write.is_shown || after != before, "{:?}", write.arguments);
        before = after;
    }
}

#[test]
fn a_change_is_seen_at_once_and_a_server_that_is_down_is_an_outage() {
    let Some(scene) = Scene::private() else { return };
    let registry = scene.open();
    registry.change(&name("A"), &ingest("first")).unwrap();
    let served = Served::start(&scene.url);
    for granule_id in ["second", "third"] {
        registry.change(&name("A"), &ingest(granule_id)).unwrap();
        let found = served.get(&format!("/find?granule={granule_id}"), "application/jsonl");
        assert!(found.1.contains("\"A\""), "{granule_id}: {found:?}");
    }
    drop(registry);
    scene.server.kill();
    let (status, body) = served.get("/datasets/A/", "application/json");
    assert_eq!(status, 503, "{body}");
    assert!(!body.contains("postgres://"), "the address is for the operator alone: {body}");
    scene.server.restart();
    assert_eq!(served.get("/datasets/A/", "application/json").0, 200);
}

/// A private server that does not respond until this is dropped.
struct Hung(Vec<Pid>);

impl Hung {
    fn stop(postmaster: i32) -> Self {
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = std::fs::read_to_string(children).unwrap();
        let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let all = std::iter::once(postmaster).chain(children);
        let hung = Hung(all.map(|pid| Pid::from_raw(pid).unwrap()).collect());
        hung.signal(Signal::STOP);
        hung
    }

    fn signal(&self, signal: Signal) {
        for pid in &self.0 {
            // A process that has already ended needs no signal.
            let _ = kill_process(*pid, signal);
        }
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
    }
}

#[test]
fn what_needs_no_registry_is_answered_while_the_server_hangs() {
    let Some(scene) = Scene::private() else { return };
    scene.open().change(&name("A"), &ingest("1")).unwrap();
    let served = Served::start(&scene.url);
    let postmaster: i32 = {
        let sql = "SELECT pg_read_file('postmaster.pid')";
        let file: String = scene.client().query_one(sql, &[]).unwrap().get(0);
        file.lines().next().unwrap().parse().unwrap()
    };
    let page = || served.get("/datasets/A/", "application/json").0;
    let health = || served.get("/healthz", "*/*").0;
    // The second time, the server continues before the requests time out.
    for expected in [503, 200] {
        assert_eq!(page(), 200);
        let hung = Hung::stop(postmaster);
        std::thread::scope(|scope| {
            // More requests than permits.
            let waiting: Vec<_> = (0..12).map(|_| scope.spawn(page)).collect();
            for path in ["/style.css", "/robots.txt", "/openapi.json", "/identifier", "/metrics"] {
                assert_eq!(served.get(path, "*/*").0, 200, "{path}");
            }
            while health() == 200 {
                sleep(Duration::from_millis(100));
            }
            let hung = (expected == 503).then_some(hung);
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap(), expected);
            }
            drop(hung);
        });
        while health() != 200 {
            sleep(Duration::from_millis(100));
        }
    }
    assert_eq!(page(), 200);
}
