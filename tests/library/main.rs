//! The library through its public API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "what was tested is reported")]

#[path = "../../fuzz/src/lib.rs"]
mod properties;

mod all_small_histories;
mod annotations;
mod as_of;
mod backup;
mod check;
mod citation_formats;
mod cited_for_ever;
mod cited_subsets;
mod clock_ahead;
mod corrections;
mod damaged_rows;
mod dataset_filter;
mod export_until;
mod files;
mod fixity_lists;
mod flipped_rows;
mod former_names;
mod fuzz_corpus;
mod hostile_registries;
mod import;
mod inputs;
mod large_change;
mod listing;
mod log_format;
mod log_limits;
mod lost_rows;
mod mirror_annotations;
mod mirror_http;
mod mirror_http_faults;
mod mirror_http_writing;
mod mirror_memory;
mod mirror_properties;
mod mirror_pull;
mod named;
mod names_given_up;
mod new_ids;
mod nights;
mod observer;
mod on_postgres;
mod opening;
mod pages;
mod payment;
mod publish;
mod random_contents;
mod random_histories;
mod recognise;
mod record_fields;
mod records_of_others;
mod refusals;
mod replaced;
mod restore;
mod reverts;
mod rolling_checks;
mod scanned;
mod seed;
mod set_specs;
mod side_by_side;
mod statements;
mod stored;
mod threads;
mod unique_granule;
mod vectors;
mod verify;
mod views;
mod work;
