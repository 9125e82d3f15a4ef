//! A primary whose datasets are published on a web server, and a mirror.

use crate::values::{AtTime, clock};
use std::collections::BTreeSet;
use std::time::Duration;

use accession::dataset::DatasetMetadata;
use accession::mirror::{HistoryComparison, Primary, PrimaryOptions, PullOptions, PullReport};
use accession::{
    ChangeReport, Clock, DatasetFilter, Difference, IfMissing, Import, Pattern, Registry,
    Selection, SubsetMembers,
};

use crate::history::held;
use crate::pulls::PullPolicy;
use crate::values::{change, name, now, second};
use crate::web_server::WebServer;

/// A primary with its published directory and its server, and a mirror.
#[derive(Debug)]
pub struct World {
    pub directory: tempfile::TempDir,
    pub us: Registry,
    pub server: WebServer,
    pub mirror: Registry,
}

impl World {
    pub fn new() -> Self {
        let directory = crate::directory();
        let server = WebServer::over(directory.path());
        let (us, mirror) =
            (Registry::temporary(clock()).unwrap(), Registry::temporary(clock()).unwrap());
        World { directory, us, server, mirror }
    }

    /// A primary with three changes, a note and a cited subset.
    pub fn small() -> Self {
        let world = World::new();
        for (at, step) in [change(["A", "B"], []), change(["C"], ["A"]), change(["D"], [])]
            .into_iter()
            .enumerate()
        {
            let mut step = step;
            step.options = step.options.note((at == 1).then(|| "replaced".to_owned()));
            world.us.change(&name("us"), &step.at(second(at as i64))).unwrap();
        }
        let patterns: Vec<Pattern> = vec!["B*".parse().unwrap()];
        world
            .us
            .with_clock(Clock::fixed(second(9)))
            .cite_subset(&name("us"), None, &SubsetMembers::Patterns(patterns))
            .unwrap();
        world.publish();
        world
    }

    pub fn publish(&self) {
        self.us
            .publish(self.directory.path(), &DatasetFilter::All, |_, published| published.map(drop))
            .unwrap();
    }

    pub fn primary(&self) -> Primary {
        quick(&self.server.dataset("us"), PrimaryOptions::default())
    }

    /// Compares the mirror, which is created if needed. Also returns the ids that it lacks.
    pub fn compare(&self) -> accession::Result<(HistoryComparison, BTreeSet<String>)> {
        self.compare_with(&self.primary())
    }

    pub fn compare_with(
        &self,
        primary: &Primary,
    ) -> accession::Result<(HistoryComparison, BTreeSet<String>)> {
        let mirror = name("mirror");
        if !self.mirror.snapshot()?.has_dataset(&mirror)? {
            self.mirror.add_dataset(&DatasetMetadata::named(mirror.clone()))?;
        }
        let mut comparison = self.mirror.compare_mirror(&mirror, primary)?;
        let mut missing = BTreeSet::new();
        for difference in comparison.by_ref() {
            if let Difference::OnlyRight(entry) = difference? {
                missing.insert(entry.granule_id.to_string());
            }
        }
        Ok((comparison.finish()?.status, missing))
    }

    pub fn pull(&self, at: i64, policy: PullPolicy) -> accession::Result<PullReport> {
        let options = PullOptions::new().if_missing(IfMissing::Create).at(second(at));
        policy.pull(&self.mirror, &name("mirror"), &self.primary(), options)
    }

    /// Copies the history of the primary.
    pub fn import(&self) -> ChangeReport {
        let mut import = Import::new();
        import.options = import.options.if_missing(IfMissing::Create);
        let primary: Primary = self.server.dataset("us").parse().unwrap();
        let replica =
            primary.read_replica(Some(&self.mirror), &name("us"), &mut import, now()).unwrap();
        let replica = replica.unwrap();
        replica.import(&self.mirror, &name("us"), &import).unwrap()
    }

    /// The ids that a dataset holds.
    pub fn held(registry: &Registry, dataset: &str) -> Vec<String> {
        held(registry, &Selection::Dataset { name: name(dataset), at: None }).1
    }

    pub fn file(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.directory.path().join(path)).unwrap()
    }
}

/// The primary at an address. It repeats requests without waiting.
pub fn quick(address: &str, options: PrimaryOptions) -> Primary {
    let primary: Primary = address.parse().unwrap();
    primary.with_options(options).before_retry(|_| Duration::ZERO)
}

pub const LOG: &str = "datasets/us/log/000000.jsonl";
pub const HEAD: &str = "datasets/us/head.json";
