//! The registry as an SQLite file: opening, creating, copying and replacing it.
//!
//! Each file here knows only those before it: `files`, `connection`, `schema`, `migrate`, then
//! `create` and `backup`, `identity`, `open`, and `restore`.

pub mod backup;
pub mod connection;
pub mod create;
mod error;
mod files;
pub mod identity;
mod limits;
mod migrate;
pub mod open;
#[expect(dead_code, reason = "the command that calls it does not exist yet")]
pub mod restore;
pub mod schema;

pub use connection::{Access, BUSY_WAIT, limit_memory};
pub use create::TemporaryRegistry;
pub use identity::Identity;
pub use open::Opened;

use crate::store::Error;

type Result<T> = std::result::Result<T, Error>;
