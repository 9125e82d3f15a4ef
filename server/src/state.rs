//! What all requests share.

use std::sync::Arc;

use super::config::{Config, ServerLimits};
use super::metrics::Metrics;
use super::published::PublishedFiles;
use super::registration::Registering;
use super::source::{Health, Source};
use crate::pages::Site;
use accession::Result;
use accession::Timestamp;

/// The state of the router.
pub type App = Arc<ServerState>;

/// What all requests share.
pub struct ServerState {
    /// The registry.
    pub source: Arc<Source>,
    /// The name and the addresses of the site.
    pub site: Site,
    /// The limits on what clients may use.
    pub limits: ServerLimits,
    /// What was counted.
    pub metrics: Metrics,
    /// The files that mirrors read.
    pub published: PublishedFiles,
    /// Whether the registry can be read.
    pub health: Arc<Health>,
    /// How clients register subsets. `None` means that they cannot.
    pub registering: Option<Arc<Registering>>,
}

impl ServerState {
    /// Opens the registry.
    ///
    /// # Errors
    ///
    /// Those of the configured `open`.
    pub fn new(config: Config) -> Result<Self> {
        let Config { site, open, limits, registration } = config;
        let source = Arc::new(Source::open(open, limits)?);
        Ok(ServerState {
            health: Health::watch(&source),
            source,
            registering: registration.map(|registration| Arc::new(registration.into())),
            site,
            limits,
            metrics: Metrics::default(),
            published: PublishedFiles::new(),
        })
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.source.now()
    }
}
