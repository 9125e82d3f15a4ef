use std::io::Write;
use std::time::Duration;

use accession::mirror::source_name;
use accession::model::{age, quoted};
use accession::registry::{MirrorSource, Withdrawn};
use accession::{Access, DatasetName, Snapshot, Timestamp};

use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::{Column, Object, count};
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
pub struct ListPrimaries {
    /// The dataset [default: all]
    dataset: Option<DatasetName>,

    /// The longest time since a mirror was identical to its primary: 90m, 36h or 2d
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,
}

impl ListPrimaries {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let found = match &self.dataset {
            Some(dataset) => snapshot.mirror_sources(dataset)?,
            None => sources(&snapshot)?,
        };
        drop(snapshot);
        let now = session.now()?;
        let oldest = self.max_age.map(|age| now.before(age));
        session.rows(SOURCES, found.iter().map(|source| Ok(row(source, oldest))))?;
        let is_wrong = |source: &MirrorSource| {
            source.is_default && [OLD, FAILED].contains(&verdict(source, oldest))
        };
        Ok(if found.iter().any(is_wrong) { Exit::Differs } else { Exit::Done })
    }
}

/// The primaries of all datasets that were not withdrawn.
pub fn sources(snapshot: &Snapshot) -> accession::error::Result<Vec<MirrorSource>> {
    let datasets = snapshot.all_datasets(Withdrawn::LeftOut)?;
    let sources = datasets.iter().map(|listed| snapshot.mirror_sources(&listed.dataset.name));
    Ok(sources.collect::<accession::error::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The verdict on a default to which the mirror was last identical too long ago.
const OLD: &str = "old";

/// The verdict on a primary that could not be read, or from which the mirror may not be pulled.
const FAILED: &str = "failed";

/// What is known of a primary. `oldest`: when a mirror must have been identical to its default. `None`: at
/// any time.
fn verdict(source: &MirrorSource, oldest: Option<Timestamp>) -> &'static str {
    let oldest = oldest.filter(|_| source.is_default);
    match source.identical {
        _ if source.failed.is_some() => FAILED,
        identical if oldest.is_some_and(|oldest| identical < Some(oldest)) => OLD,
        // As it was when it was last read.
        identical if identical < Some(source.read) => "behind",
        _ => "identical",
    }
}

/// A primary of a mirror.
fn row(source: &MirrorSource, oldest: Option<Timestamp>) -> Object {
    let (last, failed) = (source.last.as_ref(), source.failed.as_ref());
    object!({
        "dataset": source.dataset,
        "source": source.source,
        "changes": last.map_or(0, |last| last.number),
        "timestamp": last.map(|last| last.timestamp),
        "identifier": last.map(|last| last.identifier),
        "read": source.read,
        "identical": source.identical,
        "pulled": source.pulled.as_ref().map(|pulled| pulled.recorded),
        "default": source.is_default,
        "failed": failed.map(|failed| failed.recorded),
        "failure": failed.map(|failed| &failed.message),
        "verdict": verdict(source, oldest),
    })
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
pub struct ForgetPrimary {
    /// The dataset
    dataset: DatasetName,

    /// The primary, as `accession mirror status` lists it
    source: String,
}

impl ForgetPrimary {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Write)?;
        let snapshot = registry.snapshot()?;
        let dataset = snapshot.dataset(&self.dataset)?.dataset.name;
        let known = snapshot.mirror_sources(&dataset)?;
        drop(snapshot);
        let meant = source_name(&self.source);
        let found = known.iter().find(|known| [&self.source, &meant].contains(&&known.source));
        let Some(MirrorSource { stored, last, is_default, .. }) = found else {
            let message = format!("{dataset} has no primary {}", quoted(&meant));
            let hint = match known.is_empty() {
                true => format!("nothing was forgotten: no primary was ever read for {dataset}"),
                false => format!(
                    "nothing was forgotten; `accession mirror status {dataset}` lists its primaries"
                ),
            };
            return Err(Error::usage(message).with_hint(hint));
        };
        let source = &stored.source;
        registry.forget_mirror_source(&dataset, source)?;
        let left = registry.snapshot()?.mirror_sources(&dataset)?;
        let next = left.iter().find(|left| left.is_default);
        let changes = last.as_ref().map_or(0, |last| last.number);
        let forgotten = object!({ "dataset": dataset, "source": source, "changes": changes });
        session.confirm(&forgotten, |out| {
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
