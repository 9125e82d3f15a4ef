//! `mirror`: compares a mirror with its primary, and brings it up to date.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use accession::WarningKind;
use accession::dataset::Withdrawn;
use accession::history::{ContentCounts, TwoSides};
use accession::mirror::{
    ComparedMirror, FirstDifference, HistoryPosition, MirrorStatus, Primary, PullOptions,
    PullReport,
};
use accession::status::{FilesFact, KnownPrimary, MirrorFacts};
use accession::{DatasetName, DifferenceCounts, Expected, Instance, Snapshot, Warning};
use serde::Serialize;
use serde_json::{Value, json};

use super::compare::{MAX_LISTED, OneSide, differences, write_sides};
use super::facts::{DiskCheck, improvement, write_check};
use crate::applied::{
    Application, Created, hint_of_dry_run, write_change, write_created, write_dry_run,
    write_identifier, write_kept, write_unchanged,
};
use crate::args::{ExpectArgs, PrimaryArgs, age, if_missing, named_path};
use crate::error::{Context, Error, Exit, Result};
use crate::hint;
use crate::output::{AsText, MarkedLines, Output, counted, in_words};
use crate::session::{ChangeTime, Session};

commands! {
    /// Follow another archive's dataset
    enum Command {
        Compare(CompareMirror),
        Pull(PullMirror),
    }
}

/// Show whether a mirror is identical to its primary
///
/// Every granule of both is compared, and those that only one of them has are listed. A mirror is identical,
/// of other content (the same granules, but files with different content), behind (the primary once held the
/// mirror's set), ahead (the mirror once held the primary's set), or diverged. Before that, the primary is
/// compared with what this mirror read of it before: it is stale if it shows an earlier state, and rewritten
/// if a change that was read is no longer there.
///
/// Three facts say whether the copy matches: the names and the recorded checksums are compared with the primary,
/// and the files on disk are as their last check found them. With --files, they are checked now, and files that
/// no granule has are listed. The exit status is 0 only if the mirror is identical and no fact is bad. Files that
/// were never checked are bad only with --checked-within.
///
/// Examples:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
///   accession mirror compare THEM.FOOL2.002 --files /data/fool2
///   accession mirror compare THEM.FOOL2.002 --checked-within 90d
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompareMirror {
    /// The mirror: a dataset of this registry
    dataset: DatasetName,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// Check the files in this directory first
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    files: Option<PathBuf>,

    /// The time in which all files must have been checked: 36h or 90d
    #[arg(long, value_name = "AGE", value_parser = age)]
    checked_within: Option<Duration>,

    /// List all granules that differ, not only 20 of each side
    #[arg(long)]
    all: bool,
}

impl CompareMirror {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let source = self.primary.source(&self.dataset, "compare", session)?;
        let registry = session.open()?;
        let limit = if self.all || session.is_json() { u64::MAX } else { MAX_LISTED };
        let oldest = self.checked_within.map(|age| registry.now().before(age));
        let root = self.files.as_deref();
        let check = root.map(|root| DiskCheck::run(session, &self.dataset, root)).transpose()?;
        let comparison = registry.compare_mirror(&self.dataset, &source)?;
        let mut comparison = comparison.checked_since(oldest);
        let mut sides = TwoSides::lists(comparison.by_ref(), ["here", "at the primary"], limit)?;
        let mut compared = comparison.finish()?;
        if let Some(found) = check.as_ref().and_then(DiskCheck::unrecorded) {
            compared.facts.files = found;
        }
        let is_identical = compared.is_identical();
        let ComparedMirror { dataset, status, counts, facts, warnings, .. } = compared;
        let roots = registry.snapshot()?.checked_roots(&dataset)?;
        let improve = improvement(&session.program(), &dataset, &facts.files, &roots);
        sides.counts = counts;
        session.warn_all(warnings);
        let standing_if = |is: MirrorStatus| status.standing.filter(|_| status.status == is);
        let period = |it: HistoryPosition| json!({ "from": it.since, "until": it.until });
        let behind = standing_if(MirrorStatus::Behind);
        let ahead = standing_if(MirrorStatus::Ahead);
        let DifferenceCounts { matched, only_left, only_right, .. } = sides.counts;
        session.present_with_lists(
            &ComparedMirrorJson {
                dataset: &dataset,
                status: in_one_word(status.status, &facts, is_identical),
                facts: &facts,
                improve: improve.as_deref(),
                check: check.as_ref(),
                mirror: status.mirror.as_ref(),
                primary: &status.primary,
                behind_by: behind.map(|it| it.changes_ago),
                in_force_at_primary: behind.map(period),
                ahead_by: ahead.map(|it| it.changes_ago),
                in_force_here: ahead.map(period),
                first_difference: status.first_difference,
                matched,
                missing_count: only_right,
                unexpected_count: only_left,
                other_content_count: sides.counts.contents.other,
                digest_equal: status.is_digest_equal(),
                contents: sides.counts.contents,
            },
            write_compared,
            &differences(&sides, [UNEXPECTED, MISSING]),
        )?;
        if let Some(improve) = improve.filter(|_| !session.is_json()) {
            // The hint follows the output that it is about.
            session.finish()?;
            let program = session.program();
            session.hint(&match facts.files {
                FilesFact::Bad { .. } => format!(
                    "`{program} status {dataset}` lists the files; once they are replaced, `{improve}` checks them"
                ),
                _ => format!("`{improve}` checks the files"),
            });
        }
        Ok(if is_identical { Exit::Done } else { Exit::Differs })
    }
}

