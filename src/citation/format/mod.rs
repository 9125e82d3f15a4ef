//! The formats of citations, and the escaping that each needs.

mod json;
mod ro_crate;
mod text;

use std::fmt;
use std::str::FromStr;

use crate::citation::facts::{Citation, nonblank_line};
use crate::model::{ParseError, quoted};

/// A format in which a citation can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CitationFormat {
    /// A sentence, in the order that ESIP and NSIDC use.
    Text,
    /// The tuple of DOI, date and identifier: `{ doi:…, date, DI:… }`.
    Tuple,
    /// A `@dataset` entry of biblatex.
    Bibtex,
    /// RIS, with the type `DATA`.
    Ris,
    /// An item of CSL-JSON 1.0.
    CslJson,
    /// DataCite JSON, kernel 4.
    DataciteJson,
    /// A schema.org Dataset as JSON-LD.
    JsonLd,
}

impl CitationFormat {
    /// All the formats.
    pub const ALL: [CitationFormat; 7] = [
        CitationFormat::Text,
        CitationFormat::Tuple,
        CitationFormat::Bibtex,
        CitationFormat::Ris,
        CitationFormat::CslJson,
        CitationFormat::DataciteJson,
        CitationFormat::JsonLd,
    ];

    /// Its name, its label for people, its media type, and whether it is a description for programs.
    const fn row(self) -> (&'static str, &'static str, &'static str, bool) {
        match self {
            CitationFormat::Text => ("text", "Text", "text/x-bibliography", false),
            CitationFormat::Tuple => ("tuple", "Tuple", "text/plain", false),
            CitationFormat::Bibtex => ("bibtex", "BibTeX", "application/x-bibtex", true),
            CitationFormat::Ris => ("ris", "RIS", "application/x-research-info-systems", true),
            CitationFormat::CslJson => {
                ("csl-json", "CSL-JSON", "application/vnd.citationstyles.csl+json", true)
            }
            CitationFormat::DataciteJson => {
                ("datacite-json", "DataCite", "application/vnd.datacite.datacite+json", true)
            }
            CitationFormat::JsonLd => ("json-ld", "JSON-LD", "application/ld+json", true),
        }
    }

    /// Returns the name that [`CitationFormat::from_str`] accepts.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns its label for people.
    pub const fn label(self) -> &'static str {
        self.row().1
    }

    /// Returns its media type.
    pub const fn media_type(self) -> &'static str {
        self.row().2
    }

    /// Whether it is a description for programs. `describedby` links to these.
    pub const fn is_metadata(self) -> bool {
        self.row().3
    }
}

impl fmt::Display for CitationFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CitationFormat {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"word"`, `"BibTeX"`: not one of the names
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let named = CitationFormat::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| {
            let [others @ .., last] = CitationFormat::ALL.map(CitationFormat::name);
            let (given, others) = (quoted(text), others.join(", "));
            ParseError::new(format!("{given} is not a citation format: use {others} or {last}"))
        })
    }
}

impl Citation {
    /// Writes the citation. Every line, including the last one, ends with LF, or CR LF in RIS.
    pub fn render(&self, format: CitationFormat) -> String {
        match format {
            CitationFormat::Text => text::write_sentence(self),
            CitationFormat::Tuple => text::write_tuple(self),
            CitationFormat::Bibtex => text::write_bibtex(&self.for_programs()),
            CitationFormat::Ris => text::write_ris(&self.for_programs()),
            CitationFormat::CslJson => json::write_csl(&self.for_programs()),
            CitationFormat::DataciteJson => json::write_datacite(&self.for_programs()),
            CitationFormat::JsonLd => json::write_json_ld(&self.for_programs(), json::About::Set),
        }
    }

    /// Writes the citation as a DOI resolver sends it: like [`Citation::render`], but CSL-JSON as one object.
    pub fn write_resolved(&self, format: CitationFormat) -> String {
        match format {
            CitationFormat::CslJson => json::write_csl_item(&self.for_programs()),
            format => self.render(format),
        }
    }

    /// Writes the dataset as JSON-LD, for its own page. The citation is of its latest set.
    pub fn write_dataset(&self) -> String {
        json::write_json_ld(&self.for_programs(), json::About::Dataset)
    }

    /// Whether the citation has all fields that a format requires. DataCite rejects metadata without creators,
    /// a publisher or a year.
    pub fn is_complete_for(&self, format: CitationFormat) -> bool {
        let lacks = self.missing_fields(format);
        let is_required = |field| ["creators", "publisher", "year"].contains(field);
        format != CitationFormat::DataciteJson || !lacks.iter().any(is_required)
    }

    /// Returns the fields that the format prints but the metadata does not have.
    pub fn missing_fields(&self, format: CitationFormat) -> Vec<&'static str> {
        let record = self.record();
        let fields = [
            ("doi", record.doi.is_none()),
            ("title", nonblank_line(record.title.as_deref()).is_none()),
            ("creators", record.creators.is_empty()),
            ("publisher", self.publisher().is_none()),
            ("version", self.version().is_none()),
            ("year", record.year.is_none()),
        ];
        let is_printed = |field| format != CitationFormat::Tuple || field == "doi";
        let missing =
            fields.into_iter().filter(|(field, is_missing)| *is_missing && is_printed(*field));
        missing.map(|(field, _)| field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_parsed_from_its_name() {
        for format in CitationFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!(
            "word".parse::<CitationFormat>().unwrap_err().to_string(),
            "\"word\" is not a citation format: use text, tuple, bibtex, ris, csl-json, \
             datacite-json or json-ld"
        );
    }
}
