use std::io::{self, Write};

use accession::mirror::{PrimarySource, PullOptions, PullPolicy, Pulled};
use accession::model::WarningKind;
use accession::{Access, DatasetName, Limit, Limits};

use super::compare::write_statements;
use super::status::sources;
use crate::cli::applied::{Application, Created, write_change, write_kept};
use crate::cli::args::{PrimaryArgs, deletions, warn_of_not_remembered};
use crate::cli::error::{Context, Exit, Result};
use crate::cli::output::Output;
use crate::cli::session::{ChangeTime, Session};

/// Make a mirror hold the same granules as its primary, in one change
///
/// The change is committed only if the new identifier is that of the primary. Exit status 0 means
/// that the mirror is now identical to it. If the mirror is ahead or diverged, or the primary stale,
/// rewritten, forked or misstated, nothing is changed unless --reset is given, and the exit status is 1: the
/// manifest may be an older one, or that of another dataset. `mirror compare --help` describes these words.
///
/// The primary is remembered with its options, so it need not be named the next time. If its site publishes
/// signed statements, these are read first: from the first pull on, or from one with --policy on. They are
/// kept, so that `accession prove` proves them when the archive is gone.
///
/// Examples:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
///   accession mirror pull THEM.FOOL2.002
///   accession mirror pull THEM.FOOL2.002 --policy policy.txt --key witness.key
///   accession mirror pull --all --quiet
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The mirror: a dataset of this registry
    #[arg(required_unless_present = "all")]
    dataset: Option<DatasetName>,

    /// Pull every dataset that was pulled before from the primary of its last pull, with the same
    /// options; one that fails does not stop the others
    #[arg(long, conflicts_with_all = ["dataset", "primary_dataset", "primary_at", "reset", "create", "policy"])]
    all: bool,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// When the change takes effect in the mirror: RFC 3339, or a date, which means 00:00:00Z of
    /// that day, or now [default: now]
    #[arg(long, value_name = "T")]
    at: Option<ChangeTime>,

    /// Change the mirror whatever its status is, even if it is ahead or diverged
    #[arg(long)]
    reset: bool,

    /// How many granules a reset may delete: a number, or a percentage of those held [default: that of
    /// the dataset, else the larger of 10 granules and 2%, never more than half, but at least one]
    #[arg(long, value_name = "N|P%", value_parser = deletions, requires = "reset")]
    max_delete: Option<Limit>,

    /// How many granules a reset may add: a number, or a percentage of those held [default: that of
    /// the dataset, else the larger of 1,000 granules and 100%]
    #[arg(long, value_name = "N|P%", requires = "reset")]
    max_add: Option<Limit>,

    /// Of how many granules the primary's bytes may be taken where others are known here from elsewhere: a
    /// number, or a percentage of those held [default: that of the dataset; without one they are
    /// named and left]
    #[arg(long, value_name = "N|P%")]
    max_replace: Option<Limit>,

    /// Create the dataset, with the primary's record, and the registry if they do not exist
    #[arg(long)]
    create: bool,

    /// Show what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match &self.dataset {
            Some(dataset) => {
                let source = self.primary.source(dataset, session)?;
                let pulled = self.pull(dataset, &source, session)?;
                self.report(dataset, &pulled, session, |out| {
                    write_pulled(out, &pulled.0, self.dry_run)
                })
            }
            None => self.pull_all(session),
        }
    }

    /// Pulls every dataset from its default. One that fails does not stop the others.
    fn pull_all(&self, session: &mut Session) -> Result<Exit> {
        let (mut pulls, follow) = (Vec::new(), self.primary.follow(session)?);
        for known in sources(&session.open(Access::Read)?.snapshot()?)? {
            let dataset = known.dataset.clone();
            let source = self.primary.default_source(known, session)?;
            pulls.extend(source.map(|source| (dataset, source.following(follow.clone()))));
        }
        let mut worst = Exit::Done;
        for (dataset, source) in pulls {
            let pulled = self.pull(&dataset, &source, session);
            let exit = match pulled.with_context(|| dataset.to_string()) {
                Ok(pulled) => {
                    let line =
                        |out: &mut Output| write_line(out, &dataset, &pulled.0, self.dry_run);
                    match self.report(&dataset, &pulled, session, line) {
                        // The others are pulled also if nobody reads what was: that is reported at the end.
                        Err(_) if session.output_failure().is_some() => Exit::Trouble,
                        reported => reported?,
                    }
                }
                Err(error) => error.report(session.is_json()),
            };
            worst = worst.max(exit);
        }
        Ok(worst)
    }

    fn pull(
        &self,
        dataset: &DatasetName,
        source: &PrimarySource,
        session: &mut Session,
    ) -> Result<(Pulled, Created)> {
        let options = PullOptions {
            primary_at: self.primary.primary_at,
            create_dataset: self.create,
            policy: match self.reset {
                true => PullPolicy::Reset(Limits {
                    max_delete: self.max_delete,
                    max_add: self.max_add,
                    max_replace: None,
                }),
                false => PullPolicy::Follow,
            },
            max_replace: self.max_replace,
            dry_run: self.dry_run,
        };
        let mut not_remembered = None;
        let pulled = self.application(dataset).make(session, |registry, stamp| {
            source.pull(registry, dataset, options, stamp).map_err(|failure| {
                not_remembered = failure.not_remembered;
                failure.error.into()
            })
        });
        warn_of_not_remembered(session, not_remembered);
        pulled
    }

    fn application<'a>(&self, dataset: &'a DatasetName) -> Application<'a> {
        let Args { at, create, dry_run, .. } = *self;
        Application { dataset, at, create, dry_run, has_line: true, reads_history: true }
    }

    fn report(
        &self,
        dataset: &DatasetName,
        (pulled, created): &(Pulled, Created),
        session: &mut Session,
        text: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<Exit> {
        // Where nobody reads what was done, the warnings are still read.
        let reported = self.application(dataset).report(
            session,
            &pulled.applied,
            *created,
            Some(pulled),
            text,
        );
        session.warn_all(pulled.warnings(dataset));
        if created.dataset && !self.dry_run {
            // What cannot be read after the change is not warned of.
            let _ = warn_of_doi(session, dataset);
        }
        let exit = if pulled.is_identical() { Exit::Done } else { Exit::Differs };
        reported.map(|_| exit)
    }
}

