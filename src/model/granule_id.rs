//! The id of a granule.

use std::str::FromStr;

use super::message::ParseError;

/// The id of a granule, exactly as its producer wrote it.
///
/// # Syntax
///
/// Non-empty UTF-8 of at most [`GranuleId::MAX_BYTES`] bytes without control characters (U+0000–U+001F,
/// U+007F–U+009F). With LF allowed, two different sets could have the same chain input. Everything else is
/// stored unchanged: spaces, including those at the ends, `#`, `/`, `:`, quotes, any script, ids that look like
/// numbers, and ids that differ only in case.
///
/// A new id also must not begin with U+FEFF or with `./`. Older registries may contain such ids, so they can be
/// read.
///
/// # Total ordering
///
/// Ascending by their UTF-8 bytes (`memcmp`; SQLite's BINARY collation; `LC_ALL=C sort`): the
/// canonical order (docs/reference/identifier.md, The rule). No locale, no case folding, no Unicode
/// normalisation.
///
/// # Examples
///
/// ```
/// use accession::GranuleId;
///
/// let granule_id: GranuleId = "AST_L1A#00311092015232127_11102015081255.hdf".parse()?;
/// assert!(granule_id > "AST".parse()?);
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GranuleId(Box<str>);

impl GranuleId {
    /// The greatest length of an id, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 1_024;

    /// Checks `text` and makes it an id. An owned string is not copied.
    ///
    /// # Errors
    ///
    /// - `""`: empty
    /// - `a` 1,025 times: longer than 1,024 bytes
    /// - `"A\tB"`: the control character U+0009
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, ParseError> {
        let text = text.into();
        GranuleId::check(&text)?;
        Ok(GranuleId(text))
    }

    /// Reads an id from bytes that may not be UTF-8.
    ///
    /// # Errors
    ///
    /// - those of [`GranuleId::new`]
    /// - `b"A\xff"`: not UTF-8, from its second byte on
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to() + 1))?;
        GranuleId::new(text)
    }

    /// Checks that `text` is a valid id, without making one.
    pub fn check(text: &str) -> Result<(), ParseError> {
        if text.is_empty() {
            return Err(ParseError::fixed("a granule id cannot be empty"));
        }
        if text.len() > GranuleId::MAX_BYTES {
            return Err(too_long(Some(text.len())));
        }
        // Nearly every id is printable ASCII. This check has no branch for each byte, so it is vectorised: it
        // executes 137 instructions for an id of 43 bytes, instead of 524 character by character.
        let is_plain = |byte: &u8| byte.wrapping_sub(b' ') < 0x5f;
        if text.as_bytes().iter().fold(true, |plain, byte| plain & is_plain(byte)) {
            return Ok(());
        }
        // `char::is_control` is the Unicode category Cc: exactly the rejected ranges.
        match text.chars().find(|character| character.is_control()) {
            Some(character) => Err(ParseError::new(format!(
                "a granule id has no control characters, but this one contains U+{:04X}",
                u32::from(character)
            ))),
            None => Ok(()),
        }
    }

    /// Checks that the id may be ingested. It must not begin with a byte order mark, or with `./` like a path
    /// of `find`: a reader of a list could omit these characters.
    ///
    /// # Errors
    ///
    /// - `"\u{feff}A"`: begins with a byte order mark
    /// - `"./A"`: begins with the current directory
    pub(crate) fn check_new(&self) -> Result<(), ParseError> {
        match self.as_str() {
            text if text.starts_with('\u{feff}') => Err(BYTE_ORDER_MARK),
            text if text.starts_with("./") => Err(CURRENT_DIRECTORY),
            _ => Ok(()),
        }
    }

    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id begins with white space or a zero-width character, or ends with one other than a blank.
    /// Such ids are allowed, but usually accidental.
    pub(crate) fn has_odd_edge(&self) -> bool {
        self.0.starts_with(is_odd) || self.0.ends_with(|it| it != ' ' && is_odd(it))
    }

    /// Whether it ends with a blank, as a few real names do.
    pub(crate) fn ends_with_blank(&self) -> bool {
        self.0.ends_with(' ')
    }
}

/// Whether a character is white space or has no width.
fn is_odd(it: char) -> bool {
    let has_no_width = matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}');
    it.is_whitespace() || has_no_width
}

/// The granules to find: one id, or all ids with a prefix.
///
/// # Syntax
///
/// An id; or a prefix and `*`.
///
/// # Examples
///
/// ```
/// use accession::history::GranuleQuery;
///
/// let query: GranuleQuery = "A2001*".parse()?;
/// assert_eq!((query.as_str(), query.is_prefix()), ("A2001", true));
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GranuleQuery {
    first: GranuleId,
    /// The first string after all matching ids. `None` means that no string is after them.
    end: Option<Box<str>>,
    is_prefix: bool,
}

