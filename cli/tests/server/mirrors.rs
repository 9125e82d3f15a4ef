//! Mirrors that read the log of a dataset from the server, over real sockets.

use accession::Registry;
use accession::mirror::MirrorStatus;
use harness::pulls::PullPolicy;
use harness::values::clock;

use crate::mirror_world::{World, held};
use harness::values::{name, step};

/// At the primary, a withdrawn dataset gave its name to another one. The mirror had read the withdrawn one.
#[test]
fn a_name_that_got_another_dataset_is_followed_by_its_address_only_with_a_reset() {
    let world = World::new();
    let path = world.directory.path().join("mirror.db");
    let world = World { mirror: Registry::create(&path, clock()).unwrap(), ..world };
    step(&world.us, "US", 0, ["A", "B"], []);
    assert!(world.pull(0, PullPolicy::Follow).is_identical());
    world.us.rename_dataset(&name("US"), &name("WRONG")).unwrap();
    let pulled = world.pull(1, PullPolicy::Follow);
    assert!(pulled.is_identical() && pulled.primary_renamed == Some(name("WRONG")));
    world.us.withdraw_dataset(&name("WRONG"), "the name was wrong").unwrap();
    step(&world.us, "US", 1, ["A", "C"], []);
    // The mirror is opened again, as in each nightly run.
    let world = World { mirror: Registry::open(&path, clock()).unwrap(), ..world };
    let pulled = world.pull(2, PullPolicy::Follow);
    assert_eq!(pulled.before.status, MirrorStatus::Rewritten);
    assert!(pulled.applied.instance().is_none() && pulled.primary_renamed.is_none());
    assert_eq!(held(&world.mirror, "MIRROR"), held(&world.us, "WRONG"));
    assert!(world.pull(3, PullPolicy::Reset).is_identical());
    assert_eq!(held(&world.mirror, "MIRROR"), held(&world.us, "US"));
    assert!(world.pull(4, PullPolicy::Follow).is_identical());
    assert!(world.mirror.verify(&name("MIRROR")).unwrap().ok);
}
