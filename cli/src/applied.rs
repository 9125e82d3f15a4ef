//! Makes one change of a history, for `ingest`, `import`, `mirror pull` and others, and reports the result.

use std::io::{self, Write};

use accession::history::ChangeCounts;
use accession::history::Skipped;
use accession::listing::{FileRead, Findings};
use accession::text::quoted;
use accession::{
    ChangeReport, DatasetName, ErrorKind, Expected, Identifier, Instance, Registry, Timestamp,
};
use accession::{Digest, WarningKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::by_length::{by_length, in_a_line};
use super::error::{Exit, Result};
use super::output::{AsText, Object, Output, counted, in_words};
use super::session::{Create, Session};

/// A requested change of a dataset.
pub struct Application<'a> {
    /// The dataset, as it was typed.
    pub dataset: &'a DatasetName,
    /// Whether the registry and the dataset are created if they do not exist.
    pub create: bool,
    /// Whether the change is rolled back.
    pub dry_run: bool,
    /// Whether a change is reported in one line with `--quiet`, so that cron mails it.
    pub has_line: bool,
    /// Whether the change is read from a history, which can also have subsets and annotations.
    pub reads_history: bool,
    /// The findings of the listings. `None` means that no listing was read.
    pub findings: Option<&'a Findings>,
}

/// Whether the registry and the dataset were created, or would be without the dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The registry.
    pub registry: bool,
    /// The dataset.
    pub dataset: bool,
}

/// The result of a command that changes the history of a dataset, as JSON. The text is made from it.
#[derive(Serialize)]
struct AppliedJson<'a> {
    #[serde(flatten)]
    instance: InForce<'a>,
    changed: bool,
    added: u64,
    removed: u64,
    /// The totals of all changes.
    counts: Object,
    /// Why nothing changed.
    unchanged: Option<&'a str>,
    dry_run: bool,
    /// The first granules of each kind, or all of them. Only for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    examples: Option<Object>,
    /// The value of `--expect` that accepts the change. Only for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<Expected>,
    /// Why a guard would have refused the change, if `--expect` overruled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    overruled: Option<&'a str>,
    skipped: Skipped,
    created: Created,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Object>,
    /// The fields that only this command prints.
    #[serde(flatten)]
    also: Object,
}

/// The fields of the instance in force after the change. If the dataset has no history, they are null, zero or
/// those of the empty set.
#[derive(Serialize)]
#[serde(untagged)]
enum InForce<'a> {
    Instance(&'a Instance),
    Nothing(Object),
}

impl<'a> Application<'a> {
    /// The same change, with the findings of its listings.
    pub fn read(self, findings: &'a Findings) -> Self {
        Application { findings: Some(findings), ..self }
    }

    /// The members of the result about the listings. If this is the first change or a dry run, they include
    /// what was read.
    fn reading(&self, applied: &ChangeReport) -> Object {
        let Some(findings) = self.findings else { return Object(vec![]) };
        let is_first = applied.last.is_none() && applied.instance().is_some();
        reading(findings, is_first || self.dry_run)
    }

    /// The same change, reported in one line with `--quiet` if something changed.
    pub fn with_line(self) -> Self {
        Application { has_line: true, ..self }
    }

    /// Makes the change, and returns its result and what was created. Prints no result.
    pub fn make<T: AsRef<ChangeReport>>(
        &self,
        session: &mut Session,
        change: impl FnOnce(&Registry) -> Result<T>,
    ) -> Result<(T, Created)> {
        let create = Create::when(self.create);
        let is_new_registry = session.new_registry(create)?.is_some();
        let made = session.write(create, None, |registry, _| change(registry))?;
        let applied = made.as_ref();
        let (changed, dataset) = (applied.instance().is_some(), applied.created_dataset);
        if dataset && changed && !self.dry_run {
            // The change is made already, so an error here only loses the warning.
            let _ = warn_of_shared_doi(session, self.dataset);
        }
        Ok((made, Created { registry: is_new_registry && changed, dataset }))
    }

    /// Prints the result. `unchanged` is the reason if nothing changed. `also` has the fields that only this
    /// command prints.
    pub fn report(
        &self,
        session: &mut Session,
        applied: &ChangeReport,
        created: Created,
        unchanged: Option<&str>,
        mut also: Object,
        text: AsText,
    ) -> Result<Exit> {
        also.0.extend(self.reading(applied).0);
        let (dataset, dry_run) = (self.dataset, self.dry_run);
        let changed = applied.instance().is_some();
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
        let ChangeCounts { ingested, deleted, described, replaced, .. } = applied.counts();
        let first = &applied.first;
        let done = AppliedJson {
            instance,
            changed,
            added: ingested,
            removed: deleted,
            counts: object!({
                "ingested": ingested,
                "deleted": deleted,
                "described": described,
                "replaced": replaced,
            }),
            unchanged: unchanged.filter(|_| !changed),
            dry_run,
            examples: dry_run.then(|| {
                object!({
                    "ingested": first.ingested,
                    "deleted": first.deleted,
                    "described": first.described,
                    "replaced": first.replaced,
                })
            }),
            expect: (dry_run && changed).then(|| applied.expect()),
            overruled: applied.overruled.as_deref(),
            skipped: applied.skipped,
            created,
            kept: self.reads_history.then(
                || object!({ "subsets": applied.subsets, "annotations": applied.annotations }),
            ),
            also,
        };
        // A user who tries a change wants to see its effect, whichever command makes it.
        if (self.has_line || dry_run) && session.wants_lines() && changed {
            session.present(&done, write_line)?;
        }
        session.present_done(&done, text)
    }
}

