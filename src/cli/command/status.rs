use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use accession::model::quoted;
use accession::registry::{Listed, MirrorState, RootState, Withdrawn};
use accession::{Access, Confirmation, DatasetName, Registry, Snapshot, Timestamp};
use serde::Serialize;

use super::fixity::problems_of;
use crate::cli::args::{age, oldest};
use crate::cli::dataset_warnings::{in_force_now, warn_of_former_name};
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, Row, count, one_line};
use crate::cli::session::Session;

/// Show when datasets were last changed and confirmed, and what is wrong with them
///
/// The exit status is 1 if something is wrong: the set in force is annotated as questionable, a mirror
/// could not be pulled, a check found files that are not as recorded, or with --max-age something is
/// older, also the last check of a file with a recorded checksum. Datasets with problems are listed
/// first.
/// A dataset is as fresh as its last change, the last sync that found nothing to do, or the last time that
/// it was identical to its primary. Datasets that were withdrawn are left out.
///
/// Examples:
///   accession status
///   accession status US.FOOL2.002 --max-age 36h
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// The greatest age of the last change or confirmation, and of the last time that a mirror was
    /// identical: 90m, 36h or 2d
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,
}

/// The state of a dataset.
#[derive(Serialize)]
struct StatusRow {
    dataset: DatasetName,
    changed: Option<Changed>,
    confirmed: Option<Confirmation>,
    mirrors: Vec<Mirrored>,
    /// The state of its files. `None` means that nothing is recorded of them.
    fixity: Option<Fixity>,
    /// When it was last identical to the primary of its last pull.
    #[serde(skip)]
    identical: Option<Timestamp>,
    problems: Vec<String>,
    /// Whether the machine that has the dataset responds.
    #[serde(skip)]
    is_reachable: bool,
}

/// The last change.
#[derive(Serialize)]
struct Changed {
    timestamp: Timestamp,
    recorded: Timestamp,
}

/// What checks of the files found.
#[derive(Serialize)]
struct Fixity {
    /// How many findings are open.
    open: usize,
    roots: Vec<RootState>,
}

/// A primary of a mirror.
#[derive(Serialize)]
struct Mirrored {
    source: String,
    identical: Option<Timestamp>,
}

/// The number of datasets that are read at once.
const PAGE_DATASETS: u32 = 1_000;

/// How many rows are printed as text: one screen.
const MAX_ROWS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let now = session.now()?;
        let oldest = self.max_age.map(|age| oldest(now, age));
        let mut rows = Vec::new();
        if !self.datasets.is_empty() {
            let snapshot = registry.snapshot()?;
            let mut named = Vec::new();
            for name in &self.datasets {
                let listed = snapshot.dataset(name)?;
                warn_of_former_name(session, name, &listed.dataset.name);
                named.push(listed);
            }
            named.retain(|listed| listed.withdrawn.is_none());
            rows = of_page(&snapshot, named, now, oldest)?;
        } else {
            let mut after = None;
            loop {
                let snapshot = registry.snapshot()?;
                let page = snapshot.reachable_datasets(
                    after.as_ref(),
                    Withdrawn::LeftOut,
                    PAGE_DATASETS,
                )?;
                rows.append(&mut of_page(&snapshot, page.datasets, now, oldest)?);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        for row in &mut rows {
            row.check_fixity(&registry, oldest)?;
        }
        rows.sort_by_cached_key(|row| (Reverse(row.problems.len()), row.seen()));
        let wrong = rows.iter().filter(|row| !row.problems.is_empty()).count();
        let shown = if session.is_json() { rows.len() } else { MAX_ROWS };
        session.rows(rows.iter().take(shown).map(Ok))?;
        if !session.is_json() {
            let more = rows.len().saturating_sub(shown);
            if more > 0 {
                writeln!(session.out(), "… and {more} more; --json lists all")?;
            }
            let datasets = count(rows.len() as u64, "dataset");
            match wrong {
                0 => writeln!(session.out(), "{datasets}: all well")?,
                wrong => writeln!(session.out(), "{datasets}: {wrong} with problems")?,
            }
        }
        Ok(if wrong == 0 { Exit::Done } else { Exit::Differs })
    }
}

