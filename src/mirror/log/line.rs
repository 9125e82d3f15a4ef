//! The lines of a log, as they are written and as they are read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::chain::Chain;
use crate::model::{AtMost, GranuleId, Identifier, Timestamp};

/// How every log begins, whatever its version.
pub const BEGINNING: &str = "{\"accession_log\":";

/// The version that is written and read.
pub(super) const VERSION: u64 = 1;

/// The first line of every log of this version, without its line end.
pub const FIRST_LINE: &str =
    "{\"accession_log\":1,\"rule\":\"md5-chain\",\"check\":\"6cec330d363715611a235d9ceefcef5c\"}";

/// The greatest number of granules in a line, so that a reader needs memory for one line only.
pub(crate) const LINE_GRANULES: usize = 1_000;

/// The greatest length of a line in bytes, its line end included. 1,000 ids of the greatest length, each
/// with a producer's id, have 4.2 MB if all of their characters are escaped; a note has 0.4 MB, and a head
/// at most 4 MiB.
pub(crate) const MAX_LINE_BYTES: u64 = 8 * 1_024 * 1_024;

const CHECK: &str = ",\"check\":\"";

/// A line without its check, as it is written. The order of the members is part of the format.
#[derive(Serialize)]
struct LogLineWritten<'a> {
    timestamp: Timestamp,
    ingested: Vec<IngestedWritten<'a>>,
    deleted: Vec<&'a GranuleId>,
    #[serde(flatten)]
    end: Option<EndWritten<'a>>,
}

/// The members of the last line of a change.
#[derive(Serialize)]
struct EndWritten<'a> {
    note: &'a Option<String>,
    identifier: Identifier,
}

/// An ingested granule, as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum IngestedWritten<'a> {
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

/// Verifies the checks of lines, which chain each line to all before it.
pub(crate) struct Checks(Chain);

impl Checks {
    /// Continues after a line with this check. `None` means that the log begins here.
    pub fn after(check: Option<Identifier>) -> Self {
        Checks(check.map_or_else(Chain::start, Chain::resume))
    }

    /// Verifies the next line, which is given with its line end.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn verify(&mut self, line: &[u8]) -> Result<Identifier, &'static str> {
        let text = line.strip_suffix(b"\n").ok_or("the line is cut")?;
        let sealed = std::str::from_utf8(text).ok().and_then(unsealed);
        let (body, check) = sealed.ok_or("the line does not end with its checksum")?;
        self.0.push(body);
        let own = self.0.identifier();
        match check == own.to_string() {
            true => Ok(own),
            false => Err("the line, or one before it, is not as it was written"),
        }
    }
}

/// A further line, as it is read. What is not in canonical form is found by writing it again
/// ([`LogLine::body`]).
#[derive(Deserialize)]
pub(super) struct LogLineRead<'a> {
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub ingested: AtMost<IngestedRead<'a>, LINE_GRANULES>,
    #[serde(borrow)]
    pub deleted: AtMost<Text<'a>, LINE_GRANULES>,
    #[serde(default, borrow)]
    pub note: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub identifier: Option<Text<'a>>,
}

/// A string that borrows from the line, unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// An ingested granule, as it is read.
pub(super) struct IngestedRead<'a> {
    pub granule: Cow<'a, str>,
    pub producer_granule: Option<Cow<'a, str>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for IngestedRead<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IngestedVisitor)
    }
}

/// Reads a string or an object. An untagged enum would copy every value first.
struct IngestedVisitor;

impl<'de> Visitor<'de> for IngestedVisitor {
    type Value = IngestedRead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id, or an object with granule and producer_granule")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(IngestedRead { granule: Cow::Borrowed(text), producer_granule: None })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(IngestedRead { granule: Cow::Owned(text.to_owned()), producer_granule: None })
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
        Ok(IngestedRead { granule, producer_granule })
    }
}

impl LogLine {
    /// The line in its canonical form, without its check.
    pub fn body(&self) -> serde_json::Result<String> {
        let ingested =
            self.ingested.iter().map(|(granule, producer_granule)| match producer_granule {
                None => IngestedWritten::Id(granule),
                Some(producer_granule) => {
                    IngestedWritten::WithProducer { granule, producer_granule }
                }
            });
        let end = self.end.as_ref();
        let mut text = serde_json::to_string(&LogLineWritten {
            timestamp: self.timestamp,
            ingested: ingested.collect(),
            deleted: self.deleted.iter().collect(),
            end: end.map(|end| EndWritten { note: &end.note, identifier: end.identifier }),
        })?;
        // The check takes the place of the closing brace.
        text.pop();
        Ok(text)
    }
}

/// A verified line: a change, or some of its granules.
#[derive(Debug)]
pub(crate) struct LogLine {
    /// When the change took effect.
    pub timestamp: Timestamp,
    /// The granules that were ingested, and the producer's id of each that has another one.
    pub ingested: Vec<(GranuleId, Option<GranuleId>)>,
    /// The granules that were deleted.
    pub deleted: Vec<GranuleId>,
    /// What the last line of a change adds. `None` means that the change continues in the next line.
    pub end: Option<LogLineEnd>,
}

/// What the last line of a change adds.
#[derive(Debug)]
pub(crate) struct LogLineEnd {
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The note that was kept with the change.
    pub note: Option<String>,
}
