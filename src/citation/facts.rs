//! The facts of a citation, from which every format is written.

use std::iter;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::record;
use super::set_spec::{Meaning, NamedDataset, SetSpec, When};
use crate::error::Result;
use crate::model::{
    Annotation, DatasetMetadata, DatasetName, DatasetRecord, Day, Digest, Doi, Identifier,
    Instance, Licence, Moment, ParseError, Pattern, Set, SubsetCriteria, Timestamp, is_interpreted,
    plural, quoted,
};
use crate::registry::{CitationFacts, CitedContents, ListingSummary, Period, Registry};

/// A citation of a dataset as it was held at a time, or of a subset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The cited set, and the metadata of the dataset.
    pub(super) cited: CitationFacts,
    /// The time for which the set is cited.
    pub(super) as_of: Moment,
    /// The time if the digest is also printed.
    digest_as_of: Moment,
    /// The requested time. `None` means any time at which the set was held.
    at: Option<Moment>,
    /// The day on which the citation was written.
    pub(super) accessed: Day,
    /// The address of the site that resolves identifiers, without a slash at its end. `None` means that no such
    /// site is known.
    resolver: Option<String>,
    /// Whether the statement also contains the digest.
    states_digest: bool,
    /// Whether every file of the set has a checksum. If so, formats for programs contain the digest.
    has_checksums: bool,
    /// Whether a list is cited, independent of any registry.
    pub(super) is_listed: bool,
}

impl Citation {
    /// The ASCII characters that a URI cannot contain (RFC 3986 § 2). They are percent-encoded in the addresses
    /// of a citation.
    pub const NOT_IN_A_URI: &AsciiSet = NOT_IN_A_URI;

    /// Creates the citation of a set that was held at `at`, for a reader who accessed it on the day `accessed`.
    /// If `at` is `None`, the time is when the cited identifier came into force or, with a digest, when the
    /// digest did.
    pub fn new(cited: CitationFacts, at: Option<Moment>, accessed: Day) -> Self {
        let resolver = cited.dataset.dataset.resolver.as_ref();
        let resolver = resolver.map(|resolver| resolver.as_str().trim_end_matches('/').to_owned());
        let as_of = at.unwrap_or_else(|| first_moment(cited.period.from(), cited.period.until()));
        let digest_as_of = at.unwrap_or_else(|| {
            let period = cited.period.digest_period();
            first_moment(period.from, period.until)
        });
        Citation {
            cited,
            as_of,
            digest_as_of,
            at,
            accessed,
            resolver,
            states_digest: false,
            has_checksums: false,
            is_listed: false,
        }
    }

    /// Returns the citation for a format with the digest: at its time, the identifier and the digest were both
    /// in force.
    pub(super) fn of_digest(&self) -> Self {
        Citation { as_of: self.digest_as_of, ..self.clone() }
    }

    /// Returns the citation for a format that programs read. It has the digest if the digest covers every file.
    /// At its time, both were in force.
    pub(super) fn for_programs(&self) -> Self {
        match self.has_checksums {
            true => Citation { states_digest: true, ..self.of_digest() },
            false => self.clone(),
        }
    }

    /// The digest, if the citation prints it.
    pub(super) fn stated_digest(&self) -> Option<Digest> {
        self.states_digest.then(|| self.cited.period.set.digest())
    }

    /// The period in which the cited set was in force.
    pub fn period(&self) -> &Period {
        &self.cited.period
    }

    /// The metadata of the dataset.
    pub(super) fn record(&self) -> &DatasetMetadata {
        &self.cited.dataset.dataset
    }

    /// The identifier of the cited granules.
    pub fn identifier(&self) -> Identifier {
        self.cited.period.set.identifier()
    }

    /// The identifier of the instance from which the subset is selected. `None` means that the whole instance
    /// is cited.
    pub(super) fn whole(&self) -> Option<Identifier> {
        self.cited.period.set.subset().map(|_| self.cited.period.set.instance().identifier)
    }

