//! The whole history of a dataset, page by page.

use maud::html;

use super::figures::grouped;
use super::layout::{Head, Section, page, trail};
use super::site::Site;
use super::{changes, record};
use crate::model::{Instance, Timestamp};
use crate::registry::Listed;

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
            (changes::list(site, &self.instances))
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
