//! Landing pages and an HTTP API over a registry that others write meanwhile.
//!
//! [`Server::bind`] listens, and [`Server::run`] answers until it is asked to stop.
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

mod answer;
mod conditions;
mod config;
mod files;
mod layer;
mod listener;
mod metrics;
pub mod pages;
mod permits;
mod problem;
mod publish;
mod published;
mod registration;
mod request;
mod route;
mod rows;
mod source;
mod state;

pub use answer::Body;
pub use config::{Config, Registration, ServerLimits};
pub use listener::{Server, Service};
pub use publish::{SiteSettings, publish_pages};