/// The status of a mirror in one word. It is only identical if its files are not bad.
fn in_one_word(status: MirrorStatus, facts: &MirrorFacts, is_identical: bool) -> String {
    match (status, facts.files) {
        (MirrorStatus::Identical, FilesFact::Bad { .. }) => "damaged".to_owned(),
        (MirrorStatus::Identical, _) if !is_identical => "unchecked".to_owned(),
        _ => status.to_string(),
    }
}

/// The granules that only the mirror has.
const UNEXPECTED: OneSide = OneSide {
    member: "unexpected",
    lines: MarkedLines { mark: "unexpected ", count: "unexpected_count", kind: "unexpected here" },
};

/// The granules that only the primary has.
const MISSING: OneSide = OneSide {
    member: "missing",
    lines: MarkedLines { mark: "missing    ", count: "missing_count", kind: "missing here" },
};

/// The result of `mirror compare`, as JSON. It lacks the granules that differ.
#[derive(Serialize)]
struct ComparedMirrorJson<'a> {
    dataset: &'a DatasetName,
    status: String,
    facts: &'a MirrorFacts,
    improve: Option<&'a str>,
    check: Option<&'a DiskCheck>,
    mirror: Option<&'a Instance>,
    primary: &'a Instance,
    behind_by: Option<u64>,
    in_force_at_primary: Option<Value>,
    ahead_by: Option<u64>,
    in_force_here: Option<Value>,
    first_difference: Option<FirstDifference>,
    matched: u64,
    missing_count: u64,
    unexpected_count: u64,
    other_content_count: u64,
    digest_equal: bool,
    #[serde(flatten)]
    contents: ContentCounts,
}

fn write_compared(out: &mut Output, compared: &Value) -> io::Result<()> {
    let dataset = in_words(&compared["dataset"]);
    write_check(out, &compared["check"])?;
    writeln!(out, "{dataset}: {}", in_words(&compared["facts"]["text"]))?;
    write_status(out, compared)?;
    let nothing_yet = json!({ "dataset": dataset });
    let mirror = Some(&compared["mirror"]).filter(|mirror| !mirror.is_null());
    let mirror = mirror.unwrap_or(&nothing_yet);
    write_sides(out, [("mirror", mirror), ("primary", &compared["primary"])])
}

/// Writes the status of a mirror.
fn write_status(out: &mut Output, compared: &Value) -> io::Result<()> {
    let count = |member: &str| compared[member].as_u64().unwrap_or(0);
    let both = counted(&compared["matched"], "granule");
    let (missing, unexpected) = (count("missing_count"), count("unexpected_count"));
    let status = in_words(&compared["status"]);
    match status.as_str() {
        "identical" | "unchecked" => writeln!(out, "{status}: {both}")?,
        // Files of the mirror are damaged. Its granules are those of the primary.
        "damaged" => {
            let of = |member: &str| compared["facts"]["files"][member].as_u64().unwrap_or(0);
            let bad = of("missing") + of("damaged") + of("other");
            let files = counted(&json!(bad), "file");
            writeln!(out, "damaged: {files} on disk, {both} in both records")?;
        }
        "other-content" => {
            let other = count("other_content_count");
            writeln!(out, "other content: equal names, different content in {other}")?;
        }
        "behind" => {
            let period = &compared["in_force_at_primary"];
            let by = by_changes("at the primary", &compared["behind_by"], period);
            writeln!(out, "behind{by}")?;
        }
        "ahead" => {
            let by = by_changes("here", &compared["ahead_by"], &compared["in_force_here"]);
            writeln!(out, "ahead{by}")?;
        }
        "stale" => writeln!(out, "stale: an older state of the log than was read before")?,
        "rewritten" => {
            let first = &compared["first_difference"];
            let [change, at] = ["change", "timestamp"].map(|member| in_words(&first[member]));
            writeln!(
                out,
                "rewritten: change {change}, at {at}, is not the one that was read before"
            )?;
        }
        status => writeln!(out, "{status}")?,
    }
    // Files that were known to be the same were not read again, and are not counted.
    let files = &compared["facts"]["checksums"]["compared"];
    if missing + unexpected == 0
        && compared["digest_equal"] != true
        && let Some(files) = files.as_u64()
    {
        writeln!(out, "names equal; bytes compared for {files} of {}", count("matched"))?;
    }
    if ["identical", "damaged", "unchecked"].contains(&status.as_str()) {
        return Ok(());
    }
    writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")
}

