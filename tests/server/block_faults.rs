//! A mirror that diverged, whose primary sends faulty blocks or ids: they are refused or read again,
//! and never believed.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use accession::chain::is_checkpoint;
use accession::mirror::{PullPolicy, Status};
use accession::{Identifier, Instance};

use crate::fault_proxy::Reply;
use crate::mirror_world::{RESET, World, held, texts};
use crate::values::name;

/// A primary whose set has four blocks of three ids, and a mirror that differs in two of them.
struct Diverged {
    world: World,
    seconds: i64,
}

/// A block of ids: the last one is followed by a checkpoint.
fn block(number: usize) -> [String; 3] {
    let mut ends = (0..).map(|n| format!("{number}.z{n}")).filter(|id| is_checkpoint(id));
    [format!("{number}.a"), format!("{number}.b"), ends.next().unwrap()]
}

fn blocks() -> Vec<String> {
    (0..4).flat_map(block).collect()
}

impl Diverged {
    fn new() -> Self {
        let world = World::new();
        world.change(0, texts(&blocks()), []);
        assert!(world.pull(0, PullPolicy::Follow).is_identical());
        let mut diverged = Diverged { world, seconds: 0 };
        diverged.diverge();
        diverged
    }

    fn diverge(&mut self) {
        self.seconds += 1;
        self.world.diverge(self.seconds, ["1.c"], ["3.b"]);
    }

    fn latest(&self) -> Instance {
        self.world.mirror.snapshot().unwrap().dataset(&name("MIRROR")).unwrap().latest.unwrap()
    }

    /// The identifier of the primary's set.
    fn identifier(&self) -> Identifier {
        self.world.us.snapshot().unwrap().dataset(&name("US")).unwrap().latest.unwrap().identifier
    }

    /// Pulls with a reset. If this is refused, nothing has changed, and the error names the address
    /// of a list; returns it. Otherwise the mirror holds what the primary does, and diverges again.
    fn pull(&mut self, what: &str) -> Option<String> {
        self.pull_within(Duration::from_secs(30), what)
    }

    fn pull_within(&mut self, timeout: Duration, what: &str) -> Option<String> {
        let before = self.latest();
        self.seconds += 1;
        let primary = self.world.primary_within(timeout);
        match self.world.try_pull(&primary, self.seconds, RESET) {
            Err(error) => {
                assert_eq!(self.latest(), before, "{what}");
                Some(error.to_string())
            }
            Ok(pulled) => {
                let applied = pulled.applied.unwrap().instance.unwrap();
                assert_eq!((applied.ingested, applied.deleted), (1, 1), "{what}");
                assert_eq!(applied.identifier, self.identifier(), "{what}");
                let here = held(&self.world.mirror, "MIRROR");
                assert!(here.iter().eq(&blocks()), "{what}: {here:?}");
                self.diverge();
                None
            }
        }
    }

    /// The responses with lists that a pull needs.
    fn lists(&mut self) -> Vec<(String, Vec<u8>)> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.world.proxy.misbehave(move |reply| {
            if reply.path.contains("/DI:") {
                sender.send((reply.path.clone(), reply.bytes.clone())).unwrap();
            }
        });
        assert_eq!(self.pull("nothing is wrong"), None);
        self.world.proxy.misbehave(|_| {});
        let lists: Vec<_> = receiver.iter().collect();
        let paths: Vec<&str> = lists.iter().map(|(path, _)| path.as_str()).collect();
        assert!(paths.len() == 3 && paths[0].ends_with("/blocks"), "{paths:?}");
        assert!(paths[1..].iter().all(|path| path.contains("/granules?")), "{paths:?}");
        lists
    }

    /// What the server responds without the proxy.
    fn response(address: &str, path: &str) -> Vec<u8> {
        let accept = if path.ends_with("/blocks") { "application/jsonl" } else { "text/plain" };
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        response
    }
}

/// Where the body of a response begins.
fn body_at(response: &[u8]) -> usize {
    Reply { path: String::new(), bytes: response.to_vec(), cut: None, stall: None }.body_at()
}

