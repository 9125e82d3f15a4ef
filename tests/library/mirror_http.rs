//! A mirror that reads its primary over real sockets: the resulting set, and the cost.

use accession::{Identifier, Registry};

use harness::history::{instances, name, step};
use harness::primary_at_address::{LOG, World};
use harness::pulls::FOLLOW;

#[test]
fn only_the_lines_that_are_new_are_read() {
    let world = World::new();
    let ids: Vec<String> =
        (0..20_000).map(|n| format!("granule.{n:06}.of.the.usual.length")).collect();
    step(&world.us, "us", 0, ids.iter().map(String::as_str), []);
    world.publish();
    world.pull(0, FOLLOW).unwrap();
    let before = world.file(LOG).len();
    let new: Vec<String> = (0..274).map(|n| format!("granule.{n:06}.of.the.next.day")).collect();
    step(&world.us, "us", 1, new.iter().map(String::as_str), []);
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
fn under_a_former_name_the_dataset_is_found() {
    let world = World::small();
    world.pull(0, FOLLOW).unwrap();
    world.us.rename_dataset(&name("us"), &name("US.2")).unwrap();
    step(&world.us, "US.2", 5, ["E"], []);
    world.publish();
    let pulled = world.pull(1, FOLLOW).unwrap();
    assert!(pulled.is_identical());
    assert_eq!(pulled.before.primary.dataset, name("US.2"));
    assert_eq!(pulled.primary_renamed, Some(name("US.2")));
    // The new name is reported again, even if the head has not changed since.
    let again = world.pull(2, FOLLOW).unwrap();
    assert!(again.applied.instance().is_none() && again.primary_renamed == Some(name("US.2")));
    assert_eq!(World::held(&world.mirror, "mirror"), ["B", "C", "D", "E"]);
}

#[test]
fn a_replica_has_the_history_the_record_and_the_subsets_and_reads_only_what_is_new() {
    let world = World::small();
    world
        .us
        .edit_dataset(&name("us"), |dataset| {
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
    step(&world.us, "us", 5, ["E"], ["D"]);
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
