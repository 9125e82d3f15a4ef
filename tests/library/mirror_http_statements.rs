//! A mirror that reads over HTTP what its primary states: from a web server over a published directory.

use accession::mirror::{FollowedStatements, Primary, PullOptions, Status, pull};
use accession::publish::publish_statements;
use accession::signed::{KeyUse, SigningKey};
use accession::{Registry, Stamp};

use harness::exported::publish_all;
use harness::history::{change, name, now, second};
use harness::primary_at_address::{FOLLOW, HEAD, LOG, RESET, World};
use harness::signing::{key, sign};

const CHECKPOINT: &str = "statements/checkpoint";

fn log_key() -> SigningKey {
    key(KeyUse::Log, 7)
}

/// A site that has stated and signed what it has.
fn signed() -> World {
    let world = World::small();
    publish(&world, &world.us, &log_key());
    world
}

fn publish(world: &World, us: &Registry, key: &SigningKey) {
    sign(us, key);
    publish_all(us, world.directory.path()).unwrap();
    publish_statements(us, world.directory.path()).unwrap();
}

fn ingest(us: &Registry, at: i64, granule: &str) {
    us.change(&name("us"), &change([granule], []), &Stamp::at(second(at), now())).unwrap();
}

/// The files that were asked for since.
fn asked(world: &World) -> Vec<String> {
    world.server.served().into_iter().map(|(request, _)| request.path).collect()
}

/// What a pull has read of the statements: their number, and how many keys are believed from now on.
fn pulled(world: &World, at: i64) -> (Status, Option<(u64, usize)>) {
    let pulled = world.pull(at, FOLLOW).unwrap();
    let statements = pulled.before.statements.clone();
    let read = statements.map(|FollowedStatements { size, pinned, .. }| (size, pinned.len()));
    (pulled.before.status, read)
}

#[test]
fn a_first_contact_believes_the_keys_of_the_site_and_each_night_reads_what_is_new() {
    let world = signed();
    assert_eq!(pulled(&world, 0), (Status::Behind, Some((4, 1))));
    let (policy, tile) = ("statements/policy", "statements/tile/entries/000.p/4");
    assert_eq!(asked(&world)[..5], [HEAD, CHECKPOINT, policy, tile, HEAD]);
    // Nothing is new: nothing but the checkpoint and the head is read.
    assert_eq!(pulled(&world, 1), (Status::Identical, Some((4, 0))));
    assert_eq!(asked(&world), [CHECKPOINT, HEAD]);
    ingest(&world.us, 5, "E");
    publish(&world, &world.us, &log_key());
    assert_eq!(pulled(&world, 2), (Status::Behind, Some((6, 0))));
    assert_eq!(asked(&world)[..4], [CHECKPOINT, "statements/tile/entries/000.p/6", HEAD, LOG]);
}

#[test]
fn a_site_that_was_never_signed_costs_a_request_more_at_first_contact_only() {
    let world = World::small();
    assert_eq!(pulled(&world, 0), (Status::Behind, None));
    assert_eq!(asked(&world)[..3], [HEAD, CHECKPOINT, LOG]);
    assert_eq!(pulled(&world, 1), (Status::Identical, None));
    assert_eq!(asked(&world), [HEAD]);
    // It is signed later: whoever pulled it before names the keys.
    publish(&world, &world.us, &log_key());
    assert_eq!(pulled(&world, 2), (Status::Identical, None));
    assert_eq!(asked(&world), [HEAD]);
}

#[test]
fn the_first_pull_of_what_was_imported_from_the_same_address_reads_statements() {
    let world = signed();
    world.import();
    let (options, stamp) = (PullOptions::default(), Stamp::at(second(9), now()));
    let pulled = pull(&world.mirror, &name("us"), &world.primary(), options, &stamp).unwrap();
    let statements = pulled.before.statements.unwrap();
    assert_eq!((statements.size, statements.misstated), (4, None));
}

#[test]
fn an_address_where_nothing_is_is_named_by_its_head() {
    let world = World::new();
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert!(error.to_string().contains(HEAD), "{error}");
    assert_eq!(asked(&world), [HEAD]);
}

/// What a server sends in the place of a file: the status, the body, and where it leads.
type Sent = (u16, &'static [u8], Option<&'static str>);

fn send(world: &World, file: &'static str, (status, body, to): Sent) {
    world.server.misbehave(move |request, reply| {
        if request.path == file {
            (reply.status, reply.body) = (status, body.to_vec());
            reply.headers =
                to.map(|to| ("Location".to_owned(), to.to_owned())).into_iter().collect();
        }
    });
}

#[test]
fn what_a_server_sends_in_the_place_of_a_checkpoint_is_refused_where_one_is_expected() {
    const PAGE: &[u8] = b"<p>Hello";
    const ELSEWHERE: Option<&str> = Some("http://127.0.0.1:1/login");
    for (sent, kind, is_without) in [
        ((200, PAGE, None), "input", true),
        ((403, PAGE, None), "response", true),
        ((404, PAGE, None), "input", true),
        ((302, PAGE, ELSEWHERE), "response", true),
        // That passes: whoever reads the site for the first time tries again.
        ((503, PAGE, None), "response", false),
    ] {
        let world = signed();
        send(&world, CHECKPOINT, sent);
        match world.pull(0, FOLLOW) {
            Ok(pulled) => assert!(is_without && pulled.before.statements.is_none(), "{sent:?}"),
            Err(error) => assert!(!is_without && error.kind().as_str() == kind, "{error}"),
        }
        let world = signed();
        assert_eq!(pulled(&world, 0), (Status::Behind, Some((4, 1))));
        ingest(&world.us, 5, "E");
        publish(&world, &world.us, &log_key());
        send(&world, CHECKPOINT, sent);
        let error = world.pull(1, FOLLOW).unwrap_err();
        assert_eq!(error.kind().as_str(), kind, "{error}");
        assert!(error.to_string().contains(CHECKPOINT), "{error}");
        assert_eq!(World::held(&world.mirror, "mirror"), ["B", "C", "D"]);
        world.server.misbehave(|_, _| {});
        assert_eq!(pulled(&world, 2), (Status::Behind, Some((6, 0))));
    }
}

