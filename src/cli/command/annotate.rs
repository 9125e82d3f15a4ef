use accession::Access;
use accession::registry::{Annotated, NewAnnotation};

use crate::cli::applied::ClockArgs;
use crate::cli::args::TypedSet;
use crate::cli::error::{Commit, Error, Exit, Result};
use crate::cli::output::{Column, Row, annotated};
use crate::cli::session::Session;

/// Add a note to a set that is in the history, without changing the history
///
/// It is shown wherever the set is: by history, lookup, resolve, check and cite, and on the pages. An
/// identifier that was in force several times is annotated each time. The same note is added only
/// once.
///
/// Examples:
///   accession annotate US.FOOL2.002@2001-01-05 --questionable --note 'the listing was incomplete'
///   accession annotate DI:763122197bfb3ffbf0da14adbfb1b13b --note 'used for the 2001 assessment'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    set: TypedSet,

    /// The note
    #[arg(long, value_name = "TEXT")]
    note: String,

    /// The set should not be relied on: who cites it is warned
    #[arg(long)]
    questionable: bool,

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
        note.questionable = self.questionable;
        let stamp = session.stamp(self.clock.time())?;
        let registry = session.open(Access::Write)?;
        let snapshot = registry.snapshot()?;
        let selection = self.set.into_selection(session.now()?, &snapshot)?;
        drop(snapshot);
        let annotated = registry.annotate(&selection, &note, &stamp)?;
        session.note_commit(Commit::Annotation);
        match session.is_quiet() && !session.is_json() {
            true => Ok(Exit::Done),
            false => session.rows(annotated.iter().map(Ok)).map(|_| Exit::Done),
        }
    }
}

impl Row for Annotated {
    const COLUMNS: &'static [Column] = &[
        Column::text("dataset"),
        Column::text("timestamp"),
        Column::text("identifier"),
        Column::prose("annotation"),
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.dataset.to_string(),
            self.timestamp.to_string(),
            self.identifier.to_string(),
            annotated(&self.annotation),
        ]
    }
}
