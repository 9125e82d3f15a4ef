//! The page that compares two sets.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};

use super::figures::{counted, grouped, time, until};
use super::granules::unbroken;
use super::layout::{PageHead, page};
use super::site::Site;
use accession::Result;
use accession::{Difference, DifferenceCounts, Selection, Snapshot};
use accession::{GranuleId, Identifier, Set};

/// The comparison of two sets.
#[derive(Debug)]
pub struct ComparisonPage {
    /// The set on the left, which is usually the earlier one.
    pub left: Set,
    /// The set on the right.
    pub right: Set,
    /// The numbers of granules on both sides and on only one, and the result of comparing the files of those on
    /// both.
    pub counts: DifferenceCounts,
    /// The first differences.
    pub differences: Vec<DifferenceRow>,
    /// Whether there are more differences.
    pub has_more: bool,
    /// Whether the whole sets were compared, and not only the part after a granule.
    is_whole: bool,
}

/// A granule that is on only one side, or whose files differ, as JSON.
#[derive(Debug, Serialize)]
pub struct DifferenceRow {
    /// The side: `left`, `right`, or `both` if the files differ.
    pub side: &'static str,
    /// The granule.
    pub granule: GranuleId,
}

impl ComparisonPage {
    /// Compares two sets, or the parts of them after a granule. Lists at most `most` differences, which have
    /// about `bytes` bytes in all.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::contents`] and [`Registry::compare_files`](accession::Registry::compare_files).
    pub fn read(
        snapshot: Snapshot,
        left: &Selection,
        right: &Selection,
        after: Option<&GranuleId>,
        [most, mut bytes]: [usize; 2],
    ) -> Result<Self> {
        let (mut left, mut right) = (snapshot.contents(left)?, snapshot.contents(right)?);
        let registry = snapshot.registry().clone();
        drop(snapshot);
        let (one, two) = registry.nearest(&left, &right)?;
        let (left, right) = (left.swap_remove(one).set, right.swap_remove(two).set);
        let mut compared = match after {
            Some(after) => registry.compare_after(&left, &right, after),
            None => registry.compare_files(&left, &right),
        };
        let (mut differences, mut has_more) = (Vec::new(), false);
        for difference in compared.by_ref() {
            let row = match difference? {
                Difference::OnlyLeft(granule) => DifferenceRow { side: "left", granule },
                Difference::OnlyRight(entry) => {
                    DifferenceRow { side: "right", granule: entry.granule_id }
                }
                Difference::OtherContent(other) if other.is_conflict() => {
                    DifferenceRow { side: "both", granule: other.granule_id }
                }
                Difference::OtherContent(_) => continue,
            };
            if differences.len() < most && bytes > 0 {
                bytes = bytes.saturating_sub(row.granule.as_str().len() + 16);
                differences.push(row);
            } else {
                has_more = true;
                // Only the first page has counts, which need the whole comparison.
                if after.is_some() {
                    break;
                }
            }
        }
        let is_whole = after.is_none();
        let counts = if is_whole { compared.finish()? } else { DifferenceCounts::default() };
        Ok(ComparisonPage { left, right, counts, differences, has_more, is_whole })
    }

    /// Whether both sides have the same granules, and no file differs. `None` means that this is unknown,
    /// because only a part was compared.
    fn is_identical(&self) -> Option<bool> {
        match self.left.identifier() == self.right.identifier() {
            false => Some(false),
            true if self.is_digest_equal() => Some(true),
            true => self.is_whole.then_some(self.counts.contents.other == 0),
        }
    }

    fn is_digest_equal(&self) -> bool {
        self.left.digest() == self.right.digest()
    }