/// Prints the command that makes exactly the change of a dry run.
pub fn hint_of_dry_run(session: &Session, applied: &ChangeReport, dry_run: bool) {
    if !dry_run || applied.instance().is_none() || session.is_json() || session.is_quiet() {
        return;
    }
    let command = session.again(&[("--expect", &applied.expect().to_string())]);
    session.hint(&format!("`{command}` makes exactly this change"));
}

/// Makes one change at one time, and prints it. `unchanged` is the reason if nothing changed. With `None`, the
/// reason follows from the granules that were skipped.
pub fn apply(
    session: &mut Session,
    application: &Application<'_>,
    unchanged: Option<&str>,
    change: impl FnOnce(&Registry) -> accession::Result<ChangeReport>,
) -> Result<Exit> {
    let made = application.make(session, |registry| Ok(change(registry)?));
    let (applied, created) =
        made.map_err(|error| match error.kind() == ErrorKind::DatasetUnknown {
            true => error.with_hint("add --create if it is a new dataset"),
            false => error,
        })?;
    session.warn_all(applied.warnings(application.dataset, session.now()?));
    let unchanged = unchanged.unwrap_or(match applied.skipped {
        Skipped { held: 1.., .. } => "every granule is already held",
        Skipped { missing: 1.., .. } => "none of the granules is held",
        _ => "the input contains no granules",
    });
    let also = Object(vec![]);
    let exit =
        application.report(session, &applied, created, Some(unchanged), also, |out, done| {
            write_read(out, done)?;
            write_created(out, done)?;
            if done["changed"] == true {
                write_change(out, done)?;
            } else {
                write_unchanged(out, done)?;
            }
            write_contents(out, done)?;
            write_identifier(out, done)?;
            write_dry_run(out, done)
        })?;
    hint_of_dry_run(session, &applied, application.dry_run);
    Ok(exit)
}

/// The members of a result about its listings: what was read, if `says_what_was_read`, guessed algorithms, and
/// whether contents were compared.
pub fn reading(findings: &Findings, says_what_was_read: bool) -> Object {
    let read = findings.read().iter().filter(|_| says_what_was_read).map(|read| {
        let (first, last) = read.ends.clone().unzip();
        let FileRead { name, format, ids, .. } = read;
        json!({ "file": name, "format": format, "ids": ids, "first": first, "last": last })
    });
    let read: Vec<Value> = read.collect();
    let mut object = object!({ "read": read, "by_length": by_length(findings) });
    object.0.retain(|(_, value)| value.as_array().is_none_or(|values| !values.is_empty()));
    if findings.lacks_checksums() {
        object.0.push(("contents_compared", false.into()));
    }
    object
}

