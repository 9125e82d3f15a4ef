//! The manifest: a dataset's change log in JSON Lines, all that is needed to rebuild and verify it
//! elsewhere.
//!
//! # Format, version 1
//!
//! UTF-8, a JSON object a line (RFC 8259), lines ended by LF (U+000A), no blank lines.
//!
//! The first line is the head:
//!
//! - `accession_manifest`: 1, the version. A reader refuses a greater one.
//! - `rule`: `"md5-chain"`, by which identifiers are computed ([`crate::chain`]).
//! - `dataset`: its record: `name`, `doi`, `title`, `description`, `creators`, `publisher`, `version`,
//!   `year`, `url`, `licence`, `archive`; null where the record has no value.
//! - `instances`: how many changes follow.
//! - `latest`: the identifier after the last of them; null if there is none.
//!
//! Then the changes in order of time, each in one line or, beyond 1,000 granules, in several with
//! the same `timestamp`, so that a reader needs memory for one line only:
//!
//! - `timestamp`: when the change took effect, RFC 3339 in UTC with `Z`; later than that of the
//!   change before.
//! - `ingested`: the granules that came: each an id, or `{"granule":…,"producer_granule":…}`.
//! - `deleted`: the ids of the granules that went.
//! - `note`, `identifier`: in the last line of a change only: what the archivist noted (or null),
//!   and the identifier after it, 32 lower-case hexadecimal characters.
//!
//! Granules that came stand before those that went, each in ascending order of their UTF-8 bytes.
//! The last member of every line is
//!
//! - `check`: the `md5-chain` of the lines so far, each taken from its `{` to just before
//!   `,"check":`. So a line that is cut, changed, missing or out of place is found where it is.
//!
//! One history gives the same bytes wherever it is written: when changes were recorded, which is
//! each archive's own, is left out.
//!
//! ```json
//! {"accession_manifest":1,"rule":"md5-chain","dataset":{"name":"US","doi":null,"title":null,"description":null,"creators":[],"publisher":null,"version":null,"year":null,"url":null,"licence":null,"archive":null},"instances":1,"latest":"bf072e9119077b4e76437a93986787ef","check":"c83675cee7469e753c950e3937260ca6"}
//! {"timestamp":"2001-01-02T00:00:00Z","ingested":["A"],"deleted":[],"note":null,"identifier":"bf072e9119077b4e76437a93986787ef","check":"b8e1cba51406f8fb96e5c45c234619e6"}
//! ```
//!
//! `manifest.schema.json` beside this file is a JSON Schema of a line. Members that are not named here may be added by a later version 1, and are passed over.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use crate::chain::Chain;
use crate::input::{Error as InputError, InputErrorKind, MAX_ROW_BYTES};
use crate::model::{
    Creator, Dataset, DatasetName, Event, EventKind, GranuleId, Identifier, Instance,
    SourceLocation, Timestamp,
};
use crate::registry::{Expected, Exported, Import, Registry};

/// The version that is written, and the greatest that is read.
const VERSION: u64 = 1;

/// How every manifest begins.
pub const BEGINNING: &str = "{\"accession_manifest\":";

/// Granules in one line.
const LINE_GRANULES: usize = 1_000;

const CHECK: &str = ",\"check\":\"";

/// Writes the manifest of a dataset. `out` should not be slow, since the registry's write-ahead log
/// grows meanwhile.
///
/// # Errors
///
/// [`crate::Error::NoDataset`]; [`crate::Error::Inconsistent`]: the rows are not those that the
/// history counts; [`Error::Output`]: what `out` returned.
pub fn write(registry: &Registry, dataset: &DatasetName, out: &mut impl Write) -> Result<()> {
    let failed = |source| Error::Output { source };
    let writer = std::cell::RefCell::new(Writer { out, chain: Chain::start(), part: Vec::new() });
    registry.snapshot()?.export(
        dataset,
        |export| {
            let head = Head {
                accession_manifest: VERSION,
                rule: "md5-chain",
                dataset: export.dataset,
                instances: export.instances,
                latest: export.latest,
            };
            writer.borrow_mut().line(&head).map_err(failed)
        },
        |exported| {
            let mut writer = writer.borrow_mut();
            match exported {
                Exported::Event { at, kind, granule_id, producer_granule } => {
                    if writer.part.len() == LINE_GRANULES {
                        writer.part(None).map_err(failed)?;
                    }
                    let location = None;
                    writer.part.push(Event { at, kind, granule_id, producer_granule, location });
                    Ok(())
                }
                Exported::Change(instance) => writer.part(Some(&instance)).map_err(failed),
            }
        },
    )
}

struct Writer<'out, W> {
    out: &'out mut W,
    chain: Chain,
    /// The events of the next line.
    part: Vec<Event>,
}

#[derive(Serialize)]
struct Head {
    accession_manifest: u64,
    rule: &'static str,
    dataset: Dataset,
    instances: u64,
    latest: Option<Identifier>,
}

