//! All output: text tables, JSON, escapes, messages and progress.
//!
//! Data goes to stdout, and everything else to stderr. An untrusted string is escaped by [`one_line`], by
//! [`json`], or, before it reaches a terminal, by [`Output`].

pub mod json;
mod marked;
mod progress;
mod stdout;
mod table;
mod text;
mod value;

pub use accession::text::plural;
pub use json::{Object, Streamed};
pub use marked::{MarkedLines, MarkedList};
pub use progress::{Progress, show_progress};
pub use stdout::{Failure, Output};
pub use table::{Column, Table, to_the_second, write_fields, write_rows};
pub use text::{
    Label, annotation_in, digest_in, for_shell, lines_below, one_line, selected_in, write_message,
};
pub use value::{AsText, counted, in_words, to_value, without_recording};
