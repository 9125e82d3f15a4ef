//! Recognises citations in pasted text: the tuple, a sentence, BibTeX, RIS or JSON.
//!
//! # Identifiers
//!
//! An identifier is `DI:` and 32 hexadecimal digits, in any case. It may be broken over lines, or once by a
//! space. In a reference without any `DI:`, a word of 32 hexadecimal digits is an identifier, too. After a `#`,
//! `DI:` names an instance related to the cited one, so it is used only if the reference has no other
//! identifier. In a reference without any identifier, a digest names the set. Text after `DI:` that cannot be
//! read as an identifier, because of a wrong number of digits or a wrong letter, is reported as
//! [`ParsedField::Unreadable`].
//!
//! # DOIs and dates
//!
//! The identifier alone names the set; the DOI and the date are only compared with it. They belong to the same
//! [reference](Reference) and, in running text, are between the neighbouring identifiers. The date follows
//! `as held at`, `as held on` or, directly after the identifier, `as of`. In a tuple, it is a member; at the
//! end of a title, it is in brackets with the identifier. It is an ISO date or an instant of RFC 3339; other
//! spellings are not compared. The year of publication and the day of access are never used as the date.
//!
//! # Digests
//!
//! A digest is `sha256:` and 12 to 64 hexadecimal digits. The first digest after the identifier is used, else
//! the last one before it in its sentence; in a record, the digest of the record. It may be broken over lines
//! like an identifier.
//!
//! # Cost
//!
//! Linear in the length of the text, because only a bounded part around each identifier is examined.

use std::collections::HashSet;
use std::ops::Range;

use percent_encoding::percent_decode_str;

pub use super::marks::ParsedField;
use super::marks::{Mark, Name, first_digest, identifier_of_part, last_digest, marks};
use super::references::Reference;
use crate::model::{DatasetName, DigestPrefix, Doi, Identifier, Moment, strip_prefix_of_any_case};

/// A citation that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCitation {
    /// The identifier. `None` means that the set is named only by its digest, or that only a dataset is named,
    /// by its DOI.
    pub identifier: Option<ParsedField<Identifier>>,
    /// The digest. `None` means that there is none.
    pub digest: Option<ParsedField<DigestPrefix>>,
    /// The DOI. `None` means that there is no readable DOI.
    pub doi: Option<Doi>,
    /// The name of the dataset in an archive, from a tuple without a DOI.
    pub dataset: Option<DatasetName>,
    /// The time for which the set is cited. `None` means that the citation has no time.
    pub date: Option<ParsedField<Moment>>,
    /// The cited part of the set: `DI:…?select=PATTERN`. `None` means the whole set.
    pub part: Option<Part>,
    /// The number of lines of its reference before its line: 0 on the first line, and in JSON.
    pub lines_before: u64,
}

/// An unregistered part of a set, with its identifiers and its digest from the citation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// The patterns that select it.
    pub patterns: Vec<String>,
    /// Its own identifiers, which no registry can resolve.
    pub identifiers: Vec<ParsedField<Identifier>>,
    /// Its digest.
    pub digest: Option<ParsedField<DigestPrefix>>,
    /// The numbers of granules in the citation. `None` means that it has none.
    pub(crate) granules: Option<PartGranules>,
}

/// The numbers of granules of a part and of the whole set: `9 of 11 granules`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartGranules {
    /// The number of granules in the part.
    pub selected: u64,
    /// The number of granules in the whole set.
    pub of: u64,
}

impl FoundCitation {
    /// Whether it names a set, and not only a dataset.
    pub fn names_set(&self) -> bool {
        self.identifier.is_some() || self.digest.is_some()
    }
}

