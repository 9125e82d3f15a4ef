//! Makes one change of a history, for `ingest`, `import`, `mirror pull` and others, and reports what it did.

use std::io::{self, Write};

use accession::mirror::Status;
use accession::model::Digest;
use accession::model::quoted;
use accession::registry::{KeptAnnotations, Skipped};
use accession::{Applied, DatasetName, Identifier, Instance, Registry, Stamp};
use serde::Serialize;

use super::dataset_warnings::warn_of_shared_doi;
use super::error::{Exit, Result};
use super::output::{Object, Output, write_applied, write_change_line, write_dry_run};
use super::session::{ChangeTime, Create, Session};

/// One change of a dataset, as it was asked for.
pub struct Application<'a> {
    /// The dataset, as it was typed.
    pub dataset: &'a DatasetName,
    /// The time at which the change takes effect. `None` means now.
    pub at: Option<ChangeTime>,
    /// Whether the registry and the dataset are created if they do not exist.
    pub create: bool,
    /// Whether the change is rolled back.
    pub dry_run: bool,
    /// Whether a change is reported in one line with `--quiet`, so that cron sends it.
    pub has_line: bool,
    /// Whether it is read from a history, with subsets and annotations beside it.
    pub reads_history: bool,
}

/// What was created, or in a dry run would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The registry.
    pub registry: bool,
    /// The dataset.
    pub dataset: bool,
}

/// The result of a command that changes the history of a dataset, as JSON.
#[derive(Serialize)]
struct AppliedJson<'a> {
    #[serde(flatten)]
    instance: InForce<'a>,
    changed: bool,
    added: u64,
    removed: u64,
    dry_run: bool,
    skipped: Skipped,
    created: Created,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

/// The fields of the instance in force afterwards, which are null, zero or those of the empty set if the
/// dataset has no history.
#[derive(Serialize)]
#[serde(untagged)]
enum InForce<'a> {
    Instance(&'a Instance),
    Nothing(Object),
}

impl Application<'_> {
    /// The same, reported in one line with `--quiet` if something changed.
    pub fn with_line(self) -> Self {
        Application { has_line: true, ..self }
    }

    /// Makes the change, and says what was created for it. The result is not printed yet.
    pub fn make<T: AsRef<Applied>>(
        &self,
        session: &mut Session,
        mut change: impl FnMut(&Registry, &Stamp) -> Result<T>,
    ) -> Result<(T, Created)> {
        let create = Create::when(self.create);
        let is_new_registry = session.new_registry(create)?.is_some();
        let made = session
            .write(create, |registry, session| change(registry, &session.stamp(self.at)?))?;
        let applied = made.as_ref();
        let (changed, dataset) = (applied.instance().is_some(), applied.created_dataset);
        if dataset && changed && !self.dry_run {
            // What cannot be read after the change is not warned of.
            let _ = warn_of_shared_doi(session, self.dataset);
        }
        Ok((made, Created { registry: is_new_registry && changed, dataset }))
    }

    /// Prints what was done. `status` is that of a mirror before it was changed.
    pub fn report(
        &self,
        session: &mut Session,
        applied: &Applied,
        created: Created,
        status: Option<Status>,
        text: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<Exit> {
        let (dataset, dry_run) = (self.dataset, self.dry_run);
        let (changed, added, removed) =
            (applied.instance().is_some(), applied.added(), applied.removed());
        session.report_work(&applied.effort);
        let instance = match &applied.in_force {
            Some(instance) => InForce::Instance(instance),
            None => InForce::Nothing(object!({
                "dataset": dataset,
                "timestamp": (),
                "until": (),
                "identifier": Identifier::EMPTY,
                "digest": Digest::EMPTY,
                "granules": 0,
                "ingested": 0,
                "deleted": 0,
                "described": 0,
                "replaced": 0,
                "recorded": (),
                "recorded_by": (),
                "note": (),
                "annotations": [(); 0],
            })),
        };
        // Who tries a change wants to see what it would do, whichever command makes it.
        if let (InForce::Instance(in_force), true) = (&instance, self.has_line || dry_run)
            && session.wants_lines()
            && changed
        {
            if dry_run {
                write!(session.out(), "dry run: ")?;
            }
            write_change_line(session.out(), in_force, [added, removed])?;
        }
        let registry = session.registry_path();
        let json = AppliedJson {
            instance,
            changed,
            added,
            removed,
            dry_run,
            skipped: applied.skipped,
            created,
            kept: self.reads_history.then(|| {
                let KeptAnnotations { added, .. } = applied.annotations;
                object!({ "subsets": applied.subsets, "annotations": added })
            }),
            status,
        };
        session.confirm(&json, |out| {
            let verb = if dry_run { "would create" } else { "created" };
            if created.registry {
                writeln!(out, "{verb} registry {}", quoted(&registry.to_string_lossy()))?;
            }
            if created.dataset {
                writeln!(out, "{verb} dataset {dataset}")?;
            }
            text(out)
        })
    }
}

/// Makes one change at one time, and prints it. `unchanged` is why nothing changed, if nothing did; `None`
/// means because granules were skipped.
pub fn apply(
    session: &mut Session,
    application: &Application<'_>,
    unchanged: Option<&str>,
    mut change: impl FnMut(&Registry, &Stamp) -> accession::error::Result<Applied>,
) -> Result<Exit> {
    let (applied, created) =
        application.make(session, |registry, stamp| Ok(change(registry, stamp)?))?;
    print_applied(session, application, unchanged, &applied, created)
}

/// Prints what [`apply`] did, with its warnings.
fn print_applied(
    session: &mut Session,
    application: &Application<'_>,
    unchanged: Option<&str>,
    applied: &Applied,
    created: Created,
) -> Result<Exit> {
    let program = session.program();
    session.warn_all(applied.warnings(application.dataset, session.now()?, &program));
    application.report(session, applied, created, None, |out| {
        match (unchanged, applied.instance()) {
            (Some(why), None) => {
                writeln!(out, "no changes: {why}")?;
                if let Some(in_force) = &applied.in_force {
                    writeln!(out, "identifier {}", in_force.identifier)?;
                }
            }
            _ => write_applied(out, applied)?,
        }
        match application.dry_run {
            true => write_dry_run(out, applied),
            false => Ok(()),
        }
    })
}
