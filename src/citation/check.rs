//! Checks pasted citations against a registry.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::recognise::{Pasted, Stated};
use crate::error::Result;
use crate::model::{DatasetName, Doi, Identifier, Moment, Timestamp, quoted};
use crate::registry::{Agreement, Registry, Resolution, Resolved, Snapshot};

/// The result of checking several citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Whether every citation is known and states nothing that contradicts the registry.
    pub ok: bool,
    /// The known sets, each with the citations of it.
    pub sets: Vec<CitedSet>,
}

/// The result of checking one citation.
///
/// Its fields, in this order, are those of the rows of `check` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Its number, counted from 1.
    pub citation: u64,
    /// Its identifier. `None` means that the text in its place is not an identifier.
    pub identifier: Option<Identifier>,
    /// Its DOI. `None` means that it has no DOI.
    pub doi: Option<Doi>,
    /// Its date, as it is written. `None` means that it has no date.
    pub date: Option<String>,
    /// Whether the identifier was ever in force in this registry.
    pub known: bool,
    /// Whether it was in force at its date, in the dataset that the citation names. `None` means
    /// that there is no date, or that the identifier is not known.
    pub agrees: Option<bool>,
    /// Whether everything in the citation agrees with the registry.
    pub ok: bool,
    /// What disagrees. `None` means that nothing does.
    pub problem: Option<String>,
    /// Additional information for a reader. `None` means that there is none.
    pub note: Option<String>,
    /// Where and when the identifier was in force. It is shared, since there can be many citations
    /// of one set, and one set can be in many datasets.
    #[serde(serialize_with = "serialize_rows")]
    pub intervals: Arc<Resolution>,
}

fn serialize_rows<S: Serializer>(
    resolution: &Arc<Resolution>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(&resolution.rows)
}

/// A set, and the citations of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedSet {
    /// The identifier of the set.
    pub identifier: Identifier,
    /// The number of granules in it.
    pub granules: u64,
    /// The numbers of the citations.
    pub citations: Vec<u64>,
}

/// Checks citations against one snapshot of a registry, and calls `show` with the verdict on each.
/// `now` is the present time: a date in the future agrees with nothing.
///
/// A date belongs to one archive (docs/reference/citations.md, What a citation contains). It agrees if the identifier was in
/// force at that date, as known now or as known then, in a dataset that has the DOI or the name in
/// the citation or, if no dataset here has it, in any dataset. A DOI disagrees if it belongs to a
/// dataset here that never held the set.
///
/// # Errors
///
/// An error of the store: the registry cannot be read; the errors of
/// `show`. An unknown identifier is not an error: it is reported in the verdict.
pub fn check<E: From<crate::Error>>(
    registry: &Registry,
    pasted: &[Pasted],
    now: Timestamp,
    mut show: impl FnMut(Verdict) -> std::result::Result<(), E>,
) -> std::result::Result<Checked, E> {
    let mut sets = Groups::new();
    let mut ok = true;
    let snapshot = registry.snapshot()?;
    let mut checker = Checker {
        snapshot: &snapshot,
        now,
        resolved: Cache::of(MAX_KEPT_ROWS),
        compared_left: MAX_COMPARED,
    };
    for (citation, pasted) in (1..).zip(pasted) {
        let verdict = checker.verdict(citation, pasted)?;
        ok &= verdict.ok;
        let first = verdict.intervals.rows.first().map(|first| first.set.granules());
        if let (Some(identifier), Some(granules)) = (verdict.identifier, first) {
            let new = || CitedSet { identifier, granules, citations: Vec::new() };
            sets.of(identifier, new).citations.push(citation);
        }
        show(verdict)?;
    }
    Ok(Checked { ok, sets: sets.into_values() })
}

/// The number of rows of resolved identifiers, and of these identifiers, that are cached for further
/// citations of the same sets.
const MAX_KEPT_ROWS: usize = 100_000;

