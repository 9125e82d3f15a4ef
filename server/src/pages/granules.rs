//! The granules of a set: the first and last ones, a link to the list, and the form that lists a subset.

use maud::{Markup, html};

use super::figures::{grouped, visible};
use super::site::Site;
use accession::Result;
use accession::Snapshot;
use accession::dataset::DatasetMetadata;
use accession::{GranuleId, Identifier, Set};

/// The numbers of first and of last ids on a page.
const FIRST_IDS: usize = 6;
const LAST_IDS: usize = 2;

/// The characters that end a group of a name.
const SEPARATORS: [char; 3] = ['/', '.', '_'];

/// The first ids of a set, and the last ones that are not among them.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub first: Vec<GranuleId>,
    /// Empty if `first` contains all ids.
    pub last: Vec<GranuleId>,
}

impl Ends {
    /// Reads the first granules of a set, and the last ones that are not among them. Only an instance is read
    /// from its end. The last ids of a subset are shown only if it is small.
    pub fn read(snapshot: &Snapshot, set: &Set) -> Result<Self> {
        let most = FIRST_IDS + LAST_IDS;
        let ids = snapshot.first_granules(set, most)?.into_iter().map(|granule| granule.granule_id);
        let mut ids: Vec<GranuleId> = ids.collect();
        if set.granule_count() <= most as u64 {
            return Ok(Ends { first: ids, last: Vec::new() });
        }
        ids.truncate(FIRST_IDS);
        let last = match set {
            Set::Instance(instance) => snapshot.last_granules(instance, LAST_IDS as u32)?,
            Set::Subset { .. } => Vec::new(),
        };
        let last = last.into_iter().map(|granule| granule.granule_id).collect();
        Ok(Ends { first: ids, last })
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(&self.last).map(GranuleId::as_str)
    }

    /// Whether ids are paths, so that `ls` does not list them.
    pub fn are_paths(&self) -> bool {
        self.all().any(|granule_id| granule_id.contains('/'))
    }

    /// The estimated size of a list of this number of such ids, to two digits.
    pub fn list_size(&self, granules: u64) -> String {
        let shown = self.all().count().max(1) as u64;
        let bytes: usize = self.all().map(|granule_id| granule_id.len() + 1).sum();
        let bytes = bytes as u64 * granules / shown;
        match bytes {
            ..1_000 => format!("{bytes} bytes"),
            1_000..10_000 => format!("{:.1} kB", bytes as f64 / 1e3),
            10_000..1_000_000 => format!("{} kB", bytes / 1_000),
            1_000_000..10_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
            _ => format!("{} MB", grouped(bytes / 1_000_000)),
        }
    }

    /// The list, with the number of granules between the first and the last ids. The prefix that all shown ids
    /// share is printed in a lighter style.
    fn list(&self, record: &DatasetMetadata, granules: u64) -> Markup {
        let hidden = granules.saturating_sub(self.all().count() as u64);
        let shared = self.all().reduce(shared_groups).unwrap_or_default().len();
        html! {
            @if granules == 0 { p.empty { "The set is empty." } }
            @else {
                ul.ids {
                    @for id in &self.first { li { (granule(record, id, shared)) } }
                    @if hidden > 0 { li.gap { (grouped(hidden)) " more" } }
                    @for id in &self.last { li { (granule(record, id, shared)) } }
                }
            }
        }
    }

    /// Example patterns: prefixes of the last name that end with a group and do not match the first name.
    fn examples(&self) -> Vec<String> {
        const MOST: usize = 2;
        let Some((first, last)) = self.first.first().zip(self.last.last()) else {
            return Vec::new();
        };
        let last = last.as_str();
        // These characters have a meaning in a pattern.
        if last.contains(['*', '?', '[', ']', '\\']) {
            return Vec::new();
        }
        let shared = shared_groups(first.as_str(), last).len();
        let ends = last.match_indices(SEPARATORS).map(|(at, separator)| at + separator.len());
        let ends = ends.filter(|end| *end > shared && *end < last.len());
        ends.take(MOST).map(|end| format!("{}*", &last[..end])).collect()
    }
}

/// The shared prefix of two names, up to the last separator in it.
fn shared_groups<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, one), other)| one == other);
    let common = same.last().map_or(0, |((at, last), _)| at + last.len_utf8());
    one[..common].rfind(SEPARATORS).map_or("", |at| &one[..=at])
}

