use accession::{DatasetName, Registry, Stamp};
use anyhow::Result;

use super::print::confirm;
use crate::cli::args::{ClockArgs, stored_name};
use crate::cli::commit::Commit;
use crate::cli::dataset_warnings::warn_of_former_name;
use crate::cli::session::{Create, Session, Written};
use crate::cli::usage::UsageError;

/// Give a dataset another name
///
/// The dataset is still found by its former name, which no other dataset can get.
///
/// Example:
///   accession dataset rename US.FOOL2.02 US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Rename {
    /// The present name
    #[arg(value_parser = stored_name)]
    old: DatasetName,

    /// The new name
    new: DatasetName,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Withdraw a dataset: it accepts no further changes, and is listed with --all only
///
/// All its identifiers still resolve, marked as withdrawn.
///
/// Example:
///   accession dataset withdraw US.FOOL2.001 --note 'replaced by US.FOOL2.002'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Withdraw {
    /// The dataset
    #[arg(value_parser = stored_name)]
    name: DatasetName,

    /// Why it is withdrawn
    #[arg(long, value_name = "WHY")]
    note: String,

    #[command(flatten)]
    clock: ClockArgs,
}

/// End the withdrawal of a dataset
///
/// Example:
///   accession dataset reinstate US.FOOL2.001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Reinstate {
    /// The dataset
    #[arg(value_parser = stored_name)]
    name: DatasetName,

    #[command(flatten)]
    clock: ClockArgs,
}

impl Rename {
    pub fn run(self, session: &mut Session) -> Result<()> {
        edit(session, &self.new, &self.clock, |registry, stamp| {
            registry.rename_dataset(&self.old, &self.new, stamp).map(drop)
        })
    }
}

impl Withdraw {
    pub fn run(self, session: &mut Session) -> Result<()> {
        if self.note.trim().is_empty() {
            return Err(UsageError::new("the note is empty")
                .with_hint("state with --note why the dataset is withdrawn: readers will see it")
                .into());
        }
        edit(session, &self.name, &self.clock, |registry, stamp| {
            registry.withdraw_dataset(&self.name, &self.note, stamp).map(drop)
        })
    }
}

impl Reinstate {
    pub fn run(self, session: &mut Session) -> Result<()> {
        edit(session, &self.name, &self.clock, |registry, stamp| {
            registry.reinstate_dataset(&self.name, stamp).map(drop)
        })
    }
}

/// Edits a record, and prints the dataset, which is called `name` afterwards.
fn edit(
    session: &mut Session,
    name: &DatasetName,
    clock: &ClockArgs,
    mut make: impl FnMut(&Registry, &Stamp<'_>) -> accession::Result<()>,
) -> Result<()> {
    let listed = session.write(Create::Never, |registry, session| {
        make(registry, &session.stamp(clock.time())?)?;
        let listed = registry.snapshot()?.dataset(name)?;
        Ok(Written { result: listed, committed: Some(Commit::Record) })
    })?;
    warn_of_former_name(session, name, &listed.dataset.name);
    confirm(session, &listed)
}
