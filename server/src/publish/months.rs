//! Writes the months of the history of a dataset, with an anchor for each set, for sites that consist of files.

use std::collections::BTreeMap;
use std::iter::Peekable;

use crate::pages::{Month, MonthPage, MonthSums, Site, months_page};
use accession::dataset::DatasetRecord;
use accession::history::Subset;
use accession::publish::{SiteDirectory, SiteIndex};
use accession::{Citation, DatasetName, HistoryOptions, Identifier, Instance, Moment};
use accession::{Registry, Result, Selection, Set, Timestamp};

/// The directory of the months of a dataset.
pub(super) fn directory_of(name: &DatasetName) -> String {
    format!("datasets/{name}/history")
}

/// Writes the months of a dataset with its cited subsets. Costs one pass over its history.
pub(super) fn write_months(
    registry: &Registry,
    listed: &DatasetRecord,
    cited: &[Set],
    site: &Site,
    (directory, index): (&SiteDirectory, &SiteIndex),
) -> Result<()> {
    let name = &listed.dataset.name;
    let path = directory_of(name);
    let subsets = subsets_by_month(registry, cited, site)?;
    let mut history = registry.history(name, &HistoryOptions::new()).peekable();
    let mut sums = Vec::new();
    // Consecutive instances with the same identifier are one period. This is its identifier, and when it began.
    let mut period: Option<(Identifier, Timestamp)> = None;
    while let Some(instances) = next_month(&mut history)? {
        let first = instances.first().map(|first| first.identifier);
        let continued = period.filter(|(identifier, _)| Some(*identifier) == first);
        let continued = continued.map(|(_, from)| from);
        for instance in &instances {
            if period.is_none_or(|(identifier, _)| identifier != instance.identifier) {
                period = Some((instance.identifier, instance.timestamp));
            }
        }
        let Some(last) = instances.last() else { break };
        let month = Month::of(last.timestamp);
        sums.push(MonthSums { month, changes: instances.len() as u64, held: last.granules });
        let at = Some(Moment::Instant(last.timestamp));
        let cited = registry.snapshot()?.cite(&Selection::Dataset { name: name.clone(), at })?;
        let page = MonthPage {
            listed,
            month,
            instances: &instances,
            continued,
            subsets: subsets.get(&month).map_or(&[], Vec::as_slice),
            citation: &Citation::new(cited, at, last.timestamp.day())
                .with_resolver(site.resolver()),
            index,
        };
        directory.write(&format!("{path}/{month}.html"), &page.html(site))?;
    }
    directory.write(&format!("{path}/index.html"), &months_page(site, listed, &sums))
}

/// The cited subsets with their citations, by the month in which their parent set was in force.
fn subsets_by_month(
    registry: &Registry,
    cited: &[Set],
    site: &Site,
) -> Result<BTreeMap<Month, Vec<(Subset, Citation)>>> {
    let mut subsets: BTreeMap<Month, Vec<(Subset, Citation)>> = BTreeMap::new();
    for set in cited {
        let Some(subset) = set.subset() else { continue };
        let snapshot = registry.snapshot()?;
        let facts = snapshot.cite_period(snapshot.period(set.clone())?)?;
        let at = subset.timestamp;
        let citation = Citation::new(facts, Some(Moment::Instant(at)), at.day())
            .with_resolver(site.resolver());
        subsets.entry(Month::of(at)).or_default().push((subset.clone(), citation));
    }
    Ok(subsets)
}

/// The instances of the next month of a history. `None` means that there are no more.
fn next_month(
    history: &mut Peekable<impl Iterator<Item = Result<Instance>>>,
) -> Result<Option<Vec<Instance>>> {
    let Some(first) = history.next().transpose()? else { return Ok(None) };
    let month = Month::of(first.timestamp);
    let mut instances = vec![first];
    let is_of_month = |next: &Result<Instance>| {
        next.as_ref().map_or(true, |next| Month::of(next.timestamp) == month)
    };
    while let Some(next) = history.next_if(is_of_month) {
        instances.push(next?);
    }
    Ok(Some(instances))
}