/// The states of some datasets. `oldest`: when each must have been seen. `None`: at any time.
fn of_page(
    snapshot: &Snapshot,
    datasets: Vec<Listed>,
    now: Timestamp,
    oldest: Option<Timestamp>,
) -> Result<Vec<StatusRow>> {
    let names: Vec<&DatasetName> = datasets.iter().map(|listed| &listed.dataset.name).collect();
    let mut mirrors: BTreeMap<DatasetName, Vec<MirrorState>> = BTreeMap::new();
    for state in snapshot.mirror_states(&names)? {
        mirrors.entry(state.dataset.clone()).or_default().push(state);
    }
    let mut rows = Vec::new();
    for mut listed in datasets {
        in_force_now(snapshot, &mut listed, now)?;
        let mirrors = mirrors.remove(&listed.dataset.name).unwrap_or_default();
        rows.push(StatusRow::of(listed, mirrors, oldest));
    }
    Ok(rows)
}

impl StatusRow {
    fn of(listed: Listed, mirrors: Vec<MirrorState>, oldest: Option<Timestamp>) -> Self {
        let Listed { dataset, latest, confirmed, problem, .. } = listed;
        let mut problems: Vec<String> = problem.into_iter().collect();
        let is_reachable = problems.is_empty();
        let annotations = latest.iter().flat_map(|latest| &latest.annotations);
        problems.extend(
            annotations
                .filter(|annotation| annotation.questionable)
                .map(|annotation| format!("the set in force is questionable: {}", annotation.note)),
        );
        let changed =
            latest.map(|latest| Changed { timestamp: latest.timestamp, recorded: latest.recorded });
        let default = mirrors.iter().filter_map(|state| state.pulled).max();
        let is_default = |state: &&MirrorState| state.pulled.is_some() && state.pulled == default;
        for state in mirrors.iter().filter(is_default) {
            let source = quoted(&state.source);
            if let Some(failed) = &state.failed {
                let at = failed.recorded;
                problems.push(format!("{source} failed at {at}: {}", failed.message));
            }
            problems.extend(oldest.filter(|oldest| state.identical < Some(*oldest)).map(|_| {
                match state.identical {
                    Some(identical) => format!("not identical to {source} since {identical}"),
                    None => format!("never identical to {source}"),
                }
            }));
        }
        // One that was only compared, or imported from, is shown if the dataset was never pulled.
        let shown = mirrors.iter().find(is_default).map(|state| state.identical);
        let identical = mirrors.iter().map(|state| state.identical).max();
        let mut row = StatusRow {
            identical: shown.or(identical).flatten(),
            dataset: dataset.name,
            changed,
            confirmed,
            mirrors: mirrors
                .into_iter()
                .map(|state| Mirrored { source: state.source, identical: state.identical })
                .collect(),
            fixity: None,
            problems,
            is_reachable,
        };
        let seen = row.seen();
        if is_reachable && oldest.is_some_and(|oldest| seen < Some(oldest)) {
            row.problems.push(match seen {
                Some(seen) => format!("neither changed nor confirmed since {seen}"),
                None => "nothing was ever ingested".to_owned(),
            });
        }
        row
    }

    /// Adds what checks of the files found. One that cannot be read is a problem of its own already.
    fn check_fixity(&mut self, registry: &Registry, oldest: Option<Timestamp>) -> Result<()> {
        if !self.is_reachable {
            return Ok(());
        }
        let state = registry.fixity_state(&self.dataset, oldest)?;
        self.problems.extend(problems_of(&state, oldest));
        if !state.records.is_empty() || !state.roots.is_empty() {
            self.fixity = Some(Fixity { open: state.open.len(), roots: state.roots });
        }
        Ok(())
    }

    /// When the dataset was last changed, confirmed or found to be identical to a primary. `None` means
    /// never.
    fn seen(&self) -> Option<Timestamp> {
        let changed = self.changed.as_ref().map(|changed| changed.recorded);
        let confirmed = self.confirmed.as_ref().map(|confirmed| confirmed.recorded);
        let identical = self.mirrors.iter().filter_map(|mirror| mirror.identical).max();
        changed.max(confirmed).max(identical)
    }
}

impl Row for StatusRow {
    const COLUMNS: &'static [Column] = &[
        Column::text("dataset"),
        Column::text("changed"),
        Column::text("confirmed"),
        Column::text("identical"),
        Column::prose("problems"),
    ];

    fn cells(&self) -> Vec<String> {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
        vec![
            self.dataset.to_string(),
            time(self.changed.as_ref().map(|changed| changed.recorded)),
            time(self.confirmed.as_ref().map(|confirmed| confirmed.recorded)),
            time(self.identical),
            one_line(&self.problems.join("; ")).to_string(),
        ]
    }
}
