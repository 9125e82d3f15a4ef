use std::io::{self, Write};

use accession::{DatasetName, Moment, ParseError};
use serde_json::Value;

use crate::args::{ClockArgs, moment};
use crate::error::{Exit, Result};
use crate::output::{Output, in_words, plural};
use crate::session::{Create, Session};

/// Take the last changes out of a history
///
/// For a wrong date, or a wrong first change. The dataset gets a new history up to TIME, with the same identifiers,
/// notes, files, annotations and subsets. The earlier history is kept as NAME.before-DATE, withdrawn and without the
/// DOI: all identifiers still resolve. Mirrors of NAME report `rewritten`.
///
/// Examples:
///   accession dataset correct FOO --after 2024-03-05 --dry-run
///   accession dataset correct FOO --after none
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Correct {
    /// The dataset
    name: DatasetName,

    /// The time up to which the changes stay; a date means the end of that day. none: no change stays
    #[arg(long, value_name = "TIME|none", value_parser = after)]
    after: After,

    /// Show what would change, and record nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

/// The changes that are kept.
#[derive(Debug, Clone, Copy)]
enum After {
    None,
    Time(Moment),
}

fn after(text: &str) -> Result<After, ParseError> {
    if text == "none" { Ok(After::None) } else { moment(text).map(After::Time) }
}

impl Correct {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let after = match self.after {
            After::None => None,
            After::Time(at) => Some(at),
        };
        let report = session.write(Create::Never, self.clock.time(), |registry, _| {
            Ok(registry.correct_dataset(&self.name, after, self.dry_run)?)
        })?;
        session.present_done(&report, write_report)
    }
}

fn write_report(out: &mut Output, done: &Value) -> io::Result<()> {
    let [name, kept_as] = ["dataset", "kept_as"].map(|member| in_words(&done[member]));
    if done["dry_run"] == true {
        write!(out, "dry run: ")?;
    }
    let changes = |part: &str| done[part]["changes"].as_u64().unwrap_or_default();
    let (kept, dropped) = (changes("kept"), changes("dropped"));
    let held = done["latest"]["granules"].as_u64().unwrap_or_default();
    writeln!(out, "{name}: {kept} of {} changes kept, holds {held}", kept + dropped)?;
    if let Some(identifier) = done["latest"]["identifier"].as_str() {
        writeln!(out, "identifier DI:{identifier}")?;
    }
    writeln!(out, "the earlier history is {kept_as}: withdrawn, without a DOI")?;
    let only_there = ["subsets", "annotations"].into_iter().filter_map(|what| {
        let count = done["dropped"][what].as_u64().filter(|count| *count > 0)?;
        Some(plural(count, what.trim_end_matches('s')))
    });
    let only_there: Vec<String> = only_there.collect();
    if !only_there.is_empty() {
        writeln!(out, "only there: {}", only_there.join(", "))?;
    }
    if done["dry_run"] == true {
        return writeln!(out, "dry run: nothing was changed");
    }
    match done["latest"].is_null() {
        true => writeln!(
            out,
            "mirrors of {name} will fail until the next change, and report `rewritten` after it"
        ),
        false => writeln!(
            out,
            "mirrors of {name} will report `stale`, and `rewritten` after the next change"
        ),
    }
}
