//! Connections over real sockets to the program as users run it. No test asserts a duration: each waits for an
//! end that must come.

use harness::values::clock;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use accession::Registry;
use rustix::process::{Pid, Signal, kill_process};

use crate::running::serving::Serving;
use harness::values::step;

/// Serves a registry on any free port.
pub fn serve(registry: &Path, options: &[&str]) -> Serving {
    Serving::of(&mut Serving::command(registry, options)).unwrap()
}

/// The program serving a registry with one dataset of many granules.
pub struct Server {
    serving: Serving,
    directory: tempfile::TempDir,
    pub identifier: String,
}

impl Server {
    pub fn start(granules: usize, options: &[&str]) -> Self {
        Server::start_with(granules, "a-granule-with-a-name-of-usual-length-", options)
    }

    /// The same, with another prefix of the ids.
    pub fn start_with(granules: usize, beginning: &str, options: &[&str]) -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        let registry = Registry::create(&path, clock()).unwrap();
        let ids: Vec<String> = (0..granules).map(|n| format!("{beginning}{n:08}")).collect();
        let applied = step(&registry, "D", 0, ids.iter().map(String::as_str), []);
        let identifier = applied.instances[0].identifier.to_string();
        drop(registry);
        Server { serving: serve(&path, options), directory, identifier }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.serving.address).unwrap()
    }

    /// A whole response on a new connection.
    pub fn get(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.get_with(path, "")).into_owned()
    }

    /// All data from a new connection until its end, for a request with these headers.
    pub fn get_with(&self, path: &str, headers: &str) -> Vec<u8> {
        read_to_its_end(self.ask(path, &format!("{headers}connection: close\r\n")))
    }

    /// A connection on which a request was sent.
    pub fn ask(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n").unwrap();
        stream
    }

    /// The address of the list of all granules.
    pub fn list(&self) -> String {
        format!("/DI:{}/granules", self.identifier)
    }

    /// A connection that has received the beginning of the list.
    fn begun(&self) -> TcpStream {
        let mut reader = self.ask(&self.list(), "");
        reader.read_exact(&mut [0; 100]).unwrap();
        reader
    }

    /// Changes the registry directly in its file.
    pub fn damage(&self, sql: &str) {
        let path = self.directory.path().join("accession.db");
        assert!(rusqlite::Connection::open(path).unwrap().execute(sql, []).unwrap() > 0);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.serving.child), signal).unwrap();
    }

    /// The processor time of the process so far, in ticks of the system.
    pub fn ticks(&self) -> u64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.serving.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// The present memory of the process, in kB.
    pub fn memory_kb(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.serving.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// Reads until the other side closes the connection.
pub fn read_to_its_end(mut stream: TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    // A reset is also an end.
    let _ = stream.read_to_end(&mut read);
    read
}

#[test]
fn a_connection_that_sends_nothing_or_half_a_head_is_closed() {
    let server = Server::start(1, &[]);
    let idle = server.connect();
    let mut half = server.connect();
    half.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-more: ").unwrap();
    let mut kept = server.connect();
    kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    // The server ends all three without further data from this side, the kept-alive one after its response.
    let ends: Vec<Vec<u8>> = [idle, half, kept].into_iter().map(read_to_its_end).collect();
    assert!(ends[0].is_empty());
    assert!(!String::from_utf8_lossy(&ends[1]).contains("200 OK"));
    assert!(String::from_utf8_lossy(&ends[2]).contains("200 OK"));
}

#[test]
fn a_full_set_of_idle_connections_does_not_keep_others_out_for_ever() {
    let server = Server::start(1, &["--max-connections", "4"]);
    let idle: Vec<TcpStream> = (0..8).map(|_| server.connect()).collect();
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
    drop(idle);
}

#[test]
fn a_connection_is_kept_for_several_requests() {
    let server = Server::start(1, &[]);
    let mut stream = server.connect();
    let request = "GET /healthz HTTP/1.1\r\nhost: x\r\n";
    write!(stream, "{request}\r\n{request}\r\n{request}connection: close\r\n\r\n").unwrap();
    let read = String::from_utf8(read_to_its_end(stream)).unwrap();
    assert_eq!(read.matches("HTTP/1.1 200 OK").count(), 3, "{read}");
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Server::start(1, &[]);
    let mut stream = server.connect();
    let _ = write!(stream, "GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(100_000));
    let read = String::from_utf8_lossy(&read_to_its_end(stream)).into_owned();
    assert!(read.is_empty() || read.starts_with("HTTP/1.1 431"), "{read}");
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    let server = Server::start(50_000, &[]);
    (0..40).for_each(|_| drop(server.begun()));
    let whole = server.get(&server.list());
    assert_eq!(whole.matches("a-granule").count(), 50_000);
    // Connections end on other threads, so the last ones may still be counted.
    let open = || {
        let metrics = server.get("/metrics");
        let line = metrics
            .lines()
            .find(|line| line.starts_with("accession_connections "))
            .unwrap()
            .to_owned();
        line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()
    };
    while open() > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn slow_readers_of_a_long_list_hold_no_transaction_and_little_memory() {
    let server = Server::start(200_000, &[]);
    assert_eq!(server.get(&server.list()).matches("a-granule").count(), 200_000);
    let idle = server.memory_kb("VmRSS");
    let ask = |_| server.ask(&server.list(), "connection: close\r\n");
    let mut readers: Vec<TcpStream> = (0..100).map(ask).collect();
    // Each has read the beginning, so responses to all of them are in progress.
    readers.iter_mut().for_each(|reader| reader.read_exact(&mut [0; 100]).unwrap());
    // Another process truncates the write-ahead log, which is impossible while a transaction is open.
    let path = server.directory.path().join("accession.db");
    let writer = rusqlite::Connection::open(path).unwrap();
    writer.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    let busy: i64 =
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0, "a slow reader holds a transaction");
    let peak = server.memory_kb("VmHWM");
    assert!(peak < idle + 64 * 1_024, "{idle} kB when idle, {peak} kB at most");
    // The remaining data is complete.
    let rest = read_to_its_end(readers.swap_remove(0));
    assert_eq!(String::from_utf8_lossy(&rest).matches("-00199999\n").count(), 1);
}

#[test]
fn a_server_that_is_asked_to_stop_lets_a_response_end_and_exits_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(20_000, &[]);
        let reader = server.begun();
        let _idle = server.connect();
        server.signal(signal);
        let rest = read_to_its_end(reader);
        assert_eq!(String::from_utf8_lossy(&rest).matches("-00019999\n").count(), 1);
        assert_eq!(server.serving.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_client_that_never_reads_does_not_keep_a_server_from_stopping() {
    let mut server = Server::start(200_000, &[]);
    let _reader = server.begun();
    server.signal(Signal::TERM);
    assert_eq!(server.serving.child.wait().unwrap().code(), Some(0));
}

/// HTTP/1.0 has no chunks, so an incomplete list would look complete.
#[test]
fn no_list_is_streamed_over_http_1_0() {
    let server = Server::start(10_000, &[]);
    let ask = |query: &str| {
        let mut stream = server.connect();
        write!(stream, "GET {}{query} HTTP/1.0\r\nhost: x\r\n\r\n", server.list()).unwrap();
        String::from_utf8(read_to_its_end(stream)).unwrap()
    };
    for (query, status) in [
        ("", "505"),
        ("?select=*", "505"),
        ("?format=jsonl", "505"),
        ("?limit=5", "200"),
        ("?limit=9000", "200"),
        ("?after=a&format=jsonl", "200"),
    ] {
        let response = ask(query);
        assert_eq!(&response[9..12], status, "{query}: {response}");
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{query}: {head}");
    }
}

#[test]
fn a_stream_that_breaks_off_has_no_last_chunk() {
    let server = Server::start(10_000, &[]);
    let list = server.list();
    let whole = server.get_with(&list, "");
    assert!(whole.ends_with(b"\r\n0\r\n\r\n"));
    server.damage("DELETE FROM granule WHERE granule_id LIKE '%-00009999'");
    let cut = server.get_with(&list, "");
    assert!(cut.starts_with(b"HTTP/1.1 200") && cut.len() > whole.len() / 2, "it was begun");
    assert!(!cut.ends_with(b"0\r\n\r\n"));
}

#[test]
fn a_server_that_registers_starts_while_another_process_writes() {
    let server = Server::start(1, &[]);
    let path = server.directory.path().join("accession.db");
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let registering = serve(&path, &["--register"]);
    assert!(TcpStream::connect(&registering.address).is_ok());
}

#[test]
fn a_request_that_names_no_host_or_several_is_refused() {
    let server = Server::start(1, &[]);
    for (version, hosts, status) in [
        ("1.1", "host: x\r\n", "200"),
        ("1.1", "", "400"),
        ("1.1", "host: x\r\nhost: y\r\n", "400"),
        ("1.0", "", "200"),
        ("1.0", "host: x\r\nhost: x\r\n", "400"),
    ] {
        let mut stream = server.connect();
        write!(stream, "GET /healthz HTTP/{version}\r\n{hosts}connection: close\r\n\r\n").unwrap();
        let response = String::from_utf8(read_to_its_end(stream)).unwrap();
        assert_eq!(&response[9..12], status, "{version} {hosts:?}: {response}");
    }
}
