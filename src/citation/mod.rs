//! Citations: what an author pastes into a paper, with the identifier inside.
//!
//! [`Citation`] is the facts; each [`Format`] is one file that writes them, with the escaping that
//! it needs. What a record lacks is left out and can be told ([`Citation::lacks`]); nothing is
//! invented. [`record`] reads the records that people have already, [`pasted`] finds citations in
//! what people paste, and [`check`] says what the register knows of them.
//!
//! Source: ESIP Data Citation Guidelines for Earth Science Data, version 2; seed 001 (the tuple).

mod bibtex;
mod cff;
pub mod check;
mod csl_json;
mod datacite_json;
mod dates;
mod dois;
mod json_ld;
mod marks;
mod members;
mod parts;
pub mod pasted;
mod plain;
pub mod record;
mod ris;
mod text;
mod tuple;

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use crate::model::{
    Criteria, Dataset, DatasetName, Day, Identifier, Instance, Moment, Pattern, Timestamp, quoted,
};
use crate::registry::Cited;

/// A citation of a dataset as it stood at a time, or of a part of it: the facts that every format
/// draws on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    cited: Cited,
    as_of: Moment,
    accessed: Day,
}

/// How a citation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A sentence, in the order of ESIP and NSIDC.
    Text,
    /// The tuple of seed 001: `{ doi:…, date, DI:… }`.
    Tuple,
    /// biblatex: `@dataset`.
    Bibtex,
    /// Classic BibTeX: `@misc`.
    BibtexMisc,
    /// RIS: `TY  - DATA`.
    Ris,
    /// An item of CSL-JSON 1.0.
    CslJson,
    /// DataCite JSON, kernel 4.
    DataciteJson,
    /// CITATION.cff 1.2.
    Cff,
    /// schema.org Dataset as JSON-LD.
    JsonLd,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 9] = [
        Format::Text,
        Format::Tuple,
        Format::Bibtex,
        Format::BibtexMisc,
        Format::Ris,
        Format::CslJson,
        Format::DataciteJson,
        Format::Cff,
        Format::JsonLd,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Tuple => "tuple",
            Format::Bibtex => "bibtex",
            Format::BibtexMisc => "bibtex-misc",
            Format::Ris => "ris",
            Format::CslJson => "csl-json",
            Format::DataciteJson => "datacite-json",
            Format::Cff => "cff",
            Format::JsonLd => "json-ld",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text names no [`Format`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is no format of citations: they are {}", quoted(name), all_names())]
pub struct UnknownFormat {
    name: String,
}

fn all_names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = Format::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| UnknownFormat { name: text.to_owned() })
    }
}

/// A field of the record that a citation should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The DOI.
    Doi,
    /// The title; where there is none, the dataset's name stands for it.
    Title,
    /// The creators.
    Creators,
    /// The publisher.
    Publisher,
    /// The version.
    Version,
    /// The year of publication.
    Year,
}

impl Field {
    /// The option of `dataset edit` that gives it.
    pub const fn option(self) -> &'static str {
        match self {
            Field::Doi => "--doi",
            Field::Title => "--title",
            Field::Creators => "--creator",
            Field::Publisher => "--publisher",
            Field::Version => "--dataset-version",
            Field::Year => "--year",
        }
    }
}

impl Citation {
    /// The citation of what was found, as of the moment that was asked for (none: as of when the
    /// instance took effect), by somebody who looked on the day `accessed`.
    pub fn new(cited: Cited, at: Option<Moment>, accessed: Day) -> Self {
        let as_of = at.unwrap_or_else(|| first_moment(&cited.instance));
        Citation { cited, as_of, accessed }
    }

