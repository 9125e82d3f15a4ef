use std::io::{self, Read, Write};

use accession::citation::record;
use accession::{
    Access, Creator, Dataset, DatasetEdit, DatasetName, Doi, Edit as Change, Listed, WebAddress,
    Withdrawn, Year, quoted,
};
use anyhow::{Context, Result};

use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{Column, count, one_line};
use crate::cli::reading::{InputFile, open};
use crate::cli::session::{Create, Session, Written};
use crate::cli::usage::UsageError;

/// Register datasets, and show their records
#[derive(clap::Subcommand)]
pub enum Command {
    Add(Add),
    Edit(Edit),
    List(List),
    Show(Show),
}

/// Register a dataset
///
/// Creates the registry if it does not exist.
///
/// Example:
///   accession dataset add US.FOOL2.002 --doi 10.9999/US/FOOL2.v2 --title 'FOO Level 2' --year 2001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Add {
    /// The name of the dataset: letters, digits and . _ - : /
    name: DatasetName,

    #[command(flatten)]
    record: Record,
}

/// Change the record of a dataset
///
/// Fields that are not named stay as they are. An empty string removes a field.
///
/// Example:
///   accession dataset edit US.FOOL2.002 --publisher 'US Archive' --title ''
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Edit {
    /// The dataset
    name: DatasetName,

    #[command(flatten)]
    record: Record,
}

/// List the datasets, each with its latest identifier
///
/// Example:
///   accession dataset list
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct List {}

/// Show the record of a dataset, and its latest identifier
///
/// Example:
///   accession dataset show US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Show {
    /// The dataset
    name: DatasetName,
}

#[derive(clap::Args)]
struct Record {
    /// The DOI
    #[arg(long, value_name = "D", value_parser = value_or_removal::<Doi>)]
    doi: Option<ValueOrRemoval<Doi>>,

    /// The title
    #[arg(long, value_name = "T")]
    title: Option<String>,

    /// What the dataset contains: 50 to 5,000 characters are what search engines ask for
    #[arg(long, value_name = "X")]
    description: Option<String>,

    /// A creator: "Family, Given", "Family, Given (ORCID)", or an organisation, in braces if its
    /// name contains a comma (can be repeated, in the order of the citation)
    #[arg(long = "creator", value_name = "C", value_parser = value_or_removal::<Creator>)]
    creators: Vec<ValueOrRemoval<Creator>>,

    /// The publisher
    #[arg(long, value_name = "P")]
    publisher: Option<String>,

    /// The version, as the producer names it
    #[arg(long = "dataset-version", value_name = "V")]
    version: Option<String>,

    /// The year of publication
    #[arg(long, value_name = "Y", value_parser = value_or_removal::<Year>)]
    year: Option<ValueOrRemoval<Year>>,

    /// The address of the landing page
    #[arg(long, value_name = "U", value_parser = value_or_removal::<WebAddress>)]
    url: Option<ValueOrRemoval<WebAddress>>,

    /// The archive whose holdings are registered
    #[arg(long, value_name = "A")]
    archive: Option<String>,

    /// The licence: an SPDX identifier such as CC-BY-4.0, or an address
    #[arg(long, visible_alias = "license", value_name = "L")]
    licence: Option<String>,

    /// A file with the record, as CSL-JSON or DataCite JSON; - is stdin. Other options take
    /// precedence over it
    #[arg(long, value_name = "FILE")]
    from: Option<InputFile>,
}

/// The value of an option: a new value, or `None` to remove the field.
#[derive(Debug, Clone)]
struct ValueOrRemoval<T>(Option<T>);

fn value_or_removal<T: std::str::FromStr>(text: &str) -> Result<ValueOrRemoval<T>, T::Err> {
    if text.is_empty() {
        Ok(ValueOrRemoval(None))
    } else {
        text.parse().map(|value| ValueOrRemoval(Some(value)))
    }
}

fn edit_of<T>(value: Option<ValueOrRemoval<T>>) -> Change<T> {
    match value {
        None => Change::Keep,
        Some(ValueOrRemoval(None)) => Change::Clear,
        Some(ValueOrRemoval(Some(value))) => Change::Set(value),
    }
}