impl FoundCitation {
    /// Finds the citations in a text, in their order. A citation that is repeated within a record is returned
    /// once.
    ///
    /// Costs time in proportion to the length of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::citation::{FoundCitation, ParsedField};
    ///
    /// let text = "{ doi:10.9999/US/FOOL2, 2001-01-05, DI:763122197bfb3ffbf0da14adbfb1b13b }";
    /// let found = FoundCitation::find_all(text);
    /// assert_eq!(found.len(), 1);
    /// assert_eq!(found[0].date, Some(ParsedField::Read("2001-01-05".parse()?)));
    /// # Ok::<(), accession::ParseError>(())
    /// ```
    pub fn find_all(text: &str) -> Vec<FoundCitation> {
        Reference::find_all(text).iter().flat_map(Reference::citations).collect()
    }
}

impl Reference {
    /// Finds the citations of a reference, in their order.
    pub fn citations(&self) -> Vec<FoundCitation> {
        let text = self.text.as_str();
        let mut marks = marks(text);
        if !self.is_record {
            marks.dedup_by(|next, mark| is_address_of(next, mark, text));
        }
        let lines = if self.is_of_json { vec![0; marks.len()] } else { lines_before(text, &marks) };
        let citations = lines.into_iter().enumerate().map(|(index, lines_before)| {
            let citation = citation_at(&marks, index, text, self.is_record);
            FoundCitation { lines_before, ..citation }
        });
        if !self.is_record {
            return citations.collect();
        }
        // The whole record has one DOI and one digest.
        let first = || doi_of_record(&text[..text.floor_char_boundary(NEAR_BYTES)]);
        let (doi, digest) = (self.doi.clone().or_else(first), first_digest(text));
        let stated = citations.map(|citation| {
            let digest = digest.clone().map(|(_, digest)| digest);
            let part = citation.part.map(|part| Part { digest: digest.clone(), ..part });
            let digest = digest.filter(|_| part.is_none());
            FoundCitation { doi: doi.clone(), digest, dataset: None, part, ..citation }
        });
        let stated: Vec<FoundCitation> = stated.collect();
        // An unregistered part is cited by its whole set, because its own identifier cannot be resolved.
        if let Some(cited) = stated.iter().find(|citation| citation.part.is_some()) {
            let dated = stated.iter().find(|it| it.part.is_some() && it.date.is_some());
            let mut cited = dated.unwrap_or(cited).clone();
            let of_part = stated.iter().filter(|it| it.part.is_none());
            let of_part = of_part.filter(|it| it.identifier != cited.identifier);
            let of_part = of_part.filter_map(|it| it.identifier.clone());
            cited.part.iter_mut().for_each(|part| part.identifiers.extend(of_part.clone()));
            return vec![cited];
        }
        let dated = stated.iter().filter(|citation| citation.date.is_some());
        let dated: HashSet<_> = dated.map(|citation| citation.identifier.clone()).collect();
        let mut seen = HashSet::new();
        // An address of a different set than the cited one is a related set.
        let is_related = |citation: &FoundCitation, mark: &Mark| {
            let is_address = text[..mark.location.start].ends_with('/');
            is_address
                && self.is_of_json
                && !dated.is_empty()
                && !dated.contains(&citation.identifier)
        };
        let is_new = |(citation, mark): &(&FoundCitation, &Mark)| {
            (citation.date.is_some() || !dated.contains(&citation.identifier))
                && !is_related(citation, mark)
                && seen.insert((citation.identifier.clone(), format!("{:?}", citation.date)))
        };
        stated.iter().zip(&marks).filter(is_new).map(|(citation, _)| citation.clone()).collect()
    }
}

/// Whether the identifier after that of a title repeats it, in the address of the same set.
fn is_address_of(next: &Mark, mark: &Mark, text: &str) -> bool {
    next.name == mark.name
        && next.part.is_none()
        && text[..next.location.start].ends_with('/')
        && title_date(&text[..mark.location.start], &text[mark.location.end..]).is_some()
}

