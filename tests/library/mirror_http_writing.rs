//! A primary that changes and publishes while it is read, between any two requests of a pull.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use accession::history::Subset;
use accession::{Clock, Identifier, Pattern, Registry, SubsetMembers};
use proptest::prelude::*;

use harness::exported::{enlarge, publish_all};
use harness::history::{self, History, POOL, cases, instances, name, second};
use harness::oracle::naive;
use harness::primary_at_address::World;
use harness::pulls::{FOLLOW, RESET};

/// What the primary does after its response to one request of a pull. Requests are counted from 0.
#[derive(Debug, Clone)]
struct Step {
    request: usize,
    toggled: BTreeSet<usize>,
    cites: bool,
    publishes: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let toggled = prop::collection::btree_set(0..POOL.len(), 1..5);
    (0..5_usize, toggled, any::<bool>(), prop::bool::weighted(0.8)).prop_map(
        |(request, toggled, cites, publishes)| Step { request, toggled, cites, publishes },
    )
}

/// How the mirror reads in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Pull,
    /// After a change of its own.
    PullDiverged,
    Import,
}

/// A primary, and the sets that it had when it published.
struct Writer {
    us: Registry,
    directory: PathBuf,
    history: History,
    /// The number of changes that were published each time.
    published: Vec<usize>,
}

impl Writer {
    fn step(&mut self, step: &Step) {
        let seconds = self.history.sets.len() as i64;
        let ids = step.toggled.iter().map(|index| POOL[*index].as_str()).collect();
        let plan = self.history.toggle(&ids);
        self.history.change(&self.us, &name("us"), second(seconds), &plan);
        if step.cites {
            // Cites the first id that is held now.
            let held = self.history.held();
            if let Some(first) = held.first() {
                let pattern: Pattern = glob::Pattern::escape(first).parse().unwrap();
                let wanted = SubsetMembers::Patterns(vec![pattern]);
                self.us
                    .with_clock(Clock::fixed(second(seconds)))
                    .cite_subset(&name("us"), None, &wanted)
                    .unwrap();
            }
        }
        if step.publishes {
            self.publish();
        }
    }

    fn publish(&mut self) {
        publish_all(&self.us, &self.directory).unwrap();
        self.published.push(self.history.sets.len());
    }