/// Writes what was read: for each listing the format, the number of ids, and the first and the last id.
pub fn write_read(out: &mut Output, done: &Value) -> io::Result<()> {
    for read in done["read"].as_array().map_or(&[][..], Vec::as_slice) {
        let [file, format] = ["file", "format"].map(|member| in_words(&read[member]));
        let article = if format == "directory" { "a " } else { "" };
        write!(out, "read {file} as {article}{format}: {}", counted(&read["ids"], "id"))?;
        if let (Some(first), Some(last)) = (read["first"].as_str(), read["last"].as_str()) {
            write!(out, " from {} to {}", quoted(first), quoted(last))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the guessed algorithms of a listing's checksums, and whether contents were compared.
pub fn write_contents(out: &mut Output, done: &Value) -> io::Result<()> {
    for guessed in done["by_length"].as_array().map_or(&[][..], Vec::as_slice) {
        writeln!(out, "{}", in_a_line(guessed))?;
    }
    if done["contents_compared"] == false {
        writeln!(out, "contents were not compared: --etag compares the ETags of the objects")?;
    }
    Ok(())
}

/// Warns that a dataset that was created with the record of its primary shares its DOI with other datasets.
fn warn_of_shared_doi(session: &Session, name: &DatasetName) -> Result<()> {
    let snapshot = session.open()?.snapshot()?;
    let Some(doi) = snapshot.dataset(name)?.dataset.doi else { return Ok(()) };
    let others = snapshot.datasets_with_doi(&doi)?;
    for other in others.iter().filter(|other| *other != name) {
        session.warn(WarningKind::SharedDoi, &format!("{name} has the DOI {doi}, as {other} has"));
    }
    Ok(())
}

/// The numbers of granules that a change ingests, deletes, replaces and describes: `+2 -1 ~3, 10 described`.
/// The last two are omitted if they are zero.
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

/// Writes a change in one line.
fn write_line(out: &mut Output, done: &Value) -> io::Result<()> {
    if done["dry_run"] == true {
        write!(out, "dry run: ")?;
    }
    writeln!(out, "{}, identifier DI:{}", change_in_words(done), in_words(&done["identifier"]))
}

/// Writes the dataset that was created.
pub fn write_created(out: &mut Output, done: &Value) -> io::Result<()> {
    if done["created"]["dataset"] != true {
        return Ok(());
    }
    let verb = if done["dry_run"] == true { "would create" } else { "created" };
    writeln!(out, "{verb} dataset {}", in_words(&done["dataset"]))
}

/// Writes why nothing changed.
pub fn write_unchanged(out: &mut Output, done: &Value) -> io::Result<()> {
    match done["unchanged"].as_str() {
        Some(why) => writeln!(out, "no changes: {why}"),
        None => Ok(()),
    }
}

/// Writes the numbers of granules that a change ingested and deleted, and what a guard found in it.
pub fn write_change(out: &mut Output, done: &Value) -> io::Result<()> {
    writeln!(out, "{}", change_in_words(done))?;
    write_overruled(out, done)
}

/// Writes what a guard found in a change that was expected. Since the refusal, the dataset may have changed.
pub fn write_overruled(out: &mut Output, done: &Value) -> io::Result<()> {
    match done["overruled"].as_str() {
        Some(why) => writeln!(out, "as expected, although {why}"),
        None => Ok(()),
    }
}

/// Writes the identifier in force, if the dataset has a history.
pub fn write_identifier(out: &mut Output, done: &Value) -> io::Result<()> {
    match done["timestamp"].is_null() {
        true => Ok(()),
        false => writeln!(out, "identifier DI:{}", in_words(&done["identifier"])),
    }
}

fn change_in_words(done: &Value) -> String {
    let (dataset, granules) = (in_words(&done["dataset"]), in_words(&done["granules"]));
    let at = match is_of_now(done) {
        true => String::new(),
        false => format!(" at {}", in_words(&done["timestamp"])),
    };
    format!("{dataset}{at}: {}, holds {granules}", counts_in_words(&done["counts"]))
}

/// Whether a change took effect when it was recorded, so that its time need not be printed.
fn is_of_now(done: &Value) -> bool {
    const MINUTE_MICROS: u64 = 60 * 1_000_000;
    let at = |member: &str| done[member].as_str()?.parse::<Timestamp>().ok();
    at("timestamp")
        .zip(at("recorded"))
        .is_some_and(|(at, recorded)| recorded.as_micros().abs_diff(at.as_micros()) < MINUTE_MICROS)
}

/// The numbers of granules that were ingested, deleted, described and replaced. Zeros are omitted.
pub fn counts_in_words(counts: &Value) -> String {
    let words = [
        ("ingested", "added"),
        ("deleted", "deleted"),
        ("replaced", "replaced"),
        ("described", "described"),
    ];
    let counts = words.map(|(member, word)| (counts[member].as_u64().unwrap_or(0), word));
    let is_something = counts.iter().any(|(count, _)| *count > 0);
    let shown =
        counts.iter().filter(|(count, word)| *count > 0 || !is_something && *word == "added");
    shown.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Writes the number of annotations of a primary that were added to the dataset.
pub fn write_kept(out: &mut Output, done: &Value) -> io::Result<()> {
    match &done["kept"]["annotations"] {
        none if none == 0 => Ok(()),
        added => writeln!(out, "kept {}", counted(added, "annotation")),
    }
}

/// Writes that a change was rolled back, if it was, with the first granules of each side as examples.
pub fn write_dry_run(out: &mut Output, done: &Value) -> io::Result<()> {
    if done["dry_run"] != true {
        return Ok(());
    }
    for (verb, member) in [
        ("ingest", "ingested"),
        ("delete", "deleted"),
        ("describe", "described"),
        ("replace files of", "replaced"),
    ] {
        let ids = done["examples"][member].as_array().map_or(&[][..], Vec::as_slice);
        ids.iter().try_for_each(|id| writeln!(out, "would {verb} {}", in_words(id)))?;
        let count = done["counts"][member].as_u64().unwrap_or(0);
        let more = count.saturating_sub(ids.len() as u64);
        if more > 0 {
            writeln!(out, "would {verb} {more} more")?;
        }
    }
    writeln!(out, "dry run: nothing was changed")
}