/// The number of unknown identifiers that are compared with those that were issued, each with a
/// statement of its own.
const MAX_COMPARED: usize = 100;

impl Weight for Arc<Resolution> {
    fn weight(&self) -> usize {
        self.rows.len() + 1
    }
}

/// The check of citations on one snapshot.
struct Checker<'snapshot> {
    snapshot: &'snapshot Snapshot,
    now: Timestamp,
    /// The identifiers resolved so far: a paper cites one set many times.
    resolved: Cache<(Identifier, Option<Moment>), Arc<Resolution>>,
    /// How many further identifiers are compared with those that were issued.
    compared_left: usize,
}

impl Checker<'_> {
    fn resolve(&mut self, identifier: Identifier, at: Option<Moment>) -> Result<Arc<Resolution>> {
        let snapshot = self.snapshot;
        self.resolved.get((identifier, at), || snapshot.resolve(identifier, None, at).map(Arc::new))
    }

    fn verdict(&mut self, citation: u64, pasted: &Pasted) -> Result<Verdict> {
        let date = pasted.date.as_ref().map(|date| match date {
            Stated::Read(moment) => moment.to_string(),
            Stated::Unreadable(text) => text.clone(),
        });
        let mut verdict = Verdict {
            citation,
            identifier: None,
            doi: pasted.doi.clone(),
            date,
            known: false,
            agrees: None,
            ok: false,
            problem: None,
            note: None,
            intervals: Arc::default(),
        };
        let identifier = match &pasted.identifier {
            Stated::Read(identifier) => *identifier,
            Stated::Unreadable(text) => {
                verdict.problem = Some(format!(
                    "{} is not an identifier, which has 32 hexadecimal digits{}",
                    quoted(text),
                    self.similar(text)?
                ));
                return Ok(verdict);
            }
        };
        verdict.identifier = Some(identifier);
        let moment = match &pasted.date {
            Some(Stated::Read(moment)) => Some(*moment),
            _ => None,
        };
        let resolution = self.resolve(identifier, moment)?;
        verdict.intervals = Arc::clone(&resolution);
        verdict.known = !resolution.rows.is_empty();
        if !verdict.known {
            verdict.problem = Some(format!(
                "no dataset here ever had this identifier{}",
                self.similar(&identifier.to_string())?
            ));
            return Ok(verdict);
        }
        let named = self.named_by(pasted)?;
        let held = match named.as_slice() {
            [] => Held { ever: true, then: resolution.agreement.filter(|_| moment.is_some()) },
            names => self.held_by(identifier, names, moment)?,
        };
        if let Some(moment) = moment {
            verdict.agrees = Some(held.then.is_some() && moment.first_instant() <= self.now);
        }
        verdict.problem = problem(&verdict, pasted, &named, &held, &resolution);
        verdict.ok = verdict.problem.is_none();
        if verdict.ok {
            verdict.note = note(&verdict, pasted, &named, held.then);
        }
        Ok(verdict)
    }

    /// The end of a sentence about an identifier that is unknown: which may have been meant. Empty if
    /// none comes close.
    fn similar(&mut self, text: &str) -> Result<String> {
        let Some(left) = self.compared_left.checked_sub(1) else { return Ok(String::new()) };
        self.compared_left = left;
        let similar = self.snapshot.similar_identifiers(text)?;
        let similar: Vec<String> = similar.iter().map(|it| format!("DI:{it}")).collect();
        Ok(match similar.as_slice() {
            [] => String::new(),
            similar => format!("; one character differs from {}", similar.join(", ")),
        })
    }

    /// The datasets that a citation names: those with its DOI, or else the one with its name.
    fn named_by(&self, pasted: &Pasted) -> Result<Vec<DatasetName>> {
        match (&pasted.doi, &pasted.dataset) {
            (Some(doi), _) => self.snapshot.datasets_with_doi(doi),
            (None, Some(name)) if self.snapshot.has_dataset(name)? => {
                // If it was found by a former name, the dataset has another name now.
                Ok(vec![self.snapshot.dataset(name)?.dataset.name])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Whether one of some datasets ever held a set, and whether one did at a moment.
    fn held_by(
        &self,
        identifier: Identifier,
        names: &[DatasetName],
        at: Option<Moment>,
    ) -> Result<Held> {
        let mut held = Held { ever: false, then: None };
        for name in names {
            let resolution = self.snapshot.resolve(identifier, Some(name), at)?;
            held.ever |= !resolution.rows.is_empty();
            held.then = held.then.max(resolution.agreement.filter(|_| at.is_some()));
        }
        Ok(held)
    }
}

/// Whether the datasets that a citation names held its set.
struct Held {
    /// Whether one of them ever held it.
    ever: bool,
    /// Why it agrees with the date. `None` means that it does not agree, or that there is no date.
    then: Option<Agreement>,
}

/// A statement of a citation that disagrees with the registry.
fn problem(
    verdict: &Verdict,
    pasted: &Pasted,
    named: &[DatasetName],
    held: &Held,
    resolution: &Resolution,
) -> Option<String> {
    if let Some(Stated::Unreadable(text)) = &pasted.date {
        return Some(format!("{} is not a date", quoted(text)));
    }
    if !held.ever {
        return Some(format!("it names {}, which never held this set", listed(named)));
    }
    if verdict.agrees != Some(false) {
        return None;
    }
    let at = verdict.date.as_deref().unwrap_or_default();
    let there = match named {
        [] => String::new(),
        names => format!(" in {}, which it names", listed(names)),
    };
    let elsewhere = match elsewhere(named, pasted, resolution) {
        Some(other) => format!("; it was in {other}"),
        None => String::new(),
    };
    Some(format!("the identifier was not in force at {at}{there}{elsewhere}"))
}

/// Another dataset than those named in which the identifier was in force at the date.
fn elsewhere<'a>(
    named: &[DatasetName],
    pasted: &Pasted,
    resolution: &'a Resolution,
) -> Option<&'a DatasetName> {
    let Some(Stated::Read(moment)) = &pasted.date else { return None };
    let agrees = |row: &&Resolved| {
        !named.contains(row.set.dataset()) && row.set.instance().is_in_force_during(*moment)
    };
    resolution.rows.iter().find(agrees).map(|row| row.set.dataset())
}

