use accession::{Access, Dataset, DatasetEdit, DatasetName, Listed};
use anyhow::Result;
use serde::Serialize;

use super::print::confirm;
use super::record::Record;
use crate::cli::applied::{Created, write_created};
use crate::cli::args::{ClockArgs, stored_name};
use crate::cli::commit::Commit;
use crate::cli::dataset_warnings::warn_of_former_name;
use crate::cli::session::{Create, Session, Written};
use crate::cli::usage::UsageError;

/// Register a dataset
///
/// Creates the registry if it does not exist.
///
/// Example:
///   accession dataset add US.FOOL2.002 --doi 10.9999/US/FOOL2.v2 --title 'FOO Level 2' --year 2001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Add {
    /// The name of the dataset: letters, digits and . _ - :
    name: DatasetName,

    #[command(flatten)]
    record: Record,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Change the record of a dataset
///
/// Fields that are not named are not changed. An empty string removes a field.
///
/// Example:
///   accession dataset edit US.FOOL2.002 --publisher 'US Archive' --title ''
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Edit {
    /// The dataset
    #[arg(value_parser = stored_name)]
    name: DatasetName,

    #[command(flatten)]
    record: Record,

    #[command(flatten)]
    clock: ClockArgs,
}

/// The JSON that `dataset add` prints.
#[derive(Serialize)]
struct Added<'a> {
    #[serde(flatten)]
    listed: &'a Listed,
    created: Created,
}

impl Add {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let mut dataset = Dataset::named(self.name);
        self.record.into_edit(session)?.apply_to(&mut dataset);
        let create = Create::IfMissing;
        let is_new_registry = session.new_registry(create)?.is_some();
        session.write(create, |registry, session| {
            registry.add_dataset(&dataset, &session.stamp(self.clock.time())?)?;
            Ok(Written { result: (), committed: Some(Commit::Record) })
        })?;
        let listed = session.open(Access::Read)?.snapshot()?.dataset(&dataset.name)?;
        let created = Created { registry: is_new_registry, dataset: true };
        if session.is_json() {
            return Ok(session.json(&Added { listed: &listed, created })?);
        }
        if session.is_quiet() {
            return Ok(());
        }
        write_created(session, &dataset.name, created, false)?;
        confirm(session, &listed)
    }
}

impl Edit {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let edit = self.record.into_edit(session)?;
        if edit == DatasetEdit::default() {
            return Err(UsageError::new("no field is named")
                .with_hint("name the fields to change, such as --title")
                .into());
        }
        let listed = session.write(Create::Never, |registry, session| {
            registry.edit_dataset(&self.name, &edit, &session.stamp(self.clock.time())?)?;
            let listed = registry.snapshot()?.dataset(&self.name)?;
            Ok(Written { result: listed, committed: Some(Commit::Record) })
        })?;
        warn_of_former_name(session, &self.name, &listed.dataset.name);
        confirm(session, &listed)
    }
}
