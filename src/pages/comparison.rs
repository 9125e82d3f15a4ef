//! The comparison of two sets.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};

use super::figures::{counted, grouped, time, visible};
use super::layout::{Head, page};
use super::site::Site;
use crate::error::Result;
use crate::model::{GranuleId, Identifier, Set};
use crate::registry::{Counts, Difference, Selection, Snapshot};

/// The comparison of two sets.
#[derive(Debug)]
pub struct ComparisonPage {
    /// The set on the left, which is usually the earlier one.
    pub left: Set,
    /// The set on the right.
    pub right: Set,
    /// How many granules both have, and only one of them.
    pub counts: Counts,
    /// The differences by the beginnings of their names.
    groups: PrefixGroups,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// Whether there are further ones.
    pub has_more: bool,
    /// Whether all was compared, and not only what is after a granule.
    is_whole: bool,
}

/// A granule that only one side has, as JSON.
#[derive(Debug, Serialize)]
pub struct DifferenceRow<'a> {
    /// That side: `left` or `right`.
    pub side: &'static str,
    /// The granule.
    pub granule: &'a GranuleId,
}

/// Differences, counted by the longest beginning of their names for which there are at most 16 groups.
///
/// They are added in canonical order, so that a group is complete when another begins: the memory that
/// this takes does not grow with their number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PrefixGroups {
    /// The number of characters that names of a group have in common.
    length: usize,
    groups: Vec<Group>,
}

/// The differences whose names begin so.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    prefix: String,
    /// Whether that is the whole name of each.
    is_whole: bool,
    only_left: u64,
    only_right: u64,
}

impl Default for PrefixGroups {
    fn default() -> Self {
        PrefixGroups { length: PrefixGroups::LONGEST, groups: Vec::new() }
    }
}

impl PrefixGroups {
    /// The greatest number of groups.
    const MOST: usize = 16;

    /// The greatest length of what names of a group have in common.
    const LONGEST: usize = 80;

    /// Adds a difference. They come in canonical order.
    fn add(&mut self, difference: &Difference) {
        let (only_left, only_right) = match difference {
            Difference::OnlyLeft(_) => (1, 0),
            Difference::OnlyRight(_) => (0, 1),
        };
        let (prefix, is_whole) = beginning(name(difference).as_str(), self.length);
        let group = Group { prefix: prefix.to_owned(), is_whole, only_left, only_right };
        add_to(&mut self.groups, group);
        while self.groups.len() > PrefixGroups::MOST && self.length > 0 {
            self.length -= 1;
            let mut shorter = Vec::with_capacity(PrefixGroups::MOST);
            for group in self.groups.drain(..) {
                let (prefix, is_whole) = beginning(&group.prefix, self.length);
                let (prefix, is_whole) = (prefix.to_owned(), group.is_whole && is_whole);
                add_to(&mut shorter, Group { prefix, is_whole, ..group });
            }
            self.groups = shorter;
        }
    }
}

fn name(difference: &Difference) -> &GranuleId {
    let (Difference::OnlyLeft(granule_id) | Difference::OnlyRight(granule_id)) = difference;
    granule_id
}

/// The first characters of a name, and whether these are all.
fn beginning(name: &str, length: usize) -> (&str, bool) {
    match name.char_indices().nth(length) {
        Some((end, _)) => (&name[..end], false),
        None => (name, true),
    }
}

fn add_to(groups: &mut Vec<Group>, group: Group) {
    match groups.last_mut() {
        Some(last) if last.prefix == group.prefix => {
            last.only_left += group.only_left;
            last.only_right += group.only_right;
            last.is_whole &= group.is_whole;
        }
        _ => groups.push(group),
    }
}

impl ComparisonPage {
    /// Compares two sets, or what of them is after a granule. Lists as many differences as are wanted, of so
    /// many bytes in all.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::compare`].
    pub fn read(
        snapshot: Snapshot,
        left: &Selection,
        right: &Selection,
        after: Option<&GranuleId>,
        [most, mut bytes]: [usize; 2],
    ) -> Result<Self> {
        let mut compared = match after {
            Some(after) => snapshot.compare_after(left, right, after)?,
            None => snapshot.compare(left, right)?,
        };
        drop(snapshot);
        let (mut groups, mut differences) = (PrefixGroups::default(), Vec::new());
        let mut has_more = false;
        for difference in compared.by_ref() {
            let difference = difference?;
            groups.add(&difference);
            if differences.len() < most && bytes > 0 {
                bytes = bytes.saturating_sub(name(&difference).as_str().len() + 16);
                differences.push(difference);
            } else {
                has_more = true;
                // Only the first page has the counts, for which everything is read.
                if after.is_some() {
                    break;
                }
            }
        }
        let (left, right) = (compared.left().clone(), compared.right().clone());
        let (counts, is_whole) = (compared.counts(), after.is_none());
        Ok(ComparisonPage { left, right, counts, groups, differences, has_more, is_whole })
    }

