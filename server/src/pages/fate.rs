//! What became of a set: whether its dataset still holds it, and how many of its granules.

use maud::{Markup, html};

use super::figures::{date, grouped};
use super::site::Site;
use accession::error::Result;
use accession::model::{Criteria, GranuleId, Instance, Pattern, Set, Timestamp};
use accession::registry::{Cited, Difference, Selection, Snapshot};

/// The greatest number of granules of two sets that are counted for a page: it takes less than a second.
const COUNTED_GRANULES: u64 = 4_000_000;

/// The greatest number of granules of two sets that are compared for a page, name by name.
const COMPARED_GRANULES: u64 = 400_000;

/// The greatest number of changes that are counted.
const COUNTED_CHANGES: u32 = 1_000;

/// What became of a set in the dataset that is cited.
#[derive(Debug)]
pub(super) struct Fate {
    /// When another set took its place. `None` means that none did.
    replaced: Option<Timestamp>,
    /// How many changes there were since, counted up to [`COUNTED_CHANGES`].
    later_changes: u64,
    /// The latest set of the dataset.
    latest: Option<Instance>,
    /// How many of its granules the latest set has, and how many others. `None` means that they are too many
    /// to be counted for a page.
    counts: Option<StillHeld>,
}

#[derive(Debug, Clone, Copy)]
struct StillHeld {
    held: u64,
    /// Of a subset, those that the same patterns select. `None` means that its granules are named.
    new: Option<u64>,
}

impl Fate {
    pub fn read(snapshot: &Snapshot, cited: &Cited) -> Result<Self> {
        let name = cited.set.dataset();
        let replaced = cited.until();
        let latest = cited.dataset.latest.clone();
        let (later_changes, counts) = match (replaced, &latest) {
            (Some(replaced), Some(latest)) => (
                snapshot.changes_after(name, replaced, COUNTED_CHANGES)?,
                StillHeld::read(snapshot, &cited.set, latest)?,
            ),
            _ => (0, Some(StillHeld { held: cited.set.granules(), new: None })),
        };
        Ok(Fate { replaced, later_changes, latest, counts })
    }

    /// The state in a sentence or two, with figures.
    pub fn sentence(&self, site: &Site, cited: &Cited) -> Markup {
        let is_subset = cited.set.subset().is_some();
        let is_withdrawn = cited.dataset.withdrawn.is_some();
        let is_back = self.latest.as_ref().is_some_and(|latest| {
            self.replaced.is_some() && latest.identifier == cited.set.instance().identifier
        });
        html! {
            @match self.replaced {
                None if is_withdrawn => {
                    strong.warn { "The last set" } " of a dataset that was withdrawn. "
                },
                None => {
                    strong.plus { @if is_subset { "Still held" } @else { "Still current" } }
                    ": no granule was added or deleted since"
                    @if let Some(last) = cited.instances.iter().skip(1).rfind(|it| it.replaced > 0) {
                        ", but files were replaced on " b { (date(last.timestamp)) }
                    }
                    ". "
                },
                Some(at) => {
                    @if is_subset { "The dataset changed on " b { (date(at)) } }
                    @else { strong { "Replaced on " (date(at)) } }
                    (self.how_often()) ". "
                    @if is_back { strong.plus { "It is back" } ": the dataset of today is this set. " }
                    @else if let (Some(counts), Some(latest)) = (self.counts, &self.latest) {
                        (counts.sentence(cited.set.granules(), is_withdrawn))
                        @let from = cited.set.instance().timestamp;
                        @let changes = Site::changes(cited.set.dataset(), from, latest.timestamp);
                        a href=(site.href(&changes)) { "Which" }
                    }
                },
            }
        }
    }

    fn how_often(&self) -> Markup {
        html! {
            @match self.later_changes {
                0 => "",
                1 => ", once more since",
                2 => ", twice more since",
                changes if changes < COUNTED_CHANGES.into() => {
                    ", " (words(changes)) " more times since"
                },
                changes => { ", more than " (grouped(changes)) " times since" },
            }
        }
    }
}

