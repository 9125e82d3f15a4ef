//! The library through its public API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "what was tested is reported")]

#[path = "../harness"]
mod harness {
    pub mod at_advance;
    pub mod cluster;
    pub mod events;
    pub mod files;
    pub mod given_server;
    pub mod history;
    pub mod hostile_log;
    pub mod installed;
    pub mod listener;
    pub mod oracle;
    pub mod primary_at_address;
    pub mod seal;
    pub mod seed;
    pub mod server;
    pub mod signing;
    pub mod store;
    pub mod values;
    pub mod web_server;
}

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
mod daily_import;
mod damaged_rows;
mod export_until;
mod exported;
mod files;
mod fixity;
mod fixity_lists;
mod flipped_rows;
mod followed;
mod former_names;
mod fuzz_corpus;
mod hostile_registries;
mod import;
mod large_change;
mod log_format;
mod log_limits;
mod lost_rows;
mod mirror_annotations;
mod mirror_http;
mod mirror_http_faults;
mod mirror_http_statements;
mod mirror_http_writing;
mod mirror_memory;
mod mirror_nginx;
mod mirror_properties;
mod mirror_pull;
mod monitor;
mod named;
mod names_given_up;
mod new_ids;
mod nights;
mod on_postgres;
mod other_servers;
mod pages;
mod payment;
mod publish;
#[cfg(all(unix, feature = "serve"))]
mod publish_links;
#[cfg(feature = "serve")]
mod publish_verify;
#[cfg(feature = "serve")]
mod published_pages;
mod published_sets;
mod random_contents;
mod random_histories;
mod recognise;
mod record_fields;
mod records_of_others;
mod refusals;
mod replaced;
mod restore;
mod rolling_checks;
mod seed;
mod side_by_side;
mod statements;
mod stored;
mod unique_granule;
mod vectors;
mod verify;
mod work;
