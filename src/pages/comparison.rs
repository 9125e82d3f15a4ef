//! The comparison of two sets.

use maud::{Markup, html};

use super::figures::{counted, grouped, identifier as code, time};
use super::layout::{Head, page};
use super::set::difference_row;
use super::site::Site;
use crate::model::{Identifier, Set};
use crate::registry::{Counts, Difference};

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
