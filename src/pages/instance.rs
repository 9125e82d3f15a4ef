//! The page of an instance: a dataset as it was held from one change to the next.

use maud::{Markup, html};
use serde::Serialize;

use super::citing::{self, Describes, Link};
use super::figures::{annotations, change, copy_button, grouped, note, time, time_text};
use super::history::{self, Picks};
use super::identifier::{means, verifying};
use super::layout::{Detail, Head, Section, page, trail};
use super::part::{Ends, FIRST_IDS, LAST_IDS, form_unless_all_are_shown, granules};
use super::record;
use super::site::Site;
use crate::citation::Citation;
use crate::error::Result;
use crate::model::{DatasetName, Instance, Moment, Timestamp};
use crate::registry::{Cited, DigestPeriod, Listed, Selection, Snapshot};

/// The page of an instance.
#[derive(Debug)]
pub struct InstancePage {
    /// The dataset.
    pub listed: Listed,
    /// The instance, with those before and after it.
    pub cited: Cited,
    /// Its citation.
    pub citation: Citation,
    /// The time that was asked for, as it was typed.
    pub at: Moment,
    /// Its first and last granules.
    pub ends: Ends,
}

/// An instance, with the others of the same day: `lookup` of the command line.
#[derive(Serialize)]
struct Lookup<'a> {
    #[serde(flatten)]
    instance: &'a Instance,
    digests: Vec<DigestPeriod>,
    #[serde(skip_serializing_if = "<[Instance]>::is_empty")]
    others: &'a [Instance],
}

impl InstancePage {
    /// Reads a dataset as it was held at a time: all that the page shows, or what programs read of it.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::cite`].
    pub fn read(
        snapshot: &Snapshot,
        name: &DatasetName,
        at: Moment,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let selection = Selection::Dataset { name: name.clone(), at: Some(at) };
        let cited = snapshot.cite(&selection)?;
        let ends = match detail {
            Detail::Page => Ends::read(snapshot, &cited.set, FIRST_IDS, LAST_IDS)?,
            Detail::Record => Ends::default(),
        };
        let citation = Citation::new(cited.clone(), Some(at), now.day());
        Ok(InstancePage { listed, cited, citation, at, ends })
    }

    /// The instance as JSON.
    pub fn json(&self) -> impl Serialize {
        let Cited { set, others, .. } = &self.cited;
        Lookup { instance: set.instance(), digests: self.cited.digests(), others }
    }

    /// The links of the page, in its head and in the header of every format.
    pub fn links(&self, site: &Site) -> Vec<Link> {
        let (record, instance) = (&self.listed.dataset, self.cited.set.instance());
        let path = Site::instance(&record.name, instance.timestamp);
        let mut links = citing::links(site, record, &path, Describes::Set(instance.identifier));
        if format!("/datasets/{}@{}", record.name, self.at) != path {
            links.extend(site.canonical(&path).map(|it| Link::new("canonical", it)));
        }
        links
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let instance = self.cited.set.instance();
        let title = format!("{}, {}", record::title(dataset), time_text(instance.timestamp));
        let path = Site::instance(&dataset.name, instance.timestamp);
        let head = Head {
            title,
            links: self.links(site),
            meta: citing::meta(site, dataset, Some(instance.identifier), &path),
            json_ld: Some(citing::described(site, dataset, &self.citation, instance.identifier)),
            section: Section::Datasets,
            is_unlisted: true,
            ..Head::default()
        };
        page(site, &head, &self.main(site, instance)).into_string()
    }

    fn main(&self, site: &Site, instance: &Instance) -> Markup {
        let dataset = &self.listed.dataset;
        // Not the exact timestamp: what is downloaded has the date of the citation that is shown.
        let path = format!("/datasets/{}@{}", dataset.name, self.at);
        html! {
            (trail(site, &[(Site::dataset(&dataset.name), dataset.name.as_str())], &time_text(instance.timestamp)))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            div.head {
                h1 { (record::title(dataset)) }
                p.lead {
                    "As held from " (time(instance.timestamp))
                    @match instance.until {
                        Some(until) => { " until " (time(until)) },
                        None => { " until now" },
                    }
                }
            }
            (self.card(site, instance))
            @if !self.cited.others.is_empty() {
                section {
                    h2 { "Also current on that day" }
                    p.text { "A citation with the date alone means the last set of the day. An earlier one is cited with its time." }
                    (history::table(site, &self.cited.others, Picks::None))
                }
            }
            div.cols.side {
                div {
                    (granules(site, instance.identifier, instance.granules, dataset, &self.ends))
                    (form_unless_all_are_shown(site, instance.identifier, instance.granules, &self.ends))
                    (verifying(instance.identifier))
                }
                aside { (citing::section(site, &self.citation, &path)) }
            }
        }
    }

    fn card(&self, site: &Site, instance: &Instance) -> Markup {
        let [previous, next] = self.cited.neighbours();
        html! {
            div.card {
                div.top {
                    p.big {
                        span.label { "The identifier of this set" }
                        a.di #di href=(site.href(&Site::set(instance.identifier))) { "DI:" (instance.identifier) }
                        " " (copy_button("di", "the identifier"))
                    }
                    p.count {
                        b { (grouped(instance.granules)) }
                        @if instance.granules == 1 { " granule" } @else { " granules" }
                    }
                    p {
                        @match instance.until {
                            None => span.state.plus { "Current." },
                            Some(until) => {
                                span.state.warn { "No longer current: " }
                                "it was replaced on "
                                a href=(site.href(&Site::instance(&instance.dataset, until))) { (time(until)) } "."
                            },
                        }
                        " The change: " (change(instance)) ". "
                        @if let Some(text) = &instance.note { (note(text)) }
                        (annotations(&instance.annotations))
                    }
                    p.actions {
                        a.button.main href=(site.href(&Site::granules(instance.identifier))) { "List the granules" }
                        " " a.button href="#cite" { "Cite" }
                        " " a.button href="#verify" { "Check your files" }
                        @if let Some(previous) = previous {
                            " "
                            @if previous.identifier != instance.identifier {
                                a.button href=(site.href(&Site::comparison(previous.identifier, instance.identifier))) {
                                    "Compare with the set before"
                                }
                                " "
                            }
                            a.button rel="prev" href=(site.href(&Site::instance(&previous.dataset, previous.timestamp))) {
                                "← Set before"
                            }
                        }
                        @if let Some(next) = next {
                            " "
                            a.button rel="next" href=(site.href(&Site::instance(&next.dataset, next.timestamp))) {
                                "Next set →"
                            }
                        }
                    }
                }
                (means(site))
            }
        }
    }
}
