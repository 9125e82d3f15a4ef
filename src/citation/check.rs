//! Checks pasted citations against a registry.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::recognise::{FoundCitation, ParsedField, Part, PartGranules};
use crate::error::{ErrorKind, Result};
use crate::model::{
    Annotation, Correction, DatasetName, DigestPrefix, Doi, Identifier, Instance, Moment, Pattern,
    not_a_digest, quoted,
};
use crate::registry::{
    Agreement, DigestPeriod, Period, Periods, Registry, Selection, Snapshot, SubsetMembers,
};

/// The result of checking one citation.
///
/// Its fields, in this order, are those of the rows of `check` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CitationVerdict {
    /// Its number, counted from 1.
    pub citation: u64,
    /// The identifier of the citation. If it is missing or unreadable, the identifier of the set with the
    /// citation's digest. `None` means that both are unreadable, or that the digest is unknown.
    pub identifier: Option<Identifier>,
    /// Its digest, or the first digits of it. `None` means that it has no digest, or an invalid one.
    pub digest: Option<DigestPrefix>,
    /// Its DOI. `None` means that it has no DOI.
    pub doi: Option<Doi>,
    /// Its date, as it is written. `None` means that it has no date.
    pub date: Option<String>,
    /// Whether the identifier was ever in force in this registry.
    pub known: bool,
    /// Whether the identifier was in force at the citation's date, in the dataset that the citation names.
    /// `None` means that there is no date, or that the identifier or the DOI is unknown. It also means that the
    /// set is a subset, and the date is not that of its first citation.
    pub agrees: Option<bool>,
    /// Whether everything in the citation agrees with the registry, and the set is not questionable.
    pub ok: bool,
    /// What is wrong with the citation, or why the set is questionable. `None` means that there is no problem.
    pub problem: Option<String>,
    /// Whether the citation agrees, but the cited set is annotated as questionable.
    #[serde(skip)]
    pub is_questionable: bool,
    /// Additional information for the reader. `None` means that there is none.
    pub note: Option<String>,
    /// Where and when the identifier was in force. It is shared, because a set can have many citations, and can
    /// be in many datasets.
    #[serde(serialize_with = "serialize_rows")]
    pub intervals: Arc<Periods>,
}

fn serialize_rows<S: Serializer>(
    resolution: &Arc<Periods>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(&resolution.rows)
}

/// A set and its citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CitedSet {
    /// The identifier of the set.
    pub identifier: Identifier,
    /// The number of granules in it.
    pub granules: u64,
    /// The numbers of the citations.
    pub citations: Vec<u64>,
}

/// The greatest number of rows of resolved identifiers, plus these identifiers, that are cached for later
/// citations of the same sets.
const MAX_KEPT_ROWS: usize = 100_000;

/// The greatest number of unknown identifiers that are compared with issued ones. Each comparison costs one
/// statement.
const MAX_COMPARED: usize = 100;

/// Checks citations against one snapshot of a registry.
///
/// A date belongs to one archive (docs/reference/citations.md, What a citation contains). It agrees if the
/// identifier was in force at that date, as known now or as known then, in a dataset with the citation's DOI or
/// name. Without a DOI, it agrees in any dataset.
///
/// If no dataset here has the DOI, neither the date nor an unknown digest is checked. For a subset, only the
/// period of its first citation is known, so another date neither agrees nor disagrees. A DOI disagrees if it
/// belongs to a dataset here that never held the set.
pub struct Checker {
    snapshot: Snapshot,
    /// A cache of resolved identifiers, because a paper may cite one set many times.
    resolved: HashMap<(Identifier, Option<Moment>), Arc<Periods>>,
    /// The number of these rows and identifiers.
    kept_rows: usize,
    /// The number of identifiers that may still be compared with issued ones.
    compared_left: usize,
    /// Whether it is known which datasets exist, and when changes were recorded, so that the state of knowledge
    /// at a date can be derived.
    knows_recorded: bool,
    /// The known sets, each with its citations.
    sets: Vec<CitedSet>,
    /// The index of each set in `sets`.
    places: HashMap<Identifier, usize>,
}

crate::model::debug_fields!(Checker: snapshot);

impl Checker {
    /// Begins to check. A date in the future never agrees.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry cannot be read.
    pub fn new(registry: &Registry) -> Result<Self> {
        Ok(Checker {
            snapshot: registry.snapshot()?,
            resolved: HashMap::new(),
            kept_rows: 0,
            compared_left: MAX_COMPARED,
            knows_recorded: true,
            sets: Vec::new(),
            places: HashMap::new(),
        })
    }

