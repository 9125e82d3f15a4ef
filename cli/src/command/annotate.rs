use std::io::{self, Write};

use accession::history::{Annotated, NewAnnotation};
use accession::{Moment, SetSpec, Warning};
use serde::Serialize;
use serde_json::Value;

use crate::args::{ClockArgs, moment};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Output, annotation_in, write_rows};
use crate::session::Session;

/// Add a note to a set
///
/// The history does not change. The note is shown wherever the set is: by history, show, check and cite, and on web pages. An identifier that was
/// in force several times is annotated each time. The same note is added only once.
///
/// Examples:
///   accession annotate US.FOOL2.002@2001-01-05 'the listing was incomplete' --questionable
///   accession annotate SNE@2017-04-18 'half of the nodes were down' --until 2017-04-20 --questionable
///   accession annotate DI:763122197bfb3ffbf0da14adbfb1b13b 'used for the 2001 assessment'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: see `accession --help`
    set: SetSpec,

    /// The note
    #[arg(value_name = "TEXT")]
    note: String,

    /// Annotate every set from that of DATASET@TIME until the one that was in force at this time: RFC 3339,
    /// or a date, which means the end of that day
    #[arg(long, value_name = "T", value_parser = moment)]
    until: Option<Moment>,

    /// Warn anyone who cites this set
    #[arg(long)]
    questionable: bool,

    /// Show which sets would be annotated, without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.note.trim().is_empty() {
            return Err(Error::usage("the note is empty")
                .with_hint("say what readers of the set should know"));
        }
        let mut note = NewAnnotation::new(self.note)?;
        (note.questionable, note.dry_run) = (self.questionable, self.dry_run);
        note.until = self.until;
        let registry = session.open_to_change(self.clock.time())?;
        let snapshot = registry.snapshot()?;
        let at = self.set.time();
        let resolution = snapshot.resolve(&self.set)?;
        session.warn_all(resolution.warnings().to_vec());
        if at.is_some() {
            session.warn_all(Warning::of_others(at, &resolution.names()?.others));
        }
        let selection = resolution.selection().clone();
        drop(resolution);
        drop(snapshot);
        let annotated = registry.annotate(&selection, &note)?;
        // A user who tries a command wants to see its effect.
        if !session.is_quiet() || session.is_json() || self.dry_run {
            let dry_run = self.dry_run;
            let rows = annotated.iter().map(|annotated| AnnotatedRow { annotated, dry_run });
            session.present_list(&rows.collect::<Vec<_>>(), write_annotated)?;
        }
        Ok(Exit::Done)
    }
}

/// An instance that was annotated, or would be without the dry run, as JSON.
#[derive(Serialize)]
struct AnnotatedRow<'a> {
    #[serde(flatten)]
    annotated: &'a Annotated,
    dry_run: bool,
}

fn write_annotated(out: &mut Output, annotated: &Value) -> io::Result<()> {
    const COLUMNS: &[Column] = &[
        Column::text("dataset"),
        Column::text("timestamp"),
        Column::text("identifier"),
        Column::prose("annotation").of("").by(annotation_in),
    ];
    let rows = annotated.as_array().map_or(&[][..], Vec::as_slice);
    write_rows(out, COLUMNS, rows)?;
    if rows.iter().any(|row| row["dry_run"] == true) {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
