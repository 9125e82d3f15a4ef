use std::io::{self, Write};

use accession::{Access, Comparison, Difference, GranuleId, Instance};
use anyhow::Result;
use serde::Serialize;

use crate::cli::args::TypedSet;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, Table, count};
use crate::cli::session::{Session, printed};

/// Compare two sets of granules, and print the granules that only one of them has
///
/// The exit status is 1 if they differ. Granules that only the left set has are printed after <, and
/// those that only the right set has after >.
///
/// Examples:
///   accession compare US.FOOL2.002@2001-01-05 THEM.FOOL2.002@2001-02-03
///   accession compare DI:763122197bfb3ffbf0da14adbfb1b13b US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// An identifier, DATASET (its latest set), or DATASET@TIME
    left: TypedSet,

    /// An identifier, DATASET (its latest set), or DATASET@TIME
    right: TypedSet,
}

#[derive(Serialize)]
struct Compared<'a> {
    identical: bool,
    left: &'a Instance,
    right: &'a Instance,
    only_left: &'a [GranuleId],
    only_right: &'a [GranuleId],
}

const COLUMNS: [Column; 4] = [
    Column::text("side"),
    Column::text("identifier"),
    Column::text("dataset"),
    Column::text("as of"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let now = session.now()?;
        let (left, right) = (self.left.into_selection(now)?, self.right.into_selection(now)?);
        let mut registry = session.open(Access::Read)?;
        let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
        let comparison = printed(registry.compare(&left, &right, |difference| {
            match difference {
                Difference::OnlyLeft(granule_id) if session.is_json() => only_left.push(granule_id),
                Difference::OnlyRight(granule_id) if session.is_json() => {
                    only_right.push(granule_id);
                }
                Difference::OnlyLeft(granule_id) => {
                    let id = granule_id.as_str();
                    writeln!(session.out(), "< {id}")?;
                }
                Difference::OnlyRight(granule_id) => {
                    let id = granule_id.as_str();
                    writeln!(session.out(), "> {id}")?;
                }
            }
            Ok(())
        }))?;
        if session.is_json() {
            session.json(&Compared {
                identical: comparison.is_identical(),
                left: &comparison.left,
                right: &comparison.right,
                only_left: &only_left,
                only_right: &only_right,
            })?;
        } else {
            let table = session.table(COLUMNS);
            write_summary(session.out(), table, &comparison)?;
        }
        Ok(if comparison.is_identical() { Exit::Done } else { Exit::Differs })
    }
}

fn write_summary(
    out: &mut impl Write,
    mut table: Table,
    comparison: &Comparison,
) -> io::Result<()> {
    let Comparison { left, right, matched, only_left, only_right } = comparison;
    if comparison.is_identical() {
        writeln!(out, "identical: {}", count(*matched, "granule"))?;
    } else {
        writeln!(
            out,
            "different: {matched} in both, {only_left} only left, {only_right} only right"
        )?;
    }
    for (side, instance) in [("left", left), ("right", right)] {
        let Instance { dataset, timestamp, identifier, .. } = instance;
        let cells =
            [side.to_owned(), identifier.to_string(), dataset.to_string(), timestamp.to_string()];
        table.add_row(out, cells)?;
    }
    table.finish(out)
}
