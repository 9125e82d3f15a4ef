//! The changes of a dataset: as rows of a table, and the whole history page by page, by years and months.

use maud::{Markup, html};

use super::figures::{
    annotations, counted, grouped, month_name, note, of_files, time_in_table, time_text, visible,
};
use super::layout::{Detail, PageHead, Section, page, trail};
use super::plot::Series;
use super::record;
use super::site::Site;
use crate::error::Result;
use crate::model::{Criteria, DatasetName, Instance, Subset, Timestamp};
use crate::registry::{Listed, Snapshot, Span};

/// Whether two rows of a table can be marked, to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picks<'a> {
    None,
    /// They can. These are the sums of the months of the whole history.
    Two(&'a [Span]),
}

/// The year and the month of a time.
fn month_of(at: Timestamp) -> (u32, u32) {
    let (year, month, _) = at.day().year_month_day();
    (year, month)
}

/// The changes as a table, newest first, each with the set that it resulted in and its note. One in
/// which rows can be marked has a row for each month, too.
pub(super) fn table(site: &Site, instances: &[Instance], picks: Picks<'_>) -> Markup {
    html! {
        table.rows.hist[picks != Picks::None] {
            thead {
                tr {
                    @if picks != Picks::None {
                        th.pick scope="col" { abbr title="before" { "A" } }
                        th.pick scope="col" { abbr title="after" { "B" } }
                    }
                    th scope="col" { "Time (UTC)" }
                    th scope="col" { "Identifier of the set" }
                    th.n scope="col" { "Held" }
                    th.n scope="col" { "Added" }
                    th.n scope="col" { "Deleted" }
                    th scope="col" { "Note" }
                }
            }
            @if let Picks::Two(months) = picks {
                @let newest = [instances[0].timestamp, instances[1].timestamp];
                @let of_month = |one: &Instance, next: &Instance| {
                    month_of(one.timestamp) == month_of(next.timestamp)
                };
                @for group in instances.chunk_by(of_month) {
                    @let (year, month) = month_of(group[0].timestamp);
                    tbody {
                        tr.group {
                            th colspan="8" scope="rowgroup" {
                                b { (month_name(month)) " " (year) }
                                @for sums in months.iter().filter(|it| month_of(it.last) == (year, month)) {
                                    " " span.small.soft { (self::sums(sums)) }
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

/// How many changes there were, and what they added and deleted.
fn sums(month: &Span) -> Markup {
    let Span { changes, added, deleted, .. } = *month;
    html! {
        (counted(changes, "change"))
        @if added > 0 { " " span.plus { "+" (grouped(added)) } }
        @if deleted > 0 { " " span.minus { "−" (grouped(deleted)) } }
    }
}

/// A change. In a table in which two rows can be marked, the newest two are marked at first.
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

/// The subsets that were cited, as a table.
pub(super) fn subsets(site: &Site, subsets: &[Subset]) -> Markup {
    html! {
        table.rows {
            thead {
                tr {
                    th scope="col" { "Identifier" }
                    th.n scope="col" { "Granules" }
                    th scope="col" { "Selected by" }
                    th scope="col" { "Of the set of" }
                    th scope="col" { "Cited" }
                }
            }
            tbody {
                @for subset in subsets {
                    tr {
                        td.di {
                            @let place = site.place_of(subset.identifier, &subset.dataset, subset.timestamp);
                            a href=(site.href(&place)) { "DI:" (subset.identifier) }
                        }
                        td.n { (grouped(subset.granules)) i.u { " granules" } }
                        td.fill { (criteria(&subset.criteria)) }
                        td.when { i.u { "of " } (time_in_table(subset.timestamp)) }
                        td.when { i.u { "cited " } (super::figures::date(subset.cited)) }
                    }
                }
            }
        }
    }
}

/// How the granules of a subset are selected.
pub(super) fn criteria(criteria: &Criteria) -> Markup {
    const SHOWN: usize = 5;
    html! {
        @match criteria {
            Criteria::Named => "names in a list",
            Criteria::Patterns(patterns) => {
                @for (index, pattern) in patterns.iter().take(SHOWN).enumerate() {
                    @if index > 0 { ", " }
                    code { (visible(pattern.as_str())) }
                }
                @if patterns.len() > SHOWN { " and " (patterns.len() - SHOWN) " others" }
            },
        }
    }
}

/// A page of the history of a dataset.
#[derive(Debug)]
pub struct HistoryPage {
    /// The dataset.
    pub listed: Listed,
    /// What the changes of each month did in which there were any, of the whole history. Empty where only
    /// the rows are wanted.
    months: Vec<Span>,
    /// The changes of this page, newest first.
    pub instances: Vec<Instance>,
    /// Whether there are earlier changes.
    pub has_more: bool,
}

impl HistoryPage {
    /// The page with these changes, after which there are earlier ones or not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn read(
        snapshot: &Snapshot,
        name: &DatasetName,
        (instances, has_more): (Vec<Instance>, bool),
        detail: Detail,
    ) -> Result<Self> {
        let months = match detail {
            Detail::Page => Series::read(snapshot, name)?.months(),
            Detail::Record => Vec::new(),
        };
        Ok(HistoryPage { listed: snapshot.dataset(name)?, months, instances, has_more })
    }

    /// The time before which the next page begins. `None` means that this is the last page.
    pub fn next(&self) -> Option<Timestamp> {
        self.instances.last().filter(|_| self.has_more).map(|last| last.timestamp)
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let path = site.href(&Site::history(&dataset.name));
        let changes = self.months.iter().map(|month| month.changes).sum();
        let title = format!("{} of {}", counted(changes, "change"), record::title(dataset));
        let picks = match self.instances.len() {
            0 | 1 => Picks::None,
            _ => Picks::Two(&self.months),
        };
        let main = html! {
            (trail(site, &[(Site::dataset(&dataset.name), dataset.name.as_str())], "Changes"))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            div.head {
                h1 { (title) }
                p.lead {
                    "Newest first. Each change gives the set of granules an identifier of its own, which is "
                    "current until the next change. Times are UTC."
                }
            }
            (self.calendar(&path))
            @match picks {
                Picks::None if self.instances.is_empty() => p.empty { "There are no changes here." },
                Picks::None => (table(site, &self.instances, picks)),
                Picks::Two(_) => form action=(site.href("/compare")) {
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
                @if let Some(next) = self.next() {
                    a rel="next" href={ (path) "?after=" (next) } { "Earlier changes" } " "
                }
                a href={ (path) "?format=jsonl" } { "JSON Lines" } " "
                a href=(site.href(&Site::feed(&dataset.name))) { "Atom feed" }
            }
        };
        let head = PageHead {
            title,
            feed: Some(Site::feed(&dataset.name)),
            section: Section::Datasets,
            is_unlisted: true,
            ..PageHead::default()
        };
        page(site, &head, &main).into_string()
    }

    /// Leads to the last change of each year, of each month of the year in which the page begins, and of a
    /// day.
    fn calendar(&self, path: &str) -> Markup {
        let shown = self.instances.first().map(|first| month_of(first.timestamp));
        let link = |month: &Span, label: &str| {
            let is_shown = shown == Some(month_of(month.last));
            html! {
                a href={ (path) "?date=" (month.last.day()) } aria-current=[is_shown.then_some("true")] {
                    (label)
                }
                " "
            }
        };
        let years =
            || self.months.chunk_by(|one, next| month_of(one.last).0 == month_of(next.last).0);
        let Some((first, last)) = self.months.first().zip(self.months.last()) else {
            return html! {};
        };
        html! {
            @if self.months.len() > 1 {
                nav.months aria-label="Years and months" {
                    @for months in years().rev() {
                        @let (newest, year) = (&months[months.len() - 1], month_of(months[0].last).0);
                        b { (link(newest, &year.to_string())) }
                        @if shown.is_some_and(|(shown, _)| shown == year) {
                            @for month in months.iter().rev() {
                                (link(month, month_name(month_of(month.last).1)))
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
