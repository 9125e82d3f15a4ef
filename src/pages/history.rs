//! The changes of a dataset: as rows of a table, and the whole history page by page.

use maud::{Markup, html};

use super::figures::{
    annotations, counted, grouped, month_name, note, of_files, time_in_table, time_text, visible,
};
use super::layout::{PageHead, Section, page, trail};
use super::record;
use super::site::Site;
use crate::model::{Criteria, Instance, Subset, Timestamp};
use crate::registry::Listed;

/// Whether two rows of a table can be marked, to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picks {
    None,
    /// They can. The first or the last month may have changes on another page.
    Two {
        is_first_cut: bool,
        is_last_cut: bool,
    },
}

fn month_of(instance: &Instance) -> (u32, u32) {
    let (year, month, _) = instance.timestamp.day().year_month_day();
    (year, month)
}

/// The months of changes: a month is a slice of them.
fn months(instances: &[Instance]) -> Vec<&[Instance]> {
    instances.chunk_by(|one, other| month_of(one) == month_of(other)).collect()
}

/// The changes as a table, newest first, each with the set that it resulted in and its note. One in
/// which rows can be marked has a row for each month, too.
pub(super) fn table(site: &Site, instances: &[Instance], picks: Picks) -> Markup {
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
            @if let Picks::Two { is_first_cut, is_last_cut } = picks {
                @let newest = [instances[0].timestamp, instances[1].timestamp];
                @let months = months(instances);
                @for (index, group) in months.iter().enumerate() {
                    @let (year, month) = month_of(&group[0]);
                    @let is_cut = is_first_cut && index == 0 || is_last_cut && index + 1 == months.len();
                    tbody {
                        tr.group id={ "m" (year) "-" (format!("{month:02}")) } {
                            th colspan="8" scope="rowgroup" {
                                b { (month_name(month)) " " (year) }
                                // The sums of a part of a month would look like those of all of it.
                                @if !is_cut { " " span.small.soft { (sums(group)) } }
                            }
                        }
                        @for instance in *group { (row(site, instance, Some(newest))) }
                    }
                }
            } @else {
                tbody { @for instance in instances { (row(site, instance, None)) } }
            }
        }
    }
}

/// How many changes there were, and what they brought and took.
fn sums(instances: &[Instance]) -> Markup {
    let added: u64 = instances.iter().map(|instance| instance.ingested).sum();
    let deleted: u64 = instances.iter().map(|instance| instance.deleted).sum();
    html! {
        (counted(instances.len() as u64, "change"))
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
    /// The number of changes in the whole history.
    pub changes: u64,
    /// The changes of this page, newest first.
    pub instances: Vec<Instance>,
    /// The time before which the next page begins. `None` means that this is the last page.
    pub next: Option<Timestamp>,
    /// Whether the page begins with the latest change.
    pub is_first: bool,
}

impl HistoryPage {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let path = Site::history(&dataset.name);
        let title = format!("{} of {}", counted(self.changes, "change"), record::title(dataset));
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
            @if self.instances.is_empty() { p.empty { "There are no changes here." } }
            @else { (self.changes(site)) }
            p.chips {
                @if !self.is_first { a href=(site.href(&path)) { "Newest changes" } " " }
                @if let Some(next) = self.next {
                    a rel="next" href={ (site.href(&path)) "?after=" (next) } { "Earlier changes" } " "
                }
                a href={ (site.href(&path)) "?format=jsonl" } { "JSON Lines" } " "
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

    /// The table, of which two rows can be compared.
    fn changes(&self, site: &Site) -> Markup {
        if self.instances.len() < 2 {
            return table(site, &self.instances, Picks::None);
        }
        let months: Vec<_> =
            months(&self.instances).iter().map(|group| month_of(&group[0])).collect();
        let picks = Picks::Two { is_first_cut: !self.is_first, is_last_cut: self.next.is_some() };
        html! {
            @if months.len() > 1 {
                nav.months aria-label="Months" {
                    @for (index, (year, month)) in months.iter().enumerate() {
                        @if index == 0 || months[index - 1].0 != *year { b { (year) } " " }
                        a href={ "#m" (year) "-" (format!("{month:02}")) } { (month_name(*month)) } " "
                    }
                }
            }
            form action=(site.href("/compare")) {
                div.sticky {
                    button.main { "Compare the two that are marked" }
                    p.small.soft {
                        "Mark one change as " b { "A" } ", before, and one as " b { "B" } ", after."
                    }
                }
                (table(site, &self.instances, picks))
            }
        }
    }
}