#[test]
fn every_byte_of_a_list_that_is_another_is_refused_or_does_no_harm() {
    let mut diverged = Diverged::new();
    let (mut refused, mut harmless) = (0, 0);
    for is_compressed in [true, false] {
        if !is_compressed {
            diverged.world.proxy.without_compression();
        }
        for (path, response) in diverged.lists() {
            let head = String::from_utf8_lossy(&response).to_lowercase();
            // Two ids are too short to be compressed.
            let is_expected = is_compressed && path.ends_with("/blocks");
            assert_eq!(head.contains("content-encoding: gzip"), is_expected, "{head}");
            // The head is much the same each time.
            let first = if is_compressed { 0 } else { body_at(&response) };
            for at in first..response.len() {
                let mut altered = response.clone();
                altered[at] ^= 1;
                let asked = path.clone();
                diverged.world.proxy.misbehave(move |reply| {
                    if reply.path == asked {
                        reply.bytes.clone_from(&altered);
                    }
                });
                let what = format!("{path} byte {at}, compressed: {is_compressed}");
                match diverged.pull(&what) {
                    Some(error) => {
                        assert!(error.contains("/DI:"), "{what}: {error}");
                        refused += 1;
                    }
                    None => {
                        // In the body of a list of ids, each byte is one of an id or between two.
                        let is_id = !is_compressed && path.contains("/granules");
                        assert!(!is_id || at < body_at(&response), "{what}");
                        harmless += 1;
                    }
                }
            }
        }
    }
    println!("{refused} altered bytes were refused, {harmless} did no harm");
    assert!(refused >= 500, "{refused}");
}

#[test]
fn a_list_that_is_shorter_or_has_a_line_more_or_less_is_refused() {
    let mut diverged = Diverged::new();
    diverged.world.proxy.without_compression();
    let mut refused = 0;
    for (path, response) in diverged.lists() {
        let body = response[body_at(&response)..].to_vec();
        let content_type = match path.ends_with("/blocks") {
            true => "200 OK\r\ncontent-type: application/jsonl",
            false => "200 OK\r\ncontent-type: text/plain; charset=utf-8",
        };
        let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
        let mut faulty: Vec<Vec<u8>> = (0..body.len()).map(|end| body[..end].to_vec()).collect();
        for at in 0..lines.len() {
            let mut without = lines.clone();
            without.remove(at);
            faulty.push(without.concat());
            if path.ends_with("/blocks") {
                let mut twice = lines.clone();
                twice.insert(at, lines[at]);
                faulty.push(twice.concat());
            }
            let mut swapped = lines.clone();
            swapped.swap(at, (at + 1) % lines.len());
            if swapped != lines {
                faulty.push(swapped.concat());
            }
        }
        for faulty in faulty {
            let what = format!("{path}: {:?}", String::from_utf8_lossy(&faulty));
            let asked = path.clone();
            diverged.world.proxy.misbehave(move |reply| {
                if reply.path == asked {
                    reply.replace(content_type, &faulty);
                }
            });
            let error = diverged.pull(&what).unwrap_or_else(|| panic!("it was believed: {what}"));
            assert!(error.contains("/DI:"), "{what}: {error}");
            refused += 1;
        }
    }
    println!("{refused} lists were refused");
}

#[test]
fn the_blocks_of_another_set_are_refused() {
    let mut diverged = Diverged::new();
    let first = diverged.identifier();
    // Another set with as many granules, a smaller one, and a state of before.
    let world = &diverged.world;
    let mut other = blocks();
    other[4] = "1.b2".to_owned();
    let stamp = |at| accession::Stamp::at(crate::values::second(at), crate::values::now());
    let step = crate::values::change(texts(&other), []);
    world.us.change(&name("OTHER"), &step, &stamp(0)).unwrap();
    let step = crate::values::change(texts(&other[..5]), []);
    world.us.change(&name("SMALL"), &step, &stamp(0)).unwrap();
    world.change(1, ["2.bb"], ["2.b"]);
    world.change(2, ["2.b"], ["2.bb"]);
    let of = |dataset: &str| -> Vec<Identifier> {
        let history = world.us.snapshot().unwrap().history(&name(dataset)).unwrap();
        history.map(|instance| instance.unwrap().identifier).collect()
    };
    let sets = [of("OTHER")[0], of("SMALL")[0], of("US")[1]];
    assert!(!sets.contains(&first));
    let address = world.serving.address.clone();
    for set in sets {
        // The blocks alone, the ids alone, and both: a whole other set.
        for faulty in [&["/blocks"][..], &["/granules"], &["/blocks", "/granules"]] {
            let address = address.clone();
            diverged.world.proxy.misbehave(move |reply| {
                if faulty.iter().any(|list| reply.path.contains(list)) {
                    let path = reply.path.replace(&first.to_string(), &set.to_string());
                    reply.bytes = Diverged::response(&address, &path);
                }
            });
            let what = format!("{set} {faulty:?}");
            let error = match diverged.pull(&what) {
                Some(error) => error,
                // Its ids after the first one of a block can be the right ones.
                None => {
                    assert_eq!(faulty, ["/granules"], "{what}");
                    continue;
                }
            };
            println!("{faulty:?}: {error}");
            let address = format!("http://{}/", diverged.world.proxy.address);
            assert!(error.contains(&address), "{what}: {error}");
        }
    }
}

