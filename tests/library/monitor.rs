//! Long work is reported to a monitor, which can stop it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use accession::{Event, EventKind, Import, Monitor, Registry, Result, Stamp};

use crate::harness::history::{History, change, id, name, now, plan, second};
use crate::stored::{even, granule_id};

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
        assert_eq!(things, "granules");
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
        let (at, kind) = (second(1 + number as i64 % 7), EventKind::Ingested);
        let granule_id = id(granule_id);
        import.add(Event { at, kind, granule_id, producer_granule: None, location: None }).unwrap();
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
        (change_all, "entering"),
        (change_all, "hashing"),
        (import_all, "entering"),
        (import_all, "hashing"),
        (verify_all, "verifying"),
    ];
    let (registry, history) = registry();
    for (job, what) in jobs {
        // At the first call, and in the middle of the work.
        for things in [0, 12_000] {
            let limit = Limit::of(what, things);
            let error = job(&registry.with_monitor(limit.clone())).unwrap_err();
            assert_eq!(error.kind(), "interrupted", "{what}, {things}: {error:?}");
            let [begun, ended] = [&limit.begun, &limit.ended].map(|it| it.load(Ordering::SeqCst));
            assert!(begun > 0 && begun == ended, "{what}: {begun} begun, {ended} ended");
            history.assert_matches(&registry, &name("dataset"));
        }
    }
}

#[test]
fn each_part_of_the_work_is_reported_to_the_monitor() {
    let (registry, _) = registry();
    let jobs: [(Job, &str, u64); 2] = [(change_all, "entering", 1), (verify_all, "verifying", 2)];
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
