//! The page of a dataset, and its whole history page by page.

use std::sync::Arc;

use maud::{Markup, html};

use super::figures::{annotations, change, counted, grouped, identifier, note, time, visible};
use super::layout::{Head, Section, page, trail};
use super::link::Link;
use super::plot::Series;
use super::site::Site;
use super::{citing, plot, record};
use crate::citation::Citation;
use crate::error::{ErrorKind, Result};
use crate::model::{DatasetName, Instance, Moment, Timestamp};
use crate::registry::{Listed, Selection, Snapshot};

/// How many of the last changes are shown.
const RECENT_CHANGES: u32 = 8;

/// The page of a dataset.
#[derive(Debug)]
pub struct DatasetPage {
    /// The dataset.
    pub listed: Listed,
    /// Its last changes, newest first.
    pub recent: Vec<Instance>,
    /// Its history, for the plot.
    pub series: Arc<Series>,
    /// The citation of its latest set. `None` means that there was no change yet.
    pub citation: Option<Citation>,
}

impl DatasetPage {
    /// Reads what the page shows. `series` is its history until now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn read(
        snapshot: &Snapshot,
        name: &DatasetName,
        series: Arc<Series>,
        now: Timestamp,
    ) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let recent = snapshot.instances_before(name, None, RECENT_CHANGES)?;
        let at = Some(Moment::Day(now.day()));
        let citation = match &listed.latest {
            // A change in the future is not in force today.
            Some(_) => match snapshot.cite(&Selection::Dataset { name: name.clone(), at }) {
                Ok(cited) => Some(Citation::new(cited, at, now.day())),
                Err(error) if error.kind() == ErrorKind::BeforeHistory => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        Ok(DatasetPage { listed, recent, series, citation })
    }

    /// The page, with the links that its header has too.
    pub fn html(&self, site: &Site, links: &[Link]) -> String {
        let dataset = &self.listed.dataset;
        let latest = self.listed.latest.as_ref();
        let json_ld = self.citation.as_ref().zip(latest).map(|(citation, latest)| {
            citing::described(site, dataset, citation, latest.identifier)
        });
        let described = dataset.description.as_deref().map(visible);
        let head = Head {
            title: record::title(dataset),
            description: described.map(|text| text.chars().take(300).collect()),
            links,
            meta: citing::meta(
                site,
                dataset,
                latest.map(|latest| latest.identifier),
                &Site::dataset(&dataset.name),
            ),
            json_ld,
            section: Section::Datasets,
            is_unlisted: false,
            refresh: None,
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        let dataset = &self.listed.dataset;
        let latest = self.listed.latest.as_ref();
        let path = Site::dataset(&dataset.name);
        html! {
            (trail(site, &[], dataset.name.as_str()))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            div.masthead {
                h1 { (record::title(dataset)) }
                (record::byline(dataset))
            }
            @match latest {
                Some(latest) => (self.latest(site, latest)),
                None => { p.empty { "Nothing was ever ingested: there is no set to cite yet." } },
            }
            div.columns {
                div {
                    (record::description(dataset))
                    @if let Some(citation) = &self.citation {
                        section #cite {
                            h2 { "Cite" }
                            (citing::section(site, citation, &path))
                            @if site.is_complete() { (self.as_of(site)) }
                        }
                    }
                }
                aside aria-label="Record" { (record::facts(dataset, &self.listed.former_names)) }
            }
            @if latest.is_some() {
                section #history {
                    h2 { "Granules over time" }
                    (plot::figure(site, &dataset.name, &self.series))
                }
                section #changes {
                    h2 { "Last changes" }
                    (list(site, &self.recent))
                    @if site.is_complete() { (self.whole_history(site)) }
                }
            }
            @if let Some(latest) = latest { (citing::verifying(latest.identifier)) }
        }
    }

    /// The latest set, with its identifier.
    fn latest(&self, site: &Site, latest: &Instance) -> Markup {
        html! {
            section.card aria-label="Latest set" {
                p.label { "Identifier of the latest set" }
                p.identifier {
                    @if site.is_complete() {
                        a href=(site.href(&Site::set(latest.identifier))) { (identifier(latest.identifier)) }
                    } @else { (identifier(latest.identifier)) }
                }
                p.summary {
                    strong { (counted(latest.granules, "granule")) }
                    " since " (time(latest.timestamp))
                    (annotations(&latest.annotations))
                    @if let Some(confirmed) = &self.listed.confirmed {
                        span.note { "Last confirmed " (time(confirmed.recorded)) }
                    }
                }
                @if site.is_complete() {
                    p.actions {
                        a.button href=(site.href(&Site::granules(latest.identifier))) { "List the granules" }
                        " "
                        a.button.plain href="#cite" { "Cite" }
                        " "
                        a.button.plain href="#verify" { "Verify" }
                    }
                }
            }
        }
    }

    /// The form that leads to the set of a day.
    fn as_of(&self, site: &Site) -> Markup {
        let first = self.series.first().map(|first| first.day().to_string());
        html! {
            form.as-of action=(site.href(&Site::dataset(&self.listed.dataset.name))) method="get" {
                label for="at" { "Cite it as of the day on which you used it" }
                div.field {
                    input #at type="date" name="at" required min=[first];
                    button type="submit" { "Show that set" }
                }
            }
        }
    }

    fn whole_history(&self, site: &Site) -> Markup {
        let path = site.href(&Site::history(&self.listed.dataset.name));
        html! {
            p.more {
                a href=(path) {
                    @match self.series.changes() {
                        1 => "The only change",
                        changes => { "All " (grouped(changes)) " changes" },
                    }
                }
                span.formats-inline {
                    a href={ (path) "?format=csv" } { "CSV" }
                    a href={ (path) "?format=jsonl" } { "JSON Lines" }
                }
            }
        }
    }
}

