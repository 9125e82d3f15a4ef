//! Broken and hostile primaries: what a mirror reads is rejected or resumed, and never wrong.

use std::io::{Read, Write};
use std::time::Duration;

use harness::values::clock;

use accession::dataset::Withdrawn;
use accession::mirror::{MirrorStatus, PrimaryOptions, PullOptions};
use accession::{ErrorKind, IfMissing, Registry};

use harness::exported::enlarge;
use harness::history::{name, step, trust};
use harness::listener::listen;
use harness::primary_at_address::{HEAD, LOG, World, quick};
use harness::pulls::FOLLOW;

/// The offsets in a file of the primary: all with `TRUST`, else every seventh.
fn positions_of(world: &World, path: &str) -> impl Iterator<Item = usize> + use<> {
    (0..world.file(path).len()).step_by(if trust() > 1 { 1 } else { 7 })
}

#[test]
fn a_connection_that_is_cut_anywhere_is_resumed() {
    let world = World::small();
    let mut positions = 0;
    for path in [HEAD, LOG] {
        for cut in positions_of(&world, path) {
            let mut is_first = true;
            world.server.misbehave(move |request, reply| {
                if request.path == path && std::mem::take(&mut is_first) {
                    reply.cut = Some(cut);
                }
            });
            let (compared, missing) = world.compare().unwrap();
            assert_eq!(compared.status, MirrorStatus::Behind, "{path} {cut}");
            assert!(missing.iter().eq(["B", "C", "D"]), "{path} {cut}: {missing:?}");
            positions += 1;
        }
    }
    println!("{positions} positions were cut");
    assert!(positions >= 150, "{positions}");
}

#[test]
fn every_byte_of_the_head_and_the_log_that_is_another_is_refused_by_name() {
    let world = World::small();
    for path in [HEAD, LOG] {
        for at in positions_of(&world, path) {
            world.server.misbehave(move |request, reply| {
                if request.path == path {
                    reply.body[at] ^= 1;
                }
            });
            let error = world.pull(0, FOLLOW).unwrap_err().to_string();
            assert!(error.contains(path), "{path} {at}: {error}");
            assert_eq!(
                world.mirror.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(),
                0
            );
        }
    }
}

#[test]
fn a_server_that_stalls_or_sends_a_little_for_ever_is_given_up() {
    let give_up = |path: &'static str, is_slow: bool| {
        let world = World::small();
        world.server.misbehave(move |request, reply| {
            if request.path == path {
                // The server is never silent for long, and sends at most 100 bytes a second.
                reply.pieces = is_slow.then_some((1, Duration::from_millis(10)));
                reply.stall = (!is_slow).then_some((100, 2));
            }
        });
        let primary = quick(&world.server.dataset("us"), patient(1));
        let error = world.compare_with(&primary).err().unwrap();
        assert_eq!(error.kind().as_str(), "unreachable", "{error}");
        let message = error.to_string();
        assert!(message.contains(path) && message.contains("too slow") == is_slow, "{message}");
    };
    // In parallel, because each pull makes several attempts.
    std::thread::scope(|scope| {
        for (path, is_slow) in [(HEAD, false), (LOG, false), (HEAD, true), (LOG, true)] {
            scope.spawn(move || give_up(path, is_slow));
        }
    });
}

/// Options that allow a server to send nothing for this long.
fn patient(timeout_seconds: u64) -> PrimaryOptions {
    PrimaryOptions { timeout_seconds: Some(timeout_seconds), ..PrimaryOptions::default() }
}

#[test]
fn a_response_whose_headers_never_end_is_given_up() {
    for (pause, kind) in [(Duration::from_millis(10), "timeout"), (Duration::ZERO, "header")] {
        let site = listen(move |mut stream| {
            let mut piece = &b"HTTP/1.1 200 OK\r\nx: "[..];
            // Until the client disconnects.
            while stream.write_all(piece).is_ok() {
                piece = if pause.is_zero() { &[b'a'; 1_024] } else { b"a" };
                std::thread::sleep(pause);
            }
        });
        let primary = quick(&format!("http://{site}/datasets/us/"), patient(1));
        let mirror = Registry::temporary(clock()).unwrap();
        let options = PullOptions::new().if_missing(IfMissing::Create);
        let error = mirror.pull(&name("mirror"), &primary, options).unwrap_err();
        assert_eq!(error.kind().as_str(), "unreachable", "{error}");
        let message = error.to_string();
        assert!(message.contains(&site) && message.contains(kind), "{message}");
    }
}

