use std::io::Write;
use std::time::Duration;

use accession::model::{Warning, age};
use accession::registry::{FixityState, OpenFinding, Withdrawn};
use accession::{Access, DatasetName, Registry, Timestamp};
use serde::Serialize;

use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, Row, count, one_line};
use crate::cli::session::Session;

/// Show when files were checked, and what is wrong with them
///
/// A row is printed for each dataset and each directory in which its files were checked, with the
/// time since when every recorded file was checked there, and below it what is wrong: the latest
/// finding of each file, until the file is found to be good, its granule is deleted, other content is
/// accepted, or the directory is forgotten. The exit status is 1 if something is wrong, or with
/// --max-age if a file was neither recorded nor checked within that time. Datasets that were
/// withdrawn are left out.
///
/// Examples:
///   accession fixity status
///   accession fixity status US.FOOL2.002 --max-age 90d
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset [default: all]
    dataset: Option<DatasetName>,

    /// The greatest age of the last check of each file: 90m, 36h or 90d
    #[arg(long, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,
}

/// How many findings of a dataset are printed as text: one screen.
const MAX_FINDINGS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let now = session.now()?;
        let oldest = self.max_age.map(|age| now.before(age));
        let (mut is_wrong, mut datasets) = (false, 0_u64);
        let mut list = session.list();
        let mut open = Vec::new();
        for name in self.datasets(&registry, session)? {
            let state = registry.fixity_state(&name, oldest)?;
            is_wrong |= !state.problems(oldest).is_empty();
            datasets += 1;
            if session.is_json() {
                session.json(&state)?;
                continue;
            }
            for row in rows_of(&state, oldest) {
                list.add(session, &row)?;
            }
            open.extend((!state.open.is_empty()).then_some((name, state.open)));
        }
        list.finish(session)?;
        if !session.is_json() {
            for (name, findings) in &open {
                writeln!(session.out(), "\n{name}: {}", count(findings.len() as u64, "finding"))?;
                let shown = findings.iter().take(MAX_FINDINGS).map(|it| Ok(Shown(it)));
                session.rows(shown)?;
                let more = findings.len().saturating_sub(MAX_FINDINGS);
                if more > 0 {
                    writeln!(session.out(), "… and {more} more; --json lists all")?;
                }
            }
            if open.is_empty() && !is_wrong {
                writeln!(session.out(), "{}: no findings", count(datasets, "dataset"))?;
            }
        }
        Ok(if is_wrong { Exit::Differs } else { Exit::Done })
    }

    fn datasets(&self, registry: &Registry, session: &Session) -> Result<Vec<DatasetName>> {
        let snapshot = registry.snapshot()?;
        if let Some(name) = &self.dataset {
            let found = snapshot.dataset(name)?.dataset.name;
            session.warn_all(Warning::of_former_name(name, &found));
            return Ok(vec![found]);
        }
        let listed = snapshot.all_datasets(Withdrawn::LeftOut)?;
        Ok(listed.into_iter().map(|listed| listed.dataset.name).collect())
    }
}

/// The files of a dataset at a root, as text.
#[derive(Serialize)]
struct AtRoot {
    dataset: String,
    granules: u64,
    records: String,
    root: String,
    since: String,
    problems: String,
}

fn rows_of(state: &FixityState, oldest: Option<Timestamp>) -> Vec<AtRoot> {
    let records: Vec<String> =
        state.records.iter().map(|(algorithm, files)| format!("{files} {algorithm}")).collect();
    let row = |root: String, since: String| AtRoot {
        dataset: state.dataset.to_string(),
        granules: state.granules,
        records: records.join(", "),
        root,
        since,
        problems: String::new(),
    };
    let of_root = state.roots.iter().map(|root| {
        let since = root.since.map_or("not all".to_owned(), |since| since.to_string());
        row(one_line(&root.root).to_string(), since)
    });
    let mut rows: Vec<AtRoot> = of_root.collect();
    if rows.is_empty() {
        rows.push(row(String::new(), String::new()));
    }
    rows[0].problems = one_line(&state.problems(oldest).join("; ")).to_string();
    rows
}

impl Row for AtRoot {
    const COLUMNS: &'static [Column] = &[
        Column::text("dataset"),
        Column::number("granules"),
        Column::text("records"),
        Column::text("root"),
        Column::text("all checked since"),
        Column::prose("problems"),
    ];

    fn cells(&self) -> Vec<String> {
        let AtRoot { dataset, granules, records, root, since, problems } = self;
        let texts = [dataset, &granules.to_string(), records, root, since, problems];
        texts.map(String::clone).into()
    }
}

/// A finding, as text.
#[derive(Serialize)]
struct Shown<'a>(&'a OpenFinding);

impl Row for Shown<'_> {
    const COLUMNS: &'static [Column] = &[
        Column::text("granule"),
        Column::text("path"),
        Column::text("status"),
        Column::text("found on"),
        Column::text("root"),
        Column::prose("found"),
    ];

    fn cells(&self) -> Vec<String> {
        let OpenFinding { root, granule, path, status, found, checked, .. } = self.0;
        let is_granule = granule.as_ref() == Some(path);
        vec![
            granule.clone().unwrap_or_default(),
            if is_granule { String::new() } else { path.clone() },
            status.clone(),
            checked.to_string(),
            root.clone(),
            found.clone().unwrap_or_default(),
        ]
    }
}