    /// Checks against the cited sets in a published site, which does not contain when changes were recorded.
    #[must_use]
    pub fn of_site(self) -> Self {
        Checker { knows_recorded: false, ..self }
    }

    /// Whether a citation names a set, or at least a dataset of the registry.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry cannot be read.
    pub fn is_checkable(&self, pasted: &FoundCitation) -> Result<bool> {
        match pasted.doi.as_ref().filter(|_| !pasted.names_set()) {
            Some(doi) => Ok(!self.snapshot.datasets_with_doi(doi)?.is_empty()),
            None => Ok(true),
        }
    }

    /// Returns the verdict on a citation. `citation` is its number.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry cannot be read. An unknown identifier is not an error: it is
    /// reported in the verdict.
    pub fn check(&mut self, citation: u64, pasted: &FoundCitation) -> Result<CitationVerdict> {
        let verdict = self.verdict(citation, pasted)?;
        // For a part, the number of granules is not known.
        let first = verdict.intervals.rows.first().filter(|_| pasted.part.is_none());
        let first = first.map(|first| first.set.granule_count());
        if let (Some(identifier), Some(granules)) = (verdict.identifier, first) {
            let sets = &mut self.sets;
            let place = *self.places.entry(identifier).or_insert(sets.len());
            if place == sets.len() {
                sets.push(CitedSet { identifier, granules, citations: Vec::new() });
            }
            sets[place].citations.push(citation);
        }
        Ok(verdict)
    }

    /// The known sets that were cited, each with its citations, in the order of the first citation.
    pub fn sets(self) -> Vec<CitedSet> {
        self.sets
    }

    fn resolve(&mut self, identifier: Identifier, at: Option<Moment>) -> Result<Arc<Periods>> {
        if let Some(known) = self.resolved.get(&(identifier, at)) {
            return Ok(Arc::clone(known));
        }
        let mut resolution = self.snapshot.periods(identifier, None, at)?;
        for row in &mut resolution.rows {
            row.is_of_site = !self.knows_recorded;
        }
        let resolution = Arc::new(resolution);
        self.kept_rows += resolution.rows.len() + 1;
        if self.kept_rows > MAX_KEPT_ROWS {
            self.resolved.clear();
            self.kept_rows = resolution.rows.len() + 1;
        }
        self.resolved.insert((identifier, at), Arc::clone(&resolution));
        Ok(resolution)
    }

    fn verdict(&mut self, citation: u64, pasted: &FoundCitation) -> Result<CitationVerdict> {
        let mut verdict = self.verdict_on_readable(citation, pasted)?;
        let unreadable = self.unreadable(pasted)?;
        if !unreadable.is_empty() {
            let problem = verdict.problem.take().into_iter().chain(unreadable);
            verdict.problem = Some(problem.collect::<Vec<_>>().join("; "));
            (verdict.ok, verdict.is_questionable, verdict.note) = (false, false, None);
        }
        Ok(verdict)
    }

    /// Describes the unreadable identifier and digest of a citation.
    fn unreadable(&mut self, pasted: &FoundCitation) -> Result<Vec<String>> {
        let mut unreadable = Vec::new();
        if let Some(ParsedField::Unreadable(text)) = &pasted.identifier {
            unreadable.push(format!(
                "{} is not an identifier, which has 32 hexadecimal digits{}",
                quoted(text),
                self.similar(text)?
            ));
        }
        if let Some(ParsedField::Unreadable(text)) = &pasted.digest {
            unreadable.push(format!("{} is not a digest: {}", quoted(text), not_a_digest()));
        }
        Ok(unreadable)
    }

