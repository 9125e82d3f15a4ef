//! What must hold whatever the input: a function a target, the same for the fuzzer and for
//! `tests/library/fuzz_corpus.rs`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a law that is broken is a panic")]

mod citations;
mod minting;
mod readers;
mod values;

pub use citations::{creator, pattern};
pub use minting::{payment_id, unique_granule_id};
pub use readers::{
    changes, cmr_json, csv, detected, gzip, lines, manifest, ndjson, pdr, stac, umm_json,
};
pub use values::{dataset_name, doi, granule_id, identifier, timestamp};

/// Bytes that are text, or nothing.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
