//! Makes one change of a history, for `ingest`, `import`, `mirror pull` and others, and reports what it did.

use std::io::{self, Write};

use accession::history::ChangeCounts;
use accession::history::{KeptAnnotations, Skipped};
use accession::mirror::{MirrorStatus, PullReport};
use accession::text::{plural, quoted};
use accession::{ChangeReport, DatasetName, Identifier, Instance, Registry};
use accession::{Digest, WarningKind};
use serde::Serialize;

use super::error::{Exit, Result};
use super::output::{Object, Output};
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
    status: Option<MirrorStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_equal: Option<bool>,
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
    pub fn make<T: AsRef<ChangeReport>>(
        &self,
        session: &mut Session,
        change: impl FnOnce(&Registry) -> Result<T>,
    ) -> Result<(T, Created)> {
        let create = Create::when(self.create);
        let is_new_registry = session.new_registry(create)?.is_some();
        let made = session.write(create, self.at, |registry, _| change(registry))?;
        let applied = made.as_ref();
        let (changed, dataset) = (applied.instance().is_some(), applied.created_dataset);
        if dataset && changed && !self.dry_run {
            // What cannot be read after the change is not warned of.
            let _ = warn_of_shared_doi(session, self.dataset);
        }
        Ok((made, Created { registry: is_new_registry && changed, dataset }))
    }

    /// Prints what was done. `pulled` is what a pull found and left, if it was one.
    pub fn report(
        &self,
        session: &mut Session,
        applied: &ChangeReport,
        created: Created,
        pulled: Option<&PullReport>,
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
            write_change_line(session.out(), in_force, applied)?;
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
            status: pulled.map(|it| it.before.status),
            digest_equal: pulled.map(PullReport::is_digest_equal),
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
    change: impl FnOnce(&Registry) -> accession::Result<ChangeReport>,
) -> Result<Exit> {
    let (applied, created) = application.make(session, |registry| Ok(change(registry)?))?;
    session.warn_all(applied.warnings(application.dataset, session.now()?));
    application.report(session, &applied, created, None, |out| {
        match (unchanged, applied.instance()) {
            (Some(why), None) => {
                writeln!(out, "no changes: {why}")?;
                if let Some(in_force) = &applied.in_force {
                    writeln!(out, "identifier {}", in_force.identifier)?;
                }
            }
            _ => write_applied(out, &applied)?,
        }
        match application.dry_run {
            true => write_dry_run(out, &applied),
            false => Ok(()),
        }
    })
}

/// Warns that other datasets have the DOI of one that was created with the record of its primary.
fn warn_of_shared_doi(session: &Session, name: &DatasetName) -> Result<()> {
    let snapshot = session.open()?.snapshot()?;
    let Some(doi) = snapshot.dataset(name)?.dataset.doi else { return Ok(()) };
    let others = snapshot.datasets_with_doi(&doi)?;
    for other in others.iter().filter(|other| *other != name) {
        session.warn(WarningKind::SharedDoi, &format!("{name} has the DOI {doi}, as {other} has"));
    }
    Ok(())
}

/// Writes a change in one line.
fn write_change_line(
    out: &mut impl Write,
    in_force: &Instance,
    applied: &ChangeReport,
) -> io::Result<()> {
    let Instance { dataset, timestamp, granules, identifier, .. } = in_force;
    let sides = sides(applied.counts());
    writeln!(out, "{dataset} at {timestamp}: {sides}, holds {granules}, identifier {identifier}")
}

/// How many granules are ingested, deleted, described and replaced: `+2 -1 ~3, 10 described`. The last two
/// are left out where there are none.
pub fn sides(counts: ChangeCounts) -> String {
    let ChangeCounts { ingested, deleted, described, replaced, .. } = counts;
    let mut sides = format!("+{ingested} -{deleted}");
    if replaced > 0 {
        sides.push_str(&format!(" ~{replaced}"));
    }
    if described > 0 {
        sides.push_str(&format!(", {described} described"));
    }
    sides
}

/// Writes the result of a change.
fn write_applied(out: &mut impl Write, applied: &ChangeReport) -> io::Result<()> {
    let Some(instance) = applied.instance() else {
        return match applied.skipped {
            Skipped { held: 1.., .. } => {
                writeln!(out, "no changes: every granule is already held")
            }
            Skipped { missing: 1.., .. } => {
                writeln!(out, "no changes: none of the granules is held")
            }
            _ => writeln!(out, "no changes: the input contains no granules"),
        };
    };
    write_change(out, instance)?;
    writeln!(out, "identifier {}", instance.identifier)
}

/// Writes when a change took effect, and how many granules it ingested and deleted.
pub fn write_change(out: &mut impl Write, change: &Instance) -> io::Result<()> {
    let Instance { dataset, timestamp, granules, .. } = change;
    let sides = sides(change.counts());
    writeln!(out, "{dataset} at {timestamp}: {sides}, holds {granules}")
}

/// Writes how many annotations of a primary are kept from now on.
pub fn write_kept(out: &mut impl Write, annotations: KeptAnnotations) -> io::Result<()> {
    match annotations.added {
        0 => Ok(()),
        added => writeln!(out, "kept {}", plural(added, "annotation")),
    }
}

/// Writes that a change was rolled back, with the first granules of each side as examples.
pub fn write_dry_run(out: &mut impl Write, applied: &ChangeReport) -> io::Result<()> {
    let (counts, first) = (applied.counts(), &applied.first);
    for (verb, ids, count) in [
        ("ingest", &first.ingested, counts.ingested),
        ("delete", &first.deleted, counts.deleted),
        ("describe", &first.described, counts.described),
        ("replace files of", &first.replaced, counts.replaced),
    ] {
        let more = count.saturating_sub(ids.len() as u64);
        ids.iter().try_for_each(|id| writeln!(out, "would {verb} {}", id.as_str()))?;
        if more > 0 {
            writeln!(out, "would {verb} {more} more")?;
        }
    }
    writeln!(out, "dry run: nothing was changed")
}
