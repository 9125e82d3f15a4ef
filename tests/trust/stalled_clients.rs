//! The server under clients that hang up, that read nothing, and that search for what is not there: the
//! pages go on being served, monitoring waits for nobody, and the memory of the server is limited,
//! whatever is asked for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use accession::{Registry, Stamp};

use crate::harness::serving::Serving;
use crate::harness::values::{change, name, second};
use crate::rounds::{directory_in_memory, rounds};

/// How many granules the dataset holds.
const HELD: usize = 150_000;

/// How many connections the clients of one kind have: fewer than the server accepts.
const CLIENTS: usize = 240;

/// How long `/healthz` may take, on a machine that has other things to do.
const HEALTH_TIME: Duration = Duration::from_secs(5);

/// What the server may take beyond what it takes when idle: what may be in memory for clients, and what
/// is being made for them.
const MEMORY_KB: u64 = 128 * 1_024;

/// The server, and the identifier of a dataset with many granules.
struct Watched {
    serving: Serving,
    identifier: String,
}

impl Watched {
    fn start(directory: &std::path::Path) -> Self {
        let path = directory.join("accession.db");
        let registry = Registry::create(&path).unwrap();
        let recorded = "2026-01-01T00:00:00Z".parse().unwrap();
        let apply = |dataset: &str, ids: &[String]| {
            let made = change(ids.iter().map(String::as_str), None);
            let applied = registry.change(&name(dataset), &made, &Stamp::at(second(0), recorded));
            applied.unwrap().instances.remove(0).identifier.to_string()
        };
        let ids: Vec<String> =
            (0..HELD).map(|n| format!("a-granule-with-a-name-of-usual-length-{n:08}")).collect();
        let identifier = apply("BIG", &ids);
        apply("SMALL", &ids[..1]);
        let mut command = Serving::command(&path, &[]);
        command.env("TMPDIR", directory);
        Watched { serving: Serving::of(command), identifier }
    }

    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.serving.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        stream
    }

    /// The status of a response that has come to its end, and how long it took.
    fn get(&self, path: &str) -> (u16, Duration) {
        let began = Instant::now();
        let mut response = Vec::new();
        self.ask(path).read_to_end(&mut response).unwrap();
        let status = std::str::from_utf8(&response[9..12]).unwrap().parse().unwrap();
        (status, began.elapsed())
    }

    fn memory_kb(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.serving.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Asks for the page of the datasets and for `/healthz` while `clients` does its harm, and
    /// returns how long `/healthz` took at most.
    fn watched(&self, clients: impl FnOnce()) -> Duration {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let (mut slowest, mut asked) = (Duration::ZERO, 0);
                while asked == 0 || !is_over.load(Ordering::Acquire) {
                    let (status, time) = self.get("/healthz");
                    assert_eq!(status, 200, "/healthz");
                    slowest = slowest.max(time);
                    assert_eq!(self.get("/").0, 200, "the page of the datasets");
                    asked += 1;
                }
                slowest
            });
            clients();
            is_over.store(true, Ordering::Release);
            watching.join().unwrap()
        })
    }
}

#[test]
fn clients_that_hang_up_stall_or_select_nothing_starve_nobody() {
    let directory = directory_in_memory();
    let serving = Watched::start(directory.path());
    let (big, segment) = (&serving.identifier, "/datasets/BIG/log/000000.jsonl".to_owned());
    assert_eq!(serving.get("/datasets/BIG/head.json").0, 200);
    for path in [segment.clone(), format!("/DI:{big}/granules")] {
        assert_eq!(serving.get(&path).0, 200, "{path}");
    }
    let idle = serving.memory_kb("VmRSS");
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds(1) {
        let hung_up = serving.watched(|| {
            for _ in 0..CLIENTS {
                drop(serving.ask("/compare/SMALL...BIG?format=json&limit=100000"));
            }
            // What they asked for is not done first.
            assert_eq!(serving.get("/compare/SMALL...SMALL").0, 200);
        });
        // Neither kind of client reads anything.
        let begun = |paths: &[String]| -> Vec<TcpStream> {
            paths.iter().cycle().take(CLIENTS).map(|path| serving.ask(path)).collect()
        };
        let stalled = serving.watched(|| {
            let differences = "/compare/SMALL...BIG?format=json&limit=100000".to_owned();
            let paths = [segment.clone(), format!("/DI:{big}/granules"), differences];
            let streams = begun(&paths);
            std::thread::sleep(Duration::from_secs(3));
            drop(streams);
        });
        let patterns: String = (0..20).map(|n| format!("&select=*0*2*.*h*zz{n}")).collect();
        let nothing = serving.watched(|| {
            let streams = begun(&[format!("/DI:{big}/granules?{patterns}")]);
            std::thread::sleep(Duration::from_secs(3));
            drop(streams);
        });
        println!(
            "/healthz took {hung_up:?} beside {CLIENTS} clients that hung up, {stalled:?} beside as many that read nothing, {nothing:?} beside as many that select nothing"
        );
        slowest = slowest.max(hung_up).max(stalled).max(nothing);
    }
    let peak = serving.memory_kb("VmHWM");
    println!("{idle} kB when idle, {peak} kB at most");
    assert!(slowest < HEALTH_TIME, "/healthz took {slowest:?}");
    assert!(peak < idle + MEMORY_KB, "{idle} kB when idle, {peak} kB at most");
}