#[derive(Serialize)]
struct Part<'a> {
    timestamp: Timestamp,
    ingested: Vec<Came<'a>>,
    deleted: Vec<&'a GranuleId>,
    #[serde(flatten)]
    end: Option<End<'a>>,
}

#[derive(Serialize)]
struct End<'a> {
    note: &'a Option<String>,
    identifier: Identifier,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Came<'a> {
    Id(&'a GranuleId),
    WithProducer { granule: &'a GranuleId, producer_granule: &'a GranuleId },
}

impl<W: Write> Writer<'_, W> {
    fn part(&mut self, end: Option<&Instance>) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        let of = |kind| part.iter().filter(move |event| event.kind == kind);
        let Some(timestamp) =
            end.map(|end| end.timestamp).or_else(|| part.first().map(|event| event.at))
        else {
            return Ok(());
        };
        let came = of(EventKind::Ingested).map(|event| match &event.producer_granule {
            None => Came::Id(&event.granule_id),
            Some(producer_granule) => {
                Came::WithProducer { granule: &event.granule_id, producer_granule }
            }
        });
        self.line(&Part {
            timestamp,
            ingested: came.collect(),
            deleted: of(EventKind::Deleted).map(|event| &event.granule_id).collect(),
            end: end.map(|end| End { note: &end.note, identifier: end.identifier }),
        })
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(line)?;
        let body = text.strip_suffix('}').unwrap_or(&text);
        self.chain.push(body);
        writeln!(self.out, "{body}{CHECK}{}\"}}", self.chain.identifier())
    }
}

/// The head of a manifest, as it is read.
#[derive(Deserialize)]
struct HeadRead {
    accession_manifest: u64,
    #[serde(default)]
    rule: String,
    #[serde(default)]
    dataset: DatasetRead,
    #[serde(default)]
    instances: u64,
    #[serde(default)]
    latest: Option<String>,
}

#[derive(Deserialize, Default)]
struct DatasetRead {
    #[serde(default)]
    name: String,
    doi: Option<String>,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    creators: Vec<String>,
    publisher: Option<String>,
    version: Option<String>,
    year: Option<u16>,
    url: Option<String>,
    archive: Option<String>,
    licence: Option<String>,
}

#[derive(Deserialize)]
struct PartRead {
    timestamp: String,
    ingested: Vec<CameRead>,
    deleted: Vec<String>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    identifier: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CameRead {
    Id(String),
    WithProducer { granule: String, producer_granule: String },
}

/// A manifest that is being read: its head, and then its changes.
pub struct Reader<R> {
    file: R,
    name: Arc<str>,
    line: u64,
    chain: Chain,
    dataset: Dataset,
    instances: u64,
    latest: Option<Identifier>,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read a manifest; `name` is how messages call it.
    ///
    /// # Errors
    ///
    /// It is none, or one of a newer version.
    pub fn open(file: R, name: &str) -> std::result::Result<Self, InputError> {
        let dataset = Dataset::named("unread".parse().expect("it has letters only"));
        let mut reader = Reader {
            file,
            name: name.into(),
            line: 0,
            chain: Chain::start(),
            dataset,
            instances: 0,
            latest: None,
        };
        let Some(body) = reader.body()? else { return reader.fail("it is empty") };
        let head: HeadRead = match serde_json::from_str(&body) {
            Ok(head) => head,
            Err(_) => return reader.fail("its first line is no head"),
        };
        if head.rule != "md5-chain" {
            return reader.fail("its identifiers follow another rule than md5-chain");
        }
        reader.dataset = reader.record(head.dataset)?;
        reader.instances = head.instances;
        reader.latest = head.latest.map(|text| reader.parse(&text, "identifier")).transpose()?;
        Ok(reader)
    }

    /// The record of the dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Reads all changes into an import, which then makes each only if it leads to the identifier
    /// that stands here.
    ///
    /// # Errors
    ///
    /// [`Error::Input`]: what is wrong, and in which line.
    pub fn read_into(mut self, import: &mut Import, mut read: impl FnMut(u64)) -> Result<()> {
        import.describe(self.dataset.clone());
        let (mut changes, mut latest) = (0, None);
        let mut open: Option<Timestamp> = None;
        let mut last: Option<Timestamp> = None;
        let mut events = 0;
        while let Some(body) = self.body()? {
            let Ok(part) = serde_json::from_str::<PartRead>(&body) else {
                return Ok(self.fail("this line is no change")?);
            };
            let at: Timestamp = self.parse(&part.timestamp, "timestamp")?;
            if open.is_some_and(|open| open != at) || last.is_some_and(|last| at <= last) {
                return Ok(self.fail("its time does not come after that of the change before")?);
            }
            open = Some(at);
            events += part.ingested.len() + part.deleted.len();
            read((part.ingested.len() + part.deleted.len()) as u64);
            for came in part.ingested {
                let (granule, producer) = match came {
                    CameRead::Id(granule) => (granule, None),
                    CameRead::WithProducer { granule, producer_granule } => {
                        (granule, Some(producer_granule))
                    }
                };
                let producer = producer.map(|text| self.granule_id(text)).transpose()?;
                import.add(self.event(at, EventKind::Ingested, granule, producer)?)?;
            }
            for granule in part.deleted {
                import.add(self.event(at, EventKind::Deleted, granule, None)?)?;
            }
            let Some(identifier) = part.identifier else { continue };
            if std::mem::take(&mut events) == 0 {
                return Ok(self.fail("its change brings nothing and takes nothing")?);
            }
            let identifier = self.parse(&identifier, "identifier")?;
            let location = Some(self.location());
            import.expect(at, Expected { identifier: Some(identifier), note: part.note, location });
            (latest, last, open) = (Some(identifier), Some(at), None);
            changes += 1;
        }
        if open.is_some() || changes != self.instances {
            let what =
                format!("it is cut short: {changes} of its {} changes are here", self.instances);
            return Ok(self.fail(&what)?);
        }
        if latest != self.latest {
            return Ok(self.fail("the last identifier is not the one its head names")?);
        }
        Ok(())
    }

