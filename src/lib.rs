//! The register in which an archive enters its data granules.

pub mod chain;
pub mod model;
pub mod store;
pub use model::*;
