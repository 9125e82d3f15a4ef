//! What all requests share.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use super::cache::Cache;
use super::config::{Config, Limits};
use super::finished::{Epoch, Responses};
use super::listed::Lists;
use super::metrics::Metrics;
use super::recent::Recent;
use super::sending::Flight;
use super::source::{Health, Reading, Source};
use crate::error::Result;
use crate::model::{DatasetName, Identifier, Set, Timestamp};
use crate::pages::{Fixity, Site};
use crate::registry::{CountedFiles, Snapshot};

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
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Those of the set that a dataset holds have no identifier: they are counted from one to the next.
    counted: Shown<(u64, DatasetName, Option<Identifier>), CountedFiles>,
}

impl State {
    /// Opens the registry.
    ///
    /// # Errors
    ///
    /// Those of the configured `open`.
    pub fn new(config: Config) -> Result<Self> {
        let Config { site, open, clock, limits, cache } = config;
        let source = Arc::new(Source::open(open, limits)?);
        Ok(State {
            health: Health::watch(&source),
            source,
            flight: Flight::new(limits.bytes_in_flight),
            lists: Arc::new(Lists::new(cache.clone(), &limits)),
            responses: Responses::default(),
            site,
            limits,
            clock,
            metrics: Metrics::default(),
            cache: Cache::new(cache),
            counted: Shown::default(),
        })
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// What every response depends on besides its request. `None` means that it cannot be known, and so
    /// nothing can be kept.
    pub async fn epoch(&self) -> Option<Epoch> {
        let (generation, state) = self.source.state().await?;
        Some(Epoch { generation, state, day: self.now().as_micros().div_euclid(DAY) })
    }

    /// What is recorded of the files of a set, and what checks of them found. `None` means that nothing
    /// is recorded. Files are counted once, then what changed, and not those of a set that is too large.
    ///
    /// # Errors
    ///
    /// Those of [`Fixity::read`].
    pub fn fixity(
        &self,
        reading: &Reading,
        snapshot: &Snapshot,
        set: &Set,
    ) -> Result<Option<Fixity>> {
        Fixity::read(snapshot, set, |last_record| {
            let dataset = set.dataset().clone();
            let is_earlier = set.instance().until.is_some();
            let is_held = !is_earlier && set.subset().is_none();
            let key = (reading.generation, dataset, (!is_held).then(|| set.identifier()));
            let known = self.counted.find(&key);
            let most = if is_earlier { COUNTED_EARLIER } else { COUNTED_HELD };
            let counted = match known {
                Some(known) if known.is_of(set, last_record) => known,
                _ if set.granules() > most => return Ok(None),
                known => self.counted.keep(key, snapshot.count_files(set, known.as_deref())?),
            };
            Ok(Some(Arc::clone(&counted.totals)))
        })
    }
}

/// The greatest number of granules of an earlier set whose files are counted for its page. There are any
/// number of such sets.
const COUNTED_EARLIER: u64 = 20_000;

/// The same of the set that a dataset holds, which takes about 2 seconds for a million the first time: the
/// page of a larger one would end as unavailable.
const COUNTED_HELD: u64 = 2_000_000;

/// What was made for the pages that were shown last.
struct Shown<Key, Value>(Mutex<Recent<Key, Arc<Value>>>);

impl<Key, Value> Default for Shown<Key, Value> {
    fn default() -> Self {
        Shown(Mutex::default())
    }
}

impl<Key: Clone + Eq + Hash, Value> Shown<Key, Value> {
    /// How many are kept.
    const MOST: usize = 64;

    fn find(&self, key: &Key) -> Option<Arc<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep(&self, key: Key, value: Value) -> Arc<Value> {
        let value = Arc::new(value);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, Arc::clone(&value));
        if kept.len() > Self::MOST {
            kept.remove_oldest();
        }
        value
    }
}