    fn event(
        &self,
        at: Timestamp,
        kind: EventKind,
        granule: String,
        producer_granule: Option<GranuleId>,
    ) -> std::result::Result<Event, InputError> {
        let granule_id = self.granule_id(granule)?;
        Ok(Event { at, kind, granule_id, producer_granule, location: Some(self.location()) })
    }

    fn granule_id(&self, text: String) -> std::result::Result<GranuleId, InputError> {
        GranuleId::new(text.as_str()).map_err(|cause| {
            InputError::new(&self.name, self.line, InputErrorKind::GranuleId { text, cause })
        })
    }

    fn location(&self) -> SourceLocation {
        SourceLocation::Line { source: self.name.clone(), line: self.line }
    }

    fn parse<T: std::str::FromStr>(
        &self,
        text: &str,
        what: &str,
    ) -> std::result::Result<T, InputError> {
        text.parse().or_else(|_| self.fail(&format!("{text:?} is not a {what}")))
    }

    fn record(&self, read: DatasetRead) -> std::result::Result<Dataset, InputError> {
        let mut dataset = Dataset::named(
            DatasetName::from_stored(&read.name)
                .or_else(|_| self.fail(&format!("{:?} is not a dataset name", read.name)))?,
        );
        dataset.url = read.url.map(|text| self.parse(&text, "web address")).transpose()?;
        dataset.doi = read.doi.map(|text| self.parse(&text, "DOI")).transpose()?;
        let year = read.year.map(|year| self.parse(&year.to_string(), "year"));
        dataset.year = year.transpose()?;
        dataset.creators = read
            .creators
            .iter()
            .map(|text| {
                Creator::organisation(text).map_or_else(
                    |_| self.parse(text, "creator"),
                    |whole| Ok(text.parse().unwrap_or(whole)),
                )
            })
            .collect::<std::result::Result<_, InputError>>()?;
        let DatasetRead { title, description, publisher, version, archive, licence, .. } = read;
        Ok(Dataset { title, description, publisher, version, archive, licence, ..dataset })
    }

    /// The next line without its check, closed again; none at the end.
    fn body(&mut self) -> std::result::Result<Option<String>, InputError> {
        self.line += 1;
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(MAX_ROW_BYTES).read_until(b'\n', &mut bytes);
        if let Err(cause) = read {
            return Err(InputError::new(&self.name, self.line, InputErrorKind::of_io(cause)));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some(line) = bytes.strip_suffix(b"\n") else {
            return self.fail("the line is cut, or longer than any should be");
        };
        let text = std::str::from_utf8(line).ok();
        if self.line == 1 {
            self.refuse_newer(text.unwrap_or_default())?;
        }
        let parts = text.and_then(|text| text.strip_suffix("\"}")?.rsplit_once(CHECK));
        let Some((body, check)) = parts else {
            return self.fail("the line does not end with its check");
        };
        self.chain.push(body);
        if check != self.chain.identifier().to_string() {
            return self.fail("the line, or one before it, is not as it was written");
        }
        Ok(Some(format!("{body}}}")))
    }

    /// A newer version may have other checks, so it is asked for first.
    fn refuse_newer(&self, head: &str) -> std::result::Result<(), InputError> {
        match serde_json::from_str::<HeadRead>(head) {
            Ok(HeadRead { accession_manifest: found, .. }) if found > VERSION => {
                self.fail(&format!("it has version {found}, this program reads {VERSION}"))
            }
            Ok(_) => Ok(()),
            Err(_) => self.fail("its first line is no head"),
        }
    }

    fn fail<T>(&self, what: &str) -> std::result::Result<T, InputError> {
        let kind = InputErrorKind::Manifest { what: what.to_owned() };
        Err(InputError::new(&self.name, self.line, kind))
    }
}