    /// Prints the digest in formats for people, too. A tuple cannot contain it.
    #[must_use]
    pub fn with_digest(self, states_digest: bool) -> Self {
        if states_digest { Citation { states_digest, ..self.of_digest() } } else { self }
    }

    /// Prints the digest in formats for people if the set had several contents on the day of the citation, and
    /// in formats for programs if every file has a checksum. `registry` holds the set. No snapshot needs to be
    /// open, because the contents of a set at a past time do not change.
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn with_contents(self, registry: &Registry) -> Result<Self> {
        let CitedContents { are_several, have_checksums } =
            registry.cited_contents(&self.cited, self.at)?;
        Ok(Citation { has_checksums: have_checksums, ..self.with_digest(are_several) })
    }

    /// Sets the address of a site that resolves identifiers, unless the metadata of the dataset has one.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Option<&str>) -> Self {
        let resolver = || resolver.map(|resolver| resolver.trim_end_matches('/').to_owned());
        self.resolver = self.resolver.or_else(resolver);
        self
    }

    /// The permanent address of the cited granules. `None` means that no site is known that resolves
    /// identifiers.
    pub fn permanent_address(&self) -> Option<String> {
        self.resolver.as_ref().map(|resolver| format!("{resolver}/{}", self.prefixed_identifier()))
    }

    /// The permanent address, with the digest if the citation prints it.
    fn address_of_contents(&self) -> Option<String> {
        let address = self.permanent_address()?;
        let digest = self.stated_digest();
        Some(digest.map_or(address.clone(), |digest| format!("{address}?digest={digest}")))
    }

    /// The identifier with its prefix: `DI:7631…`.
    pub(super) fn prefixed_identifier(&self) -> String {
        format!("DI:{}", self.identifier())
    }

    /// The title or, if there is none, the name of the dataset.
    pub(super) fn title(&self) -> String {
        let title = nonblank_line(self.record().title.as_deref());
        title.unwrap_or_else(|| self.record().name.to_string())
    }

    /// The title with the identifier and the date at its end. Most styles of reference managers print no other
    /// field that could contain them. The date of a listing is omitted, because it does not describe what the
    /// archive held.
    pub fn title_to_print(&self) -> String {
        let (title, identifier) = (self.title(), self.prefixed_identifier());
        match self.is_listed {
            true => format!("{title} [{identifier}]"),
            false => format!("{title} [{identifier}, {}]", self.as_of),
        }
    }

    /// The description of the dataset, with its line breaks.
    pub(super) fn description(&self) -> Option<&str> {
        self.record().description.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn publisher(&self) -> Option<String> {
        nonblank_line(self.record().publisher.as_deref())
    }

    pub(super) fn version(&self) -> Option<String> {
        nonblank_line(self.record().version.as_deref())
    }

    pub(super) fn archive(&self) -> Option<String> {
        nonblank_line(self.record().archive.as_deref())
    }

    pub(super) fn licence(&self) -> Option<&Licence> {
        self.record().licence.as_ref()
    }

    /// The web address of the dataset.
    pub(super) fn url(&self) -> Option<String> {
        self.record().url.as_ref().map(|url| encoded(url.as_str()))
    }

    /// The address that reference managers open: that of the set, else of the page about the dataset, else of
    /// its DOI.
    pub(super) fn opened_address(&self) -> Option<String> {
        self.recorded_address().or_else(|| self.address())
    }

    /// The address of the set, else of the page about the dataset. For formats in which the DOI has its own
    /// field.
    pub(super) fn recorded_address(&self) -> Option<String> {
        self.address_of_contents().or_else(|| self.url())
    }

    /// The address of the DOI at doi.org or, without a DOI, the web address of the dataset.
    pub(super) fn address(&self) -> Option<String> {
        self.record().doi.as_ref().map(Doi::address).or_else(|| self.url())
    }

    /// The address of an instance: its own or, without a resolver, that of the dataset with the identifier as
    /// fragment.
    pub(super) fn address_of(&self, identifier: Identifier) -> Option<String> {
        if let Some(resolver) = &self.resolver {
            let is_own = identifier == self.identifier();
            let own = self.permanent_address().filter(|_| is_own);
            return own.or_else(|| Some(format!("{resolver}/DI:{identifier}")));
        }
        let address = self.address()?;
        let without_fragment = address.split('#').next().unwrap_or_default();
        Some(format!("{without_fragment}#DI:{identifier}"))
    }

    /// The statement that [`super::recognise`] reads: `DI:…, as held at 2001-01-05 by US`. For a subset, it
    /// describes the selection. It contains the digest if the citation prints it.
    pub(super) fn statement(&self) -> String {
        let named = self.permanent_address().unwrap_or_else(|| self.prefixed_identifier());
        let (as_of, granules) = (self.as_of, self.cited.period.set.granule_count());
        let mut statement = match self.is_listed {
            true => format!("{named}, {} listed on {as_of}", plural(granules, "granule")),
            false => format!("{named}, as held at {as_of}"),
        };
        if let Some(archive) = self.archive() {
            statement.push_str(&format!(" by {archive}"));
        }
        if let Set::Subset { subset, instance } = &self.cited.period.set {
            let (granules, of_granules) = (subset.granules, instance.granules);
            let selected = criteria(&subset.criteria);
            statement.push_str(&format!(", {granules} of {of_granules} granules, {selected}"));
        }
        if let Some(digest) = self.stated_digest() {
            statement.push_str(&format!(", {digest}"));
        }
        statement
    }

    /// The title of the cited set, unique among the sets of the dataset.
    pub(super) fn title_of_set(&self) -> String {
        let (title, as_of) = (self.title(), self.as_of);
        match &self.cited.period.set {
            Set::Instance(instance) if self.is_listed => {
                let granules = plural(instance.granules, "granule");
                format!("{title}, {granules} listed on {as_of}")
            }
            Set::Instance(_) => format!("{title}, as held at {as_of}"),
            Set::Subset { subset, instance } => {
                let (granules, of_granules) = (subset.granules, instance.granules);
                format!("{title}, {granules} of {of_granules} granules as held at {as_of}")
            }
        }
    }

    /// The annotations of the set, and the note that its dataset was withdrawn.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let noted =
            self.cited.period.annotations().map(|Annotation { note, questionable, .. }| {
                let label = if *questionable { "Questionable" } else { "Noted" };
                format!("{label}: {}", single_line(note))
            });
        let withdrawn = self.cited.dataset.withdrawn.as_ref();
        noted.chain(withdrawn.map(|it| single_line(&it.of(&self.record().name))))
    }

    /// The statement with these notes.
    pub(super) fn noted_statement(&self) -> String {
        iter::once(self.statement()).chain(self.notes()).collect::<Vec<_>>().join(". ")
    }

    /// The citation key for reference managers: the name of the dataset, the date and the first eight digits of
    /// the identifier. One paper may cite a dataset as held at several dates.
    pub(super) fn key(&self) -> String {
        let identifier = self.identifier().to_string();
        let date = self.as_of.to_string().replace(':', "");
        format!("{}-{date}-{}", self.record().name, &identifier[..8])
    }
}

