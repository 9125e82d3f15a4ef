//! The tuple of Curt Tilmes' message: `{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:7631… }`.

use crate::citation::facts::Citation;

/// Writes one line. Without a DOI, the name of the dataset takes its place.
pub(super) fn write(citation: &Citation) -> String {
    let dataset = match &citation.record.doi {
        Some(doi) => format!("doi:{doi}"),
        None => citation.record.name.to_string(),
    };
    format!("{{ {dataset}, {}, {} }}\n", citation.as_of, citation.prefixed_identifier())
}