    /// Writes it. Lines end with LF, but for RIS with CR LF; the last one too.
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Text => text::write(self),
            Format::Tuple => tuple::write(self),
            Format::Bibtex => bibtex::write_biblatex(self),
            Format::BibtexMisc => bibtex::write_classic(self),
            Format::Ris => ris::write(self),
            Format::CslJson => csl_json::write(self),
            Format::DataciteJson => datacite_json::write(self),
            Format::Cff => cff::write(self),
            Format::JsonLd => json_ld::write(self),
        }
    }

    /// What the format would say, and the record does not.
    pub fn lacks(&self, format: Format) -> Vec<Field> {
        let record = &self.cited.record;
        let fields = [
            (Field::Doi, record.doi.is_none()),
            (Field::Title, said(record.title.as_deref()).is_none()),
            (Field::Creators, record.creators.is_empty()),
            (Field::Publisher, self.publisher().is_none()),
            (Field::Version, self.version().is_none()),
            (Field::Year, record.year.is_none()),
        ];
        fields
            .into_iter()
            .filter(|(field, is_lacking)| {
                *is_lacking && (format != Format::Tuple || *field == Field::Doi)
            })
            .map(|(field, _)| field)
            .collect()
    }

    /// The identifier with its mark.
    fn marked(&self) -> String {
        format!("DI:{}", self.cited.instance.identifier)
    }

    /// The title, or the dataset's name in the register, which is all that is known of it.
    fn title(&self) -> String {
        let record = &self.cited.record;
        said(record.title.as_deref()).unwrap_or_else(|| record.name.to_string())
    }

    fn publisher(&self) -> Option<String> {
        said(self.cited.record.publisher.as_deref())
    }

    fn version(&self) -> Option<String> {
        said(self.cited.record.version.as_deref())
    }

    /// Where the dataset is to be found: its DOI's address, or its own.
    fn address(&self) -> Option<String> {
        let record = &self.cited.record;
        record.doi.as_ref().map(crate::model::Doi::address).or_else(|| self.url())
    }

    fn url(&self) -> Option<String> {
        url_of(&self.cited.record)
    }

    /// An address of an instance: that of the dataset, with the identifier as its fragment.
    fn address_of(&self, identifier: Identifier) -> Option<String> {
        let address = self.address()?;
        let whole = address.split('#').next().unwrap_or_default();
        Some(format!("{whole}#DI:{identifier}"))
    }

    fn licence(&self) -> Option<Licence> {
        said(self.cited.record.licence.as_deref()).map(Licence::of)
    }

    /// The mirrors that have another DOI, or an address: these can be named.
    fn mirrors(&self) -> impl Iterator<Item = &Dataset> {
        let doi = self.cited.record.doi.as_ref();
        self.cited.mirrors.iter().filter(move |mirror| match (&mirror.doi, doi) {
            (Some(mirror), Some(doi)) => !mirror.is_same_as(doi),
            (Some(_), None) => true,
            (None, _) => url_of(mirror).is_some(),
        })
    }

    /// The mirrors that a citation cannot name: without DOI and address, or with the same DOI.
    pub fn unnamed_mirrors(&self) -> Vec<&DatasetName> {
        let all = self.cited.mirrors.iter();
        all.filter(|mirror| self.mirrors().all(|named| named.name != mirror.name))
            .map(|mirror| &mirror.name)
            .collect()
    }

    /// `DI:…, as held at 2001-01-05 by US`, and of a part which: the statement that `check` reads.
    fn statement(&self) -> String {
        let mut statement = format!("{}, as held at {}", self.marked(), self.as_of);
        if let Some(archive) = said(self.cited.record.archive.as_deref()) {
            statement.push_str(&format!(" by {archive}"));
        }
        if let Some((part, whole)) = &self.cited.part {
            let (some, all) = (part.granules, whole.granules);
            statement
                .push_str(&format!(", {some} of {all} granules, {}", criteria(&part.criteria)));
        }
        statement
    }

    /// A key for reference managers: the dataset's name, the date and the beginning of the
    /// identifier, since one paper may cite a set as held at several dates.
    fn key(&self) -> String {
        let identifier = self.cited.instance.identifier.to_string();
        let date = self.as_of.to_string().replace(':', "");
        format!("{}-{date}-{}", self.cited.record.name, &identifier[..8])
    }
}

/// A licence as formats need it.
enum Licence {
    /// One of the list of SPDX, as that writes it.
    Spdx(&'static str),
    /// The address of its text.
    Address(String),
    /// Some other words.
    Words(String),
}

impl Licence {
    /// Those of SPDX that data are given out under; others are words.
    const SPDX: [&str; 24] = [
        "Apache-2.0",
        "BSD-3-Clause",
        "CC-BY-3.0",
        "CC-BY-4.0",
        "CC-BY-NC-4.0",
        "CC-BY-NC-ND-4.0",
        "CC-BY-NC-SA-4.0",
        "CC-BY-ND-4.0",
        "CC-BY-SA-3.0",
        "CC-BY-SA-4.0",
        "CC0-1.0",
        "CC-PDDC",
        "CDLA-Permissive-1.0",
        "CDLA-Permissive-2.0",
        "CDLA-Sharing-1.0",
        "DL-DE-BY-2.0",
        "DL-DE-ZERO-2.0",
        "etalab-2.0",
        "MIT",
        "NLOD-2.0",
        "ODbL-1.0",
        "ODC-By-1.0",
        "OGL-UK-3.0",
        "PDDL-1.0",
    ];

