//! The page of a set, where a reader arrives from a paper.

use maud::{Markup, html};

use super::figures::{annotations, change, counted, grouped, identifier as code, time, visible};
use super::layout::{Head, Section, page};
use super::link::Link;
use super::site::Site;
use super::{citing, record};
use crate::citation::Citation;
use crate::model::{Criteria, Dataset, GranuleId, Identifier, Instance, Set, Withdrawal};
use crate::registry::{Counts, Difference};

/// The page of a set.
#[derive(Debug)]
pub struct SetPage {
    /// Its identifier.
    pub identifier: Identifier,
    /// How many granules it has.
    pub granules: u64,
    /// The record of the dataset that is named first.
    pub record: Dataset,
    /// The withdrawal of that dataset. `None` means that it was not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Where and when it was in force: the first such intervals.
    pub intervals: Vec<Instance>,
    /// Whether there are further intervals.
    pub has_more_intervals: bool,
    /// The subsets that were cited with this identifier.
    pub subsets: Vec<Set>,
    /// The first granules.
    pub first: Vec<GranuleId>,
    /// The last granules, without those that are among the first.
    pub last: Vec<GranuleId>,
    /// What changed since, in the dataset that is named first. `None` means that the set is in
    /// force.
    pub since: Option<Since>,
    /// Its citation.
    pub citation: Citation,
}

/// What changed in a dataset since a set was in force.
#[derive(Debug)]
pub struct Since {
    /// The latest instance.
    pub latest: Instance,
    /// How many granules both sets have, and only the earlier (left) or the later (right) one.
    /// `None` means that the sets are too large to be compared for this page.
    pub counts: Option<Counts>,
    /// Some of the differences.
    pub differences: Vec<Difference>,
}

impl SetPage {
    /// The page, with the links that its header has too.
    pub fn html(&self, site: &Site, links: &[Link]) -> String {
        let head = Head {
            title: format!("DI:{}", self.identifier),
            description: Some(format!(
                "{} of {}",
                counted(self.granules, "granule"),
                record::title(&self.record)
            )),
            links,
            meta: citing::meta(
                site,
                &self.record,
                Some(self.identifier),
                &Site::set(self.identifier),
            ),
            json_ld: Some(citing::described(site, &self.record, &self.citation, self.identifier)),
            section: Section::Other,
            is_unlisted: true,
            refresh: None,
        };
        page(site, &head, &self.main(site)).into_string()
    }

    /// Whether it is in force in some dataset.
    fn is_in_force(&self) -> bool {
        self.intervals.iter().any(|instance| instance.until.is_none())
    }

    fn main(&self, site: &Site) -> Markup {
        let path = Site::set(self.identifier);
        html! {
            div.masthead {
                p.kicker { "A set of granules" }
                h1 {
                    (counted(self.granules, "granule")) " of "
                    a href=(site.href(&Site::dataset(&self.record.name))) { (record::title(&self.record)) }
                }
            }
            (record::withdrawal(site, self.withdrawn.as_ref()))
            section.card aria-label="Identifier" {
                p.label { "Identifier" }
                p.identifier { (code(self.identifier)) }
                p.summary { (self.state(site)) }
                p.actions {
                    a.button href=(site.href(&Site::granules(self.identifier))) { "List the granules" }
                    " "
                    a.button.plain href="#verify" { "Verify files" }
                    " "
                    a.button.plain href="#cite" { "Cite" }
                }
            }
            section #when {
                h2 { "Where and when" }
                (self.places(site))
            }
            div.columns {
                (ids(site, self.identifier, self.granules, &self.record, &self.first, &self.last))
                @if let Some(since) = &self.since { (self.changed(site, since)) }
            }
            (citing::verifying(self.identifier))
            section #cite {
                h2 { "Cite" }
                (citing::section(site, &self.citation, &path))
            }
        }
    }

    fn state(&self, site: &Site) -> Markup {
        html! {
            @if self.is_in_force() {
                span.state.now { "in force now" }
                " These are the granules that the dataset holds today."
            } @else if self.intervals.is_empty() {
                span.state.subset { "a cited subset" }
                " Some of the granules of a dataset, cited on their own."
            } @else {
                span.state.past { "no longer in force" }
                @if let Some(since) = &self.since {
                    " The dataset has changed since. "
                    a href=(site.href(&Site::comparison(self.identifier, since.latest.identifier))) {
                        "See the difference"
                    }
                }
            }
        }
    }

    /// The intervals and the subsets.
    fn places(&self, site: &Site) -> Markup {
        html! {
            ul.intervals {
                @for instance in &self.intervals {
                    li {
                        a.where href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
                            (instance.dataset)
                        }
                        span.when {
                            (time(instance.timestamp)) " to "
                            @match instance.until {
                                Some(until) => (time(until)),
                                None => strong.now { "now" },
                            }
                        }
                        (annotations(&instance.annotations))
                    }
                }
                @for set in &self.subsets {
                    li { (subset(site, set)) (annotations(&set.instance().annotations)) }
                }
            }
            @if self.has_more_intervals {
                p.more {
                    a href={ (site.href(&Site::set(self.identifier))) "?format=jsonl" } {
                        "All intervals, as JSON Lines"
                    }
                }
            }
        }
    }

    fn changed(&self, site: &Site, since: &Since) -> Markup {
        let comparison = site.href(&Site::comparison(self.identifier, since.latest.identifier));
        html! {
            section #since {
                h2 { "What changed since" }
                @match since.counts {
                    Some(counts) => {
                        p.summary {
                            (change(counts.only_right, counts.only_left))
                            " until " (time(since.latest.timestamp))
                        }
                        ul.diff {
                            @for difference in &since.differences { (difference_row(difference)) }
                        }
                        @if counts.only_left + counts.only_right > since.differences.len() as u64 {
                            p.more {
                                a href=(comparison) {
                                    "All " (counted(counts.only_left + counts.only_right, "difference"))
                                }
                            }
                        }
                    },
                    None => {
                        p {
                            (self.record.name) " now holds " (counted(since.latest.granules, "granule"))
                            ", since " (time(since.latest.timestamp)) "."
                        }
                        p.more { a href=(comparison) { "Compare the two sets" } }
                    },
                }
            }
        }
    }
}