impl StillHeld {
    fn read(snapshot: &Snapshot, set: &Set, latest: &Instance) -> Result<Option<Self>> {
        let (instance, all) = (set.instance(), set.instance().granules + latest.granules);
        let Some(subset) = set.subset() else {
            if all > COUNTED_GRANULES {
                return Ok(None);
            }
            let held = snapshot.still_held(&instance.dataset, instance.timestamp)?;
            return Ok(Some(StillHeld { held, new: Some(latest.granules.saturating_sub(held)) }));
        };
        if all > COMPARED_GRANULES {
            return Ok(None);
        }
        let of =
            |identifier, name| Selection::Identifier { identifier, dataset: Some(name), at: None };
        let now = of(latest.identifier, latest.dataset.clone());
        let (then, patterns): (_, &[Pattern]) = match &subset.criteria {
            // The whole sets are compared, since what is new is not in the subset.
            Criteria::Patterns(patterns) => {
                (of(instance.identifier, instance.dataset.clone()), patterns)
            }
            Criteria::Named => (of(subset.identifier, subset.dataset.clone()), &[]),
        };
        let is_selected = |granule_id: &GranuleId| {
            patterns.is_empty() || patterns.iter().any(|it| it.matches(granule_id.as_str()))
        };
        let (mut gone, mut new) = (0, 0);
        let (then, now) = (snapshot.select(&then)?.set, snapshot.select(&now)?.set);
        for difference in snapshot.compare(&then, &now)? {
            match difference? {
                Difference::OnlyLeft(granule_id) => gone += u64::from(is_selected(&granule_id)),
                Difference::OnlyRight(entry) => new += u64::from(is_selected(&entry.granule_id)),
                Difference::OtherContent(_) => {}
            }
        }
        let new = (!patterns.is_empty()).then_some(new);
        Ok(Some(StillHeld { held: subset.granules.saturating_sub(gone), new }))
    }

    /// How many of all names are still there, and how many are not or are new: files may have other bytes.
    fn sentence(self, all: u64, is_withdrawn: bool) -> Markup {
        let StillHeld { held, new } = self;
        let gone = all.saturating_sub(held);
        let today = if is_withdrawn { "its last set" } else { "the dataset of today" };
        let new = new.filter(|new| *new > 0);
        html! {
            @match (all, held) {
                (0, _) => "It was empty",
                (1, 1) => "Its name is still there",
                (_, held) if held == all => { "All " b { (grouped(all)) } " names are still there" },
                (_, 0) => { "None of its " (grouped(all)) " names is still there" },
                _ => {
                    @if held * 10 >= all * 9 { "Nearly all of it is still there: " }
                    b { (grouped(held)) } " of " (grouped(all)) " names are in " (today)
                    ", " b.minus { (grouped(gone)) } @if gone == 1 { " was deleted" } @else { " were deleted" }
                },
            }
            @if let Some(new) = new {
                @if gone == 0 || held == 0 { "; " b { (grouped(new)) } } @else { ", " b.plus { (grouped(new)) } }
                @if new == 1 { " is new" } @else { " are new" }
                @if gone == 0 { " since" }
            }
            ". "
        }
    }
}

/// A small number as a word.
fn words(number: u64) -> String {
    const WORDS: [&str; 8] = ["three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let word = number.checked_sub(3).and_then(|index| WORDS.get(index as usize));
    word.map_or_else(|| grouped(number), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_set_is_said_in_figures() {
        let said = |all, held, new| {
            let html = StillHeld { held, new }.sentence(all, false).into_string();
            let mut text = String::new();
            for piece in html.split('<') {
                text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
            }
            text
        };
        assert_eq!(
            said(132_211, 132_023, Some(975)),
            "Nearly all of it is still there: 132,023 of 132,211 names are in the dataset of today, \
             188 were deleted, 975 are new. "
        );
        assert_eq!(said(3, 3, Some(2)), "All 3 names are still there; 2 are new since. ");
        assert_eq!(said(1, 1, Some(0)), "Its name is still there. ");
        assert_eq!(said(4, 0, Some(9)), "None of its 4 names is still there; 9 are new. ");
        assert_eq!(said(4, 1, None), "1 of 4 names are in the dataset of today, 3 were deleted. ");
    }
}
