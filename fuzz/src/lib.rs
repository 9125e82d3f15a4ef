//! Properties of every input. Each target of the fuzzer has one function, which `tests/library/fuzz_corpus.rs`
//! also calls.

#![allow(missing_docs, clippy::unwrap_used, reason = "a broken property is a panic")]

mod citations;
#[allow(dead_code, reason = "the paths of files are of the command line")]
#[path = "../../cli/src/command/dates_in_names.rs"]
mod dates_in_names;
mod inputs;
mod minting;
mod readers;
mod seal;
mod values;

pub use citations::{creator, pasted, pattern, record};
pub use inputs::{shapes, times_in_names, totals};
pub use minting::{payment_id, unique_granule_id};
pub use readers::{
    changes, checksums, cmr_json, csv, detected, gzip, lines, manifest, ndjson, old_payment_ids,
    pdr, stac, umm_json,
};
pub use seal::resealed;
pub use values::{dataset_name, doi, granule_id, identifier, licence, timestamp};

/// The bytes as a string, or an empty string if they are not UTF-8.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