/// The day on which an identifier came into force, if it was still in force at the end of that day. Otherwise
/// the instant, so that a look-up of the time finds the same identifier.
fn first_moment(from: Timestamp, until: Option<Timestamp>) -> Moment {
    match until.is_none_or(|until| from.day().end() < until) {
        true => Moment::Day(from.day()),
        false => Moment::Instant(from),
    }
}

/// Describes how a subset was selected.
fn criteria(criteria: &SubsetCriteria) -> String {
    /// Longer lists of patterns are counted instead; the registry has them in full.
    const MAX_CHARS: usize = 200;
    match criteria {
        SubsetCriteria::Named => "named one by one".to_owned(),
        SubsetCriteria::Patterns(patterns) => {
            let listed = patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join(" ");
            if listed.chars().count() <= MAX_CHARS {
                format!("selected by {listed}")
            } else {
                format!("selected by {} patterns", patterns.len())
            }
        }
    }
}

/// Joins a string into one line: control characters and runs of white space become one space, so that a line
/// break in a title cannot break a format. Characters that change the direction of text are removed, because
/// they could reorder the rest of the line, including the identifier.
pub(super) fn single_line(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let shown = words.map(|word| word.replace(is_interpreted, ""));
    shown.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Joins an optional string into one line. `None` means that it is blank.
pub(super) fn nonblank_line(text: Option<&str>) -> Option<String> {
    text.map(single_line).filter(|line| !line.is_empty())
}

/// The ASCII characters that a URI cannot contain (RFC 3986 § 2).
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

/// Percent-encodes the ASCII characters that a URI or a verbatim field of TeX cannot contain. Letters of other
/// scripts stay readable.
pub(super) fn encoded(address: &str) -> String {
    let encode = |character: char| match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => percent_encode(&[byte], NOT_IN_A_URI).to_string(),
        _ => character.to_string(),
    };
    single_line(address).chars().map(encode).collect()
}

