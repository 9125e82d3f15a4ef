//! Commands that show datasets, as text and as JSON.

use std::io::{self, Write};

use accession::model::{Doi, GranuleUrl, Warning, WebAddress};
use accession::registry::{Listed, RecordVersion, Withdrawn};
use accession::{Access, Confirmation, Dataset};
use serde::Serialize;
use serde_json::Value;

use crate::cli::args::TypedDataset;
use crate::cli::error::Result;
use crate::cli::output::{Column, Row, annotated, count, in_words, one_line};
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

impl Show {
    pub fn run(self, session: &mut Session) -> Result<()> {
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
        drop(snapshot);
        session.print(&listed, |out| write_listed(out, &listed))?;
        Ok(())
    }
}

/// A version of a record, and what it changed.
#[derive(Serialize)]
#[serde(transparent)]
struct Version<'a> {
    version: &'a RecordVersion,
    #[serde(skip)]
    changed: String,
}

impl Row for Version<'_> {
    const COLUMNS: &'static [Column] = &[
        Column::text("recorded"),
        Column::text("by"),
        Column::text("action"),
        Column::prose("changed"),
    ];

    fn cells(&self) -> Vec<String> {
        let by = self.version.recorded_by.as_deref().map(|by| one_line(by).to_string());
        vec![
            self.version.recorded.to_string(),
            by.unwrap_or_default(),
            self.version.action.clone(),
            one_line(&self.changed).to_string(),
        ]
    }
}

fn print_versions(session: &mut Session, versions: &[RecordVersion]) -> Result<()> {
    let before = std::iter::once(None).chain(versions.iter().map(|it| Some(&it.dataset)));
    session.rows(versions.iter().zip(before).map(|(version, before)| {
        Ok(Version { version, changed: changed(before, &version.dataset) })
    }))?;
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
pub struct List {
    /// Also list the datasets that were withdrawn
    #[arg(long)]
    all: bool,
}

impl Row for Listed {
    const COLUMNS: &'static [Column] = &[
        Column::text("dataset").of("name"),
        Column::text("identifier").of("latest/identifier").or("no history yet"),
        Column::number("granules").of("latest/granules").or("0"),
        Column::text("since").of("latest/timestamp"),
        Column::text("confirmed").of("confirmed/recorded"),
        Column::text("withdrawn").of("withdrawn/timestamp"),
    ];
}

/// The number of datasets in a page.
const PAGE_ROWS: u32 = 1_000;

impl List {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let withdrawn = if self.all { Withdrawn::Listed } else { Withdrawn::LeftOut };
        let columns = &Listed::COLUMNS[..if self.all { 6 } else { 5 }];
        let registry = session.open(Access::Read)?;
        let now = session.now()?;
        let mut table = session.table(columns);
        let mut after = None;
        loop {
            let snapshot = registry.snapshot()?;
            let mut page = snapshot.datasets(after.as_ref(), withdrawn, PAGE_ROWS)?;
            for listed in &mut page.datasets {
                session.warn_all(listed.latest.iter().filter_map(|it| Warning::of_future(it, now)));
                snapshot.set_in_force(listed, now)?;
            }
            drop(snapshot);
            for listed in &page.datasets {
                if session.is_json() {
                    session.json(listed)?;
                } else {
                    table.add_row(session.out(), &listed.cells()[..columns.len()])?;
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        table.finish(session.out())?;
        Ok(())
    }
}

/// Writes a dataset as text.
pub fn write_listed(out: &mut impl Write, listed: &Listed) -> io::Result<()> {
    write_latest(out, listed)?;
    if let Some(Confirmation { recorded, granules, .. }) = &listed.confirmed {
        writeln!(out, "confirmed   {recorded}, {}", count(*granules, "granule"))?;
    }
    write_record(out, listed)
}

fn write_latest(out: &mut impl Write, listed: &Listed) -> io::Result<()> {
    let name = &listed.dataset.name;
    match &listed.latest {
        Some(latest) => {
            let (identifier, granules) = (latest.identifier, count(latest.granules, "granule"));
            writeln!(out, "{name}  {identifier}  {granules} since {}", latest.timestamp)?;
            latest.annotations.iter().try_for_each(|it| writeln!(out, "  {}", annotated(it)))
        }
        None => writeln!(out, "{name}  no history yet"),
    }
}

fn write_record(out: &mut impl Write, listed: &Listed) -> io::Result<()> {
    let dataset: &Dataset = &listed.dataset;
    let year = dataset.year.map(|year| year.to_string());
    let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
    let creators = creators.iter().map(|creator| ("creator", Some(creator.as_str())));
    let keywords = dataset.keywords.iter().map(|keyword| ("keyword", Some(keyword.as_str())));
    let temporal = dataset.temporal.map(|temporal| temporal.to_string());
    let fields = [
        ("doi", dataset.doi.as_ref().map(Doi::as_str)),
        ("title", dataset.title.as_deref()),
        ("description", dataset.description.as_deref()),
    ]
    .into_iter()
    .chain(creators)
    .chain([
        ("publisher", dataset.publisher.as_deref()),
        ("version", dataset.version.as_deref()),
        ("year", year.as_deref()),
        ("url", dataset.url.as_ref().map(WebAddress::as_str)),
        ("archive", dataset.archive.as_deref()),
        ("licence", dataset.licence.as_deref()),
    ])
    .chain(keywords)
    .chain([
        ("access", dataset.free_access.map(|is_free| if is_free { "free" } else { "not free" })),
        ("temporal", temporal.as_deref()),
        ("granules", dataset.granule_url.as_ref().map(GranuleUrl::as_str)),
    ]);
    for (field, value) in fields {
        if let Some(value) = value {
            writeln!(out, "{field:10}  {}", one_line(value))?;
        }
    }
    let limits = listed.limits.unwrap_or_default();
    let sides = [limits.max_delete, limits.max_add, limits.max_replace];
    for (side, limit) in ["delete", "add", "replace"].into_iter().zip(sides) {
        if let Some(limit) = limit {
            writeln!(out, "{:10}  {limit}", format!("max {side}"))?;
        }
    }
    for former in &listed.former_names {
        writeln!(out, "formerly    {former}")?;
    }
    if let Some(withdrawal) = &listed.withdrawn {
        write!(out, "withdrawn   {}", withdrawal.timestamp)?;
        match &withdrawal.note {
            Some(note) => writeln!(out, ": {}", one_line(note))?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}
