//! The months of a history, as files: where an identifier leads on a site that no program answers.

use std::collections::BTreeSet;
use std::fmt;

use maud::{Markup, html};

use super::feed::sides;
use super::figures::{annotations, command, copy_button, counted, grouped, month_name, note, time};
use super::history;
use super::layout::{PageHead, Section, page, trail};
use super::record;
use super::site::Site;
use crate::citation::{Citation, CitationFormat};
use crate::model::{DatasetName, Digest, Identifier, Instance, Subset, Timestamp};
use crate::registry::Listed;

/// The directory of the canonical lists of a site of files.
pub const LISTS: &str = "lists";

/// The file of the canonical list with a digest.
pub fn list_name(digest: Digest) -> String {
    format!("{}.txt.gz", hex::encode(digest.as_bytes()))
}

/// A month in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    year: u32,
    month: u32,
}

impl Month {
    /// The month of a time.
    pub fn of(at: Timestamp) -> Self {
        let (year, month, _) = at.day().year_month_day();
        Month { year, month }
    }

    fn in_words(self) -> String {
        format!("{} {}", month_name(self.month), self.year)
    }
}

/// `2022-08`.
impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl Site {
    /// The path of the months of a dataset.
    pub fn months(name: &DatasetName) -> String {
        format!("{}/", Site::history(name))
    }

    /// The path of a month of a dataset.
    pub fn month(name: &DatasetName, month: Month) -> String {
        format!("{}/{month}.html", Site::history(name))
    }

    /// The path that says most about a set of a dataset, which took effect at this time: the page of the set
    /// or, in files, its place on the page of its month.
    pub(super) fn place_of(
        &self,
        identifier: Identifier,
        name: &DatasetName,
        at: Timestamp,
    ) -> String {
        match self.is_complete() {
            true => Site::set(identifier),
            false => format!("{}#{identifier}", Site::month(name, Month::of(at))),
        }
    }

    /// The path of the canonical list with a digest, in files.
    pub fn list_file(digest: Digest) -> String {
        format!("/{LISTS}/{}", list_name(digest))
    }
}

/// The page of a month: each set that took effect in it has an anchor, which is its identifier.
pub struct MonthPage<'a> {
    /// The dataset.
    pub listed: &'a Listed,
    /// The month.
    pub month: Month,
    /// Its changes, oldest first: at least one.
    pub instances: &'a [Instance],
    /// The subsets of these sets that were cited.
    pub subsets: &'a [Subset],
    /// The citation of the last set of the month.
    pub citation: &'a Citation,
    /// The digests of the lists that are there as files.
    pub lists: &'a BTreeSet<Digest>,
}

