//! Selects many subsets in one pass, and checks that subsets still select the cited granules.

use std::ops::Range;

use super::finding::{FindingKind, Findings, readable};
use super::history::StatedInstance;
use crate::chain::{CanonicalList, Hashed, Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{GranuleId, Instance, Pattern, Subset, SubsetCriteria, Timestamp, quoted};
use crate::registry::contents::{Contents, FilesDuring};
use crate::registry::handle::Registry;
use crate::registry::observer::Work;
use crate::registry::proof::{self, Recomputed, Recomputing};
use crate::store::{DatasetKey, SubsetKey, View};

/// The subsets of a dataset. Those with patterns are checked in the pass over the granule rows. Those that list
/// their granules are looked up.
#[derive(Default)]
pub(super) struct StoredSubsets {
    /// The subsets with patterns, by criteria and then by timestamp.
    by_pattern: Vec<Subset>,
    named: Vec<(SubsetKey, Subset)>,
}

/// The pass over the granule rows for the subsets with patterns. It is one sweep, as over a history, with
/// subsets instead of instances.
pub(in crate::registry) struct Selecting {
    hashing: Hashing,
    /// The distinct criteria: a granule is selected if one of the patterns matches.
    criteria: Vec<Vec<Pattern>>,
    /// For each of the criteria, the numbers of its subsets.
    subsets: Vec<Range<usize>>,
    /// The timestamp of each subset.
    timestamps: Vec<i64>,
    /// All timestamps, ascending.
    sorted: Vec<i64>,
    /// For each subset, its number of granules minus that of the previous one.
    more: Vec<i64>,
    /// The last id, and (`until`) the end of those of its holding periods that were read.
    granule_id: String,
    until: i64,
    /// The numbers of the criteria that select the last id. `None` means that the patterns have not been tried
    /// on it.
    selecting: Option<Vec<usize>>,
}

/// The result of the pass over the granule rows.
#[derive(Default)]
pub(in crate::registry) struct SelectedSubsets {
    /// The granules that each subset selects.
    pub recomputed: Vec<Recomputed>,
    /// The number of chain steps that were hashed.
    pub steps: u64,
}

impl StoredSubsets {
    pub fn of(stored: Vec<(SubsetKey, Subset)>) -> Self {
        let (by_pattern, named): (Vec<_>, Vec<_>) = stored
            .into_iter()
            .partition(|(_, subset)| matches!(subset.criteria, SubsetCriteria::Patterns(_)));
        let mut by_pattern: Vec<Subset> =
            by_pattern.into_iter().map(|(_, subset)| subset).collect();
        by_pattern.sort_by(|a, b| {
            (a.criteria.patterns(), a.timestamp).cmp(&(b.criteria.patterns(), b.timestamp))
        });
        StoredSubsets { by_pattern, named }
    }

    /// The number of subsets.
    pub fn count(&self) -> u64 {
        (self.by_pattern.len() + self.named.len()) as u64
    }

    /// Begins the pass over the granule rows.
    pub fn select(&self) -> Selecting {
        let subsets: Vec<_> =
            self.by_pattern.iter().map(|it| (it.criteria.patterns(), it.timestamp)).collect();
        Selecting::of(&subsets)
    }

    /// The findings, given the result of the whole pass. `None` means that the granule rows cannot be read.
    pub fn compare(
        &self,
        read: &View,
        dataset: DatasetKey,
        history: &[StatedInstance],
        selected: Option<&SelectedSubsets>,
    ) -> Result<(Findings, u64)> {
        let mut findings = Findings::default();
        let mut steps = 0;
        for (subset, recomputed) in
            self.by_pattern.iter().zip(selected.iter().flat_map(|selected| &selected.recomputed))
        {
            compare(subset, recomputed, &mut findings);
        }
        for (key, subset) in &self.named {
            match readable(identify_named(read, dataset, *key, subset.timestamp, &mut findings))? {
                Ok(recomputed) => {
                    steps += recomputed.granules;
                    compare(subset, &recomputed, &mut findings);
                }
                Err(error) => {
                    let what = format!("the granules of {} cannot be read", name(subset));
                    findings.add_unreadable(&what, &error);
                }
            }
        }
        for subset in self.by_pattern.iter().chain(self.named.iter().map(|(_, subset)| subset)) {
            let known = history.binary_search_by_key(&subset.timestamp, |stated| stated.timestamp);
            if known.is_err() {
                findings.add(FindingKind::Subset, Some(subset.timestamp), None, || {
                    let name = name(subset);
                    format!("{name} belongs to an instance that the history does not have")
                });
            }
        }
        Ok((findings, steps))
    }
}

/// Selects granules of instances of a dataset by patterns. Each element of `criteria` has the time of its
/// instance; they are in order of patterns and then of time. `instances` contains all of these instances, by
/// time. They are verified on the way.
///
/// Costs one pass over the granule rows that last beyond the first instance.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules that were read, or their file records, are
/// not those of an instance.
pub(in crate::registry) fn select_from(
    registry: &Registry,
    read: &View,
    dataset: DatasetKey,
    instances: &[Instance],
    criteria: &[(&[Pattern], Timestamp)],
) -> Result<Vec<Recomputed>> {
    let Some(first) = instances.first() else { return Ok(Vec::new()) };
    let any: [Pattern; 1] = ["*".parse().expect("an asterisk is a pattern")];
    let whole = instances.iter().map(|instance| (any.as_slice(), instance.timestamp));
    let all: Vec<_> = whole.chain(criteria.iter().copied()).collect();
    let mut selecting = Selecting::of(&all);
    let mut contents = Contents::of(read, dataset, "");
    let mut progress = registry.begin(Work::Select, None);
    read.each_period(dataset, "", Some(first.timestamp), |period| -> Result<()> {
        progress.advance()?;
        let granule_id = proof::granule_id(period.granule_id, &first.dataset)?;
        let known = contents.during(&period)?;
        selecting.held(granule_id, (period.ingested, period.deleted), known);
        Ok(())
    })?;
    let mut selected = selecting.finish().recomputed;
    let parts = selected.split_off(instances.len());
    selected.iter().zip(instances).try_for_each(|(all, instance)| all.check(instance))?;
    Ok(parts)
}

impl Selecting {
    /// Begins a pass for subsets, each with its patterns and the time of its instance. They must be in order of
    /// patterns and then of time.
    pub fn of(by_pattern: &[(&[Pattern], Timestamp)]) -> Self {
        let timestamps: Vec<i64> = by_pattern.iter().map(|(_, at)| at.as_micros()).collect();
        let mut sorted = timestamps.clone();
        sorted.sort_unstable();
        let mut subsets: Vec<Range<usize>> = Vec::new();
        for alike in by_pattern.chunk_by(|a, b| a.0 == b.0) {
            let start = subsets.last().map_or(0, |last| last.end);
            subsets.push(start..start + alike.len());
        }
        Selecting {
            hashing: Hashing::with_lists(Sweep::over(timestamps.len()), CanonicalList::start()),
            criteria: subsets.iter().map(|it| by_pattern[it.start].0.to_vec()).collect(),
            subsets,
            more: vec![0; timestamps.len() + 1],
            timestamps,
            sorted,
            granule_id: String::new(),
            until: i64::MIN,
            selecting: None,
        }
    }

    /// Adds the next holding period, by id and then by time: its granule, its start and end, and the file
    /// records during it.
    pub fn held(
        &mut self,
        granule_id: &str,
        (ingested, deleted): (i64, Option<i64>),
        known: FilesDuring<'_>,
    ) {
        if self.granule_id != granule_id {
            granule_id.clone_into(&mut self.granule_id);
            (self.until, self.selecting) = (i64::MIN, None);
        }
        // Overlapping periods are a finding. The granule is held once.
        let ingested = ingested.max(self.until);
        let deleted = deleted.unwrap_or(i64::MAX).max(ingested);
        self.until = deleted;
        let during = |timestamps: &[i64]| {
            let number = |micros: i64| timestamps.partition_point(|&timestamp| timestamp < micros);
            number(ingested)..number(deleted)
        };
        if during(&self.sorted).is_empty() {
            return;
        }
        let criteria = &self.criteria;
        let selecting = self.selecting.get_or_insert_with(|| {
            let selects = |patterns: &[Pattern]| patterns.iter().any(|it| it.matches(granule_id));
            (0..criteria.len()).filter(|&number| selects(&criteria[number])).collect()
        });
        // The subsets of each of the criteria, and those among them that hold the granule.
        let held: Vec<(Range<usize>, Range<usize>)> = selecting
            .iter()
            .map(|&criteria| {
                let subsets = self.subsets[criteria].clone();
                let held = during(&self.timestamps[subsets.clone()]);
                (subsets.clone(), subsets.start + held.start..subsets.start + held.end)
            })
            .filter(|(_, held)| !held.is_empty())
            .collect();
        // Consecutive subsets that all select the granule are hashed together.
        for together in held.chunk_by(|(_, one), (_, next)| one.end == next.start) {
            let span = together[0].1.start..together[together.len() - 1].1.end;
            self.more[span.start] += 1;
            self.more[span.end] -= 1;
            self.hashing.hold(granule_id, span);
            for (subsets, held) in together {
                let of_criteria = &self.timestamps[subsets.clone()];
                let number =
                    |micros: i64| subsets.start + of_criteria.partition_point(|&at| at < micros);
                known.add_lines(&mut self.hashing, granule_id, held, number);
            }
        }
    }

    /// The result, after the last row.
    pub fn finish(self) -> SelectedSubsets {
        let hashed: Hashed = self.hashing.finish();
        let mut granules = 0;
        let recomputed = hashed.sets().zip(&self.more).map(|((identifier, digest), more)| {
            granules += more;
            Recomputed { identifier, digest, granules: granules.unsigned_abs() }
        });
        // A sweep over no instances still returns one identifier.
        let recomputed = recomputed.take(self.timestamps.len()).collect();
        SelectedSubsets { recomputed, steps: hashed.sweep.steps() }
    }
}

/// Computes the identifier and the digest of the granules that a subset lists, and reports those that were not
/// held.
fn identify_named(
    read: &View,
    dataset: DatasetKey,
    key: SubsetKey,
    at: Timestamp,
    findings: &mut Findings,
) -> Result<Recomputed, Error> {
    let mut recomputing = Recomputing::start();
    let mut last = None;
    let mut named = read.named(dataset, key, at).peekable();
    while named.peek().is_some() {
        let mut batch: Vec<GranuleId> = Vec::new();
        for named in named.by_ref().take(BATCH_GRANULES) {
            let (named, held) = named?;
            // The granule is held twice at the same time, which is a separate finding.
            if last.as_ref() == Some(&named) {
                continue;
            }
            if held.is_none() {
                findings.add(FindingKind::Subset, Some(at), Some(named.as_str()), || {
                    format!("a subset names this granule, which was not held at {at}")
                });
            }
            last = Some(named.clone());
            batch.push(named);
        }
        let ids: Vec<&str> = batch.iter().map(GranuleId::as_str).collect();
        recomputing.add_known(read, dataset, at, &ids)?;
    }
    Ok(recomputing.finish())
}

/// The number of granules that are looked up at once.
const BATCH_GRANULES: usize = 1_024;

fn compare(subset: &Subset, recomputed: &Recomputed, findings: &mut Findings) {
    let Recomputed { identifier, digest, granules } = *recomputed;
    if (identifier, granules) != (subset.identifier, subset.granules) {
        findings.add(FindingKind::Subset, Some(subset.timestamp), None, || {
            format!(
                "{} counts {} granules, but the granule rows give {granules} and the identifier {identifier}",
                name(subset),
                subset.granules
            )
        });
    } else if digest != subset.digest {
        findings.add(FindingKind::Subset, Some(subset.timestamp), None, || {
            format!(
                "{} has the digest {}, but the recorded files give {digest}",
                name(subset),
                subset.digest
            )
        });
    }
}

fn name(subset: &Subset) -> String {
    let selected = match subset.criteria.patterns().first() {
        Some(pattern) => format!("of {}", quoted(pattern.as_str())),
        None => "of named granules".to_owned(),
    };
    format!("the subset {} {selected}, first cited {}", subset.identifier, subset.cited)
}