impl GranuleQuery {
    /// Matches the ids that begin with `text`.
    ///
    /// # Errors
    ///
    /// Those of [`GranuleId::new`]: if it rejects the prefix, no id begins with it.
    pub fn with_prefix(text: &str) -> Result<Self, ParseError> {
        let first = GranuleId::new(text)?;
        let mut characters: Vec<char> = text.chars().collect();
        let mut end = None;
        while let Some(last) = characters.pop() {
            if let Some(next) = (last..=char::MAX).nth(1) {
                characters.push(next);
                end = Some(characters.iter().collect::<String>().into());
                break;
            }
        }
        Ok(GranuleQuery { first, end, is_prefix: true })
    }

    /// The first id that may match, and the first string after all matching ids, in canonical order. `None`
    /// means that no string is after them.
    pub(crate) fn range(&self) -> (&GranuleId, Option<&str>) {
        (&self.first, self.end.as_deref())
    }

    /// Whether it matches all ids with a prefix.
    pub fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// The id, or the prefix.
    pub fn as_str(&self) -> &str {
        self.first.as_str()
    }

    /// The id, or the prefix, which is itself a valid id.
    pub fn first(&self) -> &GranuleId {
        &self.first
    }
}

impl From<GranuleId> for GranuleQuery {
    fn from(granule_id: GranuleId) -> Self {
        // No id is between the two strings, because ids have no control characters.
        let end = Some(format!("{granule_id}\u{1}").into());
        GranuleQuery { first: granule_id, end, is_prefix: false }
    }
}

impl FromStr for GranuleQuery {
    type Err = ParseError;

    /// # Errors
    ///
    /// Those of [`GranuleId::new`].
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.strip_suffix('*') {
            Some(prefix) => GranuleQuery::with_prefix(prefix),
            None => Ok(GranuleId::new(text)?.into()),
        }
    }
}

/// The error for a new id that begins with U+FEFF.
const BYTE_ORDER_MARK: ParseError = ParseError::fixed(
    "a new granule id cannot begin with U+FEFF, which is left out as a byte order mark when a list is read",
);

/// The error for a new id that begins with `./`.
pub(crate) const CURRENT_DIRECTORY: ParseError = ParseError::fixed(
    "a new granule id cannot begin with ./, which is the directory of a path and not part of its name",
);

/// The error for an id that is too long. `None` means that its length is unknown, because it was not read to
/// its end.
pub(crate) fn too_long(bytes: Option<usize>) -> ParseError {
    let bytes = bytes.map_or("more".to_owned(), |bytes| bytes.to_string());
    let most = "a granule id has at most 1,024 bytes";
    ParseError::new(format!("{most}, but this one has {bytes}"))
}

/// The error for an id that is not UTF-8 from this byte on, counted from 1.
fn not_utf8(byte: usize) -> ParseError {
    ParseError::new(format!("a granule id is UTF-8, but byte {byte} of this one is not"))
}

impl FromStr for GranuleId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        GranuleId::new(text)
    }
}

/// A page of granule ids, packed into one buffer.
///
/// Long lists are read and written faster in pages than as single [`GranuleId`]s, each of which is allocated
/// and checked separately.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdPage {
    /// The ids, each followed by a line feed, which no id contains.
    lines: String,
    /// The end of each id in `lines`.
    ends: Vec<usize>,
}

