use std::io::{self, Write};
use std::path::{Path, PathBuf};

use accession::mirror::{
    MirrorComparison, Primary, PullOptions, Pulled, Standing, Status, compare, pull,
};
use accession::{Access, DatasetName, Difference, Instance, Moment, Registry, Stamp};
use anyhow::Result;

use crate::cli::output::{count, write_work};
use crate::cli::report::Usage;
use crate::cli::selection::refuse_future;
use crate::cli::session::{Create, Session, shown};
use crate::cli::source::open;
use crate::cli::{Exit, json};

/// Compare a mirror with its primary, and bring it up to date
#[derive(clap::Subcommand)]
pub enum Command {
    Compare(Compare),
    Pull(Pull),
}

/// The other side.
#[derive(clap::Args)]
struct Other {
    /// The mirror: a dataset of this registry
    dataset: DatasetName,

    /// The primary: a manifest, gzip or not, or a registry file; - is a manifest on stdin
    primary: PathBuf,

    /// Its dataset; default: the one of the same name, or the only one
    #[arg(long, value_name = "N")]
    primary_dataset: Option<DatasetName>,

    /// As of when: RFC 3339, or a date, which means the end of that day; default: its latest change
    #[arg(long, value_name = "T")]
    primary_at: Option<Moment>,
}

/// Say whether a mirror is identical, behind, ahead or diverged, and which granules to mend
///
/// Exit status 0 means identical, and nothing else: every granule of both sides was compared.
///
/// Example:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    #[command(flatten)]
    other: Other,

    /// Show all granules that differ, not only the first 20
    #[arg(long)]
    all: bool,
}

/// Make a mirror hold what its primary holds, in one change that proves itself by the identifier
///
/// Exit status 0 means that the mirror is now identical.
///
/// Example:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Pull {
    #[command(flatten)]
    other: Other,

    /// When the change takes effect here: RFC 3339, or a date, which means its 00:00:00Z; default:
    /// now
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// Make the dataset, and the registry, if it is not there
    #[arg(long)]
    create: bool,

    /// Show what would be done, and leave everything as it is
    #[arg(long)]
    dry_run: bool,
}

impl Command {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Command::Compare(compare) => compare.run(session),
            Command::Pull(pull) => pull.run(session),
        }
    }
}

impl Other {
    fn open(&self, session: &Session) -> Result<Primary> {
        let now = session.now()?;
        if let Some(at) = self.primary_at {
            refuse_future(at, now)?;
        }
        let named = self.primary_dataset.as_ref();
        Ok(if self.primary == Path::new("-") {
            let (stdin, name) = open(&self.primary)?;
            Primary::from_manifest(stdin, &name, &self.dataset, named, now)?
        } else {
            Primary::open(&self.primary, &self.dataset, named, now)?
        })
    }
}

/// Granules that are shown unless all are asked for.
const SHOWN: u64 = 20;

impl Compare {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let mut primary = self.other.open(session)?;
        let mut registry = session.open(Access::Read)?;
        registry.dataset(&self.other.dataset)?;
        let (dataset, at) = (&self.other.dataset, self.other.primary_at);
        // What is found comes first, and then what it is about: so it is compared once to count.
        let found = compare(&mut registry, dataset, &mut primary, at, |_| Ok(()))?;
        if session.is_json() {
            write_json(session, &mut registry, dataset, &mut primary, at, &found)?;
        } else {
            write_found(session.out(), dataset, primary.dataset(), &found)?;
            if let Some(first) = &found.first_difference {
                let id = first.as_str();
                writeln!(session.out(), "first difference at {id}")?;
            }
            let mut shown_so_far = 0;
            let again = shown(compare(&mut registry, dataset, &mut primary, at, |difference| {
                shown_so_far += 1;
                if self.all || shown_so_far <= SHOWN {
                    let (word, granule_id) = match &difference {
                        Difference::OnlyLeft(granule_id) => ("unexpected", granule_id),
                        Difference::OnlyRight(granule_id) => ("missing", granule_id),
                    };
                    let id = granule_id.as_str();
                    writeln!(session.out(), "{word:10}  {id}")?;
                }
                Ok(())
            }))?;
            refuse_change(&found, &again)?;
            if !self.all && shown_so_far > SHOWN {
                let more = shown_so_far - SHOWN;
                writeln!(session.out(), "and {more} more: --all shows them")?;
            }
        }
        Ok(if found.status == Status::Identical { Exit::Done } else { Exit::Differs })
    }
}

