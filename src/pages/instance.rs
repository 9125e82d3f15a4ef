//! The page of an instance: a dataset as it was held from one change to the next.

use maud::{Markup, html};

use super::figures::{annotations, change, counted, identifier, note, time, time_text};
use super::layout::{Head, Section, page, trail};
use super::link::Link;
use super::set::ids;
use super::site::Site;
use super::{citing, dataset, record};
use crate::citation::Citation;
use crate::model::{GranuleId, Instance, Moment};
use crate::registry::{Cited, Listed};

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
    /// The first granules.
    pub first: Vec<GranuleId>,
    /// The last granules, without those that are among the first.
    pub last: Vec<GranuleId>,
}

impl InstancePage {
    /// The page, with the links that its header has too.
    pub fn html(&self, site: &Site, links: &[Link]) -> String {
        let dataset = &self.listed.dataset;
        let instance = self.cited.set.instance();
        let title = format!("{}, {}", record::title(dataset), time_text(instance.timestamp));
        let head = Head {
            title,
            links,
            meta: citing::meta(
                site,
                dataset,
                Some(instance.identifier),
                &Site::instance(&dataset.name, instance.timestamp),
            ),
            json_ld: Some(citing::described(site, dataset, &self.citation, instance.identifier)),
            section: Section::Datasets,
            is_unlisted: instance.until.is_some(),
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
            div.masthead {
                h1 { (record::title(dataset)) }
                p.lead {
                    "as held from " (time(instance.timestamp))
                    @match instance.until {
                        Some(until) => { " until " (time(until)) },
                        None => { " until now" },
                    }
                }
            }
            section.card aria-label="Set" {
                p.label { "Identifier of this set" }
                p.identifier {
                    a href=(site.href(&Site::set(instance.identifier))) { (identifier(instance.identifier)) }
                }
                p.summary {
                    strong { (counted(instance.granules, "granule")) } " "
                    @match instance.until {
                        None => span.state.now { "in force now" },
                        Some(_) => span.state.past { "no longer in force" },
                    }
                }
                p.summary {
                    "This change: " (change(instance.ingested, instance.deleted))
                    @if let Some(text) = &instance.note { span.note { (note(text)) } }
                    (annotations(&instance.annotations))
                }
                p.actions {
                    a.button href=(site.href(&Site::granules(instance.identifier))) { "List the granules" }
                    @if let Some(previous) = &self.cited.previous {
                        " "
                        a.button.plain href=(site.href(&Site::comparison(previous.identifier, instance.identifier))) {
                            "Compare with the set before"
                        }
                    }
                }
            }
            (neighbours(site, &self.cited))
            @if !self.cited.others.is_empty() {
                section {
                    h2 { "Also in force on that day" }
                    p { "A citation with the date alone means the last set of the day. An earlier one is cited with its time." }
                    (dataset::list(site, &self.cited.others))
                }
            }
            div.columns {
                section #cite {
                    h2 { "Cite" }
                    (citing::section(site, &self.citation, &path))
                }
                (ids(site, instance.identifier, instance.granules, dataset, &self.first, &self.last))
            }
            (citing::verifying(instance.identifier))
        }
    }
}

/// The links to the instances before and after.
fn neighbours(site: &Site, cited: &Cited) -> Markup {
    html! {
        nav.neighbours aria-label="Neighbouring sets" {
            @if let Some(previous) = &cited.previous {
                a rel="prev" href=(site.href(&Site::instance(&previous.dataset, previous.timestamp))) {
                    "← " (time(previous.timestamp))
                }
            }
            @if let Some(next) = &cited.next {
                a.next rel="next" href=(site.href(&Site::instance(&next.dataset, next.timestamp))) {
                    (time(next.timestamp)) " →"
                }
            }
        }
    }
}