/// Warns that a mirror that was created has the DOI of its primary: a citation of it has times of its own.
fn warn_of_doi(session: &Session, mirror: &DatasetName) -> Result<()> {
    let doi = session.open(Access::Read)?.snapshot()?.dataset(mirror)?.dataset.doi;
    if let Some(doi) = doi {
        let what = format!(
            "{mirror} has the DOI of its primary, {doi}: `accession dataset edit {mirror} --doi` sets its own, and --doi '' removes it"
        );
        session.warn(WarningKind::SharedDoi, &what);
    }
    Ok(())
}

/// Writes what was pulled in one line.
fn write_line(
    out: &mut Output,
    dataset: &DatasetName,
    pulled: &Pulled,
    dry_run: bool,
) -> io::Result<()> {
    if dry_run {
        write!(out, "dry run: ")?;
    }
    if pulled.applied.annotations.added > 0 {
        write!(out, "{dataset}: ")?;
        write_kept(out, pulled.applied.annotations)?;
    }
    match pulled.applied.instance() {
        Some(change) => write_change(out, change),
        None => writeln!(out, "{dataset}: no changes: {}", pulled.why_unchanged()),
    }
}

fn write_pulled(out: &mut Output, pulled: &Pulled, dry_run: bool) -> io::Result<()> {
    let primary = &pulled.before.primary;
    write_kept(out, pulled.applied.annotations)?;
    let Some(change) = pulled.applied.instance() else {
        writeln!(out, "no changes: {}", pulled.why_unchanged())?;
        return write_statements(out, &pulled.before);
    };
    write_change(out, change)?;
    writeln!(out, "identifier {}", change.identifier)?;
    let of = if pulled.is_identical() { "identical to" } else { "the same granules as" };
    let not_proved = match pulled.is_digest_equal() {
        true => "",
        false => "; its digest is not proved, since other content is known here",
    };
    writeln!(out, "{of} {} as of {}{not_proved}", primary.dataset, primary.timestamp)?;
    write_statements(out, &pulled.before)?;
    if dry_run {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
