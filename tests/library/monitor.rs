//! Long work is reported to a monitor, which can stop it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use accession::error::Result;
use accession::mirror::{PullOptions, PullPolicy, manifest, pull};
use accession::{
    ChangeOptions, EarlierSet, EventKind, Import, Limits, Listing, ListingBuilder, Moment, Monitor,
    Registry, Selection, Stamp, SubsetMembers,
};

use crate::stored::{even, granule_id};
use harness::events::event;
use harness::exported::{manifest_of, primary_of};
use harness::history::{History, change, id, name, now, plan, second};

const GRANULES: usize = 20_000;

/// Stops the work with one name after this many things.
struct Limit {
    what: &'static str,
    things: u64,
    current: Mutex<Option<&'static str>>,
    done: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Limit {
    fn of(what: &'static str, things: u64) -> Arc<Self> {
        let [done, begun, ended] = [0; 3].map(AtomicU64::new);
        Arc::new(Limit { what, things, current: Mutex::new(None), done, begun, ended })
    }
}

impl Monitor for Limit {
    fn begin(&self, what: &'static str, things: &'static str, _: Option<u64>) {
        assert_eq!(things, if what == "committing" { "changes" } else { "granules" });
        *self.current.lock().unwrap() = Some(what);
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    fn advance(&self, more: u64) -> ControlFlow<()> {
        if *self.current.lock().unwrap() != Some(self.what) {
            return ControlFlow::Continue(());
        }
        match self.done.fetch_add(more, Ordering::SeqCst) + more >= self.things {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// A registry that holds the even numbers, and the history with which it is compared.
fn registry() -> (Registry, History) {
    let registry = Registry::in_memory().unwrap();
    let mut history = History::default();
    let plan = plan(even(GRANULES).iter().map(String::as_str), []);
    history.change(&registry, &name("dataset"), second(0), &plan);
    (registry, history)
}

fn odd_numbers() -> Vec<String> {
    (0..GRANULES).map(|n| granule_id(2 * n + 1)).collect()
}

fn change_all(registry: &Registry) -> Result<()> {
    let odd = odd_numbers();
    let change = change(odd.iter().map(String::as_str), []);
    registry.change(&name("dataset"), &change, &Stamp::at(second(9), now())).map(drop)
}

fn import_all(registry: &Registry) -> Result<()> {
    let mut import = Import::new();
    for (number, granule_id) in odd_numbers().iter().enumerate() {
        let at = second(1 + number as i64 % 7);
        import.add(event(at, EventKind::Ingested, granule_id)).unwrap();
    }
    registry.import(&name("dataset"), &import, &Stamp::now(now())).map(drop)
}

fn verify_all(registry: &Registry) -> Result<()> {
    registry.verify(&name("dataset")).map(|verification| assert!(verification.ok))
}

type Job = fn(&Registry) -> Result<()>;

#[test]
fn work_that_a_monitor_stops_fails_as_interrupted_and_changes_nothing() {
    let jobs: [(Job, &str); 5] = [
        (change_all, "writing"),
        (change_all, "hashing"),
        (import_all, "writing"),
        (import_all, "hashing"),
        (verify_all, "verifying"),
    ];
    let (registry, history) = registry();
    for (job, what) in jobs {
        // At the first call, and in the middle of the work.
        for things in [0, 12_000] {
            let limit = Limit::of(what, things);
            let error = job(&registry.with_monitor(limit.clone())).unwrap_err();
            assert_eq!(error.kind().as_str(), "interrupted", "{what}, {things}: {error:?}");
            let [begun, ended] = [&limit.begun, &limit.ended].map(|it| it.load(Ordering::SeqCst));
            assert!(begun > 0 && begun == ended, "{what}: {begun} begun, {ended} ended");
            history.assert_matches(&registry, &name("dataset"));
        }
    }
}

#[test]
fn each_part_of_the_work_is_reported_to_the_monitor() {
    let (registry, _) = registry();
    let jobs: [(Job, &str, u64); 2] = [(change_all, "writing", 1), (verify_all, "verifying", 2)];
    for (job, what, times) in jobs {
        let limit = Limit::of(what, u64::MAX);
        job(&registry.with_monitor(limit.clone())).unwrap();
        // All but the remainder after the last multiple of 4,096.
        let done = limit.done.load(Ordering::SeqCst);
        let all = times * GRANULES as u64;
        assert!(done <= all && all - done < 4_096, "{what}: {done} of {all}");
        assert_eq!(limit.begun.load(Ordering::SeqCst), limit.ended.load(Ordering::SeqCst));
    }
}

/// Notes what is begun; one work must end before the next begins.
#[derive(Default)]
struct Phases {
    begun: Mutex<Vec<&'static str>>,
    is_open: AtomicBool,
}

impl Monitor for Phases {
    fn begin(&self, what: &'static str, _: &'static str, _: Option<u64>) {
        assert!(!self.is_open.swap(true, Ordering::SeqCst), "{what} is within another work");
        self.begun.lock().unwrap().push(what);
    }

    fn advance(&self, more: u64) -> ControlFlow<()> {
        assert!(more == 0 || self.is_open.load(Ordering::SeqCst));
        ControlFlow::Continue(())
    }

    fn end(&self) {
        assert!(self.is_open.swap(false, Ordering::SeqCst), "it did not begin");
    }
}

fn listing(granule_ids: &[String]) -> Listing {
    let mut listing = ListingBuilder::new();
    granule_ids.iter().for_each(|granule_id| listing.add(id(granule_id)).unwrap());
    listing.finish()
}

fn import(registry: &Registry) -> Result<()> {
    let mut import = Import::new();
    import.add(event(second(90_000), EventKind::Ingested, "imported"))?;
    registry.import(&name("dataset"), &import, &Stamp::now(now())).map(drop)
}

fn cite(registry: &Registry) -> Result<()> {
    let wanted = SubsetMembers::Patterns(vec!["*0".parse().unwrap()]);
    registry.cite_subset(&name("dataset"), None, &wanted, now()).map(drop)
}

fn export(registry: &Registry) -> Result<()> {
    manifest::write(registry, &name("dataset"), None, &mut Vec::new()).unwrap();
    Ok(())
}

fn compare_two_sets(registry: &Registry) -> Result<()> {
    let of = |at| Selection::Dataset { name: name("dataset"), at };
    let first = of(Some(Moment::Instant(second(0))));
    let snapshot = registry.snapshot()?;
    let (first, latest) = (snapshot.select(&first)?.set, snapshot.select(&of(None))?.set);
    let mut differences = snapshot.compare(&first, &latest)?;
    drop(snapshot);
    differences.finish().map(drop)
}

fn pull_mirror(registry: &Registry) -> Result<()> {
    let primary = Registry::in_memory().unwrap();
    primary.change(&name("US"), &change(["A"], []), &Stamp::at(second(0), now()))?;
    let primary = primary_of(manifest_of(&primary, "US")).unwrap();
    let options = PullOptions::new().policy(PullPolicy::Reset(Limits::NONE));
    pull(registry, &name("dataset"), &primary, options, &Stamp::now(now())).unwrap();
    Ok(())
}

fn revert_at(registry: &Registry, seconds: i64) -> Result<()> {
    let to = EarlierSet::At(Moment::Instant(second(0)));
    let (options, stamp) = (ChangeOptions::default(), Stamp::at(second(seconds), now()));
    registry.revert(&name("dataset"), &to, &options, &stamp).map(drop)
}

#[test]
fn every_phase_of_long_work_is_reported_one_after_the_other() {
    let (registry, _) = registry();
    let sync_all: Job = |registry| {
        let (most, options) = (Limits::NONE, ChangeOptions::default());
        let (listing, stamp) = (listing(&odd_numbers()), Stamp::at(second(20), now()));
        registry.sync(&name("dataset"), &listing, most, &options, &stamp).map(drop)
    };
    let revert: Job = |registry| revert_at(registry, 30);
    let jobs: [(Job, &[&str]); 11] = [
        (import_all, &["writing", "hashing", "committing"]),
        (|registry| revert_at(registry, 8), &["comparing", "writing", "hashing", "committing"]),
        (change_all, &["writing", "hashing", "committing"]),
        (sync_all, &["comparing", "writing", "hashing", "committing"]),
        (compare_two_sets, &["comparing"]),
        (revert, &["comparing", "writing", "hashing", "committing"]),
        (import, &["writing", "committing"]),
        (cite, &["selecting", "committing"]),
        (export, &["sorting", "exporting"]),
        (verify_all, &["verifying"]),
        (pull_mirror, &["reading", "comparing", "writing", "hashing", "committing"]),
    ];
    for (job, expected) in jobs {
        let phases = Arc::new(Phases::default());
        job(&registry.with_monitor(phases.clone())).unwrap();
        assert_eq!(*phases.begun.lock().unwrap(), expected);
    }
}