/// A page under construction, with bytes that are not checked yet.
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

    /// The id at an index. `None` means that the index is out of range.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        Some(&self.lines[start(&self.ends, index)..end])
    }

    /// The last id. `None` means that the page is empty.
    pub fn last(&self) -> Option<GranuleId> {
        let last = self.get(self.len().checked_sub(1)?)?;
        // Every id was checked when the page was made.
        GranuleId::new(last).ok()
    }

    /// The ids, in the order of insertion.
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

    /// The bytes of the id at an index. `None` means that the index is out of range.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        Some(&self.lines[start(&self.ends, index)..end])
    }

    /// Checks all ids at once.
    ///
    /// # Errors
    ///
    /// Those of [`GranuleId::new`] for the first id that is not valid.
    pub fn finish(self) -> Result<IdPage, ParseError> {
        if !self.is_plain() {
            (0..).map_while(|index| self.get(index)).try_for_each(|id| {
                let text =
                    std::str::from_utf8(id).map_err(|error| not_utf8(error.valid_up_to() + 1))?;
                GranuleId::check(text)
            })?;
        }
        let lines = String::from_utf8(self.lines)
            .map_err(|error| not_utf8(error.utf8_error().valid_up_to()))?;
        Ok(IdPage { lines, ends: self.ends })
    }

    /// Whether all ids are valid, printable ASCII. If they are, line feeds are the only other bytes.
    fn is_plain(&self) -> bool {
        // Counted in chunks short enough that a byte cannot overflow, so the loop is vectorised.
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

/// The start of an id: the byte after the line feed of the previous id.
fn start(ends: &[usize], index: usize) -> usize {
    if index == 0 { 0 } else { ends[index - 1] + 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refused_ids_say_why() {
        let cases: [(&[u8], &str); 9] = [
            (b"", "a granule id cannot be empty"),
            (b"A\nB", "a granule id has no control characters, but this one contains U+000A"),
            (b"A\r", "a granule id has no control characters, but this one contains U+000D"),
            (b"\0", "a granule id has no control characters, but this one contains U+0000"),
            (b"A\x7f", "a granule id has no control characters, but this one contains U+007F"),
            (
                "A\u{80}".as_bytes(),
                "a granule id has no control characters, but this one contains U+0080",
            ),
            (
                "A\u{9f}".as_bytes(),
                "a granule id has no control characters, but this one contains U+009F",
            ),
            (b"A\xff", "a granule id is UTF-8, but byte 2 of this one is not"),
            (&[b'a'; 1_025], "a granule id has at most 1,024 bytes, but this one has 1025"),
        ];
        for (bytes, message) in cases {
            assert_eq!(GranuleId::from_bytes(bytes).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn unusual_ids_that_are_allowed_are_kept_byte_for_byte() {
        for text in
            [" A", "A ", "#1", "a/b:c", "\"", "'", "0012", "1e5", "値", "A\u{a0}", "é", "e\u{301}"]
        {
            assert_eq!(GranuleId::new(text).unwrap().as_str(), text);
        }
        assert!(GranuleId::new("a".repeat(1_024)).is_ok());
    }

    #[test]
    fn a_new_id_does_not_begin_with_what_a_list_loses() {
        let check = |text: &str| GranuleId::new(text).unwrap().check_new();
        assert_eq!(check("\u{feff}A"), Err(BYTE_ORDER_MARK));
        assert_eq!(check("\u{feff}"), Err(BYTE_ORDER_MARK));
        assert_eq!(check("./A"), Err(CURRENT_DIRECTORY));
        assert_eq!(check("./"), Err(CURRENT_DIRECTORY));
        for text in ["A\u{feff}", ".", "..", "../A", ".A", "/A", "a/./b", " ./A"] {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn ids_are_ordered_by_their_bytes() {
        let mut granule_ids: Vec<GranuleId> =
            ["é", "z", "Z", "a b", "a", "a10", "a9", "\u{ffff}", "\u{10000}"]
                .into_iter()
                .map(|text| text.parse().unwrap())
                .collect();
        granule_ids.sort();
        let by_bytes: Vec<&str> = granule_ids.iter().map(GranuleId::as_str).collect();
        assert_eq!(by_bytes, ["Z", "a", "a b", "a10", "a9", "z", "é", "\u{ffff}", "\u{10000}"]);
    }

    #[test]
    fn white_space_at_an_end_is_noticed() {
        let id = |text| GranuleId::new(text).unwrap();
        assert!(id("A ").ends_with_blank() && !id("A ").has_odd_edge());
        assert!(id("\u{a0}A").has_odd_edge() && id("A\u{200b}").has_odd_edge());
        assert!(!id("A B").has_odd_edge() && !id("A B").ends_with_blank());
    }

    #[test]
    fn the_ids_with_a_prefix_are_those_of_its_range() {
        for (text, end) in [
            ("A", Some("B")),
            ("A\u{d7ff}", Some("A\u{e000}")),
            ("A\u{10ffff}\u{10ffff}", Some("B")),
            ("\u{10ffff}", None),
        ] {
            let prefix: GranuleQuery = format!("{text}*").parse().unwrap();
            assert_eq!(prefix.range(), (&GranuleId::new(text).unwrap(), end), "{text:?}");
            assert_eq!(GranuleQuery::with_prefix(text), Ok(prefix));
            assert!(end.is_none_or(|end| format!("{text}\u{10ffff}").as_str() < end));
        }
        assert!("*".parse::<GranuleQuery>().is_err());
        let one: GranuleQuery = "A".parse().unwrap();
        assert_eq!(
            (one.range(), one.is_prefix()),
            ((&"A".parse().unwrap(), Some("A\u{1}")), false)
        );
    }

    proptest! {
        /// Checking a page has the same result as checking its ids one by one.
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
