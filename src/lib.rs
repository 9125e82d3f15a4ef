pub mod chain;
pub mod model;
pub mod store;
pub use model::*;
