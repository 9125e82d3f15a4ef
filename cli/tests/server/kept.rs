//! Responses after other processes have changed the registry.

use hyper::Method;

use crate::running::program::program;
use crate::site::{Answer, SECOND, Served};
use harness::writes::{SHOWN, WRITES};

fn described(answer: &Answer) -> (u16, String, String, Vec<u8>) {
    let header = |name| answer.header(name).to_owned();
    (answer.status, header("etag"), header("location"), answer.body.clone())
}

#[test]
fn every_kind_of_write_of_another_process_shows_in_the_next_response() {
    let served = Served::new();
    let path = served.directory.path().join("accession.db");
    let ask_all = |served: &Served| -> Vec<_> {
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        let ask = |path| [served.get_as(path, browser), served.get_as(path, "*/*")];
        SHOWN.into_iter().flat_map(ask).map(|answer| described(&answer)).collect()
    };
    let mut before = ask_all(&served);
    for write in &WRITES {
        let mut command = std::process::Command::new(program());
        command.arg("--registry").arg(&path);
        write.make(command);
        let after = ask_all(&served);
        // A new router sends the same, with the same ETags: they are made of the bytes.
        assert!(after == ask_all(&served.again()), "{:?}", write.arguments);
        assert!(!write.is_shown || after != before, "{:?}", write.arguments);
        before = after;
    }
}

#[test]
fn a_whole_list_has_a_length_and_ranges_and_is_the_same_from_disk() {
    let served = Served::seed();
    let path = format!("/DI:{SECOND}/granules");
    let whole = served.get(&path);
    assert_eq!(whole.header("content-length"), whole.body.len().to_string());
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let tag = whole.header("etag").to_owned();
    assert!(tag.contains(SECOND), "{tag}");
    let ask = |headers: &[(&str, &str)]| served.ask(Method::GET, &path, headers, "");
    for (range, sent) in [("bytes=5-9", 5..10), ("bytes=5-", 5..whole.body.len())] {
        for headers in [vec![("range", range)], vec![("range", range), ("if-range", &*tag)]] {
            let part = ask(&headers);
            let range = format!("bytes {}-{}/{}", sent.start, sent.end - 1, whole.body.len());
            assert_eq!((part.status, part.header("content-range")), (206, &*range));
            assert_eq!(part.body, whole.body[sent.clone()]);
            assert_eq!(part.header("content-length"), part.body.len().to_string());
        }
    }
    // A change leaves the files of lists.
    served.change("US.FOOL2.002", "2001-04-01T00:00:00Z", &["NEW"], &[]);
    let again = ask(&[]);
    assert_eq!((again.header("etag"), &again.body), (&*tag, &whole.body));
    let packed = ask(&[("accept-encoding", "gzip")]);
    assert_ne!(packed.header("etag"), tag);
    let mut content = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&packed.body[..]);
    std::io::Read::read_to_end(&mut decoder, &mut content).unwrap();
    assert_eq!(content, whole.body);
}

/// The file of a list does not outlast what makes it public.
#[test]
fn a_list_of_an_identifier_that_is_no_longer_there_is_not_sent() {
    let served = Served::seed();
    let path = format!("/DI:{SECOND}/granules");
    assert_eq!(served.get(&path).status, 200);
    let empty = served.directory.path().join("empty.db");
    drop(accession::Registry::create(&empty).unwrap());
    let registry = served.directory.path().join("accession.db");
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(served.directory.path().join(format!("accession.db{ending}")));
    }
    std::fs::rename(&empty, &registry).unwrap();
    assert_eq!(served.get(&path).status, 404);
}