impl Reference {
    /// Finds the citations of a reference, followed by the DOIs that it cites without an identifier.
    pub fn citations_and_dois(&self) -> Vec<FoundCitation> {
        let mut found = self.citations();
        let lacking = dois_without_identifier(self, &found);
        found.extend(lacking.into_iter().map(|doi| {
            let (identifier, digest, dataset, date, part) = (None, None, None, None, None);
            let lines_before = 0;
            FoundCitation { identifier, digest, doi: Some(doi), dataset, date, part, lines_before }
        }));
        found
    }
}

/// The DOIs of a reference that none of its citations has. If the datasets are in a registry, the reference
/// cites them without an identifier. If a citation has no DOI, the result is empty, because any DOI may be the
/// citation's. If a field declares a DOI, only that one counts.
fn dois_without_identifier(reference: &Reference, found: &[FoundCitation]) -> Vec<Doi> {
    let is_cited =
        |doi: &Doi| found.iter().any(|pasted| pasted.doi.as_ref().is_none_or(|cited| cited == doi));
    let mut lacking: Vec<Doi> = Vec::new();
    let stated = reference.doi.clone().map_or_else(|| dois(&reference.text), |doi| vec![doi]);
    for doi in stated.into_iter().filter(|doi| !is_cited(doi)) {
        if !lacking.contains(&doi) {
            lacking.push(doi);
        }
    }
    lacking
}

/// The number of bytes before and after an identifier in which its DOI is searched.
const NEAR_BYTES: usize = 2_000;

/// The number of bytes before and after an identifier in which its date is searched.
const DATE_NEAR_BYTES: usize = 200;

/// The citation of an identifier, with its DOI in running text.
fn citation_at(marks: &[Mark], index: usize, text: &str, is_record: bool) -> FoundCitation {
    let Range { start, end } = marks[index].location;
    let previous = index.checked_sub(1).map_or(0, |previous| marks[previous].location.end);
    let next = marks.get(index + 1).map_or(text.len(), |next| next.location.start);
    let from = text.ceil_char_boundary(previous.max(start.saturating_sub(NEAR_BYTES)));
    let to = text.floor_char_boundary(next.min(end + NEAR_BYTES));
    let (mut before, whole_after) = (&text[from..start], &text[end..to]);
    // The text after the previous identifier belongs to that identifier, up to the full stop.
    let mut is_of_previous = index > 0;
    if index > 0
        && from == previous
        && let Some(end) = full_stop(before)
    {
        (before, is_of_previous) = (&before[end + 1..], false);
    }
    let after = &whole_after[..full_stop(whole_after).unwrap_or(whole_after.len())];
    let Members { doi, dataset, date } = Members::around(before, whole_after).unwrap_or_default();
    let of_title = title_date(before, whole_after);
    let doi = match (doi, &dataset) {
        // After a title, the publisher and then the DOI follow. A DOI before it may belong to another
        // reference.
        (None, None) if of_title.is_some() => {
            let first = || dois(before).pop().filter(|_| index == 0);
            dois(whole_after).into_iter().next().or_else(first)
        }
        (None, None) => dois(before).pop().or_else(|| dois(after).into_iter().next()),
        (doi, _) => doi,
    };
    let inside = after.split('}').next().unwrap_or_default();
    let date = date_after(inside)
        .or(of_title)
        .or(date)
        .or_else(|| date_after(after))
        .or_else(|| date_before(before))
        // The title of a record may contain another date.
        .or_else(|| nearest_date(before, after).filter(|_| !is_record));
    let (identifier, digest) = match &marks[index].name {
        Name::Identifier(identifier) => {
            let before = before.rsplit(". ").next().filter(|_| !is_of_previous);
            let following = first_digest(after).map(|(_, digest)| digest);
            (Some(identifier.clone()), following.or_else(|| last_digest(before?)))
        }
        Name::Digest(digest) => (None, Some(digest.clone())),
    };
    let part = marks[index].part.clone().map(|patterns| {
        let identifiers = identifier_of_part(after).into_iter().collect();
        let granules = granules_of_part(after);
        Part { patterns, identifiers, digest: digest.clone(), granules }
    });
    // The digest belongs to the part.
    let digest = digest.filter(|_| part.is_none());
    FoundCitation { identifier, digest, doi, dataset, date, part, lines_before: 0 }
}

