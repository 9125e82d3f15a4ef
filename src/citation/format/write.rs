//! Writing a citation in any of the formats.

use super::citation_format::CitationFormat;
use super::record_field::RecordField;
use super::{bibtex, cff, csl_json, datacite_json, json_ld, ris, text, tuple};
use crate::citation::facts::Citation;
use crate::citation::single_line::nonblank_line;

impl Citation {
    /// Writes the citation. Every line, the last one included, ends with LF; in RIS with CR LF.
    pub fn write(&self, format: CitationFormat) -> String {
        match format {
            CitationFormat::Text => text::write(self),
            CitationFormat::Tuple => tuple::write(self),
            CitationFormat::Bibtex => bibtex::write_biblatex(self),
            CitationFormat::BibtexMisc => bibtex::write_classic(self),
            CitationFormat::Ris => ris::write(self),
            CitationFormat::CslJson => csl_json::write(self),
            CitationFormat::DataciteJson => datacite_json::write(self),
            CitationFormat::Cff => cff::write(self),
            CitationFormat::JsonLd => json_ld::write(self),
        }
    }

    /// Returns the fields that the format prints and the record does not have.
    pub fn missing_fields(&self, format: CitationFormat) -> Vec<RecordField> {
        let is_missing = [
            (RecordField::Doi, self.record.doi.is_none()),
            (RecordField::Title, nonblank_line(self.record.title.as_deref()).is_none()),
            (RecordField::Creators, self.record.creators.is_empty()),
            (RecordField::Publisher, self.publisher().is_none()),
            (RecordField::Version, self.version().is_none()),
            (RecordField::Year, self.record.year.is_none()),
        ];
        let is_printed =
            |field: RecordField| format != CitationFormat::Tuple || field == RecordField::Doi;
        is_missing
            .into_iter()
            .filter(|(field, is_missing)| *is_missing && is_printed(*field))
            .map(|(field, _)| field)
            .collect()
    }
}
