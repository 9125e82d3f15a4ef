//! An observer follows long work, and a token cancels it.

use harness::values::{AtTime, clock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use accession::Result;
use accession::mirror::{PullOptions, manifest};
use accession::{
    CancelToken, ChangeOptions, EventKind, Import, Limits, Listing, ListingBuilder, Moment,
    Observer, Progress, Registry, Selection, SubsetMembers, Work,
};

use crate::stored::{even, granule_id};
use harness::events::event;
use harness::exported::{manifest_of, primary_of};
use harness::history::{History, change, id, name, plan, second};

const GRANULES: usize = 20_000;

/// Cancels one kind of work after this many items.
struct Limit {
    work: Work,
    things: u64,
    current: Mutex<Option<Work>>,
    token: CancelToken,
    done: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Limit {
    fn of(work: Work, things: u64) -> Arc<Self> {
        let [done, begun, ended] = [0; 3].map(AtomicU64::new);
        let (current, token) = (Mutex::new(None), CancelToken::new());
        Arc::new(Limit { work, things, current, token, done, begun, ended })
    }
}

impl Observer for Limit {
    fn event(&self, event: Progress) {
        let more = match event {
            Progress::Begin(work, _) => {
                *self.current.lock().unwrap() = Some(work);
                self.begun.fetch_add(1, Ordering::SeqCst);
                0
            }
            Progress::Advance(more) => more,
            Progress::End => {
                self.ended.fetch_add(1, Ordering::SeqCst);
                return;
            }
            _ => return,
        };
        if *self.current.lock().unwrap() == Some(self.work)
            && self.done.fetch_add(more, Ordering::SeqCst) + more >= self.things
        {
            self.token.cancel();
        }
    }
}

/// The registry, observed and cancelled by a limit.
fn limited(registry: &Registry, limit: &Arc<Limit>) -> Registry {
    registry.observed_by(limit.clone()).cancelled_by(&limit.token)
}

/// A registry that holds the even numbers, and its model.
fn registry() -> (Registry, History) {
    let registry = Registry::temporary(clock()).unwrap();
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
    registry.change(&name("dataset"), &change.at(second(9))).map(drop)
}

fn import_all(registry: &Registry) -> Result<()> {
    let mut import = Import::new();
    for (number, granule_id) in odd_numbers().iter().enumerate() {
        let at = second(1 + number as i64 % 7);
        import.add(event(at, EventKind::Ingested, granule_id)).unwrap();
    }
    registry.import(&name("dataset"), &import).map(drop)
}

fn verify_all(registry: &Registry) -> Result<()> {
    registry.verify(&name("dataset")).map(|verification| assert!(verification.ok))
}

type Job = fn(&Registry) -> Result<()>;

#[test]
fn work_that_is_cancelled_fails_as_interrupted_and_changes_nothing() {
    let jobs: [(Job, Work); 5] = [
        (change_all, Work::Write),
        (change_all, Work::Hash),
        (import_all, Work::Write),
        (import_all, Work::Hash),
        (verify_all, Work::Verify),
    ];
    let (registry, history) = registry();
    for (job, work) in jobs {
        // At the first call, and in the middle of the work.
        for things in [0, 12_000] {
            let limit = Limit::of(work, things);
            let error = job(&limited(&registry, &limit)).unwrap_err();
            assert_eq!(error.kind().as_str(), "interrupted", "{work:?}, {things}: {error:?}");
            let [begun, ended] = [&limit.begun, &limit.ended].map(|it| it.load(Ordering::SeqCst));
            assert!(begun > 0 && begun == ended, "{work:?}: {begun} begun, {ended} ended");
            history.assert_matches(&registry, &name("dataset"));
        }
    }
}

#[test]
fn each_part_of_the_work_is_reported() {
    let (registry, _) = registry();
    let jobs: [(Job, Work, u64); 2] = [(change_all, Work::Write, 1), (verify_all, Work::Verify, 2)];
    for (job, work, times) in jobs {
        let limit = Limit::of(work, u64::MAX);
        job(&limited(&registry, &limit)).unwrap();
        // Progress covers everything but the remainder after the last multiple of 4,096.
        let done = limit.done.load(Ordering::SeqCst);
        let all = times * GRANULES as u64;
        assert!(done <= all && all - done < 4_096, "{work:?}: {done} of {all}");
        assert_eq!(limit.begun.load(Ordering::SeqCst), limit.ended.load(Ordering::SeqCst));
    }
}

/// Records the kinds of work as they begin. Each must end before the next begins.
#[derive(Default)]
struct Phases {
    begun: Mutex<Vec<Work>>,
    is_open: AtomicBool,
}

impl Observer for Phases {
    fn event(&self, event: Progress) {
        match event {
            Progress::Begin(work, _) => {
                let is_within = self.is_open.swap(true, Ordering::SeqCst);
                assert!(!is_within, "{work:?} is within another work");
                self.begun.lock().unwrap().push(work);
            }
            Progress::Advance(_) => assert!(self.is_open.load(Ordering::SeqCst)),
            Progress::End => {
                assert!(self.is_open.swap(false, Ordering::SeqCst), "it did not begin");
            }
            _ => {}
        }
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
    registry.import(&name("dataset"), &import).map(drop)
}

fn cite(registry: &Registry) -> Result<()> {
    let wanted = SubsetMembers::Patterns(vec!["*0".parse().unwrap()]);
    registry.cite_subset(&name("dataset"), None, &wanted).map(drop)
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
    drop(snapshot);
    registry.compare(&first, &latest).finish().map(drop)
}

fn pull_mirror(registry: &Registry) -> Result<()> {
    let primary = Registry::temporary(clock()).unwrap();
    let changed = primary.change(&name("US"), &change(["A"], []).at(second(0)))?;
    let primary = primary_of(manifest_of(&primary, "US")).unwrap();
    let options = PullOptions::new().expect(changed.expect());
    registry.pull(&name("dataset"), &primary, options).unwrap();
    Ok(())
}

fn revert_at(registry: &Registry, seconds: i64) -> Result<()> {
    let to = Selection::Dataset { name: name("dataset"), at: Some(Moment::Instant(second(0))) };
    let options = ChangeOptions::default().at(second(seconds));
    registry.revert(&name("dataset"), &to, &options).map(drop)
}

#[test]
fn every_phase_of_long_work_is_reported_one_after_the_other() {
    let (registry, _) = registry();
    let sync_all: Job = |registry| {
        let options = ChangeOptions::new().limits(Limits::NONE).at(second(20));
        let listing = listing(&odd_numbers());
        registry.sync(&name("dataset"), &listing, &options).map(drop)
    };
    let revert: Job = |registry| revert_at(registry, 30);
    let jobs: [(Job, &[Work]); 11] = [
        (import_all, &[Work::Write, Work::Hash, Work::Commit]),
        (
            |registry| revert_at(registry, 8),
            &[Work::Compare, Work::Write, Work::Hash, Work::Commit],
        ),
        (change_all, &[Work::Write, Work::Hash, Work::Commit]),
        (sync_all, &[Work::Compare, Work::Write, Work::Hash, Work::Commit]),
        (compare_two_sets, &[Work::Compare]),
        (revert, &[Work::Compare, Work::Write, Work::Hash, Work::Commit]),
        (import, &[Work::Write, Work::Commit]),
        (cite, &[Work::Select, Work::Commit]),
        (export, &[Work::Sort, Work::Export]),
        (verify_all, &[Work::Verify]),
        (pull_mirror, &[Work::ReadBytes, Work::Compare, Work::Write, Work::Hash, Work::Commit]),
    ];
    for (job, expected) in jobs {
        let phases = Arc::new(Phases::default());
        job(&registry.observed_by(phases.clone())).unwrap();
        assert_eq!(*phases.begun.lock().unwrap(), expected);
    }
}

#[test]
fn a_list_of_files_that_fails_ends_with_one_error() {
    let (registry, _) = registry();
    let selection = Selection::from(name("dataset"));
    let set = registry.snapshot().unwrap().select(&selection).unwrap().set;
    let token = CancelToken::new();
    let mut files = registry.cancelled_by(&token).files(&set);
    assert!(files.next().unwrap().is_ok());
    token.cancel();
    let errors = files.by_ref().take(2 * GRANULES).filter(Result::is_err).count();
    assert_eq!(errors, 1);
    assert!(files.next().is_none());
    assert_eq!(files.finish().unwrap_err().kind().as_str(), "interrupted");
}
