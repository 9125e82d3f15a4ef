//! The registry of a server changes while a mirror reads it, between any two requests of a pull.

use accession::mirror::PullOptions;

use crate::mirror_world::{World, held};
use harness::pulls::PullPolicy;
use harness::values::{name, second, step};

#[test]
fn a_change_after_any_request_of_a_pull_is_left_for_the_next_one() {
    let world = World::new();
    let ids: Vec<String> = (0..24).map(|n| format!("{}", n * 437)).collect();
    step(&world.us, "US", 0, ids.iter().map(String::as_str), []);
    assert!(world.pull(0, PullPolicy::Follow).is_identical());
    let mut requests = 1;
    for number in 0.. {
        if number == requests {
            break;
        }
        // The mirror diverged, so both the head and the log are needed.
        let here = held(&world.mirror, "MIRROR");
        let gone = [here.first().unwrap().as_str(), here.last().unwrap().as_str()];
        step(&world.mirror, "MIRROR", 100 + 10 * number, ["0.own"], gone);
        // The operator of the mirror has seen what a pull would change, and expects it.
        let (mirror, primary) = (name("MIRROR"), world.primary());
        let options = PullOptions::new().at(second(101 + 10 * number));
        let expect = world.mirror.pull(&mirror, &primary, options.dry_run(true)).unwrap().expect;
        let announced = held(&world.us, "US");
        let (us, mut count) = (world.us.clone(), 0);
        world.proxy.misbehave(move |_| {
            if count == number {
                step(&us, "US", 1 + number, [format!("5.{number}").as_str()], []);
            }
            count += 1;
        });
        world.proxy.served();
        assert!(
            world.mirror.pull(&mirror, &primary, options.expect(expect)).unwrap().is_identical()
        );
        requests = world.proxy.served().len() as i64;
        assert!(requests >= 2, "the head and the log: {requests}");
        world.proxy.misbehave(|_| {});
        assert_eq!(held(&world.mirror, "MIRROR"), announced, "after request {number}");
        let now_held = held(&world.us, "US");
        assert_eq!(now_held.len(), announced.len() + 1, "the primary has changed");
        assert!(world.pull(102 + 10 * number, PullPolicy::Follow).is_identical());
        assert_eq!(held(&world.mirror, "MIRROR"), now_held);
    }
    assert!(world.mirror.verify(&name("MIRROR")).unwrap().ok);
}