impl Record {
    /// The fields of the file, if one is named, overridden by those of the options.
    fn into_edit(self) -> Result<DatasetEdit> {
        let edit = match &self.from {
            Some(file) => read_record(file)?,
            None => DatasetEdit::default(),
        };
        Ok(self.options().or(edit))
    }

    fn options(self) -> DatasetEdit {
        let text = |text: Option<String>| match text {
            None => Change::Keep,
            Some(text) if text.is_empty() => Change::Clear,
            Some(text) => Change::Set(text),
        };
        let creators: Vec<Creator> =
            self.creators.iter().filter_map(|creator| creator.0.clone()).collect();
        DatasetEdit {
            doi: edit_of(self.doi),
            title: text(self.title),
            description: text(self.description),
            creators: match (self.creators.is_empty(), creators.is_empty()) {
                (true, _) => Change::Keep,
                (false, true) => Change::Clear,
                (false, false) => Change::Set(creators),
            },
            publisher: text(self.publisher),
            version: text(self.version),
            year: edit_of(self.year),
            url: edit_of(self.url),
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
            Command::List(List {}) => list(session)?,
            Command::Show(show) => show.run(session)?,
        }
        Ok(Exit::Done)
    }
}

impl Add {
    fn run(self, session: &mut Session) -> Result<()> {
        let mut dataset = Dataset::named(self.name);
        self.record.into_edit()?.apply_to(&mut dataset);
        session.write(Create::IfMissing, |registry, session| {
            registry.add_dataset(&dataset, &session.stamp(None)?)?;
            Ok(Written { result: (), committed: Some(Commit::Record) })
        })?;
        let listed = session.open(Access::Read)?.snapshot()?.dataset(&dataset.name)?;
        print(session, &listed)
    }
}

impl Edit {
    fn run(self, session: &mut Session) -> Result<()> {
        let edit = self.record.into_edit()?;
        if edit == DatasetEdit::default() {
            return Err(UsageError::new("no field is named")
                .with_hint("name the fields to change, such as --title")
                .into());
        }
        let listed = session.write(Create::Never, |registry, session| {
            registry.edit_dataset(&self.name, &edit, &session.stamp(None)?)?;
            let listed = registry.snapshot()?.dataset(&self.name)?;
            Ok(Written { result: listed, committed: Some(Commit::Record) })
        })?;
        print(session, &listed)
    }
}

impl Show {
    fn run(self, session: &mut Session) -> Result<()> {
        let listed = session.open(Access::Read)?.snapshot()?.dataset(&self.name)?;
        print(session, &listed)
    }
}

/// Reads the record of a dataset from a file.
fn read_record(file: &InputFile) -> Result<DatasetEdit> {
    /// A bound on the file, far longer than any record.
    const MAX_BYTES: u64 = 16 * 1_024 * 1_024;
    let (reader, name) = open(file)?;
    let mut text = String::new();
    let read = reader.take(MAX_BYTES).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", quoted(&name)))?;
    record::read(&text).map_err(|error| {
        let error = anyhow::Error::from(error);
        UsageError::new(format!("{name}: {error:#}"))
            .with_hint(
                "the file must be CSL-JSON or DataCite JSON, as doi.org and DataCite provide it",
            )
            .into()
    })
}

const COLUMNS: [Column; 4] = [
    Column::text("dataset"),
    Column::text("identifier"),
    Column::number("granules"),
    Column::text("since"),
];

/// Datasets that are read at once.
const PAGE_ROWS: u32 = 1_000;

fn list(session: &mut Session) -> Result<()> {
    let registry = session.open(Access::Read)?;
    let mut table = session.table(COLUMNS);
    let mut after = None;
    loop {
        let page = registry.snapshot()?.datasets(after.as_ref(), Withdrawn::LeftOut, PAGE_ROWS)?;
        for listed in &page.datasets {
            if session.is_json() {
                session.json(listed)?;
            } else {
                table.add_row(session.out(), cells(listed))?;
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

fn cells(listed: &Listed) -> [String; 4] {
    let name = listed.dataset.name.to_string();
    match &listed.latest {
        Some(latest) => [
            name,
            latest.identifier.to_string(),
            latest.granules.to_string(),
            latest.timestamp.to_string(),
        ],
        None => [name, "no history yet".to_owned(), "0".to_owned(), String::new()],
    }
}

fn print(session: &mut Session, listed: &Listed) -> Result<()> {
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
    Ok(())
}
