use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use accession::citation::record;
use accession::{
    Access, Creator, Dataset, DatasetEdit, DatasetName, Doi, Listed, WebAddress, Year, quoted,
};
use anyhow::{Context, Result};

use crate::cli::Exit;
use crate::cli::output::{count, one_line};
use crate::cli::report::Usage;
use crate::cli::session::{Create, Session, shown};
use crate::cli::source::open;

/// Register datasets, and show them
#[derive(clap::Subcommand)]
pub enum Command {
    /// Register a dataset; makes the registry if it is missing
    Add(Add),
    /// Change the record of a dataset: an empty text takes a field away
    Edit(Edit),
    /// List the datasets, each with its latest identifier
    List,
    /// Show the record of a dataset, and its latest identifier
    Show {
        /// The dataset
        name: DatasetName,
    },
}

#[derive(clap::Args)]
pub struct Add {
    /// Its name: letters, digits and . _ - : /
    name: DatasetName,

    #[command(flatten)]
    record: Record,
}

#[derive(clap::Args)]
pub struct Edit {
    /// The dataset
    name: DatasetName,

    #[command(flatten)]
    record: Record,
}

#[derive(clap::Args)]
struct Record {
    /// Its DOI
    #[arg(long, value_name = "D", value_parser = or_nothing::<Doi>)]
    doi: Option<OrNothing<Doi>>,

    /// Its title
    #[arg(long, value_name = "T")]
    title: Option<String>,

    /// Who made it: "Family, Given" or "Family, Given (ORCID)", or an organisation, in braces if its
    /// name has a comma (can be repeated, in the order of the citation)
    #[arg(long = "creator", value_name = "C", value_parser = or_nothing::<Creator>)]
    creators: Vec<OrNothing<Creator>>,

    /// Who publishes it
    #[arg(long, value_name = "P")]
    publisher: Option<String>,

    /// Its version, as its producer names it
    #[arg(long = "dataset-version", value_name = "V")]
    version: Option<String>,

    /// The year it was published
    #[arg(long, value_name = "Y", value_parser = or_nothing::<Year>)]
    year: Option<OrNothing<Year>>,

    /// Where it is to be found
    #[arg(long, value_name = "U", value_parser = or_nothing::<WebAddress>)]
    url: Option<OrNothing<WebAddress>>,

    /// The archive whose holdings are registered
    #[arg(long, value_name = "A")]
    archive: Option<String>,

    /// The licence: an identifier of SPDX, such as CC-BY-4.0, or an address
    #[arg(long, visible_alias = "license", value_name = "L")]
    licence: Option<String>,

    /// A file that has the record: CSL-JSON or DataCite JSON; - is stdin. Options go before it
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// What an option was given; an empty text takes the field away.
#[derive(Debug, Clone)]
struct OrNothing<T>(Option<T>);

fn or_nothing<T: std::str::FromStr>(text: &str) -> Result<OrNothing<T>, T::Err> {
    if text.is_empty() {
        Ok(OrNothing(None))
    } else {
        text.parse().map(|value| OrNothing(Some(value)))
    }
}

impl Record {
    /// What the file says, if one is named, and over it what the options say.
    fn into_edit(self) -> Result<DatasetEdit> {
        let edit = match &self.from {
            Some(file) => read_record(file)?,
            None => DatasetEdit::default(),
        };
        Ok(self.options().over(edit))
    }

    fn options(self) -> DatasetEdit {
        let text =
            |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.is_empty()));
        let creators: Vec<Creator> =
            self.creators.iter().filter_map(|creator| creator.0.clone()).collect();
        DatasetEdit {
            doi: self.doi.map(|doi| doi.0),
            title: text(self.title),
            creators: (!self.creators.is_empty()).then_some(creators),
            publisher: text(self.publisher),
            version: text(self.version),
            year: self.year.map(|year| year.0),
            url: self.url.map(|url| url.0),
            archive: text(self.archive),
            licence: text(self.licence),
        }
    }
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Add(add) => add.run(session)?,
            Command::Edit(edit) => edit.run(session)?,
            Command::List => list(session)?,
            Command::Show { name } => {
                let listed = session.open(Access::Read)?.dataset(&name)?;
                show(session, &listed)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Add {
    fn run(self, session: &mut Session) -> Result<()> {
        let mut dataset = Dataset::named(self.name);
        self.record.into_edit()?.apply_to(&mut dataset);
        session.write(Create::IfMissing, |registry| Ok(registry.add_dataset(&dataset)?))?;
        show(session, &Listed { dataset, latest: None })
    }
}

impl Edit {
    fn run(self, session: &mut Session) -> Result<()> {
        let edit = self.record.into_edit()?;
        if edit == DatasetEdit::default() {
            let usage = Usage::new("nothing to change is named");
            return Err(usage.with_hint("name a field, such as --title").into());
        }
        let listed = session.write(Create::Never, |registry| {
            Ok(registry.edit_dataset(&self.name, edit.clone())?)
        })?;
        show(session, &listed)
    }
}

/// Reads the record of a dataset from a file.
fn read_record(file: &Path) -> Result<DatasetEdit> {
    /// A record is a page of text.
    const MAX_BYTES: u64 = 16 * 1_024 * 1_024;
    let (reader, name) = open(file)?;
    let mut text = String::new();
    let read = reader.take(MAX_BYTES).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", quoted(&name)))?;
    record::read(&text).map_err(|error| {
        let hint = "CSL-JSON and DataCite JSON are read, as doi.org and DataCite give them";
        let error = anyhow::Error::from(error);
        Usage::new(format!("{name}: {error:#}")).with_hint(hint).into()
    })
}

fn list(session: &mut Session) -> Result<()> {
    shown(session.open(Access::Read)?.each_dataset(|listed| {
        if session.is_json() { session.json(&listed) } else { write_latest(session.out(), &listed) }
    }))
}

fn show(session: &mut Session, listed: &Listed) -> Result<()> {
    if session.is_json() {
        return Ok(session.json(listed)?);
    }
    write_latest(session.out(), listed)?;
    write_record(session.out(), &listed.dataset)?;
    Ok(())
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

fn write_record(out: &mut impl Write, dataset: &Dataset) -> io::Result<()> {
    let year = dataset.year.map(|year| year.to_string());
    let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
    let creators = creators.iter().map(|creator| ("creator", Some(creator.as_str())));
    let fields =
        [("doi", dataset.doi.as_ref().map(Doi::as_str)), ("title", dataset.title.as_deref())]
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
    Ok(())
}