    /// The differences as rows.
    pub fn rows<'a>(&'a self) -> Vec<DifferenceRow<'a>> {
        let row = |difference: &'a Difference| match difference {
            Difference::OnlyLeft(granule) => DifferenceRow { side: "left", granule },
            Difference::OnlyRight(granule) => DifferenceRow { side: "right", granule },
        };
        self.differences.iter().map(row).collect()
    }

    /// `compare` of the command line, with the counts and the address of the next page.
    pub fn json(&self, next: Option<&str>) -> Value {
        let side = |set: &Set| {
            let instance = set.instance();
            json!({
                "identifier": set.identifier(),
                "granules": set.granules(),
                "dataset": instance.dataset,
                "timestamp": instance.timestamp,
            })
        };
        let rows = self.rows();
        let only = |wanted: &str| -> Vec<&GranuleId> {
            rows.iter().filter(|row| row.side == wanted).map(|row| row.granule).collect()
        };
        let counts = self.is_whole.then_some(self.counts);
        json!({
            "identical": self.left.identifier() == self.right.identifier(),
            "left": side(&self.left),
            "right": side(&self.right),
            "matched": counts.map(|counts| counts.matched),
            "only_left_count": counts.map(|counts| counts.only_left),
            "only_right_count": counts.map(|counts| counts.only_right),
            "only_left": only("left"),
            "only_right": only("right"),
            "next": next,
        })
    }

    /// The page, which is at `path`.
    pub fn html(&self, site: &Site, path: &str) -> String {
        let head = Head { title: self.headline(), is_unlisted: true, ..Head::default() };
        page(site, &head, &self.main(site, path)).into_string()
    }

    fn headline(&self) -> String {
        let Counts { matched, only_left, only_right } = self.counts;
        match (only_left, only_right) {
            (0, 0) => format!("The same {}", counted(matched, "granule")),
            (left, 0) => format!("{} deleted", counted(left, "granule")),
            (0, right) => format!("{} added", counted(right, "granule")),
            (left, right) => {
                format!("{} deleted, {} added", counted(left, "granule"), grouped(right))
            }
        }
    }

    fn main(&self, site: &Site, path: &str) -> Markup {
        let Counts { only_left, only_right, .. } = self.counts;
        let listed = self.differences.len() as u64;
        let swapped = Site::comparison(self.right.identifier(), self.left.identifier());
        html! {
            div.head {
                p.label { "Comparison of two sets" }
                h1 { (self.headline()) }
            }
            div.pair {
                (side(site, "Before", &self.left))
                (side(site, "After", &self.right))
            }
            (tally(&self.counts, ["only before", "in both", "only after"]))
            p.chips.small { a href=(site.href(&swapped)) { "Swap the sides" } }
            @if !self.counts.is_identical() {
                @if self.groups.groups.len() > 1 { (self.by_prefix()) }
                section {
                    h2 { "The granules that differ" }
                    p.chips {
                        @if listed < only_left + only_right {
                            span { "The first " (grouped(listed)) " of " (grouped(only_left + only_right)) ", in order of their names." }
                            " "
                        }
                        a href={ (site.href(path)) "?format=jsonl" } { "All as JSON Lines" }
                    }
                    ul.diff { @for (index, difference) in self.differences.iter().enumerate() { (difference_row(index, difference)) } }
                }
            }
        }
    }

    /// The differences by the beginnings of their names.
    fn by_prefix(&self) -> Markup {
        let groups = &self.groups.groups;
        let most = groups.iter().map(|group| group.only_left.max(group.only_right)).max();
        let part = |count: u64| count as f64 / most.unwrap_or(1).max(1) as f64 * 50.0;
        html! {
            section {
                h2 { "Where they differ" }
                p.text.soft {
                    "By the beginning of the granules’ names: the longest for which there are at most "
                    (PrefixGroups::MOST) " groups."
                }
                table.rows.by-prefix {
                    thead {
                        tr {
                            th scope="col" { "Names that begin with" }
                            th.n scope="col" { "Only before" }
                            th.sk scope="col" { span.vh { "Both as bars" } }
                            th.n scope="col" { "Only after" }
                        }
                    }
                    tbody {
                        @for group in groups {
                            @let (left, right) = (part(group.only_left), part(group.only_right));
                            tr {
                                // Only the first differences are listed, so not every group has one.
                                @let beginning = html! {
                                    code { (visible(&group.prefix)) @if !group.is_whole { "*" } }
                                };
                                @let first = self.differences.iter().position(|difference| {
                                    name(difference).as_str().starts_with(&group.prefix)
                                });
                                th.fill scope="row" {
                                    @if let Some(index) = first { a href={ "#d" (index) } { (beginning) } }
                                    @else { (beginning) }
                                }
                                td.n.minus { @if group.only_left > 0 { "−" (grouped(group.only_left)) } }
                                td.sk {
                                    svg.bar aria-hidden="true" {
                                        rect.deleted x={ (format!("{:.1}", 50.0 - left)) "%" }
                                            width={ (format!("{left:.1}")) "%" } height="100%" {}
                                        rect.added x="50%" width={ (format!("{right:.1}")) "%" } height="100%" {}
                                    }
                                }
                                td.n.plus { @if group.only_right > 0 { "+" (grouped(group.only_right)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn side(site: &Site, label: &str, set: &Set) -> Markup {
    let instance = set.instance();
    let identifier: Identifier = set.identifier();
    html! {
        div.card {
            p.label { (label) }
            p.di { a href=(site.href(&Site::set(identifier))) { "DI:" (identifier) } }
            p {
                b { (counted(set.granules(), "granule")) } " of "
                a href=(site.href(&Site::dataset(&instance.dataset))) { (instance.dataset) }
                br;
                @if set.subset().is_some() { "a cited part of the set of " (time(instance.timestamp)) }
                @else {
                    "current from " (time(instance.timestamp)) " until "
                    @match instance.until { Some(until) => (time(until)), None => "now" }
                }
            }
        }
    }
}

/// How many granules only one of two sets has, and both, as numbers and as a bar.
fn tally(counts: &Counts, [left, both, right]: [&str; 3]) -> Markup {
    let Counts { matched, only_left, only_right } = *counts;
    let all = (matched + only_left + only_right).max(1) as f64 / 100.0;
    let (first, second) = (only_left as f64 / all, matched as f64 / all);
    html! {
        dl.tally {
            div { dt { (left) } dd.minus { (grouped(only_left)) } }
            div { dt { (both) } dd { (grouped(matched)) } }
            div { dt { (right) } dd.plus { (grouped(only_right)) } }
        }
        svg.bar aria-hidden="true" {
            rect.deleted width={ (format!("{first:.1}")) "%" } height="100%" {}
            rect.both x={ (format!("{first:.1}")) "%" } width={ (format!("{second:.1}")) "%" } height="100%" {}
            rect.added x={ (format!("{:.1}", first + second)) "%" }
                width={ (format!("{:.1}", (100.0 - first - second).max(0.0))) "%" } height="100%" {}
        }
    }
}

/// A granule that only one of two sets has.
fn difference_row(index: usize, difference: &Difference) -> Markup {
    html! {
        @match difference {
            Difference::OnlyRight(granule_id) => li.plus id={ "d" (index) } { "+ " (visible(granule_id.as_str())) },
            Difference::OnlyLeft(granule_id) => li.minus id={ "d" (index) } { "− " (visible(granule_id.as_str())) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_longest_beginning_that_gives_16_of_them() {
        let mut groups = PrefixGroups::default();
        for month in 1..=14 {
            for day in 1..=28 {
                let granule_id = format!("F.2026{month:02}{day:02}.nc").parse().unwrap();
                groups.add(&match day % 2 {
                    0 => Difference::OnlyLeft(granule_id),
                    _ => Difference::OnlyRight(granule_id),
                });
            }
        }
        assert_eq!((groups.groups.len(), groups.length), (14, 8));
        assert!(groups.groups.iter().all(|group| (group.only_left, group.only_right) == (14, 14)));
        assert_eq!(groups.groups[13].prefix, "F.202614");
        // Names that have nothing in common are one group.
        let mut groups = PrefixGroups::default();
        for letter in ('a'..='z').chain('α'..='ω') {
            groups.add(&Difference::OnlyLeft(letter.to_string().parse().unwrap()));
        }
        let all = Group { prefix: String::new(), is_whole: false, only_left: 51, only_right: 0 };
        assert_eq!(groups.groups, [all]);
    }
}