/// The number of lines before each mark.
fn lines_before(text: &str, marks: &[Mark]) -> Vec<u64> {
    let (mut lines, mut counted) = (0, 0);
    let mut before = |mark: &Mark| {
        lines += text[counted..mark.location.start].matches('\n').count() as u64;
        counted = mark.location.start;
        lines
    };
    marks.iter().map(&mut before).collect()
}

/// The numbers of granules of a part and of the whole set: `9 of 11 granules`.
fn granules_of_part(after: &str) -> Option<PartGranules> {
    let words: Vec<&str> = after.split_whitespace().collect();
    words.windows(4).find_map(|words| match words {
        [part, "of", whole, granules] if granules.starts_with("granule") => {
            Some(PartGranules { selected: part.parse().ok()?, of: whole.parse().ok()? })
        }
        _ => None,
    })
}

/// The location of the first full stop that ends a sentence.
fn full_stop(text: &str) -> Option<usize> {
    [". ", ".\n"].into_iter().filter_map(|stop| text.find(stop)).min()
}

/// The members of a tuple beside the identifier.
#[derive(Default)]
struct Members {
    doi: Option<Doi>,
    dataset: Option<DatasetName>,
    date: Option<ParsedField<Moment>>,
}

impl Members {
    /// The other members of a tuple, from the texts before and after its identifier. `None` means that the
    /// identifier is not in braces with at least one other member.
    fn around(before: &str, after: &str) -> Option<Self> {
        const SEPARATORS: [char; 2] = [',', ';'];
        let opens = before.rfind('{').filter(|at| !before[*at..].contains('}'))?;
        let before = one_spaced(&before[opens + 1..]);
        let after = one_spaced(&after[..after.find('}')?]);
        let members = before.split(SEPARATORS).chain(after.split(SEPARATORS));
        let members: Vec<&str> = members.map(str::trim).collect();
        // The texts before and after the identifier are one member each.
        if members.len() < 3 || before.ends_with(char::is_alphanumeric) {
            return None;
        }
        let date = members.iter().find_map(|member| stated_date(member));
        // The date follows the DOI, which may contain the separators.
        let first = before.trim_end().trim_end_matches(SEPARATORS);
        let first = first.rsplit_once(SEPARATORS).map(|(first, _)| first.trim());
        let of_first = |first: &str| strip_prefix_of_any_case(first, "doi:")?.parse::<Doi>().ok();
        let doi = first.and_then(of_first);
        let doi = doi.or_else(|| dois(&before).into_iter().chain(dois(&after)).next());
        let dataset = first.filter(|_| doi.is_none()).and_then(|first| first.parse().ok());
        Some(Members { doi, dataset, date })
    }
}

/// The words before the time for which a set is cited.
const PHRASES: [&str; 2] = ["as held at ", "as held on "];

/// The date of a statement directly after an identifier: `DI:…, as held at 2001-01-05`.
fn date_after(after: &str) -> Option<ParsedField<Moment>> {
    let after = one_spaced(&after[..after.floor_char_boundary(DATE_NEAR_BYTES)]);
    let text = after.trim_start_matches([' ', ',', ')', ']', '}', '"', '.']);
    let phrases = PHRASES.into_iter().chain(["as of "]);
    stated_date(phrases.filter_map(|phrase| strip_prefix_of_any_case(text, phrase)).next()?)
}

/// The date in brackets with an identifier, at the end of a title: `FOO [DI:…, 2001-01-05]`.
fn title_date(before: &str, after: &str) -> Option<ParsedField<Moment>> {
    let close = match before.chars().next_back()? {
        '[' => ']',
        '(' => ')',
        _ => return None,
    };
    let after = after.trim_start().strip_prefix(',')?;
    let date = one_spaced(&after[..after.floor_char_boundary(DATE_NEAR_BYTES)]);
    stated_date(date.split_once(close)?.0.trim_start())
}