/// A remark on a correct statement that may surprise a reader.
fn note(
    verdict: &Verdict,
    pasted: &Pasted,
    named: &[DatasetName],
    then: Option<Agreement>,
) -> Option<String> {
    let at = verdict.date.as_deref().unwrap_or_default();
    match (&pasted.doi, &pasted.dataset) {
        (Some(doi), _) if named.is_empty() => {
            return Some(format!("no dataset here has the DOI {doi}"));
        }
        (None, Some(name)) if named.is_empty() => {
            return Some(format!("no dataset here is called {name}"));
        }
        _ => {}
    }
    if then == Some(Agreement::AsKnownThen) {
        return Some(format!(
            "it was in force at {at} according to the registry at that time; a change that was recorded later contradicts this"
        ));
    }
    let Some(Stated::Read(moment)) = &pasted.date else { return None };
    let is_last = |row: &Resolved| row.set.instance().is_in_force_at(moment.last_instant());
    // For a subset, only the interval of its first citation is known here.
    let is_subset = verdict.intervals.rows.iter().any(|row| row.set.subset().is_some());
    let held_to_the_end = is_subset || verdict.intervals.rows.iter().any(is_last);
    (!held_to_the_end).then(|| {
        format!("the set changed later on {at}: another set was in force at the end of the day")
    })
}

