//! The DOI, the date and the digest of a citation, and the set of this registry that they select.

use super::recognise::{FoundCitation, ParsedField};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, DigestPrefix, Doi, Identifier, Instance, Moment};
use crate::registry::{Agreement, Period, Periods, Selection, Snapshot};

/// The DOI, the date and the digest that a citation has besides an identifier, if they can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CitedContext {
    pub doi: Option<Doi>,
    pub date: Option<Moment>,
    pub digest: Option<DigestPrefix>,
}

impl CitedContext {
    /// Reads the DOI, date and digest of an identifier from the text around it.
    pub fn of(identifier: Identifier, text: &str) -> Self {
        let mut stated = CitedContext::default();
        let is_meant =
            |pasted: &FoundCitation| pasted.identifier == Some(ParsedField::Read(identifier));
        for FoundCitation { doi, date, digest, .. } in
            FoundCitation::find_all(text).into_iter().filter(is_meant)
        {
            stated.doi = stated.doi.or(doi);
            if let (None, Some(ParsedField::Read(date))) = (stated.date, date) {
                stated.date = Some(date);
            }
            if let (None, Some(ParsedField::Read(digest))) = (&stated.digest, digest) {
                stated.digest = Some(digest);
            }
        }
        stated
    }

    /// The datasets that the date refers to: those with the DOI, after the earlier histories that they had at
    /// the date. `None` means any dataset, because there is no DOI.
    pub fn datasets(&self, snapshot: &Snapshot) -> Result<Option<Vec<DatasetName>>> {
        let Some(doi) = &self.doi else { return Ok(None) };
        let names = snapshot.datasets_with_doi(doi)?;
        let earlier = snapshot.earlier_histories(&names, self.date)?;
        Ok(Some(earlier.into_iter().map(|(kept_as, _)| kept_as).chain(names).collect()))
    }

    /// The date. `None` also means that it cannot be checked in this registry.
    pub fn date(&self, snapshot: &Snapshot) -> Result<Option<Moment>> {
        let is_other_archive = self.datasets(snapshot)?.is_some_and(|names| names.is_empty());
        Ok(self.date.filter(|_| !is_other_archive))
    }

    /// The digest, if a set with the identifier had it in this registry.
    pub fn digest(
        &self,
        identifier: Identifier,
        snapshot: &Snapshot,
    ) -> Result<Option<&DigestPrefix>> {
        let Some(digest) = &self.digest else { return Ok(None) };
        let rows = snapshot.periods_with(identifier, Some(digest), None, None)?.rows;
        Ok(Some(digest).filter(|_| !rows.is_empty()))
    }

    /// Selects the set with the identifier, at the date and with the digest of the citation.
    pub fn selection(&self, identifier: Identifier, snapshot: &Snapshot) -> Result<Selection> {
        let digest = self.digest(identifier, snapshot)?;
        let any = || match digest {
            Some(digest) => Selection::Digest(digest.clone()),
            None => Selection::Identifier { identifier, dataset: None, at: None },
        };
        let Some(at) = self.date(snapshot)? else { return Ok(any()) };
        let datasets = self.datasets(snapshot)?;
        let mut resolution = Periods::default();
        for dataset in datasets.iter().flatten().map(Some).chain(datasets.is_none().then_some(None))
        {
            let resolved = snapshot.periods_with(identifier, digest, dataset, Some(at))?;
            resolution.rows.extend(resolved.rows);
        }
        if resolution.is_unknown_then() {
            return Ok(any());
        }
        let agreeing = resolution.rows.iter().max_by_key(|row| row.agreement);
        let Some((agreement, row)) = agreeing.and_then(|row| Some((row.agreement?, row))) else {
            let rows = snapshot.periods_with(identifier, None, None, None)?.rows;
            if rows.is_empty() {
                return Ok(any());
            }
            return Err(self.contradiction(identifier, at, digest, datasets.as_deref(), &rows));
        };
        if digest.is_some() {
            return Ok(any());
        }
        let dataset = Some(row.set.dataset().clone());
        if agreement == Agreement::AsKnownNow {
            // The set may have had different files before and after a correction. If so, all are candidates.
            let is_one = self.doi.is_some() && resolution.digests_at(at).len() <= 1;
            let dataset = dataset.filter(|_| is_one);
            return Ok(Selection::Identifier { identifier, dataset, at: Some(at) });
        }
        // As known on that date, the identifier was in force, with the files of this instance.
        let was_known =
            |instance: &&Instance| instance.timestamp.max(instance.recorded) <= at.last_instant();
        let instance = row.instances.iter().rfind(was_known);
        let at = instance.map(|instance| Moment::Instant(instance.timestamp));
        Ok(Selection::Identifier { identifier, dataset, at })
    }

    /// The error if the identifier was not in force at the date, or did not have the digest then.
    fn contradiction(
        &self,
        identifier: Identifier,
        at: Moment,
        digest: Option<&DigestPrefix>,
        datasets: Option<&[DatasetName]>,
        rows: &[Period],
    ) -> Error {
        let is_of_dataset =
            |row: &&Period| datasets.is_none_or(|names| names.contains(row.set.dataset()));
        let periods: Vec<String> = rows
            .iter()
            .filter(is_of_dataset)
            .take(3)
            .map(|row| format!("{} in {}", row.in_force(), row.set.dataset()))
            .collect();
        let was = match (periods.is_empty(), &self.doi) {
            (true, Some(doi)) => format!("no dataset with doi:{} had it", doi.as_str()),
            _ => format!("it was in force {}", periods.join(", ")),
        };
        let what = match digest {
            Some(digest) => {
                format!("the files of DI:{identifier} did not have the digest {digest} at {at}")
            }
            None => format!("DI:{identifier} was not in force at {at}"),
        };
        Error::new(ErrorKind::IdentifierUnknown, format!("{what}: {was}"))
    }
}