impl DatasetMetadata {
    /// The metadata of the dataset of a list: its DOI, its name or both, and the file `record` in a format that
    /// [`record::read`] reads. Without a title, the DOI is the title; without a name, the name is made from the
    /// DOI.
    ///
    /// # Errors
    ///
    /// - `[]`, with a record that has no DOI: neither a DOI nor a name
    /// - two different DOIs, or two names
    /// - those of [`record::read`]
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::{Citation, CitationFormat};
    /// use accession::dataset::DatasetMetadata;
    /// use accession::{GranuleId, ListingBuilder};
    ///
    /// let mut listing = ListingBuilder::new();
    /// listing.add("A.1".parse::<GranuleId>()?)?;
    /// let listing = listing.finish();
    /// let dataset = DatasetMetadata::of_list(&["10.9999/FOO".parse()?], None)?;
    /// let now = "2001-01-05T12:00:00Z".parse()?;
    /// let citation = Citation::of_list(dataset, &listing.identify()?, now);
    /// let tuple = citation.render(CitationFormat::Tuple);
    /// assert_eq!(tuple, "{ doi:10.9999/FOO, DI:e9cac2acf20e60847e87ea0a5927fb65 }\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_list(of: &[SetSpec], record: Option<&str>) -> Result<DatasetMetadata, ParseError> {
        let (mut named, mut doi) = (None, None);
        for given in of {
            let is_new = match &given.meaning {
                Meaning::Dataset(NamedDataset::Name(name), When::Now) => {
                    named.replace(name.clone()).is_none()
                }
                Meaning::Dataset(NamedDataset::Doi(given), When::Now) => {
                    doi.replace(given.clone()).is_none()
                }
                _ => {
                    let message = format!(
                        "{} is neither a DOI nor the name of a dataset",
                        quoted(given.as_str())
                    );
                    return Err(ParseError::new(message));
                }
            };
            if !is_new {
                return Err(ParseError::new(
                    "one list is of one dataset: give one DOI, one name or both",
                ));
            }
        }
        // The name is replaced below.
        let placeholder = || "list".parse().expect("it is a name");
        let mut dataset = DatasetMetadata::named(named.clone().unwrap_or_else(placeholder));
        record.map_or(Ok(()), |record| record::read(record, &mut dataset))?;
        match (&doi, &dataset.doi) {
            (Some(given), Some(stated)) if given != stated => {
                let message = format!("the record is that of {stated}, and not of {given}");
                return Err(ParseError::new(message));
            }
            _ => dataset.doi = doi.or(dataset.doi),
        }
        if named.is_none() {
            let nameless = || ParseError::new("the dataset has neither a DOI nor a name");
            let doi = dataset.doi.as_ref().ok_or_else(nameless)?;
            dataset.name = name_of(doi);
            dataset.title.get_or_insert_with(|| doi.to_string());
        }
        Ok(dataset)
    }
}

