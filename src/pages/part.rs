//! The granules of a set: its first and last ones, and the part of it that a pattern selects.

use maud::{Markup, html};

use super::figures::{command, counted, grouped, visible};
use super::identifier::{means, verifying};
use super::layout::{Head, page};
use super::site::Site;
use crate::error::Result;
use crate::model::{Dataset, GranuleId, Identifier, Pattern, Set};
use crate::registry::{Part, Selection, Snapshot};

/// How many of the first and of the last ids a page shows.
pub(super) const FIRST_IDS: usize = 6;
pub(super) const LAST_IDS: usize = 2;

/// The first ids of a set, and the last ones that are not among them.
#[derive(Debug, Default)]
pub struct Ends {
    /// The first ones.
    pub first: Vec<GranuleId>,
    /// The last ones. Empty if the first ones are all.
    pub last: Vec<GranuleId>,
}

/// The page of the granules of a set that a pattern selects, if nobody cited them.
#[derive(Debug)]
pub struct PartPage {
    /// The identifier of the whole set.
    pub whole: Identifier,
    /// The record of a dataset that held it.
    pub record: Dataset,
    /// The set as a command line names it: `NAME@TIME`.
    pub set: String,
    /// The pattern.
    pub pattern: Pattern,
    /// What it selects.
    pub part: Part,
}

impl Ends {
    /// Reads the first granules of a set, and the last ones that are not among them. Only instances are read
    /// from their end; of a subset, the last ids are shown if it is small.
    pub(super) fn read(snapshot: &Snapshot, set: &Set, first: usize, last: usize) -> Result<Self> {
        let most = first + last;
        let ids = snapshot.first_granules(set, most)?.into_iter().map(|granule| granule.granule_id);
        let mut ids: Vec<GranuleId> = ids.collect();
        if set.granules() <= most as u64 {
            return Ok(Ends { first: ids, last: Vec::new() });
        }
        ids.truncate(first);
        let last = match set {
            Set::Instance(instance) => snapshot.last_granules(instance, last as u32)?,
            Set::Subset { .. } => Vec::new(),
        };
        let last = last.into_iter().map(|granule| granule.granule_id).collect();
        Ok(Ends { first: ids, last })
    }
}

