use std::io::Write;
use std::time::Duration;

use accession::DatasetName;
use accession::Warning;
use accession::status::StatusThresholds;
use accession::text::parse_duration;

use crate::args::named_or_all;
use crate::error::{Exit, Result};
use crate::output::{Column, in_words, plural, to_the_second};
use crate::session::Session;

/// Show when datasets were last changed and confirmed, and what is wrong with them
///
/// The exit status is 1 if something is wrong: the set in force is annotated as questionable, the last
/// listing was refused by sync, a mirror could not be pulled, a check found files that are not as
/// recorded, or with --max-age or --checked-within something is older, or was not seen by enough
/// witnesses when it was so old. Datasets with problems are listed first, and below them the first ten
/// files of each that are not as recorded.
/// A dataset is as fresh as its last change, the last sync that found nothing to do, or the last time that
/// it was identical to its primary. Datasets that were withdrawn are left out.
///
/// Examples:
///   accession status
///   accession status US.FOOL2.002 --max-age 36h --checked-within 90d
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// The greatest age of the last change or confirmation, of the last time that a mirror was
    /// identical, and of what was signed and waits for witnesses: 90m, 36h or 2d
    #[arg(long, value_name = "AGE", value_parser = parse_duration)]
    max_age: Option<Duration>,

    /// The time within which all files were checked, in each directory where they ever were, or in
    /// which a check of them has begun: 36h or 90d
    #[arg(long, value_name = "AGE", value_parser = parse_duration)]
    checked_within: Option<Duration>,
}

/// How many rows are printed as text: one screen.
const MAX_ROWS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        let now = registry.now();
        let oldest = StatusThresholds {
            seen: self.max_age.map(|age| now.before(age)),
            checked: self.checked_within.map(|age| now.before(age)),
        };
        let snapshot = registry.snapshot()?;
        for name in &self.datasets {
            session.warn_all(Warning::of_former_name(name, &snapshot.dataset(name)?.dataset.name));
        }
        drop(snapshot);
        let rows = registry.status(&named_or_all(&self.datasets), oldest)?;
        let wrong = rows.iter().filter(|row| !row.problems.is_empty()).count();
        if session.is_json() {
            rows.iter().try_for_each(|row| session.json(row))?;
        } else {
            let shown = MAX_ROWS;
            session.rows(STATUS, rows.iter().take(shown).map(Ok))?;
            let checked =
                rows.iter().take(shown).filter_map(|row| Some((row, row.fixity.as_ref()?)));
            for (row, checked) in checked.filter(|(_, checked)| checked.open > 0) {
                let files = plural(checked.open, "file");
                writeln!(session.out(), "\n{}: {files} not as recorded", row.dataset)?;
                session.rows(OPEN_FINDINGS, checked.first.iter().map(Ok))?;
                let more = checked.open - checked.first.len() as u64;
                if more > 0 {
                    writeln!(session.out(), "… and {more} more")?;
                }
            }
            let more = rows.len().saturating_sub(shown);
            if more > 0 {
                writeln!(session.out(), "… and {more} more; --json lists all")?;
            }
            let datasets = plural(rows.len() as u64, "dataset");
            match wrong {
                0 => writeln!(session.out(), "{datasets}: all well")?,
                wrong => writeln!(session.out(), "{datasets}: {wrong} with problems")?,
            }
        }
        Ok(if wrong == 0 { Exit::Done } else { Exit::Differs })
    }
}

/// What is shown of each dataset.
const STATUS: &[Column] = &[
    Column::text("dataset"),
    Column::text("changed").of("changed/recorded").by(to_the_second),
    Column::text("confirmed").of("confirmed/timestamp").by(to_the_second).if_any(),
    Column::text("identical").by(to_the_second).if_any(),
    Column::prose("problems").by(|problems| {
        let problems = problems.as_array().into_iter().flatten();
        problems.map(in_words).collect::<Vec<_>>().join("; ")
    }),
];

/// What is shown of each file that is not as recorded.
const OPEN_FINDINGS: &[Column] = &[
    Column::text("granule"),
    // The path of a file that is its granule is not printed twice.
    Column::text("path").unless("granule"),
    Column::text("status"),
    Column::text("first seen").of("first_seen").by(to_the_second),
    Column::text("root"),
    Column::prose("found"),
];
