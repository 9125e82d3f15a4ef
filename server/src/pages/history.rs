//! The changes of a dataset: as rows of a table, and as the whole history page by page, by years and months. In
//! published files, each month has a page, and identifiers lead to it, because no program answers requests
//! there.

use std::collections::BTreeSet;
use std::fmt;
use std::slice::from_ref;

use maud::{Markup, html};

use super::feed::sides;
use super::figures::{
    added_deleted, annotations, columns, command, copy_button, counted, date, grouped, joined,
    month_name, note, of_files, time, time_in_table, time_text, visible,
};
use super::layout::{Detail, PageHead, Section, page, trail};
use super::plot::Series;
use super::record;
use super::site::Site;
use super::verify::drop_area;
use accession::Result;
use accession::Snapshot;
use accession::dataset::DatasetRecord;
use accession::history::Span;
use accession::history::{Subset, SubsetCriteria};
use accession::publish::SiteIndex;
use accession::{Citation, CitationFormat};
use accession::{DatasetName, Digest, Identifier, Instance, Timestamp};

/// A month in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    year: u32,
    month: u32,
}

impl Month {
    /// Returns the month of a time.
    pub fn of(at: Timestamp) -> Self {
        let (year, month) = (at.day().year(), at.day().month());
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

/// The changes as a table, newest first, each with the set that it resulted in and its note. If `picks`
/// contains the sums of all months, two rows can be marked for a comparison, and each month has a row, too.
pub(super) fn table(site: &Site, instances: &[Instance], picks: Option<&[Span]>) -> Markup {
    html! {
        table.rows.hist[picks.is_some()] {
            thead {
                tr {
                    @if picks.is_some() {
                        th.pick scope="col" { abbr title="before" { "A" } }
                        th.pick scope="col" { abbr title="after" { "B" } }
                    }
                    (columns(&["Time (UTC)", "Identifier of the set", "#Held", "#Added", "#Deleted", "Note"]))
                }
            }
            @if let Some(months) = picks {
                @let newest = [instances[0].timestamp, instances[1].timestamp];
                @let of_month = |one: &Instance, next: &Instance| {
                    Month::of(one.timestamp) == Month::of(next.timestamp)
                };
                @for group in instances.chunk_by(of_month) {
                    @let month = Month::of(group[0].timestamp);
                    tbody {
                        tr.group {
                            th colspan="8" scope="rowgroup" {
                                b { (month.in_words()) }
                                @for sums in months.iter().filter(|it| Month::of(it.last) == month) {
                                    " " span.small.soft {
                                        (counted(sums.changes, "change")) " " (added_deleted(sums.added, sums.deleted))
                                    }
                                }
                            }
                        }
                        @for instance in group { (row(site, instance, Some(newest))) }
                    }
                }
            } @else {
                tbody { @for instance in instances { (row(site, instance, None)) } }
            }
        }
    }
}

/// The row of a change. `newest` is given if rows can be marked; the newest two are marked at first.
fn row(site: &Site, instance: &Instance, newest: Option<[Timestamp; 2]>) -> Markup {
    let Instance { dataset, timestamp, identifier, granules, ingested, deleted, .. } = instance;
    let pick = |side: &str, letter: &str, label: &str, is_first: bool| {
        html! {
            td.pick {
                input type="radio" name=(side) value={ "DI:" (identifier) } checked[is_first]
                    aria-label={ (label) ": " (time_text(*timestamp)) };
                i.u { (letter) }
            }
        }
    };
    html! {
        tr.change {
            @if let Some([last, before]) = newest {
                (pick("left", "A", "Before", *timestamp == before))
                (pick("right", "B", "After", *timestamp == last))
            }
            td.when {
                @if site.is_complete() {
                    a href=(site.href(&Site::instance(dataset, *timestamp))) { (time_in_table(*timestamp)) }
                } @else { (time_in_table(*timestamp)) }
            }
            td.di {
                a href=(site.href(&site.place_of(*identifier, dataset, *timestamp))) { "DI:" (identifier) }
            }
            td.n.held { (grouped(*granules)) i.u { " held" } }
            td.n.plus { @if *ingested > 0 { "+" (grouped(*ingested)) } }
            td.n.minus { @if *deleted > 0 { "−" (grouped(*deleted)) } }
            td.note {
                @if let Some(files) = of_files(instance) { span.small.soft { (files) } " " }
                @if let Some(text) = &instance.note { (note(text)) }
                (annotations(&instance.annotations))
            }
        }
    }
}

/// A table of cited subsets. `first` is the name of the first column, whose cells are given with the subsets.
pub(super) fn subsets<'a>(
    site: &Site,
    first: &str,
    subsets: impl IntoIterator<Item = (Markup, &'a Subset)>,
) -> Markup {
    html! {
        table.rows {
            thead { tr { (columns(&[first, "#Granules", "Selected by", "Of the set of", "Cited"])) } }
            tbody {
                @for (cell, subset) in subsets {
                    @let of = Site::instance(&subset.dataset, subset.timestamp);
                    tr {
                        (cell)
                        td.n { (grouped(subset.granules)) i.u { " granules" } }
                        td.fill { (criteria(&subset.criteria)) }
                        td.when {
                            i.u { "of " }
                            @if site.is_complete() { a href=(site.href(&of)) { (time(subset.timestamp)) } }
                            @else { (time(subset.timestamp)) }
                        }
                        td.when { i.u { "cited " } (date(subset.cited)) }
                    }
                }
            }
        }
    }
}

/// The criteria by which the granules of a subset were selected.
fn criteria(criteria: &SubsetCriteria) -> Markup {
    const SHOWN: usize = 5;
    html! {
        @match criteria {
            SubsetCriteria::Named => "names in a list",
            SubsetCriteria::Patterns(patterns) => {
                (joined(patterns.iter().take(SHOWN).map(|it| html! { code { (visible(it.as_str())) } })))
                @if patterns.len() > SHOWN { " and " (patterns.len() - SHOWN) " others" }
            },
        }
    }
}

/// A page below that of a dataset: a trail from the dataset (by `steps`) to the page, whether the dataset was
/// withdrawn, the title, a lead, and the rest.
fn below(
    site: &Site,
    listed: &DatasetRecord,
    head: PageHead,
    (steps, here): (&[(String, &str)], &str),
    lead: &Markup,
    rest: &Markup,
) -> String {
    let name = &listed.dataset.name;
    let mut trailed = vec![(Site::dataset(name), name.as_str())];
    trailed.extend_from_slice(steps);
    let main = html! {
        (trail(site, &trailed, here))
        (record::withdrawal(site, listed.withdrawn.as_ref()))
        div.head { h1 { (head.title) } p.lead { (lead) } }
        (rest)
    };
    page(site, &PageHead { section: Section::Datasets, ..head }, &main)
}

/// A page of the history of a dataset.
#[derive(Debug)]
pub struct HistoryPage {
    /// The dataset.
    pub listed: DatasetRecord,
    /// The sums of each month with changes, for the whole history. Empty if only the changes are needed.
    months: Vec<Span>,
    /// The changes of this page, newest first.
    pub instances: Vec<Instance>,
}

impl HistoryPage {
    /// Reads the page with these changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn read(
        snapshot: &Snapshot,
        name: &DatasetName,
        instances: Vec<Instance>,
        detail: Detail,
    ) -> Result<Self> {
        let months = match detail {
            Detail::Page => Series::read(snapshot, name)?.months(),
            Detail::Record => Vec::new(),
        };
        Ok(HistoryPage { listed: snapshot.dataset(name)?, months, instances })
    }

    /// The page. `next` is the address of the page with earlier changes.
    pub fn html(&self, site: &Site, next: Option<&str>) -> String {
        let dataset = &self.listed.dataset;
        let path = site.href(&Site::history(&dataset.name));
        let changes = self.months.iter().map(|month| month.changes).sum();
        let title = format!("{} of {}", counted(changes, "change"), record::title(dataset));
        let lead = html! {
            "Newest first. Each change gives the set of granules an identifier of its own, which is "
            "current until the next change. Times are UTC."
        };
        let picks = (self.instances.len() > 1).then_some(self.months.as_slice());
        let main = html! {
            (self.calendar(&path))
            @match picks {
                None if self.instances.is_empty() => p.empty { "There are no changes here." },
                None => (table(site, &self.instances, picks)),
                Some(_) => form action=(site.href("/compare")) {
                    div.sticky {
                        button.main { "Compare the two that are marked" }
                        p.small.soft {
                            "Mark one change as " b { "A" } ", before, and one as " b { "B" } ", after."
                        }
                    }
                    (table(site, &self.instances, picks))
                },
            }
            p.chips {
                @if let Some(next) = next { a rel="next" href=(next) { "Earlier changes" } " " }
                a href={ (path) "?format=jsonl" } { "JSON Lines" } " "
                a href=(site.href(&Site::feed(&dataset.name))) { "Atom feed" }
            }
        };
        let feed = Some(Site::feed(&dataset.name));
        let printed = site.canonical(&Site::history(&dataset.name));
        let head = PageHead { title, printed, feed, is_unlisted: true, ..PageHead::default() };
        below(site, &self.listed, head, (&[], "Changes"), &lead, &main)
    }

    /// Links to the latest change of each year, and of each month in the year of the first change on this page,
    /// and a form for a day.
    fn calendar(&self, path: &str) -> Markup {
        let shown = self.instances.first().map(|first| Month::of(first.timestamp));
        let link = |month: &Span, label: &str| {
            let is_shown = shown == Some(Month::of(month.last));
            html! {
                a href={ (path) "?date=" (month.last.day()) } aria-current=[is_shown.then_some("true")] {
                    (label)
                }
                " "
            }
        };
        let years = || {
            self.months.chunk_by(|one, next| Month::of(one.last).year == Month::of(next.last).year)
        };
        let Some((first, last)) = self.months.first().zip(self.months.last()) else {
            return html! {};
        };
        html! {
            @if self.months.len() > 1 {
                nav.months aria-label="Years and months" {
                    @for months in years().rev() {
                        @let (newest, year) = (&months[months.len() - 1], Month::of(months[0].last).year);
                        b { (link(newest, &year.to_string())) }
                        @if shown.is_some_and(|shown| shown.year == year) {
                            @for month in months.iter().rev() {
                                (link(month, month_name(Month::of(month.last).month)))
                            }
                        }
                    }
                }
            }
            form action=(path) {
                label for="date" { "The last change of a day or before it" }
                div.field {
                    input #date type="date" name="date" required min=(first.first.day()) max=(last.last.day());
                    " " button { "Go to that day" }
                }
            }
        }
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

    /// The path of the best page about a set of a dataset, which took effect at this time: the page of the set
    /// or, in published files, the anchor on the page of its month.
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

    /// The path of the canonical list with this digest, in published files.
    pub fn list_file(digest: Digest) -> String {
        format!("/{}/{}", Digest::LISTS, digest.list_file())
    }
}

/// The page of a month in published files. Each set that took effect in the month has an anchor: its
/// identifier.
#[derive(Debug)]
pub struct MonthPage<'a> {
    /// The dataset.
    pub listed: &'a DatasetRecord,
    /// The month.
    pub month: Month,
    /// Its changes, oldest first. There is at least one.
    pub instances: &'a [Instance],
    /// The time when the first of these sets came into force, if that was in an earlier month.
    pub continued: Option<Timestamp>,
    /// The cited subsets of these sets, with their citations.
    pub subsets: &'a [(Subset, Citation)],
    /// The citation of the last set of the month.
    pub citation: &'a Citation,
    /// The index, which contains the digests of published lists.
    pub index: &'a SiteIndex,
}

impl MonthPage<'_> {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let month = self.month.in_words();
        let title = format!("{}, {month}", record::title(dataset));
        let lead = html! {
            "Each set of granules was held until the next identifier"
            @if let Some(until) = self.citation.period().until() {
                ", the last one until " (time(until))
            } @else if let Some(withdrawn) = &self.listed.withdrawn {
                ", the last one until the dataset was withdrawn on " (time(withdrawn.timestamp))
            } @else { "; the last one is held now" }
            ". Times are UTC."
        };
        let last = self.instances.last();
        let withdrawn = self.listed.withdrawn.as_ref().map(|withdrawal| withdrawal.timestamp);
        let period = self.citation.period();
        // The rows do not contain the part of the last set's period that is in other months.
        let main = html! {
            (arrived())
            table.rows.month data-from=[self.continued] data-until=[period.until().or(withdrawn)]
                data-digest-until=[period.digest_period().until.or(withdrawn)] {
                thead { tr { (columns(&["From", "Identifier", "Digest", "Held", "Change"])) } }
                tbody {
                    @let mut seen = BTreeSet::new();
                    @for instance in self.instances {
                        // A set that occurs twice in the month has only one anchor.
                        (self.row(site, instance, seen.insert(instance.identifier)))
                    }
                }
            }
            div #noted hidden { @for noted in period.annotations() { (annotations(from_ref(noted))) } }
            @if !self.subsets.is_empty() {
                section #subsets {
                    h2 { "Subsets that were cited" }
                    @for (subset, citation) in self.subsets { (self.subset(site, subset, citation)) }
                }
            }
            @if let Some(last) = last { (self.citing(last)) (listing(site, last)) }
        };
        let canonical = Some(Site::month(&dataset.name, self.month));
        let head = PageHead { title, canonical, ..PageHead::default() };
        let steps = [(Site::months(&dataset.name), "Changes")];
        below(site, self.listed, head, (&steps, &month), &lead, &main)
    }

    /// A row. A history has thousands, so the markup is short.
    fn row(&self, site: &Site, instance: &Instance, is_first: bool) -> Markup {
        let Instance { timestamp, identifier, digest, granules, .. } = instance;
        let now = self.listed.latest.as_ref().filter(|_| self.listed.withdrawn.is_none());
        let now = now.filter(|now| now.identifier == *identifier);
        html! {
            tr id=[is_first.then_some(identifier)] data-now=[now.map(|now| now.digest)] {
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

    /// The link to a list, if that is published.
    fn list(&self, site: &Site, digest: Digest) -> Markup {
        html! {
            @if self.index.has_list(digest) { " " a href=(site.href(&Site::list_file(digest))) { "list" } }
        }
    }

    fn subset(&self, site: &Site, subset: &Subset, citation: &Citation) -> Markup {
        html! {
            div id=(subset.identifier) {
                p {
                    code.di { "DI:" (subset.identifier) } (self.list(site, subset.digest)) br;
                    code.small { (subset.digest) } br;
                    span.held {
                        (counted(subset.granules, "granule")) " of those held since " (time(subset.timestamp))
                        ": " (criteria(&subset.criteria))
                    }
                    @for noted in citation.period().annotations() { (annotations(from_ref(noted))) }
                }
                (quotation(&format!("cite-{}", subset.identifier), citation))
            }
        }
    }

    /// The citation of the last set. The script replaces it with that of the set in the address.
    fn citing(&self, last: &Instance) -> Markup {
        html! {
            section #cite {
                h2 { "Cite" }
                p #whose {
                    "The last set of the month, of " (last.timestamp) ". The others are cited alike, by their \
                     identifier and time."
                }
                (quotation("citation", self.citation))
            }
        }
    }
}

