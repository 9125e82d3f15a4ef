//! NASA Cumulus' unique granule ids: `<producer granule id>_<suffix>`.
//!
//! The suffix is the beginning of an MD5 in base64url, without padding and **with every `_` removed**. (The
//! document's step 4 only says "slice". Its three reference implementations, and the released code of Cumulus,
//! remove `_` first.) So its alphabet has 63 symbols, and the suffix of an id is the text after its last `_`.
//!
//! The MD5 is of the collection id (formula C, shipped since 2025), or of the collection id, `_` and a time in
//! nanoseconds, which gives a new id at each call. Formula B, of 2025-07, hashed
//! `<granule id>_<collection id>`; such ids are in use, and [`explain`] recognises them.
//!
//! Source: "Unique Granule ID Generation Strategy", by NASA Cumulus. Its errors are listed in
//! docs/about/errata.md, Unique granule ids.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest, Md5};

use crate::model::{GranuleId, ParseError, quoted};

/// A collection id of Cumulus: `name___version`. The version is a string (`001` is not `1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionId(String);

impl FromStr for CollectionId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.is_empty() || text.chars().any(char::is_control) {
            let message =
                "a collection id is a string such as MOD09GQ___006, without control characters";
            return Err(ParseError::new(message));
        }
        Ok(CollectionId(text.to_owned()))
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The length of a suffix in characters: 1 to 22, by default 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashLength(u8);

impl HashLength {
    /// Returns all lengths, the shortest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=22).map(HashLength)
    }

    /// Returns the length as a number.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl Default for HashLength {
    fn default() -> Self {
        HashLength(8)
    }
}

impl FromStr for HashLength {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.parse() {
            Ok(length @ 1..=22) => Ok(HashLength(length)),
            _ => Err(ParseError::new("a suffix has 1 to 22 characters, 8 by default")),
        }
    }
}

/// Creates the unique id of a producer's granule. With `nanoseconds`, the time is also hashed. With `None`, the
/// same granule and collection give the same id at each call.
///
/// # Errors
///
/// The hash is shorter than the requested suffix; or the id would be longer than 1,024 bytes, or would begin
/// like no new id may.
///
/// # Examples
///
/// ```
/// use accession::ids::granule::{HashLength, unique};
///
/// let producer = "MOD09GQ.A2017224.h09v02.006.2017227165020".parse()?;
/// let granule_id = unique(&producer, &"MOD09GQ___006".parse()?, HashLength::default(), None)?;
/// assert_eq!(granule_id.as_str(), "MOD09GQ.A2017224.h09v02.006.2017227165020_wJJ69jjW");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unique(
    producer: &GranuleId,
    collection: &CollectionId,
    hash_length: HashLength,
    nanoseconds: Option<u128>,
) -> Result<GranuleId, ParseError> {
    let hashed = match nanoseconds {
        None => collection.to_string(),
        Some(nanoseconds) => format!("{collection}_{nanoseconds}"),
    };
    let hash = hash(&hashed);
    let (asked, left) = (hash_length.get(), hash.len());
    // In this case, the reference implementations silently return a shorter suffix.
    let too_short = || {
        ParseError::new(format!(
            "a suffix of {asked} characters cannot be made from {hashed}: without _ the hash has {left}"
        ))
    };
    let suffix = hash.get(..asked).ok_or_else(too_short)?;
    GranuleId::new(format!("{producer}_{suffix}"))
        .and_then(|granule_id| granule_id.check_new().map(|()| granule_id))
        .map_err(|cause| {
            let producer = quoted(producer.as_str());
            ParseError::new(format!("{producer} with its suffix is refused: {cause}"))
        })
}

/// The MD5 in base64url, without `_`.
fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Md5::digest(text)).replace('_', "")
}

/// Splits a unique id at its last `_` into the producer's id and the suffix, which has no `_`. `None` means
/// that there is no `_`, or nothing on one side of it.
pub fn split(granule_id: &GranuleId) -> Option<(&str, &str)> {
    let (producer, suffix) = granule_id.as_str().rsplit_once('_')?;
    (!producer.is_empty() && !suffix.is_empty()).then_some((producer, suffix))
}

/// The formula that made an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// The hash of `<granule id>_<collection id>`, used in 2025-07.
    B,
    /// The hash of `<collection id>`, which Cumulus ships.
    C,
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Formula::B => "B",
            Formula::C => "C",
        })
    }
}

/// Returns the formula that made the suffix of an id, given its collection. `None` means that the id belongs to
/// another collection, or that the time was also hashed, which cannot be recognised.
pub fn explain(producer: &str, suffix: &str, collection: &CollectionId) -> Option<Formula> {
    let formulas =
        [(Formula::C, collection.to_string()), (Formula::B, format!("{producer}_{collection}"))];
    let made = formulas.into_iter().find(|(_, hashed)| hash(hashed).starts_with(suffix));
    made.map(|(formula, _)| formula)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(length: u8) -> HashLength {
        HashLength(length)
    }

    #[test]
    fn formula_b_is_recognised() {
        let producer = "MOD09GQ.A2017224.h09v02.006.2017227165020";
        let collection = "MOD09GQ___006".parse().unwrap();
        assert_eq!(explain(producer, "aoYA4tTn", &collection), Some(Formula::B));
        assert_eq!(explain(producer, "aoYA4tTm", &collection), None);
    }

    #[test]
    fn erratum_the_hash_is_sliced_after_its_underscores_are_removed() {
        let text = URL_SAFE_NO_PAD.encode(Md5::digest("testCollection"));
        assert_eq!(&text[..8], "PF_A7fPR", "as in the document's step 4");
        assert_eq!(&hash("testCollection")[..8], "PFA7fPRD", "as in its implementations");
    }

    #[test]
    fn a_suffix_longer_than_the_hash_is_refused_and_says_how_long_it_can_be() {
        let producer: GranuleId = "a".parse().unwrap();
        let collection: CollectionId = "otherType___002".parse().unwrap();
        assert!(unique(&producer, &collection, length(20), None).is_ok());
        let refused = unique(&producer, &collection, length(21), None).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a suffix of 21 characters cannot be made from otherType___002: without _ the hash has 20"
        );
        for text in ["0", "23", "-1", "x", ""] {
            assert!(text.parse::<HashLength>().is_err(), "{text}");
        }
    }

    #[test]
    fn with_a_time_each_call_makes_a_different_id() {
        let producer: GranuleId = "a".parse().unwrap();
        let collection: CollectionId = "MOD09GQ___006".parse().unwrap();
        let at =
            |nanoseconds| unique(&producer, &collection, length(8), Some(nanoseconds)).unwrap();
        assert_ne!(at(1_700_000_000_000_000_000), at(1_700_000_000_000_000_001));
        assert_eq!(at(5), at(5));
    }

    #[test]
    fn an_id_without_two_sides_of_an_underscore_is_not_split() {
        for text in ["a", "_a", "a_"] {
            assert_eq!(split(&text.parse().unwrap()), None, "{text}");
        }
    }
}
