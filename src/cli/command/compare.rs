use std::io::{self, Write};

use accession::{Access, Counts, Difference, Set};
use anyhow::Result;

use crate::cli::args::TypedSet;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, Spool, Table, count, json, write_json_list};
use crate::cli::session::Session;

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
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let mut differences = snapshot.compare(&left, &right)?;
        drop(snapshot);
        let (mut only_left, mut only_right) = (Spool::default(), Spool::default());
        for difference in differences.by_ref() {
            let difference = difference?;
            match (difference, session.is_json()) {
                (Difference::OnlyLeft(id), true) => only_left.add(id)?,
                (Difference::OnlyRight(id), true) => only_right.add(id)?,
                (Difference::OnlyLeft(id), false) => writeln!(session.out(), "< {}", id.as_str())?,
                (Difference::OnlyRight(id), false) => writeln!(session.out(), "> {}", id.as_str())?,
            }
        }
        let counts = differences.counts();
        let sides = [("left", differences.left()), ("right", differences.right())];
        if session.is_json() {
            write_json(session, sides, counts, only_left, only_right)?;
        } else {
            let table = session.table(COLUMNS);
            write_summary(session.out(), table, sides, counts)?;
        }
        Ok(if counts.is_identical() { Exit::Done } else { Exit::Differs })
    }
}

/// Writes `{identical, left, right, matched, only_left, only_right}`, the lists from where they were
/// kept meanwhile.
fn write_json(
    session: &mut Session,
    sides: [(&str, &Set); 2],
    counts: Counts,
    only_left: Spool,
    only_right: Spool,
) -> Result<()> {
    write!(session.out(), "{{\"identical\":{}", counts.is_identical())?;
    for (name, set) in sides {
        write!(session.out(), ",\"{name}\":{}", json::to_string(set.instance()))?;
    }
    write!(session.out(), ",\"matched\":{}", counts.matched)?;
    write_json_list(session.out(), "only_left", only_left)?;
    write_json_list(session.out(), "only_right", only_right)?;
    Ok(writeln!(session.out(), "}}")?)
}

fn write_summary(
    out: &mut impl Write,
    mut table: Table,
    sides: [(&str, &Set); 2],
    counts: Counts,
) -> io::Result<()> {
    let Counts { matched, only_left, only_right } = counts;
    if counts.is_identical() {
        writeln!(out, "identical: {}", count(matched, "granule"))?;
    } else {
        writeln!(
            out,
            "different: {matched} in both, {only_left} only left, {only_right} only right"
        )?;
    }
    for (side, set) in sides {
        let (identifier, timestamp) = (set.identifier(), set.instance().timestamp);
        let cells = [
            side.to_owned(),
            identifier.to_string(),
            set.dataset().to_string(),
            timestamp.to_string(),
        ];
        table.add_row(out, cells)?;
    }
    table.finish(out)
}