/// A dataset name made from a DOI, for the key of a reference. Characters that names cannot contain become
/// hyphens.
fn name_of(doi: &Doi) -> DatasetName {
    let is_kept = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let name: String =
        doi.as_str().chars().map(|it| if is_kept(it) { it } else { '-' }).take(100).collect();
    let name = name.replace("..", ".-");
    name.parse().unwrap_or_else(|_| "doi".parse().expect("it is a name"))
}

impl Citation {
    /// The citation of a list of granules of a dataset, as of now. The dataset's holdings are unknown, so the
    /// citation says that the granules were listed.
    pub fn of_list(dataset: DatasetMetadata, list: &ListingSummary, now: Timestamp) -> Self {
        let instance = Instance {
            dataset: dataset.name.clone(),
            timestamp: now,
            until: None,
            identifier: list.identifier,
            digest: list.digest,
            granules: list.granules,
            ingested: list.granules,
            deleted: 0,
            described: 0,
            replaced: 0,
            recorded: now,
            recorded_by: None,
            note: None,
            annotations: Vec::new(),
        };
        let dataset = DatasetRecord {
            dataset,
            withdrawn: None,
            former_names: Vec::new(),
            corrections: Vec::new(),
            limits: None,
            latest: None,
            confirmed: None,
        };
        let set = Set::Instance(instance);
        let (instances, withdrawn) = (Vec::new(), None);
        let period = Period { set, instances, agreement: None, withdrawn, is_of_site: false };
        let cited =
            CitationFacts { dataset, period, others: Vec::new(), previous: None, next: None };
        let citation = Citation::new(cited, Some(Moment::Day(now.day())), now.day());
        Citation { states_digest: true, has_checksums: true, is_listed: true, ..citation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_several_lines_becomes_one_line() {
        assert_eq!(
            single_line("  FOO\r\nER  - \u{1b}[2J\tLevel\u{2028}2 "),
            "FOO ER - [2J Level 2"
        );
        assert_eq!(single_line("a\u{202e}b\u{2066}c"), "abc");
        for mark in ['\u{61c}', '\u{200e}', '\u{200f}'] {
            assert_eq!(single_line(&format!("a{mark}b")), "ab");
        }
    }

    #[test]
    fn an_address_contains_nothing_that_ends_a_field() {
        assert_eq!(
            encoded(" https://x.org/a b{c}\\?q=é&p=%20#f "),
            "https://x.org/a%20b%7Bc%7D%5C?q=é&p=%20#f"
        );
    }

    #[test]
    fn a_list_is_of_one_dataset_with_a_doi_or_a_name() {
        let read = |of: &[&str], doi: Option<&str>| {
            let record = doi.map(|doi| format!(r#"{{"type":"dataset","DOI":"{doi}"}}"#));
            let of: Vec<SetSpec> = of.iter().map(|it| it.parse().unwrap()).collect();
            DatasetMetadata::of_list(&of, record.as_deref())
                .map(|it| (it.name.to_string(), it.doi.map(|doi| doi.to_string())))
        };
        let known = |name: &str, doi: Option<&str>| Ok((name.to_owned(), doi.map(str::to_owned)));
        assert_eq!(read(&["A"], None), known("A", None));
        let doi = "10.1/a(b)..c/é";
        assert_eq!(read(&[doi], None), known("10.1-a-b-.-c--", Some(doi)));
        assert_eq!(read(&[], Some("10.1/a")), known("10.1-a", Some("10.1/a")));
        assert_eq!(read(&["10.1/A", "A"], Some("10.1/a")), known("A", Some("10.1/A")));
        for (of, doi) in [
            (&[][..], None),
            (&["A", "B"], None),
            (&["10.1/a", "10.1/b"], None),
            (&["10.1/a"], Some("10.1/b")),
        ] {
            assert!(read(of, doi).is_err(), "{of:?}");
        }
    }
}
