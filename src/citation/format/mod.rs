//! The formats in which a citation is written, one file each, with the escaping that each needs.

mod bibtex;
mod cff;
mod citation_format;
mod csl_json;
mod datacite_json;
mod indented_json;
mod json_ld;
mod members;
mod record_field;
mod ris;
mod text;
mod tuple;
mod write;

pub use citation_format::{CitationFormat, UnknownCitationFormat};
pub use record_field::RecordField;
