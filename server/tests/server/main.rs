//! The server: its routes through the router, and its connections over real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "costs are reported")]

mod caching;
mod hostile;
mod limits;
mod lists;
mod mirror_nginx;
mod other_servers;
mod pages;
#[cfg(unix)]
mod publish_links;
mod publish_verify;
mod published;
mod published_pages;
mod published_sets;
mod registered;
mod registry;
mod sets;
mod site;
mod statements;
