//! A mirror that reads its primary over real sockets: what it holds then, and what it costs.

use accession::{Identifier, Registry, Stamp};
use proptest::prelude::*;

use crate::harness::history::{History, POOL, cases, change, instances, name, now, second};
use crate::harness::primary_at_address::{FOLLOW, HEAD, LOG, World};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), ..ProptestConfig::default() })]

    /// The primary changes, and publishes now and then; the mirror pulls now and then.
    #[test]
    fn after_every_pull_the_mirror_holds_a_set_that_the_primary_published(
        steps in prop::collection::vec(
            (prop::collection::btree_set(0..POOL.len(), 1..6), any::<bool>(), any::<bool>()),
            1..10,
        ),
    ) {
        let world = World::new();
        let mut history = History::default();
        let mut published: Option<Identifier> = None;
        for (at, (indices, publishes, pulls)) in steps.iter().enumerate() {
            let ids = indices.iter().map(|index| POOL[*index].as_str()).collect();
            let plan = history.toggle(&ids);
            history.change(&world.us, &name("us"), second(at as i64), &plan);
            if *publishes {
                world.publish();
                published = instances(&world.us, &name("us")).last().map(|last| last.identifier);
            }
            let Some(published) = published.filter(|_| *pulls) else { continue };
            world.server.served();
            let pulled = world.pull(at as i64, FOLLOW).unwrap();
            prop_assert!(pulled.is_identical());
            let last = instances(&world.mirror, &name("mirror")).pop();
            let holds = last.map_or(Identifier::EMPTY, |last| last.identifier);
            prop_assert_eq!(holds, published);
            if !world.mirror.snapshot().unwrap().has_dataset(&name("mirror")).unwrap() {
                // The primary was empty, and so is a mirror that does not exist.
                continue;
            }
            prop_assert!(world.mirror.verify(&name("mirror")).unwrap().ok);
            // Again: one request, and no body.
            world.server.served();
            prop_assert!(world.pull(at as i64, FOLLOW).unwrap().is_identical());
            let served = world.server.served();
            prop_assert_eq!(served.len(), 1);
            prop_assert_eq!(served[0].1, 0, "not modified");
        }
    }
}

#[test]
fn only_the_lines_that_are_new_are_read() {
    let world = World::new();
    let ids: Vec<String> =
        (0..20_000).map(|n| format!("granule.{n:06}.of.the.usual.length")).collect();
    let stamp = |at| Stamp::at(second(at), now());
    world.us.change(&name("us"), &change(ids.iter().map(String::as_str), []), &stamp(0)).unwrap();
    world.publish();
    world.pull(0, FOLLOW).unwrap();
    let before = world.file(LOG).len();
    let new: Vec<String> = (0..274).map(|n| format!("granule.{n:06}.of.the.next.day")).collect();
    world.us.change(&name("us"), &change(new.iter().map(String::as_str), []), &stamp(1)).unwrap();
    world.publish();
    let lines = world.file(LOG).len() - before;
    world.server.served();
    assert!(world.pull(1, FOLLOW).unwrap().is_identical());
    let served = world.server.served();
    let bytes: usize = served.iter().map(|(_, bytes)| bytes).sum();
    println!("{bytes} bytes for {lines} bytes of new lines");
    assert!(bytes * 10 <= lines * 12, "{bytes} {lines}");
    assert_eq!(served.len(), 2, "the head and the tail");
}

#[test]
fn a_server_without_ranges_and_entity_tags_is_read_at_a_cost() {
    let world = World::small();
    world.server.misbehave(|_, reply| reply.headers.clear());
    world.pull(0, FOLLOW).unwrap();
    world.us.change(&name("us"), &change(["E"], []), &Stamp::at(second(5), now())).unwrap();
    world.publish();
    let directory = world.directory.path().to_owned();
    world.server.misbehave(move |request, reply| {
        reply.headers.clear();
        if reply.status == 206 {
            let body = std::fs::read(directory.join(&request.path)).unwrap();
            (reply.status, reply.body) = (200, body);
        }
    });
    world.server.served();
    assert!(world.pull(1, FOLLOW).unwrap().is_identical());
    let served: usize = world.server.served().iter().map(|(_, bytes)| bytes).sum();
    assert!(served > world.file(LOG).len(), "the whole segment is sent again");
    assert_eq!(World::held(&world.mirror, "mirror"), ["B", "C", "D", "E"]);
}