/// A granule that only one of two sets has.
pub(super) fn difference_row(difference: &Difference) -> Markup {
    html! {
        @match difference {
            Difference::OnlyRight(granule_id) => {
                li.added { span.sign { "+" } code { (visible(granule_id.as_str())) } }
            },
            Difference::OnlyLeft(granule_id) => {
                li.removed { span.sign { "−" } code { (visible(granule_id.as_str())) } }
            },
        }
    }
}

fn subset(site: &Site, set: &Set) -> Markup {
    let instance = set.instance();
    html! {
        a.where href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
            (instance.dataset)
        }
        span.when {
            "a subset of the set of " (time(instance.timestamp))
            @if let Some(subset) = set.subset() {
                @match &subset.criteria {
                    Criteria::Named => { ", named one by one" },
                    Criteria::Patterns(patterns) => {
                        ", selected by "
                        @for (index, pattern) in patterns.iter().take(5).enumerate() {
                            @if index > 0 { ", " }
                            code { (visible(pattern.as_str())) }
                        }
                        @if patterns.len() > 5 { " and " (patterns.len() - 5) " others" }
                    },
                }
            }
        }
    }
}

/// An id, which leads to where the granule can be fetched, if that is known.
fn granule(record: &Dataset, granule_id: &GranuleId) -> Markup {
    let address = record.granule_url.as_ref().and_then(|template| template.address_of(granule_id));
    html! {
        @match address {
            Some(address) => { a href=(address) rel="nofollow" { code { (visible(granule_id.as_str())) } } },
            None => { code { (visible(granule_id.as_str())) } },
        }
    }
}

/// The first and the last ids, and links to the list.
pub(super) fn ids(
    site: &Site,
    identifier: Identifier,
    granules: u64,
    record: &Dataset,
    first: &[GranuleId],
    last: &[GranuleId],
) -> Markup {
    let path = site.href(&Site::granules(identifier));
    let hidden = granules.saturating_sub((first.len() + last.len()) as u64);
    html! {
        section #granules {
            h2 { "The granules" }
            @if granules == 0 { p.empty { "The set is empty." } }
            ul.ids {
                @for granule_id in first { li { (granule(record, granule_id)) } }
                @if hidden > 0 { li.gap { "… " (grouped(hidden)) " more …" } }
                @for granule_id in last { li { (granule(record, granule_id)) } }
            }
            p.more {
                a href=(path) { "All, as text" }
                span.formats-inline { a href={ (path) "?format=jsonl" } { "JSON Lines" } }
            }
            @if hidden > 0 {
                form.inline action=(path) method="get" {
                    label for="select" { "Only ids that match a pattern" }
                    div.field {
                        input #select type="text" name="select" placeholder="FOOL2.v2.1*" autocomplete="off" spellcheck="false";
                        button type="submit" { "List" }
                    }
                }
            }
        }
    }
}
