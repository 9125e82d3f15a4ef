//! Finds ids that are directories of other ids in the same list, such as `a` beside `a/c`.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Event, GranuleId, SourceLocation, quoted};

/// Rejects events if one id is a directory in the path of another. The events must be in canonical order. Costs
/// one pass over them, and the memory of the ids that are prefixes of one another.
///
/// # Errors
///
/// [`ErrorKind::NotAList`]: an id is a directory of another. Errors of reading the events.
pub(super) fn refuse_directories(sorted: impl Iterator<Item = Result<Event>>) -> Result<()> {
    // Ids such as `a-1` may be between `a` and `a/c`. Therefore all prefixes of the present id are remembered.
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
            let message = format!(
                "{} is a directory of {}, which is listed, too",
                quoted(directory.as_str()),
                quoted(granule_id.as_str())
            );
            return Err(Error::new(ErrorKind::NotAList, message).at(location.clone()).with_hint(
                "`find DIR -type f` lists files without directories (inputs.md, Directories)",
            ));
        }
        if beginnings.last().is_none_or(|(last, _)| *last != granule_id) {
            beginnings.push((granule_id, location));
        }
    }
    Ok(())
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
        refuse_directories(ids.iter().map(event)).err().map(|error| error.to_string())
    }

    #[test]
    fn an_id_that_is_a_directory_of_another_is_found_wherever_it_is() {
        let refused = |directory, below| {
            Some(format!("\"{directory}\" is a directory of \"{below}\", which is listed, too"))
        };
        assert_eq!(directory_in(&["a", "a/c"]), refused("a", "a/c"));
        assert_eq!(directory_in(&["a", "a-1", "a.b", "a/c", "b"]), refused("a", "a/c"));
        assert_eq!(directory_in(&["x/y/z.nc", "x", "x.nc"]), refused("x", "x/y/z.nc"));
        assert_eq!(directory_in(&["a", "a", "ab/c", "a b", "b/a", "a-/c"]), None);
        assert_eq!(directory_in(&[]), None);
    }
}