#[test]
fn a_policy_that_is_too_long_is_rejected_and_not_truncated() {
    let world = signed();
    let file = world.directory.path().join("statements/policy");
    let policy =
        std::fs::read_to_string(&file).unwrap() + &"# a comment\n".repeat(22_000) + "wrong";
    std::fs::write(&file, policy).unwrap();
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert!(
        error.to_string().contains("statements/policy: it is longer than 262144 bytes"),
        "{error}"
    );
    let primary = Primary::open(world.directory.path(), &name("us"), None, now()).unwrap();
    let options = PullOptions { create_dataset: true, ..PullOptions::default() };
    let stamp = Stamp::at(second(9), now());
    let error = pull(&world.mirror, &name("us"), &primary, options, &stamp).unwrap_err();
    let chain = accession::Error::chain_of(&error);
    assert!(chain.contains("policy\": it is longer than 262144 bytes"), "{chain}");
}

#[test]
fn a_server_that_stops_half_way_or_leads_elsewhere_is_read_again_or_named() {
    const TILE: &str = "statements/tile/entries/000.p/4";
    let world = signed();
    let mut is_first = true;
    world.server.misbehave(move |request, reply| {
        if request.path == TILE && std::mem::take(&mut is_first) {
            reply.cut = Some(100);
        }
    });
    assert_eq!(pulled(&world, 0), (Status::Behind, Some((4, 1))));
    let world = signed();
    world.server.misbehave(|request, reply| {
        if request.path == TILE {
            reply.cut = Some(100);
        }
    });
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert!(error.kind().as_str() == "no-response" && error.to_string().contains(TILE), "{error}");
    world.server.misbehave(|request, reply| {
        if request.path == TILE {
            reply.body.truncate(100);
        }
    });
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert!(error.kind().as_str() == "input", "{error}");
    assert!(error.to_string().ends_with("it is cut"), "{error}");
    let root = world.directory.path();
    std::fs::rename(root.join("statements"), root.join("moved")).unwrap();
    world.server.misbehave(|request, reply| {
        if let Some(file) = request.path.strip_prefix("statements/") {
            reply.status = 301;
            reply.headers = vec![("Location".to_owned(), format!("/moved/{file}"))];
        }
    });
    assert_eq!(pulled(&world, 0), (Status::Behind, Some((4, 1))));
    assert_eq!(pulled(&world, 1), (Status::Identical, Some((4, 0))));
}

#[test]
fn a_byte_of_the_checkpoint_or_the_statements_that_is_another_is_refused_by_name() {
    let mut world = signed();
    for (file, step) in [(CHECKPOINT, 1), ("statements/tile/entries/000.p/4", 13)] {
        for at in (0..world.file(file).len()).step_by(step) {
            world.server.misbehave(move |request, reply| {
                if request.path == file {
                    reply.body[at] ^= 1;
                }
            });
            let pulled = world.pull(0, FOLLOW);
            // What is not a checkpoint at all is a page of a site without statements.
            let is_refused = pulled.as_ref().is_ok_and(|it| it.before.statements.is_none())
                || pulled.is_err_and(|error| error.to_string().contains("/statements/"));
            assert!(is_refused, "{file} {at}");
            world.mirror = Registry::in_memory().unwrap();
        }
    }
}

#[test]
fn an_unknown_key_a_fork_and_a_log_that_is_not_what_was_stated_are_refused() {
    let world = signed();
    assert_eq!(pulled(&world, 0), (Status::Behind, Some((4, 1))));
    // Another key signs the same log, once more is stated.
    ingest(&world.us, 9, "Y");
    sign(&world.us, &key(KeyUse::Log, 8));
    publish_statements(&world.us, world.directory.path()).unwrap();
    let error = world.pull(1, FOLLOW).unwrap_err();
    assert_eq!(error.kind().as_str(), "not-signed", "{error}");
    // The same key signs another one.
    let fork = Registry::in_memory().unwrap();
    ingest(&fork, 0, "X");
    std::fs::remove_dir_all(world.directory.path().join("statements")).unwrap();
    sign(&fork, &log_key());
    publish_statements(&fork, world.directory.path()).unwrap();
    for night in 2..4 {
        let pulled = world.pull(night, FOLLOW).unwrap();
        assert_eq!(pulled.before.status, Status::Forked);
        assert_eq!(pulled.before.statements.unwrap().fork.unwrap().len(), 2);
    }
    assert!(world.pull(4, RESET).unwrap().is_identical());
    // That one is followed now, and is not what the log has.
    for night in 5..7 {
        assert_eq!(pulled(&world, night), (Status::Misstated, Some((1, 0))));
    }
    assert_eq!(World::held(&world.mirror, "mirror"), ["B", "C", "D"]);
}
