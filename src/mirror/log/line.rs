//! The content of a line of a log, its text, and its check. `reader` reads the lines in order.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::model::{
    AtMost, Content, Digest, Event, EventKind, GranuleId, Identifier, LineCheck, LogChange,
    SourceLocation, Timestamp, WrittenFile, check_characters,
};

/// The beginning of every log, whatever its version.
pub(crate) const BEGINNING: &str = "{\"accession_log\":";

/// The version that is written and read.
pub(super) const VERSION: u64 = 3;

/// The first line of every log of this version, without its line end.
pub const FIRST_LINE: &str = "{\"accession_log\":3,\"rule\":\"md5-chain\",\"check\":\"6a778144b6c78df49b8f31c5c675a95a449eaa474d56e0f4572fefc8ba194537\"}";

/// The greatest number of granules in a line, on all sides together. It limits the memory of a reader.
pub(crate) const LINE_GRANULES: usize = 1_000;

/// The length of the entries, in bytes of JSON, at which a line ends. The line includes the entry that reaches
/// it.
pub(crate) const LINE_BYTES: usize = 4 * 1_024 * 1_024;

/// The greatest length of a line in bytes, including its line end. It allows one byte less than [`LINE_BYTES`],
/// an entry with the greatest content (2 MiB need at most 12 MB as JSON), and a note (0.4 MB). A head has at
/// most 4 MiB.
pub(crate) const MAX_LINE_BYTES: u64 = 18 * 1_024 * 1_024;

const CHECK: &str = ",\"check\":\"";

/// A line as it is written, without its check. The order of the members is part of the format.
#[derive(Serialize)]
struct LogLineWritten<'a> {
    timestamp: Timestamp,
    ingested: Vec<EntryWritten<'a>>,
    deleted: Vec<EntryWritten<'a>>,
    described: Vec<EntryWritten<'a>>,
    replaced: Vec<EntryWritten<'a>>,
    #[serde(flatten)]
    end: Option<EndWritten<'a>>,
}

/// The members of the last line of a change.
#[derive(Serialize)]
struct EndWritten<'a> {
    note: &'a Option<String>,
    identifier: Identifier,
    digest: Digest,
}

/// A granule as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum EntryWritten<'a> {
    Id(&'a GranuleId),
    Object {
        granule: &'a GranuleId,
        #[serde(skip_serializing_if = "Option::is_none")]
        producer_granule: Option<&'a GranuleId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        files: Option<&'a Content>,
    },
}

/// The check of a line: the SHA-256 of the previous line's check and of the line, each with LF. For the first
/// line, only of the line. `body` is the line without its closing brace.
fn check_after(check: Option<LineCheck>, body: &str) -> LineCheck {
    let mut hash = Sha256::new();
    if let Some(check) = check {
        hash.update(format!("{check}\n"));
    }
    hash.update(body);
    hash.update("\n");
    LineCheck::from_bytes(hash.finalize().into())
}

/// Completes a line with its check and LF. `body` is the line without its closing brace.
pub(super) fn sealed(last: &mut Option<LineCheck>, body: &str) -> String {
    let check = check_after(*last, body);
    *last = Some(check);
    format!("{body}{CHECK}{check}\"}}\n")
}

/// Splits a line, given without its line end, into body and check. `None` means that it does not end with a
/// check.
pub(super) fn unsealed(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix("\"}")?.rsplit_once(CHECK)
}

/// Verifies a line, given with its line end. `last` is the check of the previous line; `None` means that the
/// line is the first. Returns the line's own check, which chains it to all earlier lines.
///
/// # Errors
///
/// What is wrong with the line.
pub(crate) fn verified(
    last: Option<LineCheck>,
    line: &[u8],
) -> std::result::Result<LineCheck, &'static str> {
    let text = line.strip_suffix(b"\n").ok_or("the line is cut")?;
    let sealed = std::str::from_utf8(text).ok().and_then(unsealed);
    let (body, check) = sealed.ok_or("the line does not end with its checksum")?;
    let own = check_after(last, body);
    match check == own.to_string() {
        true => Ok(own),
        false => Err("the line, or one before it, is not as it was written"),
    }
}

