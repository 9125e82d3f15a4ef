//! What the register knows of pasted citations.

use serde::Serialize;

use super::recognise::{Pasted, Stated};
use crate::Result;
use crate::model::{DatasetName, Doi, Identifier, Moment, Timestamp, quoted};
use crate::registry::{Registry, Resolved, Selection};

/// What is known of some citations together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Whether each is known, and says nothing that disagrees with the register.
    pub ok: bool,
    /// Each, in the order in which they were found.
    pub citations: Vec<Verdict>,
    /// The sets that are known, each with the citations of it.
    pub sets: Vec<CitedSet>,
    /// How each further set differs from the first.
    pub differences: Vec<SetDifference>,
}

/// What is known of one citation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Its number, from 1 on.
    pub citation: u64,
    /// Its identifier; none if what stands there is none.
    pub identifier: Option<Identifier>,
    /// Its DOI, if it has one.
    pub doi: Option<Doi>,
    /// Its date as it says it.
    pub date: Option<String>,
    /// Whether the identifier was ever in force here.
    pub known: bool,
    /// Whether it was in force at its date, where the citation says; none if there is no date, or
    /// nothing known.
    pub agrees: Option<bool>,
    /// Whether all it says is so.
    pub ok: bool,
    /// Why not.
    pub problem: Option<String>,
    /// What else a reader should know.
    pub note: Option<String>,
    /// Where and when the identifier was in force.
    pub intervals: Vec<Resolved>,
}

/// A set, and the citations of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedSet {
    /// Its identifier.
    pub identifier: Identifier,
    /// How many granules it has.
    pub granules: u64,
    /// The numbers of the citations.
    pub citations: Vec<u64>,
}

/// How two sets differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetDifference {
    /// The one.
    pub left: Identifier,
    /// The other.
    pub right: Identifier,
    /// How many granules both have.
    pub matched: u64,
    /// How many only the left has.
    pub only_left: u64,
    /// How many only the right has.
    pub only_right: u64,
}

/// Checks citations against a registry. `now` is what the clock says: a date that has not come
/// agrees with nothing.
///
/// A date is relative to one archive (identifier.md): it agrees where the identifier was then in
/// force in a dataset that has the DOI or the name of the citation; if none here has, in any. A DOI
/// disagrees if it is that of a dataset here that never held the set.
///
/// # Errors
///
/// [`crate::Error::Store`]. An identifier that is unknown is no error: it is told.
pub fn check(registry: &mut Registry, pasted: &[Pasted], now: Timestamp) -> Result<Checked> {
    let mut citations = Vec::new();
    let mut sets: Vec<CitedSet> = Vec::new();
    for (number, pasted) in (1..).zip(pasted) {
        let verdict = verdict(registry, number, pasted, now)?;
        if let (Some(identifier), Some(first)) = (verdict.identifier, verdict.intervals.first()) {
            match sets.iter_mut().find(|set| set.identifier == identifier) {
                Some(set) => set.citations.push(number),
                None => {
                    let granules = first.instance.granules;
                    sets.push(CitedSet { identifier, granules, citations: vec![number] });
                }
            }
        }
        citations.push(verdict);
    }
    let mut differences = Vec::new();
    if let Some((first, others)) = sets.split_first() {
        let of =
            |set: &CitedSet| Selection::Identifier { identifier: set.identifier, dataset: None };
        for other in others {
            let compared = registry.compare(&of(first), &of(other), |_| Ok(()))?;
            differences.push(SetDifference {
                left: first.identifier,
                right: other.identifier,
                matched: compared.matched,
                only_left: compared.only_left,
                only_right: compared.only_right,
            });
        }
    }
    let ok = citations.iter().all(|verdict| verdict.ok);
    Ok(Checked { ok, citations, sets, differences })
}

