//! The server under load: a writer at full speed, clients that break off, and a restore in the middle. Every
//! served set has its identifier, every error is announced, and the memory of the server does not grow.

use harness::values::{AtTime, clock};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use accession::{Clock, Registry};
use serde_json::Value;

use crate::dice::Dice;
use crate::rounds::{dice, is_long};
use crate::running::serving::Serving;
use harness::oracle::naive;
use harness::values::{change, name, second};

/// The duration of the long run.
const LONG: Duration = Duration::from_secs(600);

/// The number of sets that each reader requests in the short run.
const SHORT: u64 = 120;

const READERS: u64 = 3;
const BREAKERS: u64 = 2;

/// The maximum number of granules that the dataset holds.
const HELD: usize = 300;

/// The maximum memory of the server after the load. It is used by the caches of its connections, which fill
/// more slowly if the writer makes more changes. It does not grow with the number of requested sets.
const MEMORY_KB: u64 = 100 * 1_024;

/// The server, and what it must serve.
struct Load {
    directory: tempfile::TempDir,
    start_kb: u64,
    serving: Mutex<Serving>,
    address: String,
    began: Instant,
    is_over: AtomicBool,
    asked: AtomicU64,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// The identifiers of the present registry, each with the second in which it came into force. Changes and
    /// the restore are made while this is locked.
    issued: Mutex<Vec<(String, i64)>>,
}

/// The result of a request.
enum Got {
    /// A whole response.
    Response(u16, String),
    /// The connection ended before the response did.
    BrokenOff,
}

impl Load {
    /// A registry of 100 sets, its backup, and the server for it.
    fn new(dice: &mut Dice) -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        let registry = Registry::create(&path, clock()).unwrap();
        let mut issued = Vec::new();
        let mut held = Vec::new();
        for at in 0..100 {
            issued.push(make_change(&registry, at, &mut held, dice).unwrap());
        }
        registry.back_up(&directory.path().join("backup.db")).unwrap();
        drop(registry);
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        let mut command = Serving::command(&path, &[]);
        command.env("TMPDIR", directory.path()).stderr(log);
        let serving = Serving::of(&mut command).unwrap();
        Load {
            directory,
            start_kb: memory_kb(serving.child.id()),
            address: serving.address.clone(),
            serving: Mutex::new(serving),
            began: Instant::now(),
            is_over: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            counts: Mutex::default(),
            issued: Mutex::new(issued),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("accession.db")
    }

    /// The fraction of the run that is over, from 0 to 1.
    fn progress(&self) -> f64 {
        if is_long() {
            self.began.elapsed().as_secs_f64() / LONG.as_secs_f64()
        } else {
            self.asked.load(Ordering::Relaxed) as f64 / (READERS * SHORT) as f64
        }
    }

    fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    fn get(&self, path: &str, accept: &str) -> Got {
        let mut stream = self.connect();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n");
        write!(stream, "{head}connection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        if stream.read_to_end(&mut response).is_err() {
            return Got::BrokenOff;
        }
        whole(&response).unwrap_or(Got::BrokenOff)
    }

    /// Makes changes until the end. Opens the registry again after it was replaced.
    fn write(&self, mut dice: Dice) {
        let mut registry = Registry::open(self.path(), clock()).unwrap();
        let mut held: Vec<String> = Vec::new();
        let mut at = 1_000;
        while !self.is_over.load(Ordering::Acquire) {
            let mut issued = self.issued.lock().unwrap();
            at += 1;
            match make_change(&registry, at, &mut held, &mut dice) {
                Ok(made) => {
                    issued.push(made);
                    drop(issued);
                    self.count("changes");
                    // The lock is not fair: a thread that locks it again at once blocks the readers for
                    // minutes.
                    std::thread::sleep(Duration::from_micros(500));
                }
                Err(error) => {
                    assert_eq!(error.kind().as_str(), "replaced", "{error}");
                    registry = Registry::open(self.path(), clock()).unwrap();
                    held.clear();
                }
            }
        }
    }

    /// Requests sets, their periods and the page of the dataset, and checks each response.
    fn read(&self, mut dice: Dice) {
        while self.progress() < 1.0 {
            let (identifier, at) = {
                let issued = self.issued.lock().unwrap();
                issued[dice.within(0..issued.len())].clone()
            };
            self.asked.fetch_add(1, Ordering::Relaxed);
            let list = self.get(&format!("/DI:{identifier}/granules"), "text/plain");
            if let Some(list) = self.checked(list, &identifier) {
                assert_eq!(naive(list.lines()).to_string(), identifier);
                self.count("lists");
            }
            let places = self.get(&format!("/DI:{identifier}"), "application/json");
            if let Some(places) = self.checked(places, &identifier) {
                let places: Value = serde_json::from_str(&places).unwrap();
                let mut intervals = places["intervals"].as_array().unwrap().iter();
                let at = second(at).to_string();
                // The set may be one of the replaced registry, and be held again since.
                let is_there = intervals.any(|interval| interval["from"] == at.as_str());
                assert!(is_there || !self.knows(&identifier, &at), "{identifier} from {at}");
                self.count("places");
            }
            if let Some(page) = self.checked(self.get("/datasets/A/", "text/html"), "") {
                assert!(page.contains("/DI:") && page.ends_with("</html>"), "{page}");
                self.count("pages");
            }
        }
    }

