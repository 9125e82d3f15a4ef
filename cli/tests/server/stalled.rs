//! Clients that stall, hang up, or search for something missing. No test asserts a duration: each waits for an
//! end that must come, or for one that comes before another.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::sockets::{Server, read_to_its_end};

/// Whether the server finally responds to a request. On a busy machine it may respond with 503 first.
fn is_answered(server: &Server, path: &str) -> bool {
    let mut responses = (0..20).map(|_| server.get(path));
    let last = responses.find(|response| !response.starts_with("HTTP/1.1 503"));
    last.is_some_and(|response| response.starts_with("HTTP/1.1 200"))
}

/// Requests beyond the limit wait until others end. A health probe does not wait.
#[test]
fn a_request_beyond_the_limit_waits_until_a_connection_ends_and_a_probe_does_not() {
    let server = Server::start(200_000, &["--max-connections", "2"]);
    let list = server.list();
    let mut stalled: Vec<TcpStream> = (0..2).map(|_| server.ask(&list, "")).collect();
    for stream in &mut stalled {
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    let waiting: Vec<TcpStream> =
        (0..3).map(|_| server.ask("/style.css", "connection: close\r\n")).collect();
    for probe in ["/healthz", "/metrics"] {
        assert!(server.get(probe).starts_with("HTTP/1.1 200"), "{probe}");
    }
    waiting[0].set_nonblocking(true).unwrap();
    assert_eq!((&waiting[0]).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    waiting[0].set_nonblocking(false).unwrap();
    drop(stalled);
    for stream in waiting {
        assert!(read_to_its_end(stream).starts_with(b"HTTP/1.1 200"));
    }
}

/// A client that sends its body slowly gets 408, and one whose body breaks off 400.
#[test]
fn a_body_that_is_late_or_broken_is_said_to_be_so() {
    let server = Server::start(1, &[]);
    let post = |body: &str| {
        let mut stream = server.connect();
        let head = "POST /check HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\n";
        write!(stream, "{head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n{body}")
            .unwrap();
        stream
    };
    let slow = post("3\r\nDI:\r\n");
    let broken = String::from_utf8(read_to_its_end(post("3\r\nDI:\r\nzz\r\n"))).unwrap();
    assert!(broken.starts_with("HTTP/1.1 400") && broken.contains("not complete"), "{broken}");
    let long = format!("{:x}\r\n{}\r\n0\r\n\r\n", 300_000, "x".repeat(300_000));
    let long = String::from_utf8_lossy(&read_to_its_end(post(&long))).into_owned();
    // The connection is closed before everything was read. The client may then get no response.
    assert!(long.is_empty() || long.starts_with("HTTP/1.1 413"), "{long}");
    assert!(String::from_utf8(read_to_its_end(slow)).unwrap().starts_with("HTTP/1.1 408"));
}

#[test]
fn readers_of_a_log_that_stall_take_little_memory() {
    let server = Server::start(100_000, &[]);
    assert!(is_answered(&server, "/datasets/D/head.json"));
    let segment = "/datasets/D/log/000000.jsonl";
    let whole = server.get_with(segment, "");
    assert!(whole.len() > 4_000_000, "{} bytes", whole.len());
    let idle = server.memory_kb("VmRSS");
    let mut readers: Vec<TcpStream> =
        (0..100).map(|_| server.ask(segment, "connection: close\r\n")).collect();
    for reader in &mut readers {
        reader.read_exact(&mut [0; 100]).unwrap();
    }
    let peak = server.memory_kb("VmHWM");
    assert!(peak < idle + 48 * 1_024, "{idle} kB when idle, {peak} kB at most");
    // The responses that the clients read later are complete. The dates in the headers may differ.
    let rest = read_to_its_end(readers.swap_remove(0));
    let body = |response: &[u8]| response[response.len() - 4_000_000..].to_vec();
    assert!(body(&rest) == body(&whole), "{} bytes of {}", rest.len(), whole.len());
}

/// Ids have the maximum length, and the client requests compression.
#[test]
fn lists_that_nobody_reads_take_little_memory() {
    let server = Server::start_with(20_000, &"x".repeat(900), &[]);
    let list = server.list();
    let idle = server.memory_kb("VmRSS");
    let mut readers: Vec<TcpStream> = (0..400)
        .map(|_| {
            server.ask(
                &list,
                "accept-encoding: gzip
",
            )
        })
        .collect();
    for reader in &mut readers {
        reader.read_exact(&mut [0; 100]).unwrap();
    }
    let peak = server.memory_kb("VmHWM");
    println!("{idle} kB when idle, {peak} kB at most");
    assert!(peak < idle + 120 * 1_024, "{idle} kB when idle, {peak} kB at most");
}

#[test]
fn work_of_clients_that_hung_up_ends_with_them() {
    let server = Server::start(300_000, &[]);
    let search = |number| format!("/DI:{}/granules?select=nothing{number}*", server.identifier);
    assert!(is_answered(&server, &search(100)));
    let once = server.ticks();
    assert!(is_answered(&server, &search(101)));
    let cost = server.ticks() - once;
    let before = server.ticks();
    for number in 0..60 {
        let stream = server.ask(&search(number), "");
        // The work has begun by then.
        std::thread::sleep(Duration::from_millis(10));
        drop(stream);
    }
    // The next request gets a permit, since the permits of the others are released.
    assert!(is_answered(&server, &search(102)));
    // Work that continues after its client is gone counts as well.
    let mut spent = server.ticks();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        if server.ticks() < spent + 10 {
            break;
        }
        spent = server.ticks();
    }
    let spent = spent - before;
    println!("{spent} ticks for 60 that hung up and one that did not, which costs {cost}");
    assert!(spent < 20 * cost, "{spent} ticks for 60 that hung up and one that did not: {cost}");
}

/// Work holds permits, and connections do not.
#[test]
fn pages_and_monitoring_do_not_wait_for_work_that_others_have_asked_for() {
    let server = Server::start(100_000, &[]);
    let patterns: String = (0..19).map(|n| format!("&select=*0*2*.*h*zz{n}")).collect();
    let search = |n| format!("/DI:{}/granules?select=*zz{n}{patterns}", server.identifier);
    let searches: Vec<TcpStream> = (0..240).map(|n| server.ask(&search(n), "")).collect();
    for path in ["/healthz", "/", "/datasets/D/"] {
        assert!(server.get(path).starts_with("HTTP/1.1 200"), "{path}");
    }
    let is_waiting = |mut search: &TcpStream| {
        search.set_nonblocking(true).unwrap();
        search.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert!(searches.iter().any(is_waiting), "all searches were answered before the pages");
}