/// What is listed must be what was counted.
fn refuse_change(found: &MirrorComparison, again: &MirrorComparison) -> Result<()> {
    if found == again {
        return Ok(());
    }
    let usage = Usage::new("one of the two sides was changed while they were compared");
    Err(usage.with_hint("try again").into())
}

/// The differences may be many: each is written as it is found.
fn write_json(
    session: &mut Session,
    registry: &mut Registry,
    dataset: &DatasetName,
    primary: &mut Primary,
    at: Option<Moment>,
    found: &MirrorComparison,
) -> Result<()> {
    let head = json::text(&found.status);
    let (mirror, instance) = (json::text(&found.mirror), json::text(&found.primary));
    let matched = found.matched;
    let out = session.out();
    write!(out, "{{\"status\":{head},\"mirror\":{mirror},\"primary\":{instance},")?;
    write!(out, "\"matched\":{matched}")?;
    for name in ["missing", "unexpected"] {
        write!(session.out(), ",\"{name}\":[")?;
        let mut is_first = true;
        let again = shown(compare(registry, dataset, primary, at, |difference| {
            let granule_id = match (&difference, name) {
                (Difference::OnlyRight(it), "missing") => it,
                (Difference::OnlyLeft(it), "unexpected") => it,
                _ => return Ok(()),
            };
            let comma = if std::mem::take(&mut is_first) { "" } else { "," };
            let text = json::text(granule_id);
            Ok(write!(session.out(), "{comma}{text}")?)
        }))?;
        refuse_change(found, &again)?;
        write!(session.out(), "]")?;
    }
    Ok(writeln!(session.out(), "}}")?)
}

fn write_found(
    out: &mut impl Write,
    dataset: &DatasetName,
    primary: &DatasetName,
    found: &MirrorComparison,
) -> io::Result<()> {
    let MirrorComparison { matched, missing, unexpected, .. } = found;
    let both = count(*matched, "granule");
    match found.status {
        Status::Identical => writeln!(out, "identical: {both}, {}", found.primary.identifier)?,
        Status::Behind => writeln!(out, "behind{}", ago("at the primary", found.standing))?,
        Status::Ahead => writeln!(out, "ahead{}", ago("here", found.standing))?,
        Status::Diverged => writeln!(out, "diverged")?,
    }
    if found.status != Status::Identical {
        writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")?;
    }
    let side = |name: &str, dataset: &DatasetName, instance: Option<&Instance>| match instance {
        Some(it) => format!("{name}  {}  {dataset} as of {}", it.identifier, it.timestamp),
        None => format!("{name}  {dataset} has no history yet"),
    };
    writeln!(out, "{}", side("mirror ", dataset, found.mirror.as_ref()))?;
    writeln!(out, "{}", side("primary", primary, Some(&found.primary)))?;
    Ok(())
}

fn ago(location: &str, standing: Option<Standing>) -> String {
    let Some(Standing { since, until, changes_ago }) = standing else { return String::new() };
    let until = until.map_or("now".to_owned(), |until| until.to_string());
    let changes = count(changes_ago, "change");
    format!(" by {changes}: in force {location} {since} until {until}")
}

impl Pull {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let mut primary = self.other.open(session)?;
        let stamp = Stamp { at: self.at.map(Moment::of_change), now: session.now()? };
        let (primary_at, create, dry_run) = (self.other.primary_at, self.create, self.dry_run);
        let options = PullOptions { primary_at, stamp, create, dry_run };
        let dataset = &self.other.dataset;
        let pulled = session.write(Create::when(create, dry_run), |registry| {
            Ok(pull(registry, dataset, &mut primary, options)?)
        })?;
        if session.is_json() {
            let instance = match &pulled.change {
                Some(change) => Some(change.clone()),
                None => session.open(Access::Read)?.dataset(dataset)?.latest,
            };
            session.json(&instance)?;
        } else {
            write_pulled(session.out(), &pulled, dry_run)?;
        }
        Ok(Exit::Done)
    }
}

fn write_pulled(out: &mut impl Write, pulled: &Pulled, dry_run: bool) -> io::Result<()> {
    let Pulled { change, primary, work } = pulled;
    let Some(change) = change else {
        return writeln!(out, "identical already: nothing was changed");
    };
    let Instance { dataset, timestamp, ingested, deleted, granules, identifier, .. } = change;
    writeln!(out, "{dataset} at {timestamp}: +{ingested} -{deleted}, holds {granules}")?;
    writeln!(out, "identifier {identifier}")?;
    writeln!(out, "identical to {} as of {}", primary.dataset, primary.timestamp)?;
    write_work(out, work)?;
    if dry_run {
        writeln!(out, "a dry run: nothing was changed")?;
    }
    Ok(())
}