    fn knows(&self, identifier: &str, at: &str) -> bool {
        let issued = self.issued.lock().unwrap();
        issued
            .iter()
            .any(|(one, second_of)| one == identifier && second(*second_of).to_string() == at)
    }

    /// The body of a successful response. `None` means an announced error: the set was lost by the restore, or
    /// there is an outage.
    fn checked(&self, got: Got, identifier: &str) -> Option<String> {
        match got {
            Got::Response(200, body) => return Some(body),
            Got::Response(404, body) => {
                let issued = self.issued.lock().unwrap();
                let is_known = issued.iter().any(|(one, _)| one == identifier);
                assert!(!is_known && !identifier.is_empty(), "404 for {identifier}: {body}");
                self.count("lost by the restore");
            }
            Got::Response(503, body) => {
                let problem: Value = serde_json::from_str(&body).unwrap_or_default();
                println!("503: {}", problem["kind"]);
                self.count("outages");
            }
            Got::Response(status, body) => panic!("{status} for {identifier}: {body}"),
            Got::BrokenOff => self.count("lists that broke off"),
        }
        None
    }

    /// Disconnects at any moment: before a whole request was sent, or a whole response was read.
    fn break_off(&self, mut dice: Dice) {
        while self.progress() < 1.0 {
            let identifier = {
                let issued = self.issued.lock().unwrap();
                issued[dice.within(0..issued.len())].0.clone()
            };
            let request = format!("GET /DI:{identifier}/granules HTTP/1.1\r\nhost: x\r\n\r\n");
            let sent = if dice.once_in(3) { dice.within(0..request.len()) } else { request.len() };
            let mut stream = self.connect();
            let _ = stream.write_all(&request.as_bytes()[..sent]);
            if sent == request.len() {
                let mut some = vec![0; dice.within(1..2_000)];
                let _ = stream.read(&mut some);
            }
            drop(stream);
            self.count("clients that broke off");
        }
    }

    /// Replaces the registry by its backup halfway.
    fn restore(&self) {
        while self.progress() < 0.5 {
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut issued = self.issued.lock().unwrap();
        accession::Registry::restore(
            &self.directory.path().join("backup.db"),
            &self.path(),
            clock(),
            &accession::Watcher::new(),
        )
        .unwrap();
        issued.truncate(100);
        self.count("restores");
    }

    /// The present memory of the server, in kB.
    fn memory_kb(&self) -> u64 {
        memory_kb(self.serving.lock().unwrap().child.id())
    }
}

/// The memory of a process, in kB.
fn memory_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Ingests a granule, and deletes one if there are many. Returns the identifier and the second.
fn make_change(
    registry: &Registry,
    at: i64,
    held: &mut Vec<String>,
    dice: &mut Dice,
) -> accession::Result<(String, i64)> {
    let granule_id = format!("{:04}-{at}", dice.within(0..10_000));
    let deleted = (held.len() >= HELD).then(|| held.swap_remove(dice.within(0..held.len())));
    let made = change([granule_id.as_str()], deleted.as_deref());
    let applied = registry
        .with_clock(Clock::fixed("2026-01-01T00:00:00Z".parse().unwrap()))
        .change(&name("A"), &made.at(second(at)))?;
    held.push(granule_id);
    Ok((applied.instances[0].identifier.to_string(), at))
}

/// The response, if it is complete: it has its whole length, or its last chunk is empty.
fn whole(response: &[u8]) -> Option<Got> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&response[..end]).ok()?.to_lowercase();
    let mut rest = &response[end + 4..];
    let status = head.get(9..12)?.parse().ok()?;
    let mut body = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let line = rest.windows(2).position(|window| window == b"\r\n")?;
            let bytes = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
            if bytes == 0 {
                break;
            }
            body.extend_from_slice(rest.get(line + 2..line + 2 + bytes)?);
            rest = rest.get(line + 4 + bytes..)?;
        }
    } else {
        let length = head.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
        body.extend_from_slice(rest.get(..length)?);
    }
    Some(Got::Response(status, String::from_utf8(body).ok()?))
}

#[test]
fn under_load_every_set_is_right_and_every_error_announced() {
    let mut dice = dice("serve");
    let load = Load::new(&mut dice);
    let load = &load;
    std::thread::scope(|scope| {
        let (writer, mut dice) = (dice.split(), dice);
        scope.spawn(move || load.write(writer));
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                let dice = dice.split();
                scope.spawn(move || load.read(dice));
            }
            for _ in 0..BREAKERS {
                let dice = dice.split();
                scope.spawn(move || load.break_off(dice));
            }
            scope.spawn(|| load.restore());
        });
        load.is_over.store(true, Ordering::Release);
    });
    let end = load.memory_kb();
    let counts = load.counts.lock().unwrap();
    let start = load.start_kb;
    println!("{counts:?}, {start} kB at the start, {end} kB at the end");
    for what in ["changes", "lists", "places", "pages", "restores", "clients that broke off"] {
        assert!(counts.contains_key(what), "no {what}: {counts:?}");
    }
    assert!(end <= MEMORY_KB, "{start} kB at the start, {end} kB at the end");
    let child = &mut load.serving.lock().unwrap().child;
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(load.directory.path().join("log")).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}
