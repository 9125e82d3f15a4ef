use std::io::Write;
use std::time::Duration;

use accession::mirror::source_name;
use accession::model::{age, quoted};
use accession::registry::{MirrorSource, Withdrawn};
use accession::{Access, DatasetName, Identifier, Snapshot, Timestamp};
use serde::Serialize;

use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::{Column, count};
use crate::cli::session::Session;

/// List the primaries that mirrors were compared with, and whether the mirrors follow them
///
/// The exit status is 1 if the last attempt to read or to pull the primary of the last pull, which is
/// the default, failed, or if the mirror was last identical to it longer ago than --max-age. Others
/// do not count: one that was only compared, or of which a replica was imported, is never old. `accession
/// status --max-age` shows how old a replica is. Without names, datasets that were withdrawn are left out.
///
/// Examples:
///   accession mirror status THEM.FOOL2.002
///   accession mirror status --max-age 36h
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Status {
    /// The dataset [default: all]
    dataset: Option<DatasetName>,

    /// The longest time since a mirror was identical to its primary: 90m, 36h or 2d
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,
}

/// What is known of a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// The mirror was identical to it when it was last read.
    Identical,
    /// The mirror was behind it when it was last read.
    Behind,
    /// The mirror was last identical to it too long ago. It is the default.
    Old,
    /// It could not be read, or the mirror may not be pulled from it.
    Failed,
}

/// A primary of a mirror.
#[derive(Serialize)]
struct MirrorRow<'a> {
    dataset: &'a DatasetName,
    source: &'a str,
    changes: u64,
    timestamp: Option<Timestamp>,
    identifier: Option<Identifier>,
    read: Timestamp,
    identical: Option<Timestamp>,
    pulled: Option<Timestamp>,
    default: bool,
    failed: Option<Timestamp>,
    failure: Option<&'a str>,
    verdict: Verdict,
}

impl Status {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let found = match &self.dataset {
            Some(dataset) => snapshot.mirror_sources(dataset)?,
            None => sources(&snapshot)?,
        };
        drop(snapshot);
        let now = session.now()?;
        let oldest = self.max_age.map(|age| now.before(age));
        let rows = found.iter().map(|source| MirrorRow::of(source, oldest));
        let rows: Vec<MirrorRow<'_>> = rows.collect();
        let is_wrong = rows
            .iter()
            .any(|row| row.default && matches!(row.verdict, Verdict::Old | Verdict::Failed));
        session.rows(SOURCES, rows.iter().map(Ok))?;
        Ok(if is_wrong { Exit::Differs } else { Exit::Done })
    }
}

/// The primaries of all datasets that were not withdrawn.
pub fn sources(snapshot: &Snapshot) -> accession::error::Result<Vec<MirrorSource>> {
    let datasets = snapshot.all_datasets(Withdrawn::LeftOut)?;
    let sources = datasets.iter().map(|listed| snapshot.mirror_sources(&listed.dataset.name));
    Ok(sources.collect::<accession::error::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

impl<'a> MirrorRow<'a> {
    /// `oldest`: when a mirror must have been identical. `None`: at any time.
    fn of(source: &'a MirrorSource, oldest: Option<Timestamp>) -> Self {
        let (last, failed) = (source.last.as_ref(), source.failed.as_ref());
        let oldest = oldest.filter(|_| source.is_default);
        let verdict = match source.identical {
            _ if failed.is_some() => Verdict::Failed,
            identical if oldest.is_some_and(|oldest| identical < Some(oldest)) => Verdict::Old,
            identical if identical < Some(source.read) => Verdict::Behind,
            _ => Verdict::Identical,
        };
        MirrorRow {
            dataset: &source.dataset,
            source: &source.source,
            changes: last.map_or(0, |last| last.number),
            timestamp: last.map(|last| last.timestamp),
            identifier: last.map(|last| last.identifier),
            read: source.read,
            identical: source.identical,
            pulled: source.pulled.as_ref().map(|pulled| pulled.recorded),
            default: source.is_default,
            failed: failed.map(|failed| failed.recorded),
            failure: failed.map(|failed| failed.message.as_str()),
            verdict,
        }
    }
}

/// What is shown of each primary.
const SOURCES: &[Column] = &[
    Column::text("dataset"),
    Column::text("verdict"),
    Column::number("changes"),
    Column::text("up to").of("timestamp"),
    Column::text("read"),
    Column::text("identical").or("never"),
    Column::text("default"),
    Column::prose("source"),
    Column::prose("last error").of("failure"),
];

/// Forget what was read of a primary, and that a mirror was pulled from it
///
/// The primary is no longer listed by `mirror status`. If it was the one from which the mirror was
/// last pulled, the one before it is pulled the next time, or none. The history of the mirror is not
/// changed. When the primary is read again, an older state of it is not noticed.
///
/// Examples:
///   accession mirror forget THEM.FOOL2.002 old.manifest.jsonl
///   accession mirror forget THEM.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Forget {
    /// The dataset
    dataset: DatasetName,

    /// The primary, as `accession mirror status` lists it
    source: String,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Forgotten<'a> {
    dataset: &'a DatasetName,
    source: &'a str,
    /// How many changes of its log were remembered.
    changes: u64,
}

impl Forget {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let snapshot = registry.snapshot()?;
        let dataset = snapshot.dataset(&self.dataset)?.dataset.name;
        let known = snapshot.mirror_sources(&dataset)?;
        drop(snapshot);
        let meant = source_name(&self.source);
        let found = known.iter().find(|known| [&self.source, &meant].contains(&&known.source));
        let Some(MirrorSource { source, last, is_default, .. }) = found else {
            let message = format!("{dataset} has no primary {}", quoted(&meant));
            let hint = match known.is_empty() {
                true => format!("nothing was forgotten: no primary was ever read for {dataset}"),
                false => format!(
                    "nothing was forgotten; `accession mirror status {dataset}` lists its primaries"
                ),
            };
            return Err(Error::usage(message).with_hint(hint));
        };
        registry.forget_mirror_source(&dataset, source)?;
        let left = registry.snapshot()?.mirror_sources(&dataset)?;
        let next = left.iter().find(|left| left.is_default);
        let changes = last.as_ref().map_or(0, |last| last.number);
        session.confirm(&Forgotten { dataset: &dataset, source, changes }, |out| {
            let changes = count(changes, "change");
            writeln!(out, "{dataset}: forgot {source}, of which {changes} had been read")?;
            match (is_default, next) {
                (false, _) => Ok(()),
                (true, Some(next)) => writeln!(out, "it is pulled from {} now", next.source),
                (true, None) => writeln!(out, "the next pull of {dataset} must name its primary"),
            }
        })
    }
}