#[test]
fn a_list_that_stalls_is_given_up_and_read_again() {
    let mut diverged = Diverged::new();
    let timeout = Duration::from_millis(150);
    for (path, response) in diverged.lists() {
        let body = body_at(&response);
        for at in [0, 1, body - 1, body, (body + response.len()) / 2] {
            let asked = path.clone();
            diverged.world.proxy.misbehave(move |reply| {
                reply.stall = (reply.path == asked).then_some((at, Duration::from_secs(1)));
            });
            let what = format!("{path} byte {at} of {}", response.len());
            let error = diverged.pull_within(timeout, &what).unwrap_or_else(|| panic!("{what}"));
            assert!(error.contains("/DI:") && error.contains("timeout"), "{what}: {error}");
            let (asked, mut is_first) = (path.clone(), true);
            diverged.world.proxy.misbehave(move |reply| {
                if reply.path == asked && std::mem::take(&mut is_first) {
                    reply.stall = Some((at, Duration::from_secs(1)));
                }
            });
            assert_eq!(diverged.pull_within(timeout, &what), None, "{what}");
        }
    }
}

#[test]
fn a_bomb_and_a_list_without_an_end_are_refused() {
    let mut diverged = Diverged::new();
    let lists = diverged.lists();
    let zipped = |content: &[u8], times: usize| -> Vec<u8> {
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        (0..times).for_each(|_| zipped.write_all(content).unwrap());
        zipped.finish().unwrap()
    };
    let identifier = Identifier::EMPTY;
    let lines: String = (0..20_000)
        .map(|n| {
            format!("{{\"first\":\"{n:05}\",\"granules\":1,\"identifier\":\"{identifier}\"}}\n")
        })
        .collect();
    let ids: String = (0..100_000).map(|n| format!("0.a{n:06}\n")).collect();
    let bombs = [
        ("zeros", zipped(&[b'0'; 1 << 20], 200)),
        ("empty lines", zipped(&[b'\n'; 1 << 20], 200)),
        ("blocks", zipped(lines.as_bytes(), 1)),
        ("ids", zipped(ids.as_bytes(), 1)),
    ];
    for (path, _) in lists {
        let media_type = match path.ends_with("/blocks") {
            true => "application/jsonl",
            false => "text/plain",
        };
        let head = format!("200 OK\r\ncontent-type: {media_type}\r\ncontent-encoding: gzip");
        for (what, bomb) in &bombs {
            let (asked, head, bomb) = (path.clone(), head.clone(), bomb.clone());
            diverged.world.proxy.misbehave(move |reply| {
                if reply.path == asked {
                    reply.replace(&head, &bomb);
                }
            });
            let error = diverged.pull(what).unwrap_or_else(|| panic!("it was believed: {what}"));
            assert!(error.contains("/DI:"), "{what}: {error}");
        }
    }
}

#[test]
fn lists_elsewhere_are_refused_and_without_lists_the_log_is_read() {
    let mut diverged = Diverged::new();
    let address = diverged.world.proxy.address.clone();
    for (path, _) in diverged.lists() {
        let respond = |diverged: &Diverged, head: String| {
            let asked = path.clone();
            diverged.world.proxy.misbehave(move |reply| {
                if reply.path == asked {
                    reply.replace(&head, b"");
                }
            });
        };
        respond(&diverged, "302 Found\r\nlocation: http://127.0.0.2:1/blocks".to_owned());
        let error = diverged.pull("elsewhere").unwrap();
        assert!(error.contains("redirects to http://127.0.0.2:1/"), "{error}");
        assert!(error.contains(&format!("http://{address}{path}")), "{error}");
        respond(&diverged, format!("308 Permanent Redirect\r\nlocation: {path}"));
        let error = diverged.pull("in a circle").unwrap();
        assert!(error.contains("more than 5 times"), "{error}");
        for head in ["404 Not Found", "410 Gone", "200 OK\r\ncontent-type: text/html"] {
            respond(&diverged, head.to_owned());
            assert_eq!(diverged.pull(head), None);
        }
        for head in ["500 Internal Server Error", "503 Service Unavailable\r\nretry-after: 0"] {
            let (asked, mut left) = (path.clone(), 4);
            diverged.world.proxy.misbehave(move |reply| {
                if reply.path == asked && left > 0 {
                    left -= 1;
                    reply.replace(head, b"");
                }
            });
            assert_eq!(diverged.pull(head), None, "the fifth time it is there");
        }
    }
    let (status, missing, unexpected) = diverged.world.compare();
    assert_eq!(status, Status::Ahead);
    let one = |id: &str| BTreeSet::from([id.to_owned()]);
    assert_eq!((missing, unexpected), (one("3.b"), one("1.c")));
}