fn verdict(
    registry: &mut Registry,
    citation: u64,
    pasted: &Pasted,
    now: Timestamp,
) -> Result<Verdict> {
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
        intervals: Vec::new(),
    };
    let identifier = match &pasted.identifier {
        Stated::Read(identifier) => *identifier,
        Stated::Unreadable(text) => {
            let shown = quoted(text);
            verdict.problem =
                Some(format!("{shown} is no identifier: that has 32 hexadecimal characters"));
            return Ok(verdict);
        }
    };
    verdict.identifier = Some(identifier);
    let moment = match &pasted.date {
        Some(Stated::Read(moment)) => Some(*moment),
        _ => None,
    };
    let intervals = &mut verdict.intervals;
    let resolution = registry.resolve(identifier, None, moment, |resolved| {
        intervals.push(resolved);
        Ok(())
    })?;
    verdict.known = resolution.intervals > 0;
    if !verdict.known {
        verdict.problem = Some("no dataset here ever had this identifier".to_owned());
        return Ok(verdict);
    }
    let named = match (&pasted.doi, &pasted.dataset) {
        (Some(doi), _) => named_by(registry, doi)?,
        (None, Some(name)) if registry.has_dataset(name)? => vec![name.clone()],
        _ => Vec::new(),
    };
    let (holds, agrees) = match named.as_slice() {
        [] => (true, resolution.agreeing > 0),
        names => held_by(registry, identifier, names, moment)?,
    };
    if let Some(moment) = moment {
        verdict.agrees = Some(agrees && moment.first_instant() <= now);
    }
    verdict.problem = if let Some(Stated::Unreadable(text)) = &pasted.date {
        Some(format!("{} is no date", quoted(text)))
    } else if !holds {
        Some(format!("it names {}, which never held this set", listed(&named)))
    } else if verdict.agrees == Some(false) {
        let at = verdict.date.as_deref().unwrap_or_default();
        let there = match named.as_slice() {
            // Elsewhere it was; it is this archive's date that is wrong.
            names @ [_, ..] if resolution.agreeing > 0 => {
                format!(" in {}, which it names", listed(names))
            }
            _ => String::new(),
        };
        Some(format!("the identifier was not in force at {at}{there}"))
    } else {
        None
    };
    verdict.ok = verdict.problem.is_none();
    if verdict.ok {
        verdict.note = note(&verdict, pasted, &named);
    }
    Ok(verdict)
}

/// What is true, and could still surprise.
fn note(verdict: &Verdict, pasted: &Pasted, named: &[DatasetName]) -> Option<String> {
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
    let Some(Stated::Read(moment)) = &pasted.date else { return None };
    let is_last = |resolved: &Resolved| resolved.instance.is_in_force_at(moment.last_instant());
    // Of a part only the interval of its first citation is known here.
    let is_part = verdict.intervals.iter().any(|resolved| resolved.selection.is_some());
    let held_to_the_end = is_part || verdict.intervals.iter().any(is_last);
    (!held_to_the_end).then(|| format!("{at} ended with another set: a change came that day"))
}

fn listed(names: &[DatasetName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The datasets that have a DOI.
fn named_by(registry: &mut Registry, doi: &Doi) -> Result<Vec<DatasetName>> {
    let mut names: Vec<DatasetName> = Vec::new();
    for listed in registry.datasets()? {
        if listed.dataset.doi.as_ref().is_some_and(|other| other.is_same_as(doi)) {
            names.push(listed.dataset.name);
        }
    }
    Ok(names)
}

/// Whether one of some datasets ever held a set, and whether one did at a moment.
fn held_by(
    registry: &mut Registry,
    identifier: Identifier,
    names: &[DatasetName],
    at: Option<Moment>,
) -> Result<(bool, bool)> {
    let (mut holds, mut agrees) = (false, false);
    for name in names {
        let resolution = registry.resolve(identifier, Some(name), at, |_| Ok(()))?;
        holds = holds || resolution.intervals > 0;
        agrees = agrees || resolution.agreeing > 0;
    }
    Ok((holds, agrees))
}