#[test]
fn a_body_whose_framing_never_ends_is_given_up() {
    let world = World::small();
    let head = world.file(HEAD);
    let site = listen(move |mut stream| {
        let mut request = [0; 4_096];
        let length = stream.read(&mut request).unwrap_or_default();
        if request[..length].windows(9).any(|it| it == b"head.json") {
            let start = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", head.len());
            let _ = stream.write_all(&[start.as_bytes(), &head].concat());
            return;
        }
        let mut piece = &b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"[..];
        // Sends trailers until the client disconnects.
        while stream.write_all(piece).is_ok() {
            piece = b"x: y\r\n";
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let primary = quick(&format!("http://{site}/datasets/us/"), patient(1));
    let mirror = Registry::temporary(clock()).unwrap();
    let options = PullOptions::new().if_missing(IfMissing::Create);
    let error = mirror.pull(&name("mirror"), &primary, options).unwrap_err();
    assert_eq!(error.kind().as_str(), "unreachable", "{error}");
}

#[test]
fn a_server_that_breaks_after_each_line_and_is_slow_is_given_up() {
    let world = World::new();
    for at in 0..12 {
        let id = format!("granule.{at}");
        step(&world.us, "us", at, [id.as_str()], []);
    }
    world.publish();
    // One line of 200 bytes every 100 ms. Each time more is verified, but that does not count as progress.
    world.server.misbehave(move |request, reply| {
        if request.path == LOG {
            let line = reply.body.iter().position(|byte| *byte == b'\n').unwrap();
            reply.cut = Some(line + 1);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let error = world.compare().err().unwrap();
    assert_eq!(error.kind().as_str(), "unreachable", "{error}");
    assert_eq!(world.server.served().len(), 1 + 5, "the head, and five attempts");
}

#[test]
fn a_server_that_pauses_but_is_fast_enough_is_read() {
    let world = large();
    world.server.misbehave(|_, reply| {
        reply.pieces = Some((1 << 16, Duration::from_millis(2)));
    });
    let primary = quick(&world.server.dataset("us"), patient(1));
    assert_eq!(world.compare_with(&primary).unwrap().1.len(), 9_000);
}

#[test]
fn the_log_of_one_dataset_with_the_head_of_another_is_refused() {
    let world = World::small();
    let other = World::new();
    step(&other.us, "us", 0, ["Z"], []);
    other.publish();
    let log = other.file(LOG);
    world.server.misbehave(move |request, reply| {
        if request.path == LOG {
            reply.body.clone_from(&log);
        }
    });
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert!(error.to_string().contains(LOG), "{error}");
    assert_eq!(world.mirror.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 0);
}

#[test]
fn what_is_shorter_than_announced_and_what_is_missing_is_an_error() {
    let world = World::small();
    world.server.misbehave(|request, reply| {
        if request.path == LOG && reply.status == 200 {
            reply.body.truncate(500);
        } else if request.path == LOG {
            (reply.status, reply.body) = (416, Vec::new());
        }
    });
    let error = world.compare().err().unwrap();
    assert!(matches!(error.kind().as_str(), "unreachable" | "response"), "{error}");
    assert!(error.to_string().contains(LOG), "{error}");
    // An address without a head is not the address of a dataset.
    for (path, kind) in [(HEAD, "address"), (LOG, "response")] {
        world.server.misbehave(move |request, reply| {
            if request.path == path {
                (reply.status, reply.body) = (404, Vec::new());
            }
        });
        let error = world.compare().err().unwrap();
        assert_eq!(error.kind().as_str(), kind);
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn redirects_stay_within_the_origin() {
    let world = World::small();
    world.server.misbehave(|request, reply| {
        if request.path == HEAD && !request.headers.contains_key("x") {
            reply.status = 302;
            let location = "http://127.0.0.2:1/datasets/us/head.json".to_owned();
            reply.headers.push(("Location".to_owned(), location));
        }
    });
    let error = world.compare().err().unwrap().to_string();
    assert!(error.contains("redirects to http://127.0.0.2:1/"), "{error}");
    let mut is_first = true;
    world.server.misbehave(move |request, reply| {
        if request.path == HEAD && std::mem::take(&mut is_first) {
            reply.status = 307;
            reply.headers.push(("Location".to_owned(), "/datasets/us/head.json".to_owned()));
        }
    });
    assert_eq!(world.compare().unwrap().0.status, MirrorStatus::Behind);
    world.server.misbehave(|request, reply| {
        reply.status = 308;
        reply.headers.push(("Location".to_owned(), format!("/{}", request.path)));
    });
    assert!(world.compare().err().unwrap().to_string().contains("more than 5 times"));
}

#[test]
fn the_limit_of_age_is_kept() {
    let world = World::small();
    let age = |text: &'static str| {
        world.server.misbehave(move |_, reply| {
            reply.headers.push(("Last-Modified".to_owned(), text.to_owned()));
        });
        let options = PrimaryOptions { max_age_seconds: Some(3_600), ..PrimaryOptions::default() };
        world.compare_with(&quick(&world.server.dataset("us"), options)).map(drop)
    };
    assert_eq!(age("Sun, 06 Nov 1994 08:49:37 GMT").unwrap_err().kind().as_str(), "too-old");
    assert_eq!(age("yesterday").unwrap_err().kind().as_str(), "response");
    age("Fri, 31 Dec 9999 23:59:59 GMT").unwrap();
}

/// A log with one complete segment, which therefore exists in compressed form.
fn large() -> World {
    let world = World::new();
    (0..9).for_each(|at| enlarge(&world.us, "us", at, 1_000));
    world.publish();
    world
}

#[test]
fn a_complete_segment_is_read_compressed_and_a_bomb_in_its_place_does_no_harm() {
    let world = large();
    let zipped = "datasets/us/log/000000.jsonl.gz";
    world.server.served();
    assert_eq!(world.compare().unwrap().1.len(), 9_000);
    let served = world.server.served();
    assert!(served.iter().any(|(request, _)| request.path == zipped));
    assert!(!served.iter().any(|(request, _)| request.path == LOG));

    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b'0'; 1 << 20];
    (0..200).for_each(|_| std::io::Write::write_all(&mut bomb, &zeros).unwrap());
    let bomb = bomb.finish().unwrap();
    world.server.misbehave(move |request, reply| {
        if request.path == zipped {
            reply.body.clone_from(&bomb);
        }
    });
    assert_eq!(world.compare().unwrap().1.len(), 9_000);

    // If the compressed form is damaged or missing, the plain form is read.
    for status in [200, 404] {
        world.server.misbehave(move |request, reply| {
            if request.path == zipped {
                (reply.status, reply.body) = (status, b"not compressed".to_vec());
            }
        });
        assert_eq!(world.compare().unwrap().1.len(), 9_000);
    }
    // If the compressed form is cut off, reading continues in the plain form.
    world.server.misbehave(move |request, reply| {
        if request.path == zipped {
            reply.cut = Some(reply.body.len() / 2);
        }
    });
    assert_eq!(world.compare().unwrap().1.len(), 9_000);
}

#[test]
fn a_plain_segment_is_read_if_its_compressed_form_has_different_content() {
    let world = large();
    let other = World::new();
    (0..9).for_each(|at| enlarge(&other.us, "us", at, 1_001));
    other.publish();
    let (zipped, gz) = ("datasets/us/log/000000.jsonl.gz", "log/000000.jsonl.gz");
    let (whole, of_other, plain) = (world.file(zipped), other.file(zipped), other.file(LOG));
    // Compressed by another program, whose header does not name the segment.
    let mut compressed =
        flate2::read::GzEncoder::new(plain.as_slice(), flate2::Compression::fast());
    let mut by_others = Vec::new();
    std::io::Read::read_to_end(&mut compressed, &mut by_others).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for body in [of_other, by_others, damaged] {
        world.server.misbehave(move |request, reply| {
            if request.path.ends_with(gz) {
                reply.body.clone_from(&body);
            }
        });
        world.server.served();
        assert_eq!(world.compare().unwrap().1.len(), 9_000);
        let served = world.server.served();
        assert!(served.iter().any(|(request, _)| request.path == zipped));
        assert!(served.iter().any(|(request, _)| request.path == LOG));
    }
}

#[test]
fn the_root_of_a_site_names_its_datasets() {
    let world = World::small();
    let root = world.server.dataset("").replace("datasets//", "");
    let error = || world.compare_with(&quick(&root, PrimaryOptions::default())).err().unwrap();
    let refused = error();
    // A later attempt would not help.
    assert_eq!(refused.kind(), ErrorKind::Address);
    let expected = "head.json: the file does not exist: no dataset is published at this address";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    world.server.misbehave(|request, reply| {
        if request.path.is_empty() {
            let page =
                "<a href=\"datasets/us/\">us</a> <a href='/datasets/eu.1?x'>eu</a> datasets/";
            (reply.status, reply.body) = (200, page.into());
        }
    });
    let refused = error();
    assert_eq!(refused.kind(), ErrorKind::Address);
    let expected = format!(
        "{root}: this is a site with us, eu.1; name the address of one, such as {root}datasets/us/"
    );
    assert_eq!(refused.to_string(), expected);
    let refused =
        world.compare_with(&quick(&format!("{root}datasets/NO/"), PrimaryOptions::default()));
    let expected = format!(
        "{root}datasets/NO/: the site has no such dataset: it has us, eu.1; name the address of one, such as {root}datasets/us/"
    );
    assert_eq!(refused.err().unwrap().to_string(), expected);
}

#[test]
fn the_root_of_a_site_with_one_dataset_is_that_dataset() {
    let world = World::small();
    let dataset = world.server.dataset("");
    let root = dataset.replace("datasets//", "");
    let links = ["<a href=\"datasets/us/\">us</a>", "<a href=\"datasets/eu/\">eu</a>"];
    let show = |page: String| {
        world.server.misbehave(move |request, reply| {
            if request.path.is_empty() {
                (reply.status, reply.body) = (200, page.clone().into());
            }
        });
    };
    show(links[0].to_owned());
    let of_root = || quick(&root, PrimaryOptions::default());
    assert!(world.compare_with(&of_root()).is_ok());
    // With several datasets, one must be named.
    show(links.concat());
    assert!(world.compare_with(&of_root()).is_err());
    let options =
        PrimaryOptions { primary_dataset: "us".parse().ok(), ..PrimaryOptions::default() };
    assert!(world.compare_with(&quick(&root, options)).is_ok());
}
