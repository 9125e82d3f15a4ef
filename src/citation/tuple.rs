//! The tuple of seed 001: `{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:7631… }`.

use super::Citation;

/// Writes one line. Without a DOI, the dataset's name in the register stands in its place.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let dataset = match &record.doi {
        Some(doi) => format!("doi:{doi}"),
        None => record.name.to_string(),
    };
    format!("{{ {dataset}, {}, {} }}\n", citation.as_of, citation.marked())
}