impl MonthPage<'_> {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let month = self.month.in_words();
        let title = format!("{}, {month}", record::title(dataset));
        let steps = [
            (Site::dataset(&dataset.name), dataset.name.as_str()),
            (Site::months(&dataset.name), "Changes"),
        ];
        let main = html! {
            (trail(site, &steps, &month))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            div.head {
                h1 { (title) }
                p.lead {
                    "Each set of granules was held until the next change"
                    @if let Some(until) = self.instances.last().and_then(|last| last.until) {
                        ", the last one until " (time(until))
                    } @else { "; the last one is held now" }
                    ". Times are UTC."
                }
            }
            table.rows.month {
                thead {
                    tr {
                        th scope="col" { "From" }
                        th scope="col" { "Identifier" }
                        th scope="col" { "Digest" }
                        th scope="col" { "Held" }
                        th scope="col" { "Change" }
                    }
                }
                tbody {
                    @let mut seen = BTreeSet::new();
                    @for instance in self.instances {
                        // A set that comes back within the month has one anchor.
                        (self.row(site, instance, seen.insert(instance.identifier)))
                    }
                }
            }
            @if !self.subsets.is_empty() {
                section #subsets {
                    h2 { "Subsets that were cited" }
                    @for subset in self.subsets { (self.subset(site, subset)) }
                }
            }
            (self.citing())
            (listing(site))
        };
        let head = PageHead {
            title,
            canonical: Some(Site::month(&dataset.name, self.month)),
            section: Section::Datasets,
            ..PageHead::default()
        };
        page(site, &head, &main).into_string()
    }

    /// A row. There are thousands in a history, each of which has these bytes of markup.
    fn row(&self, site: &Site, instance: &Instance, is_first: bool) -> Markup {
        let Instance { timestamp, identifier, digest, granules, .. } = instance;
        html! {
            tr id=[is_first.then_some(identifier)] {
                td { (timestamp) }
                td { "DI:" (identifier) }
                td { (hex::encode(digest.as_bytes())) (self.list(site, *digest)) }
                td { (grouped(*granules)) }
                td {
                    (sides(instance))
                    @if let Some(text) = &instance.note { " " (note(text)) }
                    (annotations(&instance.annotations))
                }
            }
        }
    }

    /// The link to a list, where that is there.
    fn list(&self, site: &Site, digest: Digest) -> Markup {
        html! {
            @if self.lists.contains(&digest) { " " a href=(site.href(&Site::list_file(digest))) { "list" } }
        }
    }

    fn subset(&self, site: &Site, subset: &Subset) -> Markup {
        html! {
            p id=(subset.identifier) {
                code.di { "DI:" (subset.identifier) } (self.list(site, subset.digest)) br;
                code.small { (subset.digest) } br;
                (counted(subset.granules, "granule")) " of those held since " (time(subset.timestamp))
                ": " (history::criteria(&subset.criteria))
            }
        }
    }

    fn citing(&self) -> Markup {
        let text = self.citation.write(CitationFormat::Text);
        // The day of access is the reader's, and would be another one whenever the page is written.
        let text = text.rsplit_once(" Accessed ").map_or(text.as_str(), |(text, _)| text);
        html! {
            section #cite {
                h2 { "Cite" }
                p { "The last set of the month. The others are cited alike, by their identifier and time." }
                blockquote.citation #citation { (text) }
                div.chips { (copy_button("citation", "the citation")) }
            }
        }
    }
}

/// How to get the list of any set from the published log.
fn listing(site: &Site) -> Markup {
    html! {
        section #list {
            h2 { "The granules of a set" }
            p.text {
                "The published log has the sets of all times. This reads it, and proves the list by the \
                 identifier:"
            }
            (command("replay", &html! {
                "accession granules " span { "DI:…" } " --site "
                span {
                    @match &site.public_url { Some(url) => (url), None => "ADDRESS-OF-THIS-SITE" }
                }
            }))
        }
    }
}

/// What happened in a month.
#[derive(Debug, Clone, Copy)]
pub struct MonthSums {
    /// The month.
    pub month: Month,
    /// How many changes there were.
    pub changes: u64,
    /// How many granules were held at its end.
    pub held: u64,
}

/// The page that leads to the months of a dataset.
pub fn months_page(site: &Site, listed: &Listed, months: &[MonthSums]) -> String {
    let dataset = &listed.dataset;
    let title = format!("Changes of {}", record::title(dataset));
    let main = html! {
        (trail(site, &[(Site::dataset(&dataset.name), dataset.name.as_str())], "Changes"))
        (record::withdrawal(site, listed.withdrawn.as_ref()))
        div.head { h1 { (title) } }
        @for year in months.chunk_by(|one, other| one.month.year == other.month.year).rev() {
            section {
                h2 { (year[0].month.year) }
                ul {
                    @for sums in year.iter().rev() {
                        li {
                            a href=(site.href(&Site::month(&dataset.name, sums.month))) {
                                (sums.month.in_words())
                            }
                            ": " (counted(sums.changes, "change")) ", "
                            (counted(sums.held, "granule")) " at its end"
                        }
                    }
                }
            }
        }
    };
    let head = PageHead {
        title,
        canonical: Some(Site::months(&dataset.name)),
        section: Section::Datasets,
        ..PageHead::default()
    };
    page(site, &head, &main).into_string()
}
