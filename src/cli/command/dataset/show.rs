//! Commands that show datasets, as text and as JSON.

use accession::Access;
use accession::model::{Listed, RefusedListing, Warning};
use accession::registry::{RecordVersion, Withdrawn};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::args::TypedDataset;
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, annotation_in, count, in_words};
use crate::cli::session::Session;

/// Show the metadata of a dataset, and its latest identifier
///
/// With --versions, show who changed the metadata, when, and what was changed.
///
/// Examples:
///   accession dataset show US.FOOL2.002
///   accession dataset show US.FOOL2.002 --versions
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Show {
    /// The dataset, by its name or its DOI
    name: TypedDataset,

    /// List every version of the metadata, oldest first
    #[arg(long)]
    versions: bool,
}

/// A dataset, and whether its last listing was refused.
#[derive(Serialize)]
struct ShownDataset {
    #[serde(flatten)]
    listed: Listed,
    refused: Option<RefusedListing>,
}

impl Show {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let name = self.name.name(&snapshot)?;
        let mut listed = snapshot.dataset(&name)?;
        session.warn_all(Warning::of_former_name(&name, &listed.dataset.name));
        if self.versions {
            let versions = snapshot.record_versions(&name)?;
            drop(snapshot);
            return print_versions(session, &versions);
        }
        let now = session.now()?;
        session.warn_all(listed.latest.iter().filter_map(|it| Warning::of_future(it, now)));
        snapshot.set_in_force(&mut listed, now)?;
        let refused = snapshot.refusal(&listed.dataset.name)?;
        drop(snapshot);
        session.fields(DATASET, &ShownDataset { listed, refused })
    }
}

fn print_versions(session: &mut Session, versions: &[RecordVersion]) -> Result<Exit> {
    const COLUMNS: &[Column] = &[
        Column::text("recorded"),
        Column::text("by"),
        Column::text("action"),
        Column::prose("changed"),
    ];
    let mut list = session.list(COLUMNS);
    let mut before = None;
    for version in versions {
        let RecordVersion { recorded, recorded_by: by, action, dataset, .. } = version;
        match session.is_json() {
            true => session.json(version)?,
            false => {
                let changed = changed(before, dataset);
                let row = json!({
                    "recorded": recorded, "by": by, "action": action, "changed": changed,
                });
                list.add(session, &row)?;
            }
        }
        before = Some(dataset);
    }
    list.finish(session)?;
    Ok(Exit::Done)
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
            _ => changed.push(format!("{field} {}", in_words(value))),
        }
    }
    changed.join("; ")
}

/// List the datasets, each with its latest identifier
///
/// Datasets that were withdrawn are left out, unless --all is given.
///
/// Example:
///   accession dataset list --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListDatasets {
    /// Also list the datasets that were withdrawn
    #[arg(long)]
    all: bool,
}

/// What is shown of each; the last column, of those that were withdrawn.
const LISTED: &[Column] = &[
    Column::text("dataset").of("name"),
    Column::text("identifier").of("latest/identifier").or("no history yet"),
    Column::number("granules").of("latest/granules").or("0"),
    Column::text("since").of("latest/timestamp"),
    Column::text("confirmed").of("confirmed/timestamp"),
    Column::text("withdrawn").of("withdrawn/timestamp"),
];

/// The number of datasets in a page.
const PAGE_ROWS: u32 = 1_000;

impl ListDatasets {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let withdrawn = if self.all { Withdrawn::Listed } else { Withdrawn::LeftOut };
        let mut list = session.list(&LISTED[..if self.all { 6 } else { 5 }]);
        let registry = session.open(Access::Read)?;
        let now = session.now()?;
        let mut after = None;
        loop {
            let snapshot = registry.snapshot()?;
            let mut page = snapshot.datasets(after.as_ref(), withdrawn, PAGE_ROWS)?;
            let Some(last) = page.last() else { break };
            after = Some(last.dataset.name.clone());
            for listed in &mut page {
                session.warn_all(listed.latest.iter().filter_map(|it| Warning::of_future(it, now)));
                snapshot.set_in_force(listed, now)?;
            }
            drop(snapshot);
            for listed in &page {
                list.add(session, listed)?;
            }
            if page.len() < PAGE_ROWS as usize {
                break;
            }
        }
        list.finish(session)?;
        Ok(Exit::Done)
    }
}

/// What is shown of one dataset.
pub const DATASET: &[Column] = &[
    Column::text("dataset").of("name"),
    Column::text("latest").by(latest).or("no history yet"),
    Column::prose("annotation").of("latest/annotations").by(annotation_in),
    Column::text("confirmed").of("confirmed/timestamp"),
    Column::prose("refused"),
    Column::text("doi"),
    Column::prose("title"),
    Column::prose("description"),
    Column::prose("creator").of("creators"),
    Column::prose("publisher"),
    Column::text("version"),
    Column::number("year"),
    Column::text("url"),
    Column::prose("archive"),
    Column::text("licence"),
    Column::prose("keyword").of("keywords"),
    Column::text("free access").of("free_access"),
    Column::text("temporal"),
    Column::text("granule url").of("granule_url"),
    Column::text("resolver"),
    Column::text("max delete").of("max_delete"),
    Column::text("max add").of("max_add"),
    Column::text("max replace").of("max_replace"),
    Column::text("formerly").of("former_names"),
    Column::text("withdrawn").of("withdrawn/timestamp"),
    Column::prose("why").of("withdrawn/note"),
];

/// The latest instance of a dataset, as it is serialized.
fn latest(latest: &Value) -> String {
    let granules = count(latest["granules"].as_u64().unwrap_or_default(), "granule");
    let [identifier, since] = ["identifier", "timestamp"].map(|member| in_words(&latest[member]));
    format!("{identifier}, {granules} since {since}")
}
