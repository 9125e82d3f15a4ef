//! The state that all requests share.

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

/// The state that all requests share.
pub struct ServerState {
    /// The registry.
    pub source: Arc<Source>,
    /// The name and the addresses of the site.
    pub site: Site,
    /// The limits on all clients.
    pub limits: ServerLimits,
    /// The metrics of the server.
    pub metrics: Metrics,
    /// The files that mirrors read.
    pub published: PublishedFiles,
    /// Whether the registry can be read.
    pub health: Arc<Health>,
    /// Settings for clients that register subsets. `None` means that they cannot.
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

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.source.now()
    }
}
