//! Ids that are directories of others in the same list: `a` beside `a/c`.

use crate::error::Result;
use crate::model::{Event, GranuleId, SourceLocation};

/// An id that is a directory in the path of another id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedDirectory {
    /// The directory.
    pub directory: GranuleId,
    /// Where it was read.
    pub location: Option<SourceLocation>,
    /// The first id below it.
    pub below: GranuleId,
}

/// The first id that is a directory in the path of another one. Costs a pass over the events, which are in
/// canonical order, and the memory of the ids that begin one another.
pub(super) fn listed_directory(
    sorted: impl Iterator<Item = Result<Event>>,
) -> Result<Option<ListedDirectory>> {
    // Between `a` and `a/c` there may be ids such as `a-1`: all that begin the present id are remembered.
    let mut beginnings: Vec<(GranuleId, Option<SourceLocation>)> = Vec::new();
    for event in sorted {
        let Event { granule_id, location, .. } = event?;
        let text = granule_id.as_str();
        while beginnings.last().is_some_and(|(last, _)| !text.starts_with(last.as_str())) {
            beginnings.pop();
        }
        let is_directory = |(beginning, _): &&(GranuleId, Option<SourceLocation>)| {
            text.as_bytes().get(beginning.as_str().len()) == Some(&b'/')
        };
        if let Some((directory, location)) = beginnings.iter().find(is_directory) {
            let (directory, location) = (directory.clone(), location.clone());
            return Ok(Some(ListedDirectory { directory, location, below: granule_id }));
        }
        if beginnings.last().is_none_or(|(last, _)| *last != granule_id) {
            beginnings.push((granule_id, location));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventKind, Timestamp};

    fn directory_in(ids: &[&str]) -> Option<String> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let event = |id: &&str| {
            let (at, kind, content) = (Timestamp::EPOCH, EventKind::Ingested, None);
            let granule_id = id.parse().unwrap();
            Ok(Event { at, kind, granule_id, producer_granule: None, content, location: None })
        };
        let found = listed_directory(ids.iter().map(event)).unwrap()?;
        Some(format!("{} {}", found.directory, found.below))
    }

    #[test]
    fn an_id_that_is_a_directory_of_another_is_found_wherever_it_is() {
        assert_eq!(directory_in(&["a", "a/c"]), Some("a a/c".to_owned()));
        assert_eq!(directory_in(&["a", "a-1", "a.b", "a/c", "b"]), Some("a a/c".to_owned()));
        assert_eq!(directory_in(&["x/y/z.nc", "x", "x.nc"]), Some("x x/y/z.nc".to_owned()));
        assert_eq!(directory_in(&["a", "a", "ab/c", "a b", "b/a", "a-/c"]), None);
        assert_eq!(directory_in(&[]), None);
    }
}
