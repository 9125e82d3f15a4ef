//! What a reader asks about granules: where one was held, and how two sets differ.

use maud::{Markup, html};

use super::figures::{counted, grouped, identifier as code, time, visible};
use super::layout::{Head, Section, page};
use super::set::difference_row;
use super::site::Site;
use crate::model::{Identifier, Set};
use crate::registry::{Counts, Difference, FoundPeriod};

/// The form for a granule id, and where the granule was held.
#[derive(Debug, Default)]
pub struct FindPage {
    /// The id that was asked for. Empty at first.
    pub granule: String,
    /// The first periods in which it was held. `None` means that nothing was asked for.
    pub periods: Option<Vec<FoundPeriod>>,
    /// Whether there are further periods.
    pub has_more: bool,
    /// Why the id cannot be looked up. `None` means that it can.
    pub problem: Option<String>,
}

impl FindPage {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = Head {
            title: "Find a granule".into(),
            section: Section::Find,
            is_unlisted: self.periods.is_some(),
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        html! {
            div.masthead {
                h1 { "Find a granule" }
                p.lead { "Which datasets held a granule, and when. The whole id is needed, exactly as it is written." }
            }
            form.search action=(site.href("/find")) method="get" {
                label for="granule" { "Granule id" }
                div.field {
                    input #granule type="text" name="granule" value=(self.granule) required
                        autocomplete="off" spellcheck="false"
                        aria-describedby=[self.problem.as_ref().map(|_| "problem")]
                        aria-invalid=[self.problem.as_ref().map(|_| "true")];
                    button type="submit" { "Find" }
                }
                @if let Some(problem) = &self.problem { p.problem #problem role="alert" { (visible(problem)) } }
            }
            @if let Some(periods) = &self.periods { (self.results(site, periods)) }
        }
    }

    fn results(&self, site: &Site, periods: &[FoundPeriod]) -> Markup {
        html! {
            section #results aria-label="Results" {
                @if periods.is_empty() {
                    p.empty role="status" { "No dataset here ever held " code { (visible(&self.granule)) } "." }
                } @else {
                    h2 { "Held" }
                    ul.intervals {
                        @for period in periods {
                            li {
                                a.where href=(site.href(&Site::dataset(&period.dataset))) { (period.dataset) }
                                @if let Some(withdrawal) = &period.withdrawn {
                                    " (withdrawn " (time(withdrawal.timestamp)) ") "
                                }
                                span.when {
                                    a href=(site.href(&Site::instance(&period.dataset, period.ingested))) {
                                        (time(period.ingested))
                                    }
                                    " to "
                                    @match period.deleted {
                                        Some(deleted) => {
                                            a href=(site.href(&Site::instance(&period.dataset, deleted))) { (time(deleted)) }
                                        },
                                        None => strong.now { "now" },
                                    }
                                }
                                @if let Some(url) = &period.url {
                                    " " a href=(url) rel="nofollow" { "Fetch" }
                                }
                            }
                        }
                    }
                    @if self.has_more { p.quiet { "There are more: the list as JSON has all of them." } }
                }
            }
        }
    }
}

/// The comparison of two sets.
#[derive(Debug)]
pub struct ComparisonPage {
    /// The set on the left, which is usually the earlier one.
    pub left: ComparedSide,
    /// The set on the right.
    pub right: ComparedSide,
    /// How many granules both have, and only one of them.
    pub counts: Counts,
    /// The first differences of each side.
    pub differences: Vec<Difference>,
    /// The path of this comparison.
    pub path: String,
}

/// One side of a comparison.
#[derive(Debug)]
pub struct ComparedSide {
    /// The set.
    pub set: Set,
}

impl ComparisonPage {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head =
            Head { title: "Comparison of two sets".into(), is_unlisted: true, ..Head::default() };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        let Counts { matched, only_left, only_right } = self.counts;
        let listed = self.differences.len() as u64;
        html! {
            div.masthead {
                p.kicker { "Comparison" }
                h1 {
                    @if self.counts.is_identical() { "The same " (counted(matched, "granule")) }
                    @else { (counted(only_left + only_right, "difference")) }
                }
            }
            div.sides {
                (side(site, "Left", &self.left))
                (side(site, "Right", &self.right))
            }
            dl.tally {
                div { dt { "in both" } dd { (grouped(matched)) } }
                div.removed { dt { "only left" } dd { (grouped(only_left)) } }
                div.added { dt { "only right" } dd { (grouped(only_right)) } }
            }
            @if !self.counts.is_identical() {
                section {
                    h2 { "The granules that differ" }
                    ul.diff { @for difference in &self.differences { (difference_row(difference)) } }
                    @if listed < only_left + only_right {
                        p.more {
                            a href={ (site.href(&self.path)) "?format=jsonl" } {
                                "All " (counted(only_left + only_right, "difference")) ", as JSON Lines"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn side(site: &Site, label: &str, side: &ComparedSide) -> Markup {
    let set = &side.set;
    let instance = set.instance();
    let identifier: Identifier = set.identifier();
    html! {
        section.card aria-label=(label) {
            p.label { (label) }
            p.identifier.small { a href=(site.href(&Site::set(identifier))) { (code(identifier)) } }
            p.summary {
                strong { (counted(set.granules(), "granule")) } " of "
                a href=(site.href(&Site::dataset(&instance.dataset))) { (instance.dataset) }
                @if set.subset().is_some() { ", a subset" }
                ", " (time(instance.timestamp))
            }
        }
    }
}
