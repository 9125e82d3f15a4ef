//! Keeping subsets that another registry cited.

use std::sync::Arc;

use super::cite::{Members, batches, criteria_of, identify_named};
use crate::disk::{Records, Spool, scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::DatasetName;
use crate::model::{GranuleId, Identifier, Pattern, SourceLocation, Subset, Timestamp};
use crate::registry::listing::Listing;
use crate::registry::snapshot::identify_selected;
use crate::store::{DatasetKey, Transaction};

/// A subset that another registry cited, and that is to be kept here too, since its identifier must
/// resolve.
#[derive(Debug)]
pub(crate) struct CitedSubset {
    /// Its identifier.
    pub identifier: Identifier,
    /// The time of the change from whose granules it was selected.
    pub timestamp: Timestamp,
    /// How it was selected.
    pub members: Members,
    /// How many granules it has.
    pub granules: u64,
    /// When it was first cited.
    pub cited: Timestamp,
    /// Where it was read, for messages.
    pub location: SourceLocation,
}

impl CitedSubset {
    /// Keeps the subset, unless it is kept already; returns whether it was new. It is selected again,
    /// and must have the same identifier.
    pub(super) fn keep(
        &self,
        transaction: &Transaction,
        key: DatasetKey,
        dataset: &DatasetName,
    ) -> Result<bool> {
        let refused = |identifier: Identifier| {
            let message = format!(
                "the subset {} of the change at {} is not what this history selects: {identifier}",
                self.identifier, self.timestamp
            );
            Error::new(ErrorKind::NotAsExpected, message).at(self.location.clone())
        };
        let Some(criteria) = criteria_of(&self.members) else {
            return Err(refused(Identifier::EMPTY));
        };
        if transaction.subset(key, self.identifier, &criteria)?.is_some() {
            return Ok(false);
        }
        let in_force = transaction.instance_at(key, self.timestamp)?;
        let Some(instance) = in_force.filter(|instance| instance.timestamp == self.timestamp)
        else {
            return Err(refused(Identifier::EMPTY));
        };
        let (identifier, granules) = match &self.members {
            Members::Patterns(patterns) => {
                identify_selected(transaction, key, &instance, patterns)?
            }
            Members::Listed(listing) => {
                identify_named(transaction, key, dataset, self.timestamp, listing)?
            }
        };
        if (identifier, granules) != (self.identifier, self.granules) {
            return Err(refused(identifier));
        }
        let subset = Subset {
            dataset: dataset.clone(),
            timestamp: self.timestamp,
            criteria,
            identifier,
            granules,
            cited: self.cited,
        };
        let stored = transaction.insert_subset(key, &subset)?;
        if let Members::Listed(listing) = &self.members {
            for batch in batches(listing)? {
                let ids: Vec<GranuleId> =
                    batch?.into_iter().map(|event| event.granule_id).collect();
                transaction.insert_named(key, stored, &ids)?;
            }
        }
        Ok(true)
    }
}

/// Any number of cited subsets. One of them is in memory at a time: they are kept in a temporary file,
/// each as a header and parts of its patterns or ids.
#[derive(Debug, Default)]
pub(crate) struct CitedSubsets {
    records: Spool,
    count: u64,
}

/// The first byte of a record: what it has.
const PATTERNS: u8 = 0;
const NAMED: u8 = 1;
const IDS: u8 = 2;
const END: u8 = 3;

impl CitedSubsets {
    /// Adds a subset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary); the error of a refused change: a
    /// granule is named twice.
    pub fn add(&mut self, subset: &CitedSubset) -> Result<()> {
        let CitedSubset { identifier, timestamp, members, granules, cited, location } = subset;
        let (source, line) = match location {
            SourceLocation::Line { source, line } => (&**source, *line),
            SourceLocation::Argument { number } => ("", *number),
        };
        let mut header = vec![match members {
            Members::Patterns(_) => PATTERNS,
            Members::Listed(_) => NAMED,
        }];
        header.extend(identifier.as_bytes());
        header.extend(timestamp.as_micros().to_le_bytes());
        header.extend(cited.as_micros().to_le_bytes());
        header.extend(granules.to_le_bytes());
        header.extend(line.to_le_bytes());
        header.extend(source.as_bytes());
        self.count += 1;
        self.records.add(&header)?;
        match members {
            Members::Patterns(patterns) => self.add_part(patterns.iter().map(Pattern::as_str))?,
            Members::Listed(listing) => {
                for batch in batches(listing)? {
                    self.add_part(batch?.iter().map(|event| event.granule_id.as_str()))?;
                }
            }
        }
        self.records.add(&[END])?;
        Ok(())
    }

    /// Adds patterns or ids, which have no line ends.
    fn add_part<'a>(&mut self, items: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut part = vec![IDS];
        for item in items {
            part.extend(item.as_bytes());
            part.push(b'\n');
        }
        self.records.add(&part)?;
        Ok(())
    }

    /// The subsets, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Result<CitedSubset>> + '_ {
        let (mut records, mut left) = (self.records.records(), self.count);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(next(&mut records))
        })
    }
}

