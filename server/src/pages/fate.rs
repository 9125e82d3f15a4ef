//! The fate of a set since it was cited, in one sentence.

use maud::{Markup, html};

use super::figures::{date, grouped};
use super::site::Site;
use accession::Result;
use accession::{CitationFacts, Snapshot};
use accession::{Instance, Set};

/// The greatest number of granules in two sets together that one SQL statement counts for a page.
const COUNTED_GRANULES: u64 = 4_000_000;

/// The greatest number of granules, in a subset's parent set and the latest set together, that are compared by
/// name.
const COMPARED_NAMES: u64 = 400_000;

/// The greatest number of granules in two sets together that are compared with their files. With one checksum
/// for each, this takes a quarter of a second.
const COMPARED_CONTENTS: u64 = 100_000;

/// The number of granules of a cited set that its dataset holds now.
#[derive(Debug)]
pub(super) struct StillHeld {
    held: u64,
    /// The number of them with different content. `None` means that no difference was found, but not all
    /// contents were compared.
    other: Option<u64>,
}

impl StillHeld {
    /// Counts the granules of a set that was replaced and that are still held. `None` means that the set is
    /// current, empty or too large, or that its dataset was withdrawn.
    pub fn read(snapshot: &Snapshot, cited: &CitationFacts) -> Result<Option<Self>> {
        let (set, dataset) = (&cited.period.set, &cited.dataset);
        let (Some(_), Some(latest), None) =
            (cited.period.until(), &dataset.latest, &dataset.withdrawn)
        else {
            return Ok(None);
        };
        let instance = set.instance();
        let all = instance.granules + latest.granules;
        if set.granule_count() == 0 {
            return Ok(None);
        }
        let now = Set::Instance(latest.clone());
        let compared = match set.subset() {
            _ if all <= COMPARED_CONTENTS => snapshot.registry().compare_files(set, &now),
            Some(_) if all <= COMPARED_NAMES => snapshot.registry().compare(set, &now),
            None if all <= COUNTED_GRANULES => {
                let held = snapshot.still_held(&instance.dataset, instance.timestamp)?;
                return Ok(Some(StillHeld { held, other: None }));
            }
            _ => return Ok(None),
        };
        let counts = compared.finish()?;
        let (held, contents) = (counts.matched, counts.contents);
        let is_known = contents.other > 0 || (held > 0 && contents.compared == held);
        Ok(Some(StillHeld { held, other: is_known.then_some(contents.other) }))
    }
}

/// Says when a set was replaced, and how much of it is still held. For a current set, says only when its files
/// were replaced, if they were.
pub(super) fn sentence(site: &Site, cited: &CitationFacts, still: Option<&StillHeld>) -> Markup {
    let (set, latest) = (&cited.period.set, cited.dataset.latest.as_ref());
    let compared = |latest: &Instance| {
        Site::changes(set.dataset(), set.instance().timestamp, latest.timestamp)
    };
    let files_replaced = cited.period.instances.iter().skip(1).rfind(|it| it.replaced > 0);
    html! {
        @if let Some(at) = cited.period.until() {
            p.fate {
                @if set.subset().is_some() { "Its dataset changed on " } @else { "Replaced on " }
                b { (date(at)) }
                @if let Some(StillHeld { held, other }) = still {
                    "; " b { (grouped(*held)) } " of " (grouped(set.granule_count()))
                    @if set.granule_count() == 1 { " granule is still held" } @else { " granules are still held" }
                    @if let Some(other) = other { ", " b { (grouped(*other)) } " with different content" }
                }
                ". "
                @if let Some(latest) = latest {
                    a href=(site.href(&compared(latest))) { "Compare with the latest set" }
                }
            }
        } @else if let Some(replaced) = files_replaced {
            p.fate { "Files were replaced on " b { (date(replaced.timestamp)) } "." }
        }
    }
}
