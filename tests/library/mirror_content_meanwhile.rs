//! What is recorded, and what is copied, while a mirror is pulled.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use accession::registry::PaymentIds;
use accession::{Access, Monitor, Registry};

use crate::harness::store::new_registry_in;
use crate::mirror_content::{Archives, WAYS, Way, add, counts, differing, known};

/// Does something once, when work begins.
struct Meanwhile {
    work: &'static str,
    step: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Meanwhile {
    fn of(work: &'static str, step: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Arc::new(Meanwhile { work, step: Mutex::new(Some(Box::new(step))) })
    }

    fn is_done(&self) -> bool {
        self.step.lock().unwrap().is_none()
    }
}

impl Monitor for Meanwhile {
    fn begin(&self, work: &'static str, _: &'static str, _: Option<u64>) {
        let step = (work == self.work).then(|| self.step.lock().unwrap().take());
        if let Some(Some(step)) = step {
            step();
        }
    }

    fn advance(&self, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn end(&self) {}
}

impl Archives {
    /// Lets the mirror be a registry that others can open, and returns its path.
    fn opened_by_many(&mut self) -> std::path::PathBuf {
        let (path, registry) = new_registry_in(self.world.directory.path());
        self.world.mirror = registry;
        assert!(self.pull(None).is_identical());
        path
    }
}

#[test]
fn a_copy_that_is_made_during_a_pull_gets_the_records_that_it_lacks_with_its_next_pull() {
    for way in WAYS {
        let mut archives = Archives::new(way);
        archives.opened_by_many();
        archives.us("A", [Some(1), Some(1), None], "first");
        archives.pull(None);
        let target = archives.world.directory.path().join("copy.db");
        let source = archives.world.mirror.clone();
        let archives = Arc::new(Mutex::new(archives));
        let shared = Arc::clone(&archives);
        // After it was decided what is copied, and before what is remembered of the primary is.
        let pull = Meanwhile::of("copying", move || {
            let archives = shared.lock().unwrap();
            archives.us("B", [Some(2), None, None], "second");
            assert_eq!(archives.pull(None).files, counts(1, 0, 0));
        });
        source.with_monitor(pull.clone()).copy_to(&target, PaymentIds::LeftOut).unwrap();
        assert!(pull.is_done());
        let mut archives = archives.lock().unwrap();
        archives.world.mirror = Registry::open(&target, Access::Write).unwrap();
        assert_eq!(known(&archives.world.mirror, "mirror").len(), 1, "{way:?}");
        // As many records as the other one had, but not the same.
        archives.them("C", [Some(3), None, None]);
        assert_eq!(archives.pull(None).files, counts(1, 0, 0), "{way:?}");
        assert_eq!(known(&archives.world.mirror, "mirror")["B"], [Some(2), None, None], "{way:?}");
    }
}

#[test]
fn what_is_recorded_between_the_comparison_and_the_pull_is_compared_too() {
    let mut archives = Archives::new(Way::File);
    let path = archives.opened_by_many();
    archives.us("A", [None, Some(1), None], "first");
    archives.us("B", [None, Some(2), None], "first");
    let record = Meanwhile::of("comparing", move || {
        let other = Registry::open(&path, Access::Write).unwrap();
        add(&other, "mirror", "A", [None, Some(9), None], "own");
    });
    archives.world.mirror = archives.world.mirror.with_monitor(record.clone());
    archives.pull(None);
    assert!(record.is_done());
    let mirror = known(&archives.world.mirror, "mirror");
    assert_eq!((mirror["A"][1], mirror["B"][1]), (Some(9), Some(2)));
    assert_eq!(differing(&archives.pull(None)), ["A"]);
}