/// Reads the next subset.
fn next(records: &mut Records<'_>) -> Result<CitedSubset> {
    let unreadable = || scratch::unusable("read", std::io::ErrorKind::InvalidData.into());
    let mut record = || records.next().unwrap_or_else(|| Err(unreadable()));
    let header = record()?;
    let mut subset = subset_of(&header).ok_or_else(unreadable)?;
    loop {
        let part = record()?;
        let items = match part.split_first() {
            Some((&IDS, items)) => std::str::from_utf8(items).map_err(|_| unreadable())?,
            _ => return Ok(subset),
        };
        for item in items.lines() {
            match &mut subset.members {
                Members::Patterns(patterns) => {
                    patterns.push(item.parse().map_err(|_| unreadable())?);
                }
                Members::Listed(listing) => {
                    listing.add(item.parse::<GranuleId>().map_err(|_| unreadable())?)?;
                }
            }
        }
    }
}

/// A subset without its patterns or ids.
fn subset_of(header: &[u8]) -> Option<CitedSubset> {
    let (kind, rest) = header.split_first()?;
    let (identifier, rest) = rest.split_first_chunk()?;
    let (timestamp, rest) = rest.split_first_chunk()?;
    let (cited, rest) = rest.split_first_chunk()?;
    let (granules, rest) = rest.split_first_chunk()?;
    let (line, source) = rest.split_first_chunk()?;
    let source: Arc<str> = std::str::from_utf8(source).ok()?.into();
    Some(CitedSubset {
        identifier: Identifier::from_bytes(*identifier),
        timestamp: Timestamp::from_micros(i64::from_le_bytes(*timestamp))?,
        members: match *kind {
            PATTERNS => Members::Patterns(Vec::new()),
            _ => Members::Listed(Listing::new()),
        },
        granules: u64::from_le_bytes(*granules),
        cited: Timestamp::from_micros(i64::from_le_bytes(*cited))?,
        location: SourceLocation::Line { source, line: u64::from_le_bytes(*line) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_read_as_they_were_added() {
        let subset = |number: u64, members| CitedSubset {
            identifier: Identifier::from_bytes([number as u8; 16]),
            timestamp: Timestamp::from_micros(-5).unwrap(),
            members,
            granules: number,
            cited: Timestamp::from_micros(7).unwrap(),
            location: SourceLocation::Line { source: "us.jsonl".into(), line: number },
        };
        let patterns = |number: u64| -> Vec<Pattern> {
            (0..number).map(|n| format!("ä[{n}]*").parse().unwrap()).collect()
        };
        let ids = |number: u64| -> Vec<GranuleId> {
            (0..number).map(|n| format!(" granule.{n:05} ").parse().unwrap()).collect()
        };
        let mut subsets = CitedSubsets::default();
        for number in [1, 3, 2_500] {
            subsets.add(&subset(number, Members::Patterns(patterns(number)))).unwrap();
            let mut listing = Listing::new();
            ids(number).into_iter().rev().for_each(|id| listing.add(id).unwrap());
            subsets.add(&subset(number, Members::Listed(listing))).unwrap();
        }
        // They can be read again and again.
        for _ in 0..2 {
            let mut found = subsets.iter().map(Result::unwrap);
            for number in [1, 3, 2_500] {
                for is_named in [false, true] {
                    let found = found.next().unwrap();
                    let expected = subset(number, Members::Patterns(Vec::new()));
                    assert_eq!(found.identifier, expected.identifier);
                    assert_eq!(
                        (found.timestamp, found.cited),
                        (expected.timestamp, expected.cited)
                    );
                    assert_eq!((found.granules, found.location), (number, expected.location));
                    match found.members {
                        Members::Patterns(found) => {
                            assert!(!is_named && found == patterns(number));
                        }
                        Members::Listed(listing) => {
                            let events = batches(&listing).unwrap().flat_map(Result::unwrap);
                            let found: Vec<GranuleId> =
                                events.map(|event| event.granule_id).collect();
                            assert!(is_named && found == ids(number));
                        }
                    }
                }
            }
            assert!(found.next().is_none());
        }
    }
}
