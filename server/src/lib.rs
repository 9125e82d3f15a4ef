//! The web pages and the HTTP API of a registry, which other programs may write at the same time, and the
//! same pages as files for any web server.
//!
//! [`Server::bind`] listens, and [`Server::run`] responds until the process is asked to stop.
//! [`publish_pages`] writes the pages of published datasets into a directory.
//!
//! # Example
//!
//! ```no_run
//! use std::time::{SystemTime, UNIX_EPOCH};
//!
//! use accession::{Access, DatasetFilter, Registry, Timestamp};
//! use accession_server::pages::{Serves, Site};
//! use accession_server::{Config, Server, ServerLimits};
//!
//! let clock = || {
//!     let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
//!     let micros = i64::try_from(since_1970.as_micros()).ok().and_then(Timestamp::from_micros);
//!     micros.expect("the year is below 10000")
//! };
//! let server = Server::bind("127.0.0.1:8000".parse()?)?;
//! println!("listening on http://{}/", server.address());
//! server.run(Config {
//!     site: Site {
//!         name: "US Archive".to_owned(),
//!         contact: None,
//!         public_url: None,
//!         serves: Serves::Everything { is_public: false },
//!         resolver: None,
//!     },
//!     // All datasets are public.
//!     open: Box::new(|| {
//!         let registry = Registry::open("accession.db".as_ref(), Access::Read)?;
//!         Ok(registry.public_view(DatasetFilter::All))
//!     }),
//!     clock: Box::new(clock),
//!     limits: ServerLimits::default(),
//!     registration: None,
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Safety
//!
//! Nothing is written, but subsets that clients register where that is allowed ([`Registration`]), each by a
//! connection of its own: all else knows only the snapshots of a registry that is opened for reading.
//! Connections, heads, addresses, bodies and the time of a request are limited ([`ServerLimits`]). A long
//! list is read page by page, each in a short transaction of its own, and only when the client has
//! taken the page before it. Comparisons, checks and lists with patterns have a budget. These limits
//! are of the work and of its bytes, not of the connection: a client that hangs up gives nothing back
//! before its work has ended, and one that reads nothing keeps what was made for it.

mod config;
mod layers;
mod listener;
mod metrics;
pub mod pages;
mod permits;
mod problem;
mod publish;
mod published;
mod registration;
mod request;
mod response;
mod route;
mod rows;
mod source;
mod state;

/// The body of a request or of a response.
pub use axum::body::Body;
pub use config::{Config, Registration, ServerLimits};
pub use listener::{BindError, Server, Service};
pub use publish::{SiteSettings, publish_pages};