fn listed(names: &[DatasetName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Values that were computed, as long as they are not too many together.
struct Cache<K, V> {
    kept: HashMap<K, V>,
    weight: usize,
    max_weight: usize,
}

/// How much a value counts towards the limit of a cache.
trait Weight {
    fn weight(&self) -> usize;
}

impl<K: Eq + Hash, V: Clone + Weight> Cache<K, V> {
    pub fn of(max_weight: usize) -> Self {
        Cache { kept: HashMap::new(), weight: 0, max_weight }
    }

    /// The value for a key, which is computed unless it is kept. A value that would exceed the limit
    /// replaces all others.
    pub fn get<E>(&mut self, key: K, compute: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        if let Some(known) = self.kept.get(&key) {
            return Ok(known.clone());
        }
        let value = compute()?;
        let weight = value.weight();
        if self.weight + weight > self.max_weight {
            self.kept.clear();
            self.weight = 0;
        }
        self.weight += weight;
        self.kept.insert(key, value.clone());
        Ok(value)
    }
}

/// The first value of each key, in the order in which the keys came first.
struct Groups<K, V> {
    values: Vec<V>,
    indexes: HashMap<K, usize>,
}

impl<K: Eq + Hash, V> Groups<K, V> {
    pub fn new() -> Self {
        Groups { values: Vec::new(), indexes: HashMap::new() }
    }

    /// The value of a key. A new key gets the value that `first` makes.
    pub fn of(&mut self, key: K, first: impl FnOnce() -> V) -> &mut V {
        let index = *self.indexes.entry(key).or_insert(self.values.len());
        if index == self.values.len() {
            self.values.push(first());
        }
        &mut self.values[index]
    }

    pub fn into_values(self) -> Vec<V> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;
    use std::rc::Rc;

    use super::*;

    /// Counts how often it is compared, hashed or weighed.
    #[derive(Clone)]
    struct Counting(u64, Rc<Cell<u64>>);

    impl Counting {
        fn count(&self) {
            self.1.set(self.1.get() + 1);
        }
    }

    impl PartialEq for Counting {
        fn eq(&self, other: &Self) -> bool {
            self.count();
            self.0 == other.0
        }
    }

    impl Eq for Counting {}

    impl Hash for Counting {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.count();
            self.0.hash(state);
        }
    }

    impl Weight for Counting {
        fn weight(&self) -> usize {
            self.count();
            1
        }
    }

    /// How often keys and values are looked at for so many citations of distinct sets.
    fn looks(citations: u64) -> u64 {
        let looks = Rc::new(Cell::new(0));
        let of = |n| Counting(n, Rc::clone(&looks));
        let (mut cache, mut groups) = (Cache::of(30_000), Groups::new());
        for n in 0..citations {
            cache.get(of(n), || Ok::<_, ()>(of(n))).unwrap();
            groups.of(of(n), Vec::new).push(n);
        }
        assert_eq!(groups.into_values().len() as u64, citations);
        looks.get()
    }

    #[test]
    fn the_work_for_a_citation_does_not_grow_with_the_number_of_citations() {
        let (few, many) = (looks(10_000), looks(80_000));
        // Eight times as many; the sum over all that was kept before was 64 times as much.
        assert!(many <= 12 * few, "{few} {many}");
    }

    #[test]
    fn a_cache_keeps_no_more_than_its_limit_and_computes_again_what_it_dropped() {
        let looks = Rc::new(Cell::new(0));
        let of = |n| Counting(n, Rc::clone(&looks));
        let (mut cache, mut computed) = (Cache::of(3), Vec::new());
        for n in [1, 2, 1, 3, 2, 4, 4, 1] {
            let value = cache.get(of(n), || {
                computed.push(n);
                Ok::<_, ()>(of(n))
            });
            assert_eq!(value.unwrap().0, n);
            assert!(cache.kept.len() <= 3);
        }
        assert_eq!(computed, [1, 2, 3, 4, 1]);
    }

    #[test]
    fn groups_are_in_the_order_of_their_first_members() {
        let mut groups = Groups::new();
        for (key, member) in [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)] {
            groups.of(key, Vec::new).push(member);
        }
        assert_eq!(groups.into_values(), [vec![1, 3], vec![2, 5], vec![4]]);
    }
}
