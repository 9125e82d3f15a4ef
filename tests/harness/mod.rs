//! What the tests share: the naive oracle, a model of a dataset's history, and a place to work in.

#![allow(dead_code, reason = "each test binary uses its own part of the harness")]

pub mod console;
pub mod history;
pub mod oracle;
pub mod seed;
