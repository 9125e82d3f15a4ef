//! Granule ids packed into one buffer.

use super::granule_id::{GranuleId, GranuleIdError};

/// A page of granule ids, packed into one buffer.
///
/// A long list is read and written faster in such pages than as values of [`GranuleId`], each of
/// which is allocated and checked on its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdPage {
    /// The ids, each followed by a line feed, which no id contains.
    lines: String,
    /// Where each id ends in `lines`.
    ends: Vec<usize>,
}

/// A page that is being filled with bytes that have not been checked.
#[derive(Debug, Default)]
pub(crate) struct IdPageBuilder {
    lines: Vec<u8>,
    ends: Vec<usize>,
}

impl IdPage {
    /// The number of ids.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The id at an index. `None` after the last one.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        Some(&self.lines[start(&self.ends, index)..end])
    }

    /// The last id. `None` means that there are no ids.
    pub fn last(&self) -> Option<GranuleId> {
        let last = self.get(self.len().checked_sub(1)?)?;
        // Every id was checked when the page was made.
        GranuleId::new(last).ok()
    }

    /// The ids, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The ids as text, each followed by a line feed.
    pub fn as_lines(&self) -> &str {
        &self.lines
    }
}

impl<'id> FromIterator<&'id GranuleId> for IdPage {
    fn from_iter<Ids: IntoIterator<Item = &'id GranuleId>>(ids: Ids) -> Self {
        let mut page = IdPage::default();
        for granule_id in ids {
            page.lines.push_str(granule_id.as_str());
            page.ends.push(page.lines.len());
            page.lines.push('\n');
        }
        page
    }
}

impl IdPageBuilder {
    /// Adds an id.
    pub fn push(&mut self, granule_id: &[u8]) {
        self.lines.extend_from_slice(granule_id);
        self.ends.push(self.lines.len());
        self.lines.push(b'\n');
    }

    /// The bytes of the id at an index. `None` after the last one.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        Some(&self.lines[start(&self.ends, index)..end])
    }

    /// Checks all ids at once.
    ///
    /// # Errors
    ///
    /// Those of [`GranuleId::new`] for the first id that is not valid.
    pub fn finish(self) -> Result<IdPage, GranuleIdError> {
        if !self.is_plain() {
            (0..).map_while(|index| self.get(index)).try_for_each(|id| {
                let text = std::str::from_utf8(id)
                    .map_err(|error| GranuleIdError::NotUtf8 { byte: error.valid_up_to() + 1 })?;
                GranuleId::check(text)
            })?;
        }
        let lines = String::from_utf8(self.lines)
            .map_err(|error| GranuleIdError::NotUtf8 { byte: error.utf8_error().valid_up_to() })?;
        Ok(IdPage { lines, ends: self.ends })
    }

    /// Whether every id is valid and printable ASCII: then the line feeds are the only bytes that
    /// are not.
    fn is_plain(&self) -> bool {
        // Counted in bytes over chunks that cannot overflow one, so that it is vectorised.
        let others: usize = self
            .lines
            .chunks(255)
            .map(|chunk| {
                let is_other = |byte: &u8| u8::from(byte.wrapping_sub(b' ') >= 0x5f);
                usize::from(chunk.iter().fold(0_u8, |count, byte| count + is_other(byte)))
            })
            .sum();
        let has_length = |id: &[u8]| (1..=GranuleId::MAX_BYTES).contains(&id.len());
        others == self.ends.len() && (0..).map_while(|index| self.get(index)).all(has_length)
    }
}

/// Where an id begins: after the line feed that follows the id before it.
fn start(ends: &[usize], index: usize) -> usize {
    if index == 0 { 0 } else { ends[index - 1] + 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The check of a page is that of its ids one by one.
        #[test]
        fn a_page_has_the_ids_that_are_valid_one_by_one(
            ids in prop::collection::vec(
                prop_oneof![
                    "[ -~]{1,9}".prop_map(String::into_bytes),
                    "[a-zé値\u{80}\u{a0}]{1,400}".prop_map(String::into_bytes),
                    prop::collection::vec(any::<u8>(), 0..3),
                    Just(vec![b'a'; 1_024]),
                    Just(vec![b'a'; 1_025]),
                ],
                0..6,
            ),
        ) {
            let mut builder = IdPageBuilder::default();
            for id in &ids {
                builder.push(id);
                prop_assert_eq!(builder.get(builder.ends.len() - 1), Some(id.as_slice()));
            }
            let one_by_one: Result<Vec<GranuleId>, _> =
                ids.iter().map(|id| GranuleId::from_bytes(id)).collect();
            let page = builder.finish();
            prop_assert_eq!(page.as_ref().err(), one_by_one.as_ref().err());
            if let (Ok(page), Ok(ids)) = (page, one_by_one) {
                let texts: Vec<&str> = ids.iter().map(GranuleId::as_str).collect();
                prop_assert_eq!(page.iter().collect::<Vec<_>>(), texts.clone());
                prop_assert_eq!(page.as_lines(), texts.iter().map(|id| format!("{id}\n")).collect::<String>());
                prop_assert_eq!((page.len(), page.is_empty()), (ids.len(), ids.is_empty()));
                prop_assert_eq!(page.get(ids.len()), None);
                prop_assert_eq!(page.last(), ids.last().cloned());
                prop_assert_eq!(ids.iter().collect::<IdPage>(), page);
            }
        }
    }
}
