//! The lines of a log, as they are written and as they are read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use crate::model::{GranuleId, Identifier, Timestamp};

/// How every log begins, whatever its version.
pub const BEGINNING: &str = "{\"accession_log\":";

/// The version that is written and read.
pub(super) const VERSION: u64 = 1;

/// The first line of every log of this version, without its line end.
pub const FIRST_LINE: &str =
    "{\"accession_log\":1,\"rule\":\"md5-chain\",\"check\":\"6cec330d363715611a235d9ceefcef5c\"}";

/// The greatest number of granules in a line, so that a reader needs memory for one line only.
pub(super) const LINE_GRANULES: usize = 1_000;

/// The greatest length of a line in bytes, its line end included: that of 1,000 ids of the greatest
/// length, each with a producer's id, and a note of 64 KiB, whose characters are all escaped.
pub(crate) const MAX_LINE_BYTES: u64 = 16 * 1_024 * 1_024;

const CHECK: &str = ",\"check\":\"";

/// A line without its check, as it is written. The order of the members is part of the format.
#[derive(Serialize)]
pub(super) struct PartWritten<'a> {
    pub timestamp: Timestamp,
    pub ingested: Vec<Came<'a>>,
    pub deleted: Vec<&'a GranuleId>,
    #[serde(flatten)]
    pub end: Option<EndWritten<'a>>,
}

/// The members of the last line of a change.
#[derive(Serialize)]
pub(super) struct EndWritten<'a> {
    pub note: &'a Option<String>,
    pub identifier: Identifier,
}

/// An ingested granule, as it is written.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Came<'a> {
    Id(&'a GranuleId),
    WithProducer { granule: &'a GranuleId, producer_granule: &'a GranuleId },
}

/// Ends a line, which is given without its closing brace, with its check and LF.
pub(super) fn sealed(chain: &mut Chain, body: &str) -> String {
    chain.push(body);
    format!("{body}{CHECK}{}\"}}\n", chain.identifier())
}

/// The body and the check of a line without its line end. `None` means that it does not end with a check.
pub(super) fn unsealed(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix("\"}")?.rsplit_once(CHECK)
}

/// The first line, as it is read.
#[derive(Deserialize)]
pub(super) struct FirstRead {
    pub accession_log: u64,
    #[serde(default)]
    pub rule: String,
}

/// A further line, as it is read. Members that are not named are ignored.
#[derive(Deserialize)]
pub(super) struct PartRead<'a> {
    #[serde(borrow)]
    pub timestamp: Cow<'a, str>,
    #[serde(borrow)]
    pub ingested: Vec<CameRead<'a>>,
    #[serde(borrow)]
    pub deleted: Vec<Text<'a>>,
    #[serde(default)]
    pub note: Option<String>,
    #[serde(default, borrow)]
    pub identifier: Option<Cow<'a, str>>,
}

/// A string that borrows from the line, unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// An ingested granule, as it is read.
pub(super) struct CameRead<'a> {
    pub granule: Cow<'a, str>,
    pub producer_granule: Option<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for CameRead<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CameVisitor)
    }
}

/// Reads a string or an object. An untagged enum would copy every value first.
struct CameVisitor;

impl<'de> Visitor<'de> for CameVisitor {
    type Value = CameRead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id, or an object with granule and producer_granule")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(CameRead { granule: Cow::Borrowed(text), producer_granule: None })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(CameRead { granule: Cow::Owned(text.to_owned()), producer_granule: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut granule, mut producer_granule) = (None, None);
        while let Some(member) = members.next_key::<Text<'de>>()? {
            match &*member.0 {
                "granule" => granule = Some(members.next_value::<Text<'de>>()?.0),
                "producer_granule" => producer_granule = Some(members.next_value::<Text<'de>>()?.0),
                _ => drop(members.next_value::<de::IgnoredAny>()?),
            }
        }
        let granule = granule.ok_or_else(|| de::Error::missing_field("granule"))?;
        Ok(CameRead { granule, producer_granule })
    }
}

/// A verified line: a change, or some of its granules.
#[derive(Debug)]
pub(crate) struct Part {
    /// When the change took effect.
    pub timestamp: Timestamp,
    /// The granules that were ingested, and the producer's id of each that has another one.
    pub ingested: Vec<(GranuleId, Option<GranuleId>)>,
    /// The granules that were deleted.
    pub deleted: Vec<GranuleId>,
    /// What the last line of a change adds. `None` means that the change continues in the next line.
    pub end: Option<PartEnd>,
}

/// What the last line of a change adds.
#[derive(Debug)]
pub(crate) struct PartEnd {
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The note that was kept with the change.
    pub note: Option<String>,
}