/// A card that the script fills with the set to which a citation has led. The page contains many sets.
fn arrived() -> Markup {
    html! {
        div.card #arrived hidden {
            div.top {
                p.big {
                    span.label { "You followed a citation to exactly these granules" }
                    span.di.address #di {} " " (copy_button("di", "the address"))
                }
                p.fate {}
                p.actions {
                    a.button.main href="#list" { "Get the list" } " "
                    a.button href="#verify" { "Check your copy" } " "
                    a.button href="#cite" { "Cite" }
                }
            }
        }
    }
}

/// A citation that can be copied. It has no day of access, because that is the reader's and would change
/// whenever the page is written.
fn quotation(id: &str, citation: &Citation) -> Markup {
    let text = citation.render(CitationFormat::Text);
    let text = text.rsplit_once(" Accessed ").map_or(text.as_str(), |(text, _)| text);
    html! {
        blockquote.citation id=(id) { (text) }
        div.chips { (copy_button(id, "the citation")) }
    }
}

/// How to get the list of any set from the published log, and to compare a copy with it. The example is the
/// last set, or the set in the address.
fn listing(site: &Site, last: &Instance) -> Markup {
    html! {
        section #list {
            h2 { "The granules of a set" }
            p.text {
                "The published log has the sets of all times. This reads it, and proves the list by the \
                 identifier:"
            }
            (command("replay", &html! {
                "accession granules " span { "DI:" (last.identifier) } " --site "
                span {
                    @match &site.public_url { Some(url) => (url), None => "ADDRESS-OF-THIS-SITE" }
                }
            }))
        }
        section #verify {
            h2 { "Check your copy" }
            p.text { "This compares a listing of your files, a name a line, with it:" }
            (command("expect", &html! {
                "accession compare " span { "DI:" (last.identifier) } " listing.txt"
            }))
            (drop_area(last.identifier, last.granules, ""))
        }
    }
}

/// The sums of a month.
#[derive(Debug, Clone, Copy)]
pub struct MonthSums {
    /// The month.
    pub month: Month,
    /// The number of changes.
    pub changes: u64,
    /// The number of granules held at its end.
    pub held: u64,
}

/// The page with links to the months of a dataset.
pub fn months_page(site: &Site, listed: &DatasetRecord, months: &[MonthSums]) -> String {
    let dataset = &listed.dataset;
    let title = format!("Changes of {}", record::title(dataset));
    let main = html! {
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
    let canonical = Some(Site::months(&dataset.name));
    let head = PageHead { title, canonical, ..PageHead::default() };
    let lead = html! { "Each month has its sets, with their identifiers." };
    below(site, listed, head, (&[], "Changes"), &lead, &main)
}
