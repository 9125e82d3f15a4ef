//! RIS: a tag of two characters, two spaces, a hyphen, a space and a value on each line, CR LF.
//!
//! Tags as reference managers read them for the type `DATA`: `ET` is the version, `AN` the accession
//! number, `DP` the provider, `Y2` the day of access. There is no escaping: a value is one line, so
//! texts are put on one.

use super::{Citation, date_parts, plain};

/// Writes one record.
pub(super) fn write(citation: &Citation) -> String {
    let record = &citation.cited.record;
    let mut lines = vec![("TY", "DATA".to_owned()), ("ID", citation.key())];
    lines.extend(record.creators.iter().map(|creator| ("AU", plain(&creator.full_name()))));
    lines.push(("TI", citation.title()));
    lines.extend(record.year.map(|year| ("PY", year.to_string())));
    lines.extend(citation.version().map(|version| ("ET", version)));
    lines.extend(citation.publisher().map(|publisher| ("PB", publisher)));
    lines.extend(record.archive.as_deref().map(|archive| ("DP", plain(archive))));
    lines.extend(record.doi.as_ref().map(|doi| ("DO", doi.to_string())));
    lines.extend(citation.url().or_else(|| citation.address()).map(|address| ("UR", address)));
    lines.push(("AN", citation.marked()));
    lines.push(("N1", citation.statement()));
    let [year, month, day] = date_parts(citation.accessed);
    lines.push(("Y2", format!("{year:04}/{month:02}/{day:02}")));
    let body: String =
        lines.into_iter().map(|(tag, value)| format!("{tag}  - {value}\r\n")).collect();
    body + "ER  - \r\n"
}
