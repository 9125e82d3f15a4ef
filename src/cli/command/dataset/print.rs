//! A dataset as text and as JSON.

use std::io::{self, Write};

use accession::{Dataset, Doi, Listed, WebAddress};
use anyhow::Result;

use crate::cli::output::{count, one_line};
use crate::cli::session::Session;

/// Prints a dataset that a command shows.
pub fn print(session: &mut Session, listed: &Listed) -> Result<()> {
    if session.is_json() {
        return Ok(session.json(listed)?);
    }
    write_latest(session.out(), listed)?;
    write_record(session.out(), listed)?;
    Ok(())
}

/// Prints a dataset that a command has changed.
pub fn confirm(session: &mut Session, listed: &Listed) -> Result<()> {
    if session.is_quiet() && !session.is_json() { Ok(()) } else { print(session, listed) }
}

fn write_latest(out: &mut impl Write, listed: &Listed) -> io::Result<()> {
    let name = &listed.dataset.name;
    match &listed.latest {
        Some(latest) => {
            let (identifier, granules) = (latest.identifier, count(latest.granules, "granule"));
            writeln!(out, "{name}  {identifier}  {granules} since {}", latest.timestamp)
        }
        None => writeln!(out, "{name}  no history yet"),
    }
}

fn write_record(out: &mut impl Write, listed: &Listed) -> io::Result<()> {
    let dataset: &Dataset = &listed.dataset;
    let year = dataset.year.map(|year| year.to_string());
    let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
    let creators = creators.iter().map(|creator| ("creator", Some(creator.as_str())));
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
    ]);
    for (field, value) in fields {
        if let Some(value) = value {
            writeln!(out, "{field:10}  {}", one_line(value))?;
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
