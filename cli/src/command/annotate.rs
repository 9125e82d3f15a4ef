use std::io::Write;

use accession::Moment;
use accession::Warning;
use accession::history::NewAnnotation;

use crate::args::ClockArgs;
use crate::args::{TypedSet, moment};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, annotation_in};
use crate::session::Session;

/// Add a note to a set that is in the history, without changing the history
///
/// It is shown wherever the set is: by history, lookup, resolve, check and cite, and on the pages. An
/// identifier that was in force several times is annotated each time. The same note is added only
/// once.
///
/// Examples:
///   accession annotate US.FOOL2.002@2001-01-05 --questionable --note 'the listing was incomplete'
///   accession annotate SNE@2017-04-18 --until 2017-04-20 --questionable --note 'half of the nodes were down'
///   accession annotate DI:763122197bfb3ffbf0da14adbfb1b13b --note 'used for the 2001 assessment'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address. A
    /// DOI can take the place of the dataset's name, and 8 or more digits that of an identifier
    set: TypedSet,

    /// Annotate every set from that of DATASET@TIME until the one that was in force at this time: RFC 3339,
    /// or a date, which means the end of that day
    #[arg(long, value_name = "T", value_parser = moment)]
    until: Option<Moment>,

    /// The note
    #[arg(long, value_name = "TEXT")]
    note: String,

    /// The set should not be relied on: who cites it is warned
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
                .with_hint("state with --note what readers of the set should know"));
        }
        let mut note = NewAnnotation::new(self.note)?;
        (note.questionable, note.dry_run) = (self.questionable, self.dry_run);
        note.until = self.until;
        let registry = session.open_to_change(self.clock.time())?;
        let snapshot = registry.snapshot()?;
        let at = self.set.at(None);
        session.warn_all(self.set.unchecked(&snapshot)?);
        let selection = self.set.into_selection(&snapshot)?;
        if at.is_some() {
            session.warn_all(Warning::of_others(at, &snapshot.select(&selection)?.others));
        }
        drop(snapshot);
        let annotated = registry.annotate(&selection, &note)?;
        // Who tries it wants to see what it would do.
        if !session.is_quiet() || session.is_json() || self.dry_run {
            const COLUMNS: &[Column] = &[
                Column::text("dataset"),
                Column::text("timestamp"),
                Column::text("identifier"),
                Column::prose("annotation").of("").by(annotation_in),
            ];
            session.rows(COLUMNS, annotated.iter().map(Ok))?;
        }
        if self.dry_run && !session.is_json() {
            writeln!(session.out(), "dry run: nothing was changed")?;
        }
        Ok(Exit::Done)
    }
}