    /// The identifiers of the changes, computed from the sets.
    fn identifiers(&self) -> Vec<Identifier> {
        self.history.sets.values().map(|set| naive(set.iter().map(String::as_str))).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), ..ProptestConfig::default() })]

    #[test]
    fn a_mirror_holds_a_set_that_was_published_since_the_pull_began(
        rounds in prop::collection::vec(
            (
                prop::option::of(step()),
                prop::collection::vec(step(), 0..5),
                prop_oneof![
                    3 => Just(How::Pull),
                    1 => Just(How::PullDiverged),
                    2 => Just(How::Import),
                ],
            ),
            1..7,
        ),
    ) {
        let world = World::new();
        let writer = Arc::new(Mutex::new(Writer {
            us: world.us.clone(),
            directory: world.directory.path().to_owned(),
            history: History::default(),
            published: Vec::new(),
        }));
        let first = Step { request: 0, toggled: [0, 1].into(), cites: true, publishes: true };
        writer.lock().unwrap().step(&first);
        for (round, (before, during, how)) in rounds.iter().enumerate() {
            if let Some(before) = before {
                writer.lock().unwrap().step(before);
            }
            let at = 1_000 + 10 * round as i64;
            let has_mirror = world.mirror.snapshot().unwrap().has_dataset(&name("mirror")).unwrap();
            let how = if *how == How::PullDiverged && !has_mirror { How::Pull } else { *how };
            if how == How::PullDiverged {
                let own = format!("own.{round}");
                history::step(&world.mirror, "mirror", at, [own.as_str()], []);
            }
            let since = writer.lock().unwrap().published.len() - 1;
            let (shared, during) = (Arc::clone(&writer), during.clone());
            let mut request = 0;
            world.server.misbehave(move |_, _| {
                let mut writer = shared.lock().unwrap();
                during.iter().filter(|step| step.request == request).for_each(|step| writer.step(step));
                request += 1;
            });
            let (dataset, imported) = match how {
                How::Import => {
                    world.import();
                    ("us", true)
                }
                _ => {
                    let policy = if how == How::PullDiverged { RESET } else { FOLLOW };
                    let pulled = world.pull(at + 1, policy).unwrap();
                    prop_assert!(pulled.is_identical());
                    ("mirror", false)
                }
            };
            world.server.misbehave(|_, _| {});
            if !world.mirror.snapshot().unwrap().has_dataset(&name(dataset)).unwrap() {
                // Nothing to compare: the primary was empty, so the mirror does not exist.
                continue;
            }
            let writer = writer.lock().unwrap();
            let identifiers = writer.identifiers();
            let copied: Vec<Identifier> = instances(&world.mirror, &name(dataset))
                .iter()
                .map(|instance| instance.identifier)
                .collect();
            let mut possible = writer.published[since..].iter();
            let found = possible.find(|changes| match imported {
                // An import copies the history itself.
                true => copied == identifiers[..**changes],
                false => copied.last() == Some(&identifiers[**changes - 1]),
            });
            let found = *found.expect("a set that was published");
            let set = writer.history.sets.values().nth(found - 1).unwrap();
            prop_assert!(World::held(&world.mirror, dataset).iter().eq(set));
            prop_assert!(world.mirror.verify(&name(dataset)).unwrap().ok);
            if imported {
                // Only subsets that were cited from the copied changes.
                let until = *writer.history.sets.keys().nth(found - 1).unwrap();
                let theirs = cited(&world.us);
                let is_expected = |subset: &Subset| {
                    subset.timestamp <= until && theirs.contains(subset)
                };
                prop_assert!(cited(&world.mirror).iter().all(is_expected));
            }
        }
        // When the primary is at rest, everything is copied.
        writer.lock().unwrap().publish();
        world.import();
        prop_assert_eq!(
            instances(&world.mirror, &name("us")).len(),
            writer.lock().unwrap().history.sets.len()
        );
        prop_assert_eq!(cited(&world.mirror), cited(&world.us));
        if !writer.lock().unwrap().history.held().is_empty() {
            prop_assert!(world.pull(9_000, RESET).unwrap().is_identical());
            world.server.served();
            prop_assert!(world.pull(9_001, FOLLOW).unwrap().is_identical());
            // A single request, for the head.
            prop_assert_eq!(world.server.served().len(), 1);
        }
    }
}

fn cited(registry: &Registry) -> Vec<Subset> {
    registry.snapshot().unwrap().subsets(&name("us")).unwrap()
}

#[test]
fn a_segment_that_is_completed_during_a_pull_is_read_as_the_head_announced_it() {
    for (pulled_before, request) in [(0, 0), (0, 1), (5, 0), (5, 1)] {
        let world = World::new();
        (0..pulled_before).for_each(|at| enlarge(&world.us, "us", at, 1_000));
        if pulled_before > 0 {
            world.publish();
            assert!(world.pull(0, FOLLOW).unwrap().is_identical());
        }
        (pulled_before..6).for_each(|at| enlarge(&world.us, "us", at, 1_000));
        world.publish();
        let announced = instances(&world.us, &name("us")).pop().unwrap().identifier;
        let (us, directory) = (world.us.clone(), world.directory.path().to_owned());
        let mut number = 0;
        world.server.misbehave(move |_, _| {
            if number == request {
                // The seventh change completes the first segment.
                (6..9).for_each(|at| enlarge(&us, "us", at, 1_000));
                publish_all(&us, &directory).unwrap();
            }
            number += 1;
        });
        let latest = |registry: &Registry, dataset: &str| {
            instances(registry, &name(dataset)).pop().unwrap().identifier
        };
        assert!(world.pull(1, FOLLOW).unwrap().is_identical());
        assert_eq!(latest(&world.mirror, "mirror"), announced, "{pulled_before} {request}");
        assert_eq!(instances(&world.us, &name("us")).len(), 9);
        world.server.misbehave(|_, _| {});
        assert!(world.pull(2, FOLLOW).unwrap().is_identical());
        assert_eq!(latest(&world.mirror, "mirror"), latest(&world.us, "us"));
        assert!(world.mirror.verify(&name("mirror")).unwrap().ok);
    }
}
