//! The configuration of a server.

use std::fmt;
use std::time::Duration;

use crate::pages::Site;
use accession::Registry;
use accession::Result;

/// Everything that a server needs.
pub struct Config {
    /// The name and the addresses of the site.
    pub site: Site,
    /// Opens the registry: at the start, and again whenever another file has replaced it. Everything in the
    /// returned registry is public, so it is usually a [`Registry::public_view`]. The server uses the
    /// registry's clock.
    pub open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    /// The limits on all clients.
    pub limits: ServerLimits,
    /// How clients register subsets. `None` means that they cannot.
    pub registration: Option<Registration>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("site", &self.site).finish_non_exhaustive()
    }
}

/// Settings for clients that register subsets.
pub struct Registration {
    /// Opens the registry, once for each registration. The registry shows the same datasets as
    /// [`Config::open`].
    pub open: Box<dyn Fn() -> Result<Registry> + Send + Sync>,
    /// The token that a client must send. `None` means that no token is necessary.
    pub token: Option<String>,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// The limits on what all clients together may use. A proxy may limit single clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// The greatest number of accepted connections. The operating system queues further ones until one of them
    /// is closed.
    pub connections: usize,
    /// The longest time that a client may take to send the head of its next request. It also limits how long a
    /// connection may be idle.
    pub head_time: Duration,
    /// The longest time for which a client may read nothing while the server has data to send.
    pub stall_time: Duration,
    /// The longest time until a response begins.
    pub request_time: Duration,
    /// The longest time that a comparison, a check or a list with patterns may take.
    pub budget: Duration,
    /// The greatest number of requests that read the registry at the same time.
    pub readers: usize,
    /// The greatest number of comparisons and checks that run at the same time.
    pub comparisons: usize,
    /// The greatest number of lists with patterns that are computed at the same time.
    pub searches: usize,
    /// The longest target of a request, in bytes.
    pub target_bytes: usize,
    /// The longest body of a request, in bytes.
    pub body_bytes: usize,
    /// The greatest number of citations in one check.
    pub citations: usize,
    /// The greatest number of new subsets that all clients may register in one day (UTC).
    pub daily_subsets: u64,
    /// The greatest total length of the requests that register subsets in one day (UTC), in bytes.
    pub daily_subset_bytes: u64,
    /// The grace period for running requests after the server was asked to stop.
    pub drain_time: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 512,
            head_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(30),
            request_time: Duration::from_secs(20),
            budget: Duration::from_secs(10),
            readers: 8,
            comparisons: 2,
            searches: 2,
            target_bytes: 8 * 1_024,
            body_bytes: 256 * 1_024,
            citations: 200,
            daily_subsets: 1_000,
            daily_subset_bytes: 32 * 1_024 * 1_024,
            drain_time: Duration::from_secs(8),
        }
    }
}