/// A later line, as it is read. Deviations from the canonical form are detected by writing it again
/// ([`LogLine::body`]).
#[derive(Deserialize)]
struct LogLineRead<'a> {
    #[serde(borrow)]
    timestamp: Text<'a>,
    #[serde(borrow)]
    ingested: AtMost<EntryRead<'a>, LINE_GRANULES>,
    #[serde(borrow)]
    deleted: AtMost<Text<'a>, LINE_GRANULES>,
    #[serde(borrow)]
    described: AtMost<EntryRead<'a>, LINE_GRANULES>,
    #[serde(borrow)]
    replaced: AtMost<EntryRead<'a>, LINE_GRANULES>,
    #[serde(default, borrow)]
    note: Option<Text<'a>>,
    #[serde(default, borrow)]
    identifier: Option<Text<'a>>,
    #[serde(default, borrow)]
    digest: Option<Text<'a>>,
}

/// A string that borrows from the line, unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A granule as it is read.
struct EntryRead<'a> {
    granule: Cow<'a, str>,
    producer_granule: Option<Cow<'a, str>>,
    files: Option<Vec<WrittenFile>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for EntryRead<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// Reads a string or an object. An untagged enum would copy every value first.
struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = EntryRead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id, or an object with granule, producer_granule and files")
    }

    fn visit_borrowed_str<E: de::Error>(
        self,
        text: &'de str,
    ) -> std::result::Result<Self::Value, E> {
        Ok(EntryRead { granule: Cow::Borrowed(text), producer_granule: None, files: None })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(EntryRead { granule: Cow::Owned(text.to_owned()), producer_granule: None, files: None })
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut members: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let (mut granule, mut producer_granule, mut files) = (None, None, None);
        while let Some(member) = members.next_key::<Text<'de>>()? {
            match &*member.0 {
                "granule" => granule = Some(members.next_value::<Text<'de>>()?.0),
                "producer_granule" => producer_granule = Some(members.next_value::<Text<'de>>()?.0),
                "files" => files = Some(members.next_value()?),
                _ => drop(members.next_value::<de::IgnoredAny>()?),
            }
        }
        let granule = granule.ok_or_else(|| de::Error::missing_field("granule"))?;
        Ok(EntryRead { granule, producer_granule, files })
    }
}

impl LogLine {
    /// Parses a line, given without its line end.
    ///
    /// # Errors
    ///
    /// What is wrong with the line.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let Ok(read) = serde_json::from_str::<LogLineRead<'_>>(text) else {
            return wrong("this line is not a change");
        };
        let LogLineRead { ingested, deleted, described, replaced, .. } = read;
        let has_more = [ingested.has_more, described.has_more, replaced.has_more];
        if has_more.contains(&true) || deleted.has_more {
            return wrong("it has more than 1,000 granules");
        }
        let note = read.note.map(|note| note.0);
        if note.as_ref().is_some_and(|note| note.len() > LogChange::MAX_NOTE_BYTES) {
            return wrong("its note has more than 64 KiB");
        }
        if let Some(Err(error)) = note.as_ref().map(|note| check_characters("note", note)) {
            return wrong(&error.to_string());
        }
        let end = match (read.identifier, read.digest) {
            (None, None) => None,
            (Some(identifier), Some(digest)) => {
                let identifier = parse_as(&identifier.0, "identifier")?;
                let digest = parse_as(&digest.0, "digest")?;
                Some(LogLineEnd { identifier, digest, note: note.map(Cow::into_owned) })
            }
            _ => return wrong("it has only one of identifier and digest"),
        };
        let timestamp = parse_as(&read.timestamp.0, "timestamp")?;
        let deleted = deleted.elements.into_iter().map(|text| EntryRead {
            granule: text.0,
            producer_granule: None,
            files: None,
        });
        let mut sides: [Vec<LogEntry>; 4] = Default::default();
        let read = [ingested.elements, deleted.collect(), described.elements, replaced.elements];
        for (side, read) in sides.iter_mut().zip(read) {
            *side = read.into_iter().map(LogEntry::of).collect::<Result<_>>()?;
        }
        let log_line = LogLine { timestamp, sides, end };
        let granules = log_line.granules();
        if granules > LINE_GRANULES {
            return wrong("it has more than 1,000 granules");
        }
        // All lines of a change except the last one are full.
        let is_full = || granules == LINE_GRANULES || log_line.entry_bytes() >= LINE_BYTES;
        if log_line.end.is_none() && !is_full() {
            return wrong("its change is divided elsewhere than after 1,000 granules or 4 MiB");
        }
        if log_line.body().ok().as_deref() != unsealed(text).map(|(body, _)| body) {
            return wrong("it is not in canonical form");
        }
        Ok(log_line)
    }

    /// The line in its canonical form, without its check.
    pub fn body(&self) -> serde_json::Result<String> {
        let written = self.sides.each_ref().map(|side| side.iter().map(LogEntry::written));
        let [ingested, deleted, described, replaced] = written.map(Iterator::collect);
        let end = self.end.as_ref();
        let mut text = serde_json::to_string(&LogLineWritten {
            timestamp: self.timestamp,
            ingested,
            deleted,
            described,
            replaced,
            end: end.map(|LogLineEnd { identifier, digest, note }| EndWritten {
                note,
                identifier: *identifier,
                digest: *digest,
            }),
        })?;
        // The check replaces the closing brace.
        text.pop();
        Ok(text)
    }

    /// The number of granules, on all sides.
    pub fn granules(&self) -> usize {
        self.sides.iter().map(Vec::len).sum()
    }

    /// The length of its entries, in bytes of JSON.
    pub fn entry_bytes(&self) -> usize {
        self.sides.iter().flatten().map(LogEntry::bytes).sum()
    }
}

