//! A mirror of a registry that the program serves, with a proxy between them.

use harness::pulls::PullPolicy;
use harness::values::clock;
use std::collections::BTreeSet;
use std::time::Duration;

use accession::mirror::{MirrorStatus, Primary, PullOptions, PullReport};
use accession::{IfMissing, Registry, Selection};

use crate::running::serving::Serving;
use harness::fault_proxy::FaultProxy;
use harness::values::{name, second};

/// The program serving a registry, a proxy in front of it, and a mirror.
pub struct World {
    pub directory: tempfile::TempDir,
    pub us: Registry,
    pub _serving: Serving,
    pub proxy: FaultProxy,
    pub mirror: Registry,
}

impl World {
    pub fn new() -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        let us = Registry::create(&path, clock()).unwrap();
        let mut command = Serving::command(&path, &[]);
        command.current_dir(directory.path());
        let serving = Serving::of(&mut command).unwrap();
        let proxy = FaultProxy::before(&serving.address);
        let mirror = Registry::temporary(clock()).unwrap();
        World { directory, us, _serving: serving, proxy, mirror }
    }

    /// The primary at its address. A request is repeated without waiting.
    pub fn primary(&self) -> Primary {
        let primary: Primary =
            format!("http://{}/datasets/US/", self.proxy.address).parse().unwrap();
        primary.before_retry(|_| Duration::ZERO)
    }

    pub fn pull(&self, at: i64, policy: PullPolicy) -> PullReport {
        self.try_pull(&self.primary(), at, policy).unwrap()
    }

    pub fn try_pull(
        &self,
        primary: &Primary,
        at: i64,
        policy: PullPolicy,
    ) -> accession::Result<PullReport> {
        let options = PullOptions::new().if_missing(IfMissing::Create).at(second(at));
        policy.pull(&self.mirror, &name("MIRROR"), primary, options)
    }

    /// Compares the mirror with its primary, and records the comparison.
    pub fn compare(&self) -> MirrorStatus {
        let comparison = self.mirror.compare_mirror(&name("MIRROR"), &self.primary()).unwrap();
        let compared = comparison.finish().unwrap();
        assert!(compared.warnings.is_empty(), "{:?}", compared.warnings);
        compared.status.status
    }
}

pub fn held(registry: &Registry, dataset: &str) -> BTreeSet<String> {
    let snapshot = registry.snapshot().unwrap();
    let selection = Selection::Dataset { name: name(dataset), at: None };
    let set = snapshot.select(&selection).unwrap().set;
    let granules = snapshot.registry().granules(&set);
    drop(snapshot);
    granules.map(|granule| granule.unwrap().granule_id.to_string()).collect()
}
