//! Responses after other processes have changed the registry.

use crate::running::program::program;
use crate::site::{Answer, SECOND, Served};
use harness::values::clock;
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
        // A new router sends the same responses with the same ETags, since ETags are computed from the bytes.
        assert!(after == ask_all(&served.again()), "{:?}", write.arguments);
        assert!(!write.is_shown || after != before, "{:?}", write.arguments);
        before = after;
    }
}

#[test]
fn a_list_of_an_identifier_that_is_no_longer_there_is_not_sent() {
    let served = Served::seed();
    let path = format!("/DI:{SECOND}/granules");
    assert_eq!(served.get(&path).status, 200);
    let empty = served.directory.path().join("empty.db");
    drop(accession::Registry::create(&empty, clock()).unwrap());
    let registry = served.directory.path().join("accession.db");
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(served.directory.path().join(format!("accession.db{ending}")));
    }
    std::fs::rename(&empty, &registry).unwrap();
    assert_eq!(served.get(&path).status, 404);
}