impl PartPage {
    /// Reads what a pattern selects from a set. `Err` is the identifier of that, if it was cited: it has a page
    /// of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown).
    pub fn read(
        snapshot: &Snapshot,
        whole: Identifier,
        pattern: &Pattern,
    ) -> Result<std::result::Result<Self, Identifier>> {
        let selection = Selection::Identifier { identifier: whole, dataset: None, at: None };
        let set = snapshot.select(&selection)?.set;
        let part = snapshot.part(&set, pattern, FIRST_IDS)?;
        if !snapshot.subsets_with(part.identifier, 1)?.is_empty() {
            return Ok(Err(part.identifier));
        }
        let instance = set.instance();
        Ok(Ok(PartPage {
            whole,
            record: snapshot.dataset(set.dataset())?.dataset,
            set: format!("{}@{}", instance.dataset, instance.timestamp),
            pattern: pattern.clone(),
            part,
        }))
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = Head {
            title: format!(
                "{}, selected by {}",
                counted(self.part.granules, "granule"),
                self.shown()
            ),
            is_unlisted: true,
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn shown(&self) -> String {
        visible(self.pattern.as_str())
    }

    fn main(&self, site: &Site) -> Markup {
        let whole = site.href(&Site::set(self.whole));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("select", self.pattern.as_str());
        let list = format!("{}?{}", site.href(&Site::granules(self.whole)), query.finish());
        html! {
            div.head {
                p.label { "A part of a set, which nobody cited yet" }
                h1 { (counted(self.part.granules, "granule")) " whose names match " code { (self.shown()) } }
                p.by { span { "of " a.di href=(whole) { "DI:" (self.whole) } } }
            }
            @if self.part.granules == 0 {
                p.empty { "No name matches. " code { "*" } " is any characters, " code { "?" } " is one." }
            } @else {
                div.card {
                    div.top {
                        p.big {
                            span.label { "The identifier of exactly these granules" }
                            span.di #di { "DI:" (self.part.identifier) }
                        }
                        p.actions { a.button.main href=(list) { "List the granules" } }
                    }
                    (means(site))
                }
                section {
                    h2 { "To cite it" }
                    p.text {
                        "This site does not record citations. The archive that has the registry does, with this \
                         command; from then on the identifier leads to these granules for ever."
                    }
                    (command("cite", &html! {
                        "accession cite " (quoted(&self.set)) " " span { "--select " (quoted(self.pattern.as_str())) }
                    }))
                }
                section { h2 { "The granules" } (list_of(&self.record, &self.part.first, &[], self.part.granules)) }
                (verifying(self.part.identifier))
            }
            (form(site, self.whole, &Ends::default()))
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", visible(word).replace('\'', "'\\''"))
}

/// The form that leads to a part of a set, with patterns that match some of its names.
pub(super) fn form(site: &Site, identifier: Identifier, ends: &Ends) -> Markup {
    let ends = ends.first.first().zip(ends.last.last());
    let examples = ends.map_or_else(Vec::new, |(first, last)| examples(first, last));
    html! {
        section #part {
            h2 { "Only a part of it" }
            form action=(site.href(&Site::set(identifier))) {
                label for="select" { "Granules whose names match a pattern" }
                div.field {
                    input #select type="text" name="select" required placeholder=[examples.first()]
                        autocomplete="off" spellcheck="false";
                    " " button { "Select" }
                }
            }
            p.small.soft {
                @if !examples.is_empty() { "For example " }
                @for (index, pattern) in examples.iter().enumerate() {
                    @if index > 0 { " or " }
                    a href=(site.href(&Site::part(identifier, pattern))) rel="nofollow" { code { (visible(pattern)) } }
                }
                @if !examples.is_empty() { ". " }
                code { "*" } " is any characters, " code { "?" } " is one."
            }
        }
    }
}

/// Patterns that match the last name and perhaps others, but not the first one: what both begin with, and
/// a little more of the last one.
fn examples(first: &GranuleId, last: &GranuleId) -> Vec<String> {
    /// How many more characters.
    const MORE: [usize; 2] = [2, 4];
    let (first, last) = (first.as_str(), last.as_str());
    // Characters that mean something in a pattern.
    if last.contains(['*', '?', '[', ']', '\\']) {
        return Vec::new();
    }
    let common = first.chars().zip(last.chars()).take_while(|(one, other)| one == other).count();
    let length = last.chars().count();
    let lengths = MORE.into_iter().map(|more| common + more).filter(|it| *it < length.min(60));
    lengths.map(|it| last.chars().take(it).chain(['*']).collect()).collect()
}

/// The first and the last ids of a list, with how many there are between.
pub(super) fn list_of(
    record: &Dataset,
    first: &[GranuleId],
    last: &[GranuleId],
    granules: u64,
) -> Markup {
    let hidden = granules.saturating_sub((first.len() + last.len()) as u64);
    html! {
        @if granules == 0 { p.empty { "The set is empty." } }
        @else {
            ul.ids {
                @for granule_id in first { li { (granule(record, granule_id)) } }
                @if hidden > 0 { li.gap { (grouped(hidden)) " more" } }
                @for granule_id in last { li { (granule(record, granule_id)) } }
            }
        }
    }
}

/// An id, which leads to where the granule can be fetched, if that is known.
fn granule(record: &Dataset, granule_id: &GranuleId) -> Markup {
    let address = record.granule_url.as_ref().and_then(|template| template.address_of(granule_id));
    html! {
        @match address {
            Some(address) => { a href=(address) rel="nofollow" { (visible(granule_id.as_str())) } },
            None => (visible(granule_id.as_str())),
        }
    }
}

/// The section with the granules of a set.
pub(super) fn granules(
    site: &Site,
    identifier: Identifier,
    granules: u64,
    record: &Dataset,
    ends: &Ends,
) -> Markup {
    let path = site.href(&Site::granules(identifier));
    html! {
        section #granules {
            h2 { "The granules" }
            (list_of(record, &ends.first, &ends.last, granules))
            p.chips {
                a href=(path) { "All as text" } " "
                a href={ (path) "?format=jsonl" } { "JSON Lines" }
                @if record.granule_url.is_some() {
                    " " a href={ (site.href(&Site::urls(identifier))) "?dataset=" (record.name) } { "Addresses to download" }
                }
            }
        }
    }
}

/// The form for a part of an instance of which the first and the last granules are shown. Empty if these
/// are all.
pub(super) fn form_unless_all_are_shown(
    site: &Site,
    identifier: Identifier,
    granules: u64,
    ends: &Ends,
) -> Markup {
    html! { @if granules > (ends.first.len() + ends.last.len()) as u64 { (form(site, identifier, ends)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_patterns_of_the_names_themselves() {
        let of =
            |first: &str, last: &str| examples(&first.parse().unwrap(), &last.parse().unwrap());
        assert_eq!(
            of("FOOL2.v2.20250901T0005.nc", "FOOL2.v2.20261016T0005.nc"),
            ["FOOL2.v2.20261*", "FOOL2.v2.2026101*"]
        );
        assert_eq!(of("a", "b"), [""; 0]);
        assert_eq!(of("a*1", "a*2345678"), [""; 0]);
        assert_eq!(of("é1", "é2345678"), ["é23*", "é2345*"]);
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