#[test]
fn under_a_former_name_the_dataset_is_found() {
    let world = World::small();
    world.pull(0, FOLLOW).unwrap();
    world.us.rename_dataset(&name("us"), &name("US.2"), &Stamp::now(now())).unwrap();
    world.us.change(&name("US.2"), &change(["E"], []), &Stamp::at(second(5), now())).unwrap();
    world.publish();
    let pulled = world.pull(1, FOLLOW).unwrap();
    assert!(pulled.is_identical());
    assert_eq!(pulled.before.primary.dataset, name("US.2"));
    assert_eq!(pulled.primary_renamed, Some(name("US.2")));
    // Also where the head has not changed since.
    let again = world.pull(2, FOLLOW).unwrap();
    assert!(again.applied.instance().is_none() && again.primary_renamed == Some(name("US.2")));
    assert_eq!(World::held(&world.mirror, "mirror"), ["B", "C", "D", "E"]);
}

#[test]
fn a_replica_has_the_history_the_record_and_the_subsets_and_reads_only_what_is_new() {
    let world = World::small();
    world
        .us
        .edit_dataset(&name("us"), &Stamp::now(now()), |dataset| {
            dataset.title = Some("Ours".to_owned());
        })
        .unwrap();
    world.publish();
    let copy = || {
        let imported = world.import();
        (imported.instances.len(), imported.subsets)
    };
    let first = copy();
    assert_eq!(first, (3, 1));
    let record = world.mirror.snapshot().unwrap().dataset(&name("us")).unwrap().dataset;
    assert_eq!(record.title.as_deref(), Some("Ours"));
    world.us.change(&name("us"), &change(["E"], ["D"]), &Stamp::at(second(5), now())).unwrap();
    world.publish();
    world.server.served();
    let second_copy = copy();
    assert_eq!(second_copy, (1, 0));
    let log: usize =
        world.server.served().iter().filter(|(it, _)| it.path == LOG).map(|it| it.1).sum();
    assert!(log < 450, "{log}: only the new line");
    assert_eq!(copy().0, 0);
    let identifiers = |registry: &Registry| -> Vec<Identifier> {
        instances(registry, &name("us")).iter().map(|instance| instance.identifier).collect()
    };
    assert_eq!(identifiers(&world.mirror), identifiers(&world.us));
    let subsets = |registry: &Registry| registry.snapshot().unwrap().subsets(&name("us")).unwrap();
    assert_eq!(subsets(&world.mirror), subsets(&world.us));
    assert!(world.mirror.verify(&name("us")).unwrap().ok);
}

#[test]
fn an_older_log_changes_nothing_in_a_replica_and_is_stale() {
    let world = World::small();
    let (head, log) = (world.file(HEAD), world.file(LOG));
    world.us.change(&name("us"), &change(["E"], []), &Stamp::at(second(5), now())).unwrap();
    world.publish();
    let (imported, is_stale) = world.import_and_compare();
    assert_eq!((imported.instances.len(), is_stale), (4, false));
    assert!(!world.import_and_compare().1);
    world.server.misbehave(move |request, reply| match request.path.as_str() {
        HEAD => (reply.status, reply.body) = (200, head.clone()),
        LOG => (reply.status, reply.body) = (200, log.clone()),
        _ => {}
    });
    let (imported, is_stale) = world.import_and_compare();
    assert_eq!((imported.instances.len(), is_stale), (0, true));
}

#[test]
fn a_primary_that_withdrew_its_dataset_says_so_every_night() {
    let world = World::small();
    assert!(world.pull(9, FOLLOW).unwrap().primary_withdrawn.is_none());
    world.us.withdraw_dataset(&name("us"), "superseded", &Stamp::now(now())).unwrap();
    world.publish();
    for at in 10..13 {
        let pulled = world.pull(at, FOLLOW).unwrap();
        assert!(pulled.is_identical());
        assert_eq!(pulled.primary_withdrawn.unwrap().note.as_deref(), Some("superseded"));
    }
    world.us.reinstate_dataset(&name("us"), &Stamp::now(now())).unwrap();
    world.publish();
    for at in 13..15 {
        assert!(world.pull(at, FOLLOW).unwrap().primary_withdrawn.is_none());
    }
}