/// The number of changes that one side is behind, and the period of its identifier on the other side,
/// `location`.
fn by_changes(location: &str, changes: &Value, period: &Value) -> String {
    if changes.is_null() {
        return String::new();
    }
    let until = period["until"].as_str().unwrap_or("now");
    let (changes, since) = (counted(changes, "change"), in_words(&period["from"]));
    format!(" by {changes}: in force {location} {since} until {until}")
}

/// Make a mirror hold the same granules as its primary, in one change
///
/// The change is committed only if the new identifier is that of the primary. Exit status 0 means
/// that the mirror is now identical to it. If the mirror is ahead or diverged, or the primary stale or
/// rewritten, nothing is changed unless --expect names the primary's set, and the exit status is 1: the
/// manifest may be an older one, or that of another dataset. `mirror compare --help` describes these words.
/// The number of granules is not limited, unless the mirror has limits of its own (`dataset edit`).
///
/// The primary is remembered with its options, so it need not be named the next time.
///
/// Examples:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
///   accession mirror pull THEM.FOOL2.002
///   accession mirror pull --all --quiet
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PullMirror {
    /// The mirror: a dataset of this registry
    #[arg(required_unless_present = "all")]
    dataset: Option<DatasetName>,

    /// Pull every dataset from the primary of its last pull
    ///
    /// The options of the last pull are used. If one dataset fails, the others are still pulled.
    #[arg(long, conflicts_with_all = ["dataset", "primary_dataset", "expect", "create"])]
    all: bool,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// When the change takes effect in the mirror [default: now]
    ///
    /// A date means its first instant.
    #[arg(long, value_name = "T")]
    at: Option<ChangeTime>,

    #[command(flatten)]
    expect: ExpectArgs,

    /// Create the dataset, with the primary's metadata, and the registry
    #[arg(long)]
    create: bool,

    /// Show what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl PullMirror {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        match &self.dataset {
            Some(dataset) => {
                let source = self.primary.source(dataset, "pull", session)?;
                let pulled = self.pull(dataset, &source, session)?;
                let exit = self.report(dataset, &pulled, session, write_pulled)?;
                hint_of_dry_run(session, &pulled.0.applied, self.dry_run);
                Ok(exit)
            }
            None => self.pull_all(session),
        }
    }

    /// Pulls every dataset from its default primary. If one pull fails, the others continue.
    fn pull_all(&self, session: &mut Session) -> Result<Exit> {
        let mut pulls = Vec::new();
        for known in sources(&session.open()?.snapshot()?)? {
            let dataset = known.dataset.clone();
            let source = self.primary.default_source(known, session)?;
            pulls.extend(source.map(|source| (dataset, source)));
        }
        let mut worst = Exit::Done;
        for (dataset, source) in pulls {
            let pulled = self.pull(&dataset, &source, session);
            let exit = match pulled.with_context(|| dataset.to_string()) {
                Ok(pulled) => match self.report(&dataset, &pulled, session, write_line) {
                    // If the output cannot be written, the other datasets are still pulled. The failure is
                    // reported at the end.
                    Err(_) if session.output_failure().is_some() => Exit::Trouble,
                    reported => reported?,
                },
                Err(error) => {
                    self.with_next_command(error, &dataset, session).report(session.is_json())
                }
            };
            worst = worst.max(exit);
        }
        Ok(worst)
    }

    fn pull(
        &self,
        dataset: &DatasetName,
        source: &Primary,
        session: &mut Session,
    ) -> Result<(PullReport, Created)> {
        let options = PullOptions::new()
            .at(self.at.and_then(ChangeTime::instant))
            .if_missing(if_missing(self.create))
            .expect(self.expect.set())
            .dry_run(self.dry_run);
        self.application(dataset)
            .make(session, |registry| Ok(registry.pull(dataset, source, options)?))
    }

    fn application<'a>(&self, dataset: &'a DatasetName) -> Application<'a> {
        let PullMirror { create, dry_run, .. } = *self;
        let (has_line, reads_history, findings) = (true, true, None);
        Application { dataset, create, dry_run, has_line, reads_history, findings }
    }

    fn report(
        &self,
        dataset: &DatasetName,
        (pulled, created): &(PullReport, Created),
        session: &mut Session,
        text: AsText,
    ) -> Result<Exit> {
        let PullReport { applied, before, .. } = pulled;
        let primary = &before.primary;
        let also = object!({
            "status": before.status,
            "digest_equal": pulled.is_digest_equal(),
            "identical": pulled.is_identical(),
            "primary": json!({ "dataset": primary.dataset, "timestamp": primary.timestamp }),
        });
        let unchanged = Some(pulled.why_unchanged());
        let application = self.application(dataset);
        // Even if the report cannot be written, the warnings are printed.
        let reported = application.report(session, applied, *created, unchanged, also, text);
        for warning in pulled.warnings(dataset) {
            self.warn(warning, (dataset, pulled), session);
        }
        if created.dataset && !self.dry_run {
            // The change is made already, so an error here only loses the warning.
            let _ = warn_of_doi(session, dataset);
        }
        let exit = if pulled.is_identical() { Exit::Done } else { Exit::Differs };
        reported.map(|_| exit)
    }
}

