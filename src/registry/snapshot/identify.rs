//! The identifiers of granules that are selected, as they are computed when a subset is cited.

use super::granules::GranulePages;
use crate::chain::{Chain, Hashing, Sweep};
use crate::model::{GranuleId, Identifier, Instance, Pattern};
use crate::registry::error::Result;
use crate::registry::proof;
use crate::store::{DatasetKey, Snapshot, SubsetKey};

/// The number of granules that are looked up at once.
const PAGE_ROWS: u32 = 4_096;

/// The identifier and the number of the granules of an instance whose ids match one of the patterns.
///
/// # Errors
///
/// [`Error::Store`](crate::Error::Store) of kind `damaged`: the granules that were read are not those of
/// the instance.
pub(in crate::registry) fn identify_selected(
    read: &Snapshot,
    dataset: DatasetKey,
    instance: &Instance,
    patterns: &[Pattern],
) -> Result<(Identifier, u64)> {
    let mut pages = GranulePages::held(dataset, instance.timestamp);
    // All granules, and those that are selected.
    let mut hashing = Hashing::of(Sweep::over(2));
    let (mut granules, mut selected) = (0, 0);
    while let Some(page) = pages.next_ids(read)? {
        granules += page.len() as u64;
        for granule_id in page.iter() {
            let is_selected = patterns.iter().any(|pattern| pattern.matches(granule_id));
            selected += u64::from(is_selected);
            hashing.hold(granule_id, 0..if is_selected { 2 } else { 1 });
        }
    }
    let (sweep, _) = hashing.finish();
    let all = sweep.identifiers().next().unwrap_or(Identifier::EMPTY);
    proof::check(instance, all, granules)?;
    Ok((sweep.latest(), selected))
}

/// The identifier of the granules that a subset names. `None` means that one of them was not held at
/// the time of the instance.
pub(super) fn identify_named(
    read: &Snapshot,
    dataset: DatasetKey,
    subset: SubsetKey,
    instance: &Instance,
) -> Result<Option<Identifier>> {
    let (mut chain, mut after) = (Chain::start(), String::new());
    loop {
        let page = read.named_after(dataset, subset, instance.timestamp, &after, PAGE_ROWS)?;
        let Some((last, _)) = page.last() else { return Ok(Some(chain.identifier())) };
        last.as_str().clone_into(&mut after);
        if page.iter().any(|(_, held)| held.is_none()) {
            return Ok(None);
        }
        page.iter().for_each(|(granule_id, _)| chain.push(granule_id.as_str()));
    }
}

/// Computes the identifier of some ids, which are in canonical order, and their number.
pub(in crate::registry) fn identify(
    granule_ids: impl Iterator<Item = Result<GranuleId>>,
) -> Result<(Identifier, u64)> {
    let (mut chain, mut count) = (Chain::start(), 0);
    for granule_id in granule_ids {
        chain.push(granule_id?.as_str());
        count += 1;
    }
    Ok((chain.identifier(), count))
}