/// The date between commas before an identifier, as in a tuple without braces.
fn date_before(before: &str) -> Option<ParsedField<Moment>> {
    let before = before.trim_end().strip_suffix(',')?;
    let (_, date) = before.rsplit_once([',', ';'])?;
    date.trim().parse().ok().map(ParsedField::Read)
}

/// The date of the last statement before an identifier or, if there is none, of the first after it.
fn nearest_date(before: &str, after: &str) -> Option<ParsedField<Moment>> {
    let near = before.ceil_char_boundary(before.len().saturating_sub(DATE_NEAR_BYTES));
    let before = one_spaced(&before[near..]);
    let after = one_spaced(&after[..after.floor_char_boundary(DATE_NEAR_BYTES)]);
    let statements = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let found = PHRASES.into_iter().flat_map(|phrase| {
            lower.match_indices(phrase).map(|(at, phrase)| at + phrase.len()).collect::<Vec<_>>()
        });
        found.collect::<std::collections::BTreeSet<usize>>()
    };
    let last = statements(&before).last().and_then(|&at| stated_date(&before[at..]));
    last.or_else(|| statements(&after).first().and_then(|&at| stated_date(&after[at..])))
}

/// The date at the beginning of a text. `None` means that the text does not begin with a year and a hyphen.
fn stated_date(text: &str) -> Option<ParsedField<Moment>> {
    let text = text.trim_start_matches(['"', '\'', '(']);
    let (year, rest) = text.split_at_checked(4)?;
    if !year.bytes().all(|byte| byte.is_ascii_digit()) || !rest.starts_with('-') {
        return None;
    }
    let word = |text: &str| {
        let is_of_date = |c: char| c.is_ascii_alphanumeric() || "-:+.".contains(c);
        let word = text.split(|c| !is_of_date(c)).next().unwrap_or_default();
        word.trim_end_matches(['.', ':']).to_owned()
    };
    let first = word(text);
    // A space may replace the T: `2001-01-05 10:00:00Z`.
    let second = text[first.len()..].strip_prefix(' ').map(word).unwrap_or_default();
    Some(match format!("{first} {second}").parse().or_else(|_| first.parse()) {
        Ok(moment) => ParsedField::Read(moment),
        Err(_) => ParsedField::Unreadable(first.chars().take(30).collect()),
    })
}

/// Replaces runs of white space by one space, so that a phrase may be broken over lines. Joins a date that was
/// broken after a hyphen.
fn one_spaced(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_padded = |is_padded: bool| if is_padded { " " } else { "" };
    let starts = is_padded(text.starts_with(char::is_whitespace));
    let ends = is_padded(text.ends_with(char::is_whitespace));
    format!("{starts}{}{ends}", words.join(" ")).replace("- ", "-")
}

/// Finds the DOIs in a text, in their order, including repeated ones.
fn dois(text: &str) -> Vec<Doi> {
    dois_in(text).into_iter().map(|(doi, _)| doi).collect()
}

/// The DOI of a record: the first that is an address, because a title may mention another DOI.
fn doi_of_record(text: &str) -> Option<Doi> {
    let mut found = dois_in(text);
    let address = found.iter().position(|(_, is_address)| *is_address).unwrap_or_default();
    (!found.is_empty()).then(|| found.swap_remove(address).0)
}