    /// Returns the verdict on the readable fields of a citation. The set is that of the identifier or, without
    /// one, of the digest.
    fn verdict_on_readable(
        &mut self,
        citation: u64,
        pasted: &FoundCitation,
    ) -> Result<CitationVerdict> {
        let date = pasted.date.as_ref().map(|date| match date {
            ParsedField::Read(moment) => moment.to_string(),
            ParsedField::Unreadable(text) => text.clone(),
        });
        let mut verdict = CitationVerdict {
            citation,
            doi: pasted.doi.clone(),
            date,
            ..CitationVerdict::default()
        };
        if let Some(ParsedField::Read(digest)) = &pasted.digest {
            verdict.digest = Some(digest.clone());
        }
        let identifier = match (&pasted.identifier, &verdict.digest) {
            (Some(ParsedField::Read(identifier)), _) => *identifier,
            (_, Some(digest)) => match self.snapshot.select(&Selection::Digest(digest.clone())) {
                Ok(selected) => selected.set.identifier(),
                Err(error) => {
                    let is_none_or_several =
                        matches!(error.kind(), ErrorKind::IdentifierUnknown | ErrorKind::Ambiguous);
                    verdict.problem = is_none_or_several.then(|| error.to_string());
                    return if is_none_or_several { Ok(verdict) } else { Err(error) };
                }
            },
            (_, None) => {
                let lacks =
                    (!pasted.names_set()).then(|| CitationVerdict::NO_IDENTIFIER.to_owned());
                return Ok(CitationVerdict { problem: lacks, ..verdict });
            }
        };
        verdict.identifier = Some(identifier);
        let named = self.named_by(pasted)?;
        // A date belongs to one archive, which the DOI identifies.
        let is_elsewhere = pasted.doi.is_some() && named.is_empty();
        let moment = match &pasted.date {
            Some(ParsedField::Read(moment)) if !is_elsewhere => Some(*moment),
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
        let (held, corrected) = self.held_by(&named, moment, &verdict, &resolution)?;
        let then = held.agreement().filter(|_| moment.is_some());
        if let Some(moment) = moment {
            let is_past = moment.first_instant() <= self.snapshot.now();
            let is_unknown = held.is_unknown_then() && is_past;
            verdict.agrees = (!is_unknown).then_some(then.is_some() && is_past);
        }
        let with_digest = with_digest(&verdict, &held);
        let problem = problem(&verdict, pasted, &named, &held, &resolution);
        verdict.problem = problem
            .map(|problem| match verdict.agrees {
                Some(false) if !self.knows_recorded => format!("{problem}{MAY_BE_LATER}"),
                _ => problem,
            })
            .or_else(|| never_with_digest(with_digest.as_deref().filter(|_| !is_elsewhere)?));
        if let Some(part) = pasted.part.as_ref().filter(|_| verdict.problem.is_none()) {
            verdict.problem = self.problem_of_part(part, &held)?;
        }
        if verdict.problem.is_none()
            && let Some(annotation) = questionable(moment, &held)
        {
            let note = quoted(&annotation.note);
            verdict.problem = Some(format!("the set is annotated as questionable: {note}"));
            verdict.is_questionable = true;
        }
        verdict.ok = verdict.problem.is_none();
        let here = match self.knows_recorded {
            true => "here",
            false => "that was read of the site (others were not looked up)",
        };
        let own = verdict.ok.then(|| {
            note(&verdict, pasted, &named, then, here)
                .or_else(|| other_digest_then(moment?, with_digest.as_deref()?))
        });
        let unchecked = verdict.digest.as_ref().filter(|_| {
            verdict.ok && is_elsewhere && with_digest.as_ref().is_some_and(Vec::is_empty)
        });
        let unchecked = unchecked
            .map(|digest| format!("the digest was not checked: no set {here} has {digest}"));
        let part = pasted.part.as_ref().map(|part| {
            let patterns = part.patterns.join(" ");
            format!("it cites a part of this set: the granules that {} selects", quoted(&patterns))
        });
        // A correction of the history is the reason for the withdrawal of the earlier one, so only the
        // correction is reported.
        let fate = match corrected.filter(|_| verdict.ok) {
            Some(correction) => Some(correction.to_string()),
            None => withdrawn(moment, &held),
        };
        let notes = part.into_iter().chain(own.flatten()).chain(unchecked).chain(fate);
        let notes: Vec<String> = notes.collect();
        verdict.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(verdict)
    }

    /// Returns the periods in which the named datasets held a set, or any dataset if none is named. If these do
    /// not agree with a citation from before a correction, but the earlier history of a dataset does, returns
    /// its periods and the correction. The correction is also returned if both agree, but the set had different
    /// files in the earlier history.
    fn held_by(
        &self,
        named: &[DatasetName],
        moment: Option<Moment>,
        verdict: &CitationVerdict,
        resolution: &Periods,
    ) -> Result<(Periods, Option<Correction>)> {
        let of = |names: &[DatasetName]| {
            let is_of = |row: &&Period| names.is_empty() || names.contains(row.set.dataset());
            Periods { rows: resolution.rows.iter().filter(is_of).cloned().collect() }
        };
        let agrees = |held: &Periods| {
            let is_then = moment.is_none() || held.agreement().is_some() || held.is_unknown_then();
            let has_digest = with_digest(verdict, held).is_none_or(|found| !found.is_empty());
            !held.rows.is_empty() && is_then && has_digest
        };
        let held = of(named);
        let is_held = agrees(&held);
        // Without a digest, the citation can mean the files of either history.
        let contents = moment.filter(|_| is_held && verdict.digest.is_none());
        for (kept_as, correction) in self.snapshot.earlier_histories(named, moment)? {
            let earlier = of(&[kept_as]);
            if !agrees(&earlier) {
                continue;
            }
            if !is_held {
                return Ok((earlier, Some(correction)));
            }
            if contents.is_some_and(|at| held.digests_at(at) != earlier.digests_at(at)) {
                return Ok((held, Some(correction)));
            }
        }
        Ok((held, None))
    }

    /// Compares the identifiers, numbers and digest of a part in a citation with what its patterns select from
    /// the set. Its names are the same wherever the set was held, but its files may have different records.
    fn problem_of_part(&self, part: &Part, held: &Periods) -> Result<Option<String>> {
        let patterns: Result<Vec<Pattern>, _> = part.patterns.iter().map(|it| it.parse()).collect();
        let members = match patterns {
            Ok(patterns) => SubsetMembers::Patterns(patterns),
            Err(error) => return Ok(Some(error.to_string())),
        };
        let rows = held.rows.iter().filter(|row| row.set.subset().is_none());
        for (row, period) in rows.flat_map(|row| row.digests().into_iter().map(move |it| (row, it)))
        {
            let (name, at) = (row.set.dataset(), Some(Moment::Instant(period.from)));
            let set = match self.snapshot.preview_subset(name, at, &members) {
                Ok(found) => found.cited.period.set,
                Err(error)
                    if matches!(error.kind(), ErrorKind::SelectsNothing | ErrorKind::TooLong) =>
                {
                    return Ok(Some(error.to_string()));
                }
                Err(error) => return Err(error),
            };
            let identifier = set.identifier();
            let (selected, of) = (set.granule_count(), set.instance().granules);
            let granules = PartGranules { selected, of };
            if part.identifiers.iter().any(|stated| *stated != ParsedField::Read(identifier))
                || part.granules.is_some_and(|stated| stated != granules)
            {
                let is = format!("that part is DI:{identifier}, {selected} of {of} granules");
                return Ok(Some(is));
            }
            match &part.digest {
                Some(ParsedField::Read(digest)) if !digest.begins(set.digest()) => {}
                Some(ParsedField::Unreadable(_)) => {}
                _ => return Ok(None),
            }
        }
        Ok(Some("no set here ever had such a part with this digest".to_owned()))
    }

    /// The end of a message about an unknown identifier, with the issued identifiers that may have been meant.
    /// Empty if there are none.
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
    fn named_by(&self, pasted: &FoundCitation) -> Result<Vec<DatasetName>> {
        match (&pasted.doi, &pasted.dataset) {
            (Some(doi), _) => self.snapshot.datasets_with_doi(doi),
            (None, Some(name)) if self.snapshot.has_dataset(name)? => {
                // If it was found by a former name, the dataset has another name now.
                Ok(vec![self.snapshot.dataset(name)?.dataset.name])
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// The uncertainty about a date that disagrees, in a check against a site.
const MAY_BE_LATER: &str = "; if a change of that time was recorded later, the archive knows it: a site does not \
                            say when changes were recorded";

/// A contradiction between a citation and the registry.
fn problem(
    verdict: &CitationVerdict,
    pasted: &FoundCitation,
    named: &[DatasetName],
    held: &Periods,
    resolution: &Periods,
) -> Option<String> {
    if let Some(ParsedField::Unreadable(text)) = &pasted.date {
        return Some(format!("{} is not a date", quoted(text)));
    }
    if held.rows.is_empty() {
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

/// The periods in which a set had the digest of a citation. The outer `None` means that the citation has no
/// digest.
fn with_digest(verdict: &CitationVerdict, held: &Periods) -> Option<Vec<DigestPeriod>> {
    let prefix = verdict.digest.as_ref()?;
    let periods = held.rows.iter().flat_map(Period::digests);
    Some(periods.filter(|period| prefix.begins(period.digest)).collect())
}

/// The problem that a set never had the digest that is cited with its identifier.
fn never_with_digest(with_digest: &[DigestPeriod]) -> Option<String> {
    let never = "no set here ever had this identifier and this digest together: the names agree, but what \
                 was known of the files is other";
    with_digest.is_empty().then(|| never.to_owned())
}

/// The note that a set had the cited digest, but not at the cited date.
fn other_digest_then(at: Moment, with_digest: &[DigestPeriod]) -> Option<String> {
    let is_then = |period: &DigestPeriod| {
        period.from <= at.last_instant()
            && period.until.is_none_or(|until| at.first_instant() < until)
    };
    let first = with_digest.first().filter(|_| !with_digest.iter().any(is_then))?;
    let until = first.until.map_or("now".to_owned(), |until| until.to_string());
    Some(format!(
        "the granules were the same at {at}, but their recorded files were different: the digest is that of \
         {} until {until}",
        first.from
    ))
}

/// The annotation that makes a cited set questionable. Considers the instances in force at the date, or all of
/// them if none was in force or there is no date.
fn questionable(at: Option<Moment>, held: &Periods) -> Option<&Annotation> {
    let is_dated = |it: &&Instance| at.is_some_and(|at| it.is_in_force_during(at));
    let instances = held.rows.iter().flat_map(|row| &row.instances);
    let is_any_dated = instances.clone().any(|instance| is_dated(&instance));
    let cited = instances.filter(|instance| !is_any_dated || is_dated(instance));
    cited.flat_map(|instance| &instance.annotations).find(|annotation| annotation.questionable)
}

/// The note that the dataset of a cited set was withdrawn. The dataset is the first that held the set at the
/// date or, if none did, at any time.
fn withdrawn(at: Option<Moment>, held: &Periods) -> Option<String> {
    let then = held.rows.iter().find(|row| at.is_some_and(|at| row.is_in_force_during(at)));
    let row = then.or(held.rows.first())?;
    row.withdrawn.as_ref().map(|withdrawal| withdrawal.of(row.set.dataset()))
}

/// A dataset that is not named, in which the identifier was in force at the date.
fn elsewhere<'a>(
    named: &[DatasetName],
    pasted: &FoundCitation,
    resolution: &'a Periods,
) -> Option<&'a DatasetName> {
    let Some(ParsedField::Read(moment)) = &pasted.date else { return None };
    let agrees =
        |row: &&Period| !named.contains(row.set.dataset()) && row.is_in_force_during(*moment);
    resolution.rows.iter().find(agrees).map(|row| row.set.dataset())
}

/// A note about a correct citation that may surprise the reader.
fn note(
    verdict: &CitationVerdict,
    pasted: &FoundCitation,
    named: &[DatasetName],
    then: Option<Agreement>,
    here: &str,
) -> Option<String> {
    let at = verdict.date.as_deref().unwrap_or_default();
    match (&pasted.doi, &pasted.dataset) {
        (Some(doi), _) if named.is_empty() => {
            let unchecked = pasted.date.as_ref().map_or("", |_| "the date was not checked: ");
            return Some(format!("{unchecked}no dataset {here} has doi:{doi}"));
        }
        (None, Some(name)) if named.is_empty() => {
            return Some(format!("no dataset {here} is called {name}"));
        }
        _ => {}
    }
    if then == Some(Agreement::AsKnownThen) {
        return Some(format!(
            "it was in force at {at} according to the registry at that time; a change that was recorded later contradicts this"
        ));
    }
    let Some(ParsedField::Read(moment)) = &pasted.date else { return None };
    if verdict.agrees.is_none() {
        return Some(format!(
            "it is a subset, whose granules are known; whether it was the same at {at} is not known"
        ));
    }
    let is_last = |row: &Period| row.is_in_force_during(Moment::Instant(moment.last_instant()));
    // For a subset, only the period of its first citation is known.
    let is_subset = verdict.intervals.rows.iter().any(|row| row.set.subset().is_some());
    let held_to_the_end = is_subset || verdict.intervals.rows.iter().any(is_last);
    (!held_to_the_end).then(|| {
        format!("the set changed later on {at}: another set was in force at the end of the day")
    })
}

impl CitationVerdict {
    /// The problem of a reference to a dataset that has no identifier.
    pub const NO_IDENTIFIER: &str = "no-identifier";
}

fn listed(names: &[DatasetName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