/// An id, or a part of one, that is broken between lines only after a slash.
pub(super) fn unbroken(text: &str) -> Markup {
    html! { @for part in text.split_inclusive('/') { span { (visible(part)) } } }
}

/// An id. It is a link to the address from which the granule can be fetched, if that is known.
fn granule(record: &DatasetMetadata, granule_id: &GranuleId, shared: usize) -> Markup {
    let address = record.granule_url.as_ref().and_then(|template| template.address_of(granule_id));
    let (quiet, rest) = granule_id.as_str().split_at(shared.min(granule_id.as_str().len()));
    let shown = html! {
        @if !quiet.is_empty() { i { (unbroken(quiet)) } }
        (unbroken(rest))
    };
    html! {
        @match address {
            Some(address) => { a href=(address) rel="nofollow" { (shown) } },
            None => (shown),
        }
    }
}

/// The section with the granules of a set. `list` is the path of their list.
pub(super) fn granules(
    site: &Site,
    set: &Set,
    record: &DatasetMetadata,
    ends: &Ends,
    list: &str,
) -> Markup {
    let (identifier, granules) = (set.identifier(), set.granule_count());
    let joined = if list.contains('?') { "&" } else { "?" };
    html! {
        section #granules {
            h2 { "The granules" }
            (ends.list(record, granules))
            p.chips {
                a href=(list) { "All as text" } " "
                a href={ (list) (joined) "format=jsonl" } { "JSON Lines" }
                @if record.granule_url.is_some() && joined == "?" {
                    " " a href={ (site.href(&Site::of_set(identifier, "urls"))) "?dataset=" (record.name) } { "Addresses to download" }
                }
            }
            @if set.subset().is_none() && granules > ends.all().count() as u64 {
                (form(site, identifier, ends))
            }
        }
    }
}

/// The form that lists a subset, with example patterns that match some of the names.
fn form(site: &Site, identifier: Identifier, ends: &Ends) -> Markup {
    let examples = ends.examples();
    html! {
        form #part action=(site.href(&Site::of_set(identifier, "granules"))) {
            label for="select" { "Only a subset: the names that match a pattern" }
            div.field {
                input #select type="text" name="select" required placeholder=[examples.first()]
                    autocomplete="off" spellcheck="false";
                " " button { "List" }
            }
        }
        p.small.soft {
            @if !examples.is_empty() { "For example " }
            @for (index, pattern) in examples.iter().enumerate() {
                @if index > 0 { " or " }
                a href=(site.href(&Site::selected(identifier, pattern))) rel="nofollow" { code { (visible(pattern)) } }
            }
            @if !examples.is_empty() { ". " }
            code { "*" } " is any characters, " code { "?" } " is one."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(first: &str, last: &str) -> Ends {
        Ends { first: vec![first.parse().unwrap()], last: vec![last.parse().unwrap()] }
    }

    #[test]
    fn examples_are_groups_of_the_names_themselves() {
        let of = |first: &str, last: &str| ends(first, last).examples();
        assert_eq!(
            of("CMIP/AS-RCEC/a_1.nc", "ScenarioMIP/UA/MCM-UA-1-0/ssp585/b_2.nc"),
            ["ScenarioMIP/*", "ScenarioMIP/UA/*"]
        );
        assert_eq!(
            of("FOO.v2.2025.a.nc", "FOO.v2.2026.b.nc"),
            ["FOO.v2.2026.*", "FOO.v2.2026.b.*"]
        );
        assert_eq!(of("a", "b"), [""; 0]);
        assert_eq!(of("a*1", "a*.2345678"), [""; 0]);
        assert_eq!(of("é_1", "é_é.2"), ["é_é.*"]);
    }

    #[test]
    fn the_size_of_a_list_has_two_digits() {
        for (granules, size) in [
            (1, "3 bytes"),
            (300, "900 bytes"),
            (1_000, "3.0 kB"),
            (100_000, "300 kB"),
            (1_000_000, "3.0 MB"),
            (6_000_000, "18 MB"),
        ] {
            assert_eq!(ends("aa", "ab").list_size(granules), size, "{granules}");
        }
    }
}