/// Fails because of the current line. The reader adds its location.
fn wrong<T>(what: &str) -> Result<T> {
    Err(Error::not_a_manifest(what))
}

fn parse_as<T: std::str::FromStr>(text: &str, what: &str) -> Result<T> {
    text.parse().or_else(|_| wrong(&format!("{text:?} is not a valid {what}")))
}

impl LogEntry {
    fn of(read: EntryRead<'_>) -> Result<Self> {
        let EntryRead { granule, producer_granule, files } = read;
        let id = |text: &str| GranuleId::new(text).map_err(|cause| Error::not_an_id(text, cause));
        let granule_id = id(&granule)?;
        let producer_granule = producer_granule.map(|text| id(&text)).transpose()?;
        let content = files.map(|files| Content::from_written(&granule_id, files)).transpose();
        let content = content.or_else(|what| wrong(&format!("{granule_id:?}: {what}")))?;
        Ok(LogEntry { granule_id, producer_granule, content })
    }

    fn written(&self) -> EntryWritten<'_> {
        let LogEntry { granule_id, producer_granule, content } = self;
        match (producer_granule, content) {
            (None, None) => EntryWritten::Id(granule_id),
            (producer_granule, files) => EntryWritten::Object {
                granule: granule_id,
                producer_granule: producer_granule.as_ref(),
                files: files.as_ref(),
            },
        }
    }

    /// Its length, in bytes of JSON.
    pub fn bytes(&self) -> usize {
        // An id, a path and a checksum can always be serialized.
        serde_json::to_string(&self.written()).map_or(0, |text| text.len())
    }
}

/// A verified line: a change, or part of its granules.
#[derive(Debug)]
pub(crate) struct LogLine {
    /// When the change took effect.
    pub timestamp: Timestamp,
    /// The granules that were ingested, deleted, described and replaced, in the order of [`EventKind::SIDES`].
    pub sides: [Vec<LogEntry>; 4],
    /// The additional members of the last line of a change. `None` means that the change continues in the next
    /// line.
    pub end: Option<LogLineEnd>,
}

/// A granule of a line.
#[derive(Debug)]
pub(crate) struct LogEntry {
    pub granule_id: GranuleId,
    /// The producer's id. `None` means that it equals the granule's id.
    pub producer_granule: Option<GranuleId>,
    /// The complete records of its files after the change. `None` means that there are none, or that the
    /// granule was deleted.
    pub content: Option<Content>,
}

/// The additional members of the last line of a change.
#[derive(Debug)]
pub(crate) struct LogLineEnd {
    /// The identifier of the granules held since.
    pub identifier: Identifier,
    /// The digest of these granules, with the records of their files.
    pub digest: Digest,
    /// The note on the change.
    pub note: Option<String>,
}

/// The events of a line.
pub(crate) fn events(
    log_line: LogLine,
    location: &SourceLocation,
) -> impl Iterator<Item = Event> + use<'_> {
    let at = log_line.timestamp;
    EventKind::SIDES.into_iter().zip(log_line.sides).flat_map(move |(kind, entries)| {
        entries.into_iter().map(move |LogEntry { granule_id, producer_granule, content }| {
            let location = Some(location.clone());
            Event { at, kind, granule_id, producer_granule, content, location }
        })
    })
}
