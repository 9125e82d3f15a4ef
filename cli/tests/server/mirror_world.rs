//! A mirror of a registry that the program serves, with a proxy between them.

use harness::values::clock;
use std::collections::BTreeSet;
use std::time::Duration;

use accession::mirror::{
    Address, HttpOptions, MirrorStatus, OpenPrimary, Outcome, PullOptions, PullPolicy, PullReport,
    Remote, compare, pull,
};
use accession::{IfMissing, Limits, Registry, Selection, Timestamp};

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
        let serving = Serving::of(command);
        let proxy = FaultProxy::before(&serving.address);
        let mirror = Registry::temporary(clock()).unwrap();
        World { directory, us, _serving: serving, proxy, mirror }
    }

    pub fn primary(&self) -> OpenPrimary {
        let url = format!("http://{}/datasets/US/", self.proxy.address);
        let first_delay = Duration::ZERO;
        let options = HttpOptions { first_delay, ..HttpOptions::default() };
        let address = Address::parse(&url, false).unwrap();
        OpenPrimary::at_address(Remote::new(address, options, Timestamp::MAX).unwrap(), None)
    }

    pub fn pull(&self, at: i64, policy: PullPolicy) -> PullReport {
        self.try_pull(&self.primary(), at, policy).unwrap()
    }

    pub fn try_pull(
        &self,
        primary: &OpenPrimary,
        at: i64,
        policy: PullPolicy,
    ) -> accession::Result<PullReport> {
        let options = PullOptions::new().if_missing(IfMissing::Create).policy(policy);
        pull(&self.mirror, &name("MIRROR"), primary, options.at(second(at)))
    }

    /// Compares the mirror with its primary, and remembers that.
    pub fn compare(&self) -> MirrorStatus {
        let compared = compare(&self.mirror, &name("MIRROR"), &self.primary()).unwrap();
        compared.remember(&self.mirror, &name("MIRROR"), Outcome::Compared).unwrap();
        compared.status().status
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

pub const RESET: PullPolicy = PullPolicy::Reset(Limits::NONE);
