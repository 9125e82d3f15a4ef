use accession::{Access, DatasetName, RecordVersion};
use anyhow::Result;
use serde_json::Value;

use super::print::print;
use crate::cli::args::stored_name;
use crate::cli::dataset_warnings::{in_force_now, warn_of_former_name, warn_of_future};
use crate::cli::output::{Column, one_line};
use crate::cli::session::Session;

/// Show the record of a dataset, and its latest identifier
///
/// With --versions, show who changed the record, when, and what was changed.
///
/// Examples:
///   accession dataset show US.FOOL2.002
///   accession dataset show US.FOOL2.002 --versions
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    name: DatasetName,

    /// List every version of the record, oldest first
    #[arg(long)]
    versions: bool,
}

const COLUMNS: [Column; 4] = [
    Column::text("recorded"),
    Column::text("by"),
    Column::text("action"),
    Column::prose("changed"),
];

impl Args {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let mut listed = snapshot.dataset(&self.name)?;
        warn_of_former_name(session, &self.name, &listed.dataset.name);
        if self.versions {
            let versions = snapshot.record_versions(&self.name)?;
            drop(snapshot);
            return print_versions(session, &versions);
        }
        let now = session.now()?;
        warn_of_future(session, &listed, now);
        in_force_now(&snapshot, &mut listed, now)?;
        drop(snapshot);
        print(session, &listed)
    }
}

fn print_versions(session: &mut Session, versions: &[RecordVersion]) -> Result<()> {
    let mut table = session.table(COLUMNS);
    let mut before = None;
    for version in versions {
        if session.is_json() {
            session.json(version)?;
            continue;
        }
        let by = version.recorded_by.as_deref().map(|by| one_line(by).to_string());
        let changed = changed(before, &version.dataset);
        let cells = [
            version.recorded.to_string(),
            by.unwrap_or_default(),
            version.action.clone(),
            one_line(&changed).to_string(),
        ];
        table.add_row(session.out(), cells)?;
        before = Some(&version.dataset);
    }
    table.finish(session.out())?;
    Ok(())
}

/// The fields that differ from the version before, with their values afterwards.
fn changed(before: Option<&Value>, after: &Value) -> String {
    let Some(fields) = after.as_object() else { return String::new() };
    let mut changed = Vec::new();
    for (field, value) in fields {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        match before.and_then(|before| before.get(field)) {
            Some(before) if before == value => {}
            None if is_empty => {}
            _ if is_empty => changed.push(format!("{field} removed")),
            _ => changed.push(format!("{field} {}", shown(value))),
        }
    }
    changed.join("; ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