    /// Where the list has it.
    fn spdx_address(licence: &str) -> String {
        format!("https://spdx.org/licenses/{licence}")
    }

    fn of(text: String) -> Self {
        let known = Licence::SPDX.into_iter().find(|known| known.eq_ignore_ascii_case(&text));
        match known {
            Some(known) => Licence::Spdx(known),
            None if text.contains("://") => Licence::Address(uri(&text)),
            None => Licence::Words(text),
        }
    }
}

/// A text of the record on one line; what is blank says nothing.
fn said(text: Option<&str>) -> Option<String> {
    text.map(plain).filter(|text| !text.is_empty())
}

/// The day on which an instance took effect, if it was the one in force when that day ended; else
/// the instant: then a reader who looks it up finds the same.
fn first_moment(instance: &Instance) -> Moment {
    let day = instance.timestamp.day();
    if instance.is_in_force_at(day.end()) {
        Moment::Day(day)
    } else {
        Moment::Instant(instance.timestamp)
    }
}

/// How a part was selected, in words.
fn criteria(criteria: &Criteria) -> String {
    /// Longer lists are counted: the registry has them.
    const MAX_CHARS: usize = 200;
    match criteria {
        Criteria::Named => "named one by one".to_owned(),
        Criteria::Patterns(patterns) => {
            let listed = patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join(" ");
            if listed.chars().count() <= MAX_CHARS {
                format!("selected by {listed}")
            } else {
                format!("selected by {} patterns", patterns.len())
            }
        }
    }
}

/// A text on one line: control characters and runs of white space become one space, so that no
/// format is broken by what somebody once pasted into a title.
fn plain(text: &str) -> String {
    // What turns the direction of the rest of the line, the identifier in it too.
    let text = text.replace(
        [
            '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
            '\u{2068}', '\u{2069}',
        ],
        "",
    );
    let parts = text.split(|character: char| character.is_whitespace() || character.is_control());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Where a record says that its dataset is to be found, if a reader can follow that.
fn url_of(record: &Dataset) -> Option<String> {
    record.url.as_ref().map(|url| uri(url.as_str()))
}

/// An address with what no URI may hold encoded (RFC 3986, 2), nor a verbatim field of TeX; other
/// scripts stay readable.
fn uri(text: &str) -> String {
    const NOT_IN_A_URI: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'\\')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let encode = |character: char| match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => percent_encode(&[byte], NOT_IN_A_URI).to_string(),
        _ => character.to_string(),
    };
    plain(text).chars().map(encode).collect()
}

/// The year, month and day of a day, as numbers.
fn date_parts(day: Day) -> [u32; 3] {
    let (year, month, day) = day.year_month_day();
    [year, month, day]
}

/// An interval as ISO 8601 and DataCite's RKMS write it; an open one ends with the slash.
fn interval(begin: Timestamp, end: Option<Timestamp>) -> String {
    match end {
        Some(end) => format!("{begin}/{end}"),
        None => format!("{begin}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert_eq!(
            "word".parse::<Format>().unwrap_err().to_string(),
            "\"word\" is no format of citations: they are text, tuple, bibtex, bibtex-misc, ris, \
             csl-json, datacite-json, cff, json-ld"
        );
    }

    #[test]
    fn an_address_holds_nothing_that_ends_a_field() {
        assert_eq!(
            uri(" https://x.org/a b{c}\\?q=é&p=%20#f "),
            "https://x.org/a%20b%7Bc%7D%5C?q=é&p=%20#f"
        );
    }

    #[test]
    fn a_text_of_several_lines_becomes_one() {
        assert_eq!(plain("  FOO\r\nER  - \u{1b}[2J\tLevel\u{2028}2 "), "FOO ER - [2J Level 2");
    }
}
