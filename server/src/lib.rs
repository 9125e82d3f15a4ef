//! The web pages and the HTTP API of a registry, and the same pages as files for any web server. Other programs
//! may write to the registry at the same time.
//!
//! [`Server::bind`] listens, and [`Server::run`] responds until the process is asked to stop.
//! [`publish_pages`] writes the pages of published datasets into a directory.
//!
//! # Example
//!
//! ```no_run
//! use accession::{Clock, DatasetFilter, Registry};
//! use accession_server::pages::{Serves, Site};
//! use accession_server::{Config, Server, ServerLimits};
//!
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
//!         let registry = Registry::open("accession.db", Clock::system())?;
//!         Ok(registry.public_view(DatasetFilter::All))
//!     }),
//!     limits: ServerLimits::default(),
//!     registration: None,
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Safety
//!
//! The server never writes, except for subsets that clients register if that is allowed ([`Registration`]),
//! each over its own connection. All other code uses snapshots, which never write.
//!
//! The numbers of connections, the sizes of heads, addresses and bodies, and the time of a request are limited
//! ([`ServerLimits`]). A long list is read page by page, each in its own short transaction, and only when the
//! client has read the previous page. Comparisons, checks and lists with patterns have a budget. These limits
//! apply to the work and its bytes, not to the connection. If a client hangs up, its work counts until it ends.
//! If a client stops reading, the data produced for it counts.

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