impl PullMirror {
    /// The command that accepts everything of the primary, if the mirror then holds the expected set.
    fn command(&self, dataset: &DatasetName, expect: Expected, session: &Session) -> String {
        match self.all {
            false => session.again(&[("--expect", &expect.to_string())]),
            true => format!("{} mirror pull {dataset} --expect {expect}", session.program()),
        }
    }

    /// Prints a warning. If something of the primary was not accepted, the warning ends with the command that
    /// accepts it.
    fn warn(
        &self,
        warning: Warning,
        (dataset, pulled): (&DatasetName, &PullReport),
        session: &Session,
    ) {
        let is_of_what_stays =
            [WarningKind::MirrorNotChanged, WarningKind::OtherContent].contains(&warning.kind);
        match pulled.expect.filter(|_| is_of_what_stays) {
            Some(expect) => {
                let command = self.command(dataset, expect, session);
                let message = format!("{}; `{command}` accepts the primary's", warning.message);
                session.warn(warning.kind, &message);
            }
            None => session.warn_all([warning]),
        }
    }

    /// Adds to the error of one of several mirrors the next command for that mirror.
    fn with_next_command(&self, error: Error, dataset: &DatasetName, session: &Session) -> Error {
        let Some((refusal, expect)) = error.refusal() else { return error };
        let command = self.command(dataset, expect, session);
        let hint = hint::of_refusal(refusal, &command, &session.program());
        error.with_hint(hint)
    }
}

/// Warns that a new mirror has the DOI of its primary: the times in its citations are its own.
fn warn_of_doi(session: &Session, mirror: &DatasetName) -> Result<()> {
    let doi = session.open()?.snapshot()?.dataset(mirror)?.dataset.doi;
    if let Some(doi) = doi {
        let what = format!(
            "{mirror} has the DOI of its primary, {doi}: `accession dataset edit {mirror} --doi` sets its own, and --doi '' removes it"
        );
        session.warn(WarningKind::SharedDoi, &what);
    }
    Ok(())
}

/// Writes the result of a pull in one line.
fn write_line(out: &mut Output, done: &Value) -> io::Result<()> {
    if done["dry_run"] == true {
        write!(out, "dry run: ")?;
    }
    let dataset = in_words(&done["dataset"]);
    if done["kept"]["annotations"] != 0 {
        write!(out, "{dataset}: ")?;
        write_kept(out, done)?;
    }
    if done["changed"] == true {
        return write_change(out, done);
    }
    write!(out, "{dataset}: ")?;
    write_unchanged(out, done)
}

fn write_pulled(out: &mut Output, done: &Value) -> io::Result<()> {
    write_created(out, done)?;
    write_kept(out, done)?;
    if done["changed"] != true {
        return write_unchanged(out, done);
    }
    write_change(out, done)?;
    write_identifier(out, done)?;
    let of = if done["identical"] == true { "identical to" } else { "the same granules as" };
    let primary = &done["primary"];
    let not_proved = match done["digest_equal"] == true {
        true => "",
        false => "; its digest is not proved, since other content is known here",
    };
    let [dataset, at] = ["dataset", "timestamp"].map(|member| in_words(&primary[member]));
    writeln!(out, "{of} {dataset} as of {at}{not_proved}")?;
    write_dry_run(out, done)
}

/// The primaries of all datasets that are not withdrawn.
fn sources(snapshot: &Snapshot) -> accession::Result<Vec<KnownPrimary>> {
    let datasets = snapshot.all_datasets(Withdrawn::LeftOut)?;
    let sources = datasets.iter().map(|listed| snapshot.mirror_sources(&listed.dataset.name));
    Ok(sources.collect::<accession::Result<Vec<_>>>()?.into_iter().flatten().collect())
}
