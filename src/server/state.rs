//! What all requests share.

use std::sync::{Arc, Mutex, PoisonError};

use super::cache::Cache;
use super::client::{Client, Network};
use super::config::{Config, Limits};
use super::finished::{Epoch, Responses};
use super::listed::Lists;
use super::metrics::Metrics;
use super::sending::Flight;
use super::source::{Health, Reading, Source};
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::pages::{Series, Site};
use crate::registry::Snapshot;

/// A day, in microseconds.
const DAY: i64 = 24 * 3_600 * 1_000_000;

/// What all requests share.
pub struct State {
    /// The registry.
    pub source: Arc<Source>,
    /// The name and the addresses of the site.
    pub site: Site,
    /// The limits on what clients may use.
    pub limits: Limits,
    /// What was counted.
    pub metrics: Metrics,
    /// The files that mirrors read.
    pub cache: Cache,
    /// Whether the registry can be read.
    pub health: Arc<Health>,
    /// What is in memory for clients.
    pub flight: Flight,
    /// The whole lists that were sent last.
    pub lists: Arc<Lists>,
    /// The responses that were sent last.
    pub responses: Responses,
    /// The proxies that are believed.
    pub trusted_proxies: Vec<Network>,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    plots: Plots,
}

impl State {
    /// Opens the registry.
    ///
    /// # Errors
    ///
    /// Those of the configured `open`.
    pub fn new(config: Config) -> Result<Self> {
        let Config { site, open, clock, limits, cache, trusted_proxies } = config;
        let source = Arc::new(Source::open(open, limits)?);
        Ok(State {
            health: Health::watch(&source),
            source,
            flight: Flight::new(limits.bytes_in_flight),
            lists: Arc::new(Lists::new(cache.clone(), &limits)),
            responses: Responses::default(),
            trusted_proxies,
            site,
            limits,
            clock,
            metrics: Metrics::default(),
            cache: Cache::new(cache),
            plots: Plots::default(),
        })
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// What every response depends on besides its request. `None` means that it cannot be known, and so
    /// nothing can be kept.
    pub async fn epoch(&self, client: Option<Client>) -> Option<Epoch> {
        let (generation, state) = self.source.state(client).await?;
        Some(Epoch { generation, state, day: self.now().as_micros().div_euclid(DAY) })
    }

    /// The history of a dataset for its plot. Only what is new since the last request is read.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::history`].
    pub fn series(
        &self,
        reading: &Reading,
        snapshot: &Snapshot,
        name: &DatasetName,
    ) -> Result<Arc<Series>> {
        let known = self.plots.find(reading.generation, name);
        let mut series = known.as_deref().cloned().unwrap_or_default();
        let mut history = snapshot.history(name)?;
        if let Some(next) = series.latest().and_then(Timestamp::next) {
            history = history.since(next);
        }
        let before = series.changes();
        for instance in history {
            series.add(&instance?);
            if series.changes().is_multiple_of(1_024) {
                reading.check_time()?;
            }
        }
        match known {
            Some(known) if series.changes() == before => Ok(known),
            _ => {
                let series = Arc::new(series);
                self.plots.keep(reading.generation, name, Arc::clone(&series));
                Ok(series)
            }
        }
    }
}

/// The histories of the datasets that were shown last.
#[derive(Default)]
struct Plots(Mutex<Vec<(u64, DatasetName, Arc<Series>)>>);

/// How many histories are kept: each takes at most 160 kB.
const MAX_PLOTS: usize = 64;

impl Plots {
    fn find(&self, generation: u64, name: &DatasetName) -> Option<Arc<Series>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(of, kept, _)| (*of, kept) == (generation, name))?;
        // The one that was used last is at the end.
        let found = kept.remove(at);
        let series = Arc::clone(&found.2);
        kept.push(found);
        Some(series)
    }

    fn keep(&self, generation: u64, name: &DatasetName, series: Arc<Series>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, kept, _)| *of == generation && kept != name);
        if kept.len() == MAX_PLOTS {
            kept.remove(0);
        }
        kept.push((generation, name.clone(), series));
    }
}