/// The changes, each with the set that it resulted in and its note.
pub(super) fn list(site: &Site, instances: &[Instance]) -> Markup {
    html! {
        ol.changes {
            @for instance in instances {
                li {
                    span.when {
                        @if site.is_complete() {
                            a href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
                                (time(instance.timestamp))
                            }
                        } @else { (time(instance.timestamp)) }
                    }
                    code.id { (instance.identifier) }
                    span.held { (grouped(instance.granules)) span.unit { " held" } }
                    span.change { (change(instance.ingested, instance.deleted)) }
                    @if let Some(text) = &instance.note { span.note { (note(text)) } }
                    (annotations(&instance.annotations))
                }
            }
        }
    }
}

/// A page of the history of a dataset.
#[derive(Debug)]
pub struct HistoryPage {
    /// The dataset.
    pub listed: Listed,
    /// The changes, newest first.
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
        let title = record::title(dataset);
        let main = html! {
            (trail(site, &[(Site::dataset(&dataset.name), dataset.name.as_str())], "Changes"))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            div.masthead {
                h1 { "Changes of " (title) }
                p.lead {
                    "Newest first. Each change has a set of granules with an identifier of its own, "
                    "which is in force until the next change."
                }
            }
            @if self.instances.is_empty() { p.empty { "There are no changes here." } }
            (list(site, &self.instances))
            p.pager {
                @if !self.is_first { a.button.plain href=(site.href(&path)) { "Newest changes" } " " }
                @if let Some(next) = self.next {
                    a.button rel="next" href={ (site.href(&path)) "?after=" (next) } { "Earlier changes" }
                }
            }
            p.quiet {
                "All of it: " a href={ (site.href(&path)) "?format=csv" } { "CSV" } ", "
                a href={ (site.href(&path)) "?format=jsonl" } { "JSON Lines" }
                " (pages of " (grouped(1_000)) " changes)"
            }
        };
        let head = Head {
            title: format!("Changes of {title}"),
            section: Section::Datasets,
            is_unlisted: true,
            ..Head::default()
        };
        page(site, &head, &main).into_string()
    }
}
