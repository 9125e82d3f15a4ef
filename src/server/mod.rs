//! Landing pages and an HTTP API over a registry that others write meanwhile.
//!
//! [`Server::bind`] listens, and [`Server::run`] answers until it is asked to stop. [`router`] is the
//! service alone, for those who bring a server of their own.
//!
//! # Safety
//!
//! Nothing is written: the server knows only the snapshots of a registry that is opened for reading.
//! Connections, heads, addresses, bodies and the time of a request are limited ([`Limits`]). A long
//! list is read page by page, each in a short transaction of its own, and only when the client has
//! taken the page before it. Comparisons and checks have a budget.
//!
//! # Layers
//!
//! Each may use only those before it: `config`, `problem`, `metrics`; `source`: the registry;
//! `cache`: the files that mirrors read; `state`: what requests share; `format`, `asked`, `answer`, `memento`, `rows`: requests and responses;
//! `layer`; `route`; `listener`.

mod answer;
mod asked;
mod cache;
mod config;
mod format;
mod layer;
mod listener;
mod memento;
mod metrics;
mod problem;
mod route;
mod rows;
mod source;
mod state;

use std::sync::Arc;

pub use axum::Router;
pub use config::{Config, Limits};
pub use listener::{AccessLog, Server, ServerError, log};

use crate::registry::Result;
use state::State;

/// All routes, as a service.
///
/// # Errors
///
/// Those of opening the registry.
pub fn router(config: Config) -> Result<Router> {
    Ok(route::router(Arc::new(State::new(config)?)))
}