/// The DOIs in a text, and whether each follows the host of the resolver.
fn dois_in(text: &str) -> Vec<(Doi, bool)> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find("10.").map(|at| from + at) {
        from = at + 3;
        let before = text[..at].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || before == '.') {
            continue;
        }
        let word = doi_at(&text[at..]);
        from = at + word.len().max(3);
        let host = text.get(at.saturating_sub(8)..at).unwrap_or_default();
        let is_address = host.eq_ignore_ascii_case("doi.org/");
        let decoded = if is_address {
            // In an address, a question mark that belongs to the DOI is encoded as %3F.
            let word = word.split('?').next().unwrap_or_default();
            percent_decode_str(word).decode_utf8_lossy()
        } else {
            word.into()
        };
        found.extend(decoded.parse().map(|doi| (doi, is_address)));
    }
    found
}

/// The DOI at the beginning of a text, without punctuation at its end.
fn doi_at(text: &str) -> &str {
    /// Longer words are not DOIs.
    const MAX_BYTES: usize = 500;
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '“' | '”' | '{' | '}' | '|');
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut doi = text.split(ends).next().unwrap_or_default();
    doi = doi.split("#DI:").next().unwrap_or_default();
    // "[10.9999/x](https://doi.org/10.9999/x)".
    doi = doi.split("](").next().unwrap_or_default();
    // Old DOIs contain "<1::AID-"; a tag begins with a letter or a slash.
    let is_tag = |(at, _): &(usize, &str)| {
        doi[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '/')
    };
    doi = doi.match_indices('<').find(is_tag).map_or(doi, |(at, _)| &doi[..at]);
    loop {
        let shorter = doi.trim_end_matches(['.', ';', ':', '\'', '’', '‘', '»', '_', '\\', '#']);
        let unopened = |open, close| {
            shorter.ends_with(close)
                && shorter.matches(close).count() > shorter.matches(open).count()
        };
        if !(unopened('(', ')') || unopened('[', ']') || unopened('<', '>')) {
            return shorter;
        }
        doi = &shorter[..shorter.len() - 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    #[test]
    fn each_citation_has_its_own_line() {
        let lines_of = |text: &str| {
            let of_reference = |reference: &Reference| {
                let found = reference.citations_and_dois().into_iter();
                found.map(|it| reference.line + it.lines_before).collect::<Vec<_>>()
            };
            Reference::find_all(text).iter().flat_map(of_reference).collect::<Vec<u64>>()
        };
        let paragraph = format!("\nWe used\nDI:{DIGITS},\r\nand\nDI:{DIGITS}.\n\n> DI:{DIGITS}\n");
        assert_eq!(lines_of(&paragraph), [3, 5, 7]);
        let bibtex = format!("@misc{{a,\n doi = {{10.9999/US}},\n note = {{DI:{DIGITS}}}\n}}\n");
        assert_eq!(lines_of(&bibtex), [3]);
        // The strings of JSON are not on lines of their own.
        assert_eq!(lines_of(&format!("[\n\"x\",\n[\"y\", \"DI:{DIGITS}\"]]")), [3]);
        assert_eq!(lines_of("\n\nhttps://doi.org/10.9999/US"), [3]);
    }

    #[test]
    fn long_texts_that_once_made_recognising_quadratic_are_read_at_once() {
        // Each has 100 times the text that took seconds then.
        let size = 20_000;
        let items = vec![format!("\"DI:{DIGITS}, as held at 2001-01-05\""); size];
        let texts = [
            format!("[{}]", items.join(",")),
            format!("DI:{DIGITS} {}", format!("{} ", &DIGITS[1..]).repeat(size)),
            format!("@a{{b, {}", format!("DI:{DIGITS}\n").repeat(size)),
            format!("10.1000/a{}", ")".repeat(size * 30)),
            format!("https://doi.org/10.1000/a {DIGITS} ").repeat(size),
            "https://doi.org/10.1000/a/\n".repeat(size),
            "DI:".repeat(size * 10),
            "DI:7631 ".repeat(size),
            format!("DI:{}", "a\n".repeat(size * 15)),
            format!("DI:{DIGITS}?select=").repeat(size),
            format!("DI:{DIGITS}?select={} ", "*".repeat(size)).repeat(10),
            format!("DI:{DIGITS}?select=a, as held on the identifier ").repeat(size),
        ];
        for text in texts {
            let began = std::time::Instant::now();
            FoundCitation::find_all(&text);
            let elapsed = began.elapsed();
            assert!(elapsed < std::time::Duration::from_secs(20), "{}: {elapsed:?}", &text[..20]);
        }
    }

    /// The key, the line and the DOIs of each reference, and how many citations it has.
    fn listed(text: &str) -> Vec<String> {
        let shown = |reference: &Reference| {
            let dois: Vec<String> =
                dois_without_identifier(reference, &[]).iter().map(ToString::to_string).collect();
            let key = reference.key.as_deref().unwrap_or("-");
            let citations = reference.citations().len();
            format!("{key} {} [{}] {citations}", reference.line, dois.join(" "))
        };
        Reference::find_all(text).iter().map(shown).collect()
    }

    fn bibtex() -> String {
        format!(
            "% ours\n\n@string{{us = \"10.9999/US\"}}\n\n@dataset{{first,\n  doi = {{10.9999/US\\_1}},\n  title = {{12. A\n\n}}\n}}\n\n@misc{{second,\n  note = {{DI:{DIGITS}, as held at 2001-01-05}},\n  url = \"https://doi.org/10.9999/US\",\n}}\n@article(third, doi = {{10.9999/US}})\n@misc{{open,\n  title = {{x,\n  doi = {{10.9999/US}}\n}}\n@misc{{last, howpublished = {{\\url{{https://doi.org/10.9999/US}}}}}}\n"
        )
    }

    fn ris() -> String {
        format!(
            "TY  - DATA\nID  - first\nDO  - 10.9999/US\nER  - \n\nTY - DATA\nID  - second\nN1  - DI:{DIGITS}\nER  -\n"
        )
    }

    fn csl() -> String {
        format!(
            "[\n {{\"id\":\"a]}}{{\",\"DOI\":\"10.9999/US\"}},\n {{\n \"id\": 2, \"x\": {{}}, \"note\":\"DI:{DIGITS}\"}}\n]"
        )
    }

    #[test]
    fn each_reference_has_its_key_and_its_line() {
        let expected = [
            "- 1 [] 0",
            "first 5 [10.9999/US_1] 0",
            "second 12 [10.9999/US] 1",
            "third 16 [10.9999/US] 0",
            "open 17 [10.9999/US] 0",
            "last 21 [10.9999/US] 0",
        ];
        assert_eq!(listed(&bibtex()), expected);
        assert_eq!(listed(&ris()), ["first 1 [10.9999/US] 0", "second 6 [] 1"]);
        let expected = ["a]}{ 2 [10.9999/US] 0", "2 3 [] 1"];
        assert_eq!(listed(&csl()), expected);
        assert_eq!(
            listed(&format!("{{\"x\": {{}}, \"items\":{}}}", csl())),
            ["a]}{ 2 [10.9999/US] 0", "2 3 [] 1"]
        );
        let text = format!(
            "\n[1] A. doi:10.9999/US.\n[2] B, DI:{DIGITS}\n\nSee https://doi.org/10.9999/US,\nas we did.\n"
        );
        assert_eq!(listed(&text), ["- 2 [10.9999/US] 0", "- 3 [] 1", "- 5 [10.9999/US] 0"]);
        assert!(listed("").is_empty());
    }

    #[test]
    fn no_damage_of_a_list_makes_it_panic() {
        for whole in [bibtex(), ris(), csl()] {
            for (at, next) in whole.char_indices().map(|(at, it)| (at, at + it.len_utf8())) {
                listed(&whole[..at]);
                for piece in ["", "@", "{", "}", "\"", "\\", ",", "[", "<", "é", "TY  - x\n", "\n"]
                {
                    listed(&format!("{}{piece}{}", &whole[..at], &whole[next..]));
                }
            }
        }
    }
}
