//! RIS: on each line a tag of two characters, two spaces, a hyphen, a space and a value; lines end
//! with CR LF.
//!
//! The tags are those that reference managers read for the type `DATA`: `ET` is the version, `AN` the
//! accession number, `DP` the provider, `Y2` the day of access. RIS has no escaping, so every value
//! is written on one line.

use crate::citation::facts::Citation;
use crate::citation::single_line::single_line;

/// Writes one record.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.record;
    let mut lines = vec![("TY", "DATA".to_owned()), ("ID", citation.key())];
    lines.extend(record.creators.iter().map(|creator| ("AU", single_line(&creator.full_name()))));
    lines.push(("TI", citation.title()));
    lines.extend(record.year.map(|year| ("PY", year.to_string())));
    lines.extend(citation.version().map(|version| ("ET", version)));
    lines.extend(citation.publisher().map(|publisher| ("PB", publisher)));
    lines.extend(citation.archive().map(|archive| ("DP", archive)));
    lines.extend(record.doi.as_ref().map(|doi| ("DO", doi.to_string())));
    lines.extend(citation.url().or_else(|| citation.address()).map(|address| ("UR", address)));
    lines.push(("AN", citation.prefixed_identifier()));
    lines.push(("N1", citation.statement()));
    let (year, month, day) = citation.accessed.year_month_day();
    lines.push(("Y2", format!("{year:04}/{month:02}/{day:02}")));
    let body: String =
        lines.into_iter().map(|(tag, value)| format!("{tag}  - {value}\r\n")).collect();
    body + "ER  - \r\n"
}