    /// The JSON of `compare` on the command line, with the counts and the address of the next page.
    pub fn json(&self, next: Option<&str>) -> Value {
        let side = |set: &Set| {
            let instance = set.instance();
            json!({
                "identifier": set.identifier(),
                "granules": set.granule_count(),
                "dataset": instance.dataset,
                "timestamp": instance.timestamp,
            })
        };
        let only = |wanted: &str| -> Vec<&GranuleId> {
            let rows = self.differences.iter().filter(|row| row.side == wanted);
            rows.map(|row| &row.granule).collect()
        };
        let counts = self.is_whole.then_some(self.counts);
        json!({
            "identical": self.is_identical(),
            "left": side(&self.left),
            "right": side(&self.right),
            "matched": counts.map(|counts| counts.matched),
            "only_left_count": counts.map(|counts| counts.only_left),
            "only_right_count": counts.map(|counts| counts.only_right),
            "only_left": only("left"),
            "only_right": only("right"),
            "digest_equal": self.is_digest_equal(),
            "other_content_count": counts.map(|_| self.counts.contents.other),
            "other_content": only("both"),
            "next": next,
        })
    }

    /// The page at `path`. `next` is the address of the next page.
    pub fn html(&self, site: &Site, path: &str, next: Option<&str>) -> String {
        let (title, printed) = (self.headline(), site.canonical(path));
        let head = PageHead { title, printed, is_unlisted: true, ..PageHead::default() };
        page(site, &head, &self.main(site, path, next))
    }

    fn headline(&self) -> String {
        let DifferenceCounts { matched, only_left, only_right, .. } = self.counts;
        if !self.is_whole {
            return "Further granules that differ".to_owned();
        }
        let names = match (only_left, only_right) {
            (0, 0) => format!("The same {}", counted(matched, "granule")),
            (left, 0) => format!("{} deleted", counted(left, "granule")),
            (0, right) => format!("{} added", counted(right, "granule")),
            (left, right) => {
                format!("{} deleted, {} added", counted(left, "granule"), grouped(right))
            }
        };
        match self.counts.contents.other {
            0 => names,
            other => format!("{names}, {} with different content", grouped(other)),
        }
    }

    fn main(&self, site: &Site, path: &str, next: Option<&str>) -> Markup {
        let listed = self.differences.len() as u64;
        let differ = self.counts.only_left + self.counts.only_right + self.counts.contents.other;
        let (compared, not_comparable) =
            (self.counts.contents.compared, self.counts.contents.not_comparable);
        let (left, right) = path["/compare/".len()..].split_once("...").unwrap_or_default();
        let swapped = format!("/compare/{right}...{left}");
        html! {
            div.head {
                p.label { "Comparison of two sets" }
                h1 { (self.headline()) }
            }
            div.pair {
                (side(site, "Before", &self.left))
                (side(site, "After", &self.right))
            }
            @if self.is_whole { (tally(&self.counts, ["only before", "in both", "only after"])) }
            p.chips.small { a href=(site.href(&swapped)) { "Swap the sides" } }
            @if self.is_whole && compared + not_comparable > 0 {
                p {
                    "The bytes of " (grouped(compared)) " of the "
                    (counted(self.counts.matched, "granule")) " in both were compared."
                }
            }
            @if !self.is_whole || differ > 0 {
                section {
                    h2 { "The granules that differ" }
                    p.chips {
                        @if self.is_whole && listed < differ {
                            span { "The first " (grouped(listed)) " of " (grouped(differ)) ", in order of their names." }
                            " "
                        }
                        a href={ (site.href(path)) "?format=jsonl" } { "All as JSON Lines" }
                    }
                    ul.diff {
                        @for row in &self.differences {
                            @match row.side {
                                "right" => li.plus { "+ " (unbroken(row.granule.as_str())) },
                                "left" => li.minus { "− " (unbroken(row.granule.as_str())) },
                                _ => li { "~ " (unbroken(row.granule.as_str())) },
                            }
                        }
                    }
                    @if let Some(next) = next {
                        p.chips { a href=(next) rel="next" { "The next ones" } }
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
                b { (counted(set.granule_count(), "granule")) } " of "
                a href=(site.href(&Site::dataset(&instance.dataset))) { (instance.dataset) }
                br;
                @if set.subset().is_some() { "a cited part of the set of " (time(instance.timestamp)) }
                @else {
                    "current from " (time(instance.timestamp)) " until " (until(instance.until))
                }
            }
        }
    }
}

/// The numbers of granules on one side only and on both, as text and as a bar.
fn tally(counts: &DifferenceCounts, [left, both, right]: [&str; 3]) -> Markup {
    let DifferenceCounts { matched, only_left, only_right, .. } = *counts;
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
