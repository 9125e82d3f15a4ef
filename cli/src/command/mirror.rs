//! `mirror`: a mirror compared with its primary, and brought up to date.

use std::io::{self, Write};

use accession::WarningKind;
use accession::dataset::Withdrawn;
use accession::history::{ContentCounts, Counts, TwoSides};
use accession::mirror::{
    ComparedMirror, FirstDifference, HistoryPosition, MirrorStatus, Primary, PullOptions,
    PullPolicy, PullReport,
};
use accession::status::KnownPrimary;
use accession::{DatasetName, GranuleId, Instance, Limit, Snapshot};
use serde::Serialize;
use serde_json::{Value, json};

use super::compare::{MAX_LISTED, write_differences, write_sides};
use crate::applied::{
    Application, Created, write_change, write_created, write_dry_run, write_identifier, write_kept,
    write_unchanged,
};
use crate::args::{LimitArgs, PrimaryArgs, if_missing};
use crate::error::{Context, Exit, Result};
use crate::output::{AsText, Output, Streamed, counted, in_words};
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
/// of other content (the same granules, and files with other bytes), behind (the primary once held the
/// mirror's set), ahead (the mirror once held the primary's set), or diverged. Before that, the primary is
/// compared with what this mirror read of it before: it is stale if it shows an earlier state, and rewritten
/// if a change that was read is no longer there. The exit status is 0 only if they are identical and no check
/// found files of the mirror that are not as recorded.
///
/// Examples:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
///   accession mirror compare THEM.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompareMirror {
    /// The mirror: a dataset of this registry
    dataset: DatasetName,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// List all granules that differ, not only 20 of each side
    #[arg(long)]
    all: bool,
}

impl CompareMirror {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let source = self.primary.source(&self.dataset, session)?;
        let registry = session.open()?;
        let limit = if self.all || session.is_json() { u64::MAX } else { MAX_LISTED };
        let mut comparison = registry.compare_mirror(&self.dataset, &source)?;
        let mut sides = TwoSides::lists(comparison.by_ref(), ["here", "at the primary"], limit)?;
        let compared = comparison.finish()?;
        let is_identical = compared.is_identical();
        let ComparedMirror { dataset, status, counts, open_findings, warnings, .. } = compared;
        sides.counts = counts;
        session.warn_all(warnings);
        let standing_if = |is: MirrorStatus| status.standing.filter(|_| status.status == is);
        let period = |it: HistoryPosition| json!({ "from": it.since, "until": it.until });
        let behind = standing_if(MirrorStatus::Behind);
        let ahead = standing_if(MirrorStatus::Ahead);
        let Counts { matched, only_left, only_right, .. } = sides.counts.granules;
        session.present(
            &ComparedMirrorJson {
                dataset: &dataset,
                status: status.status,
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
                missing: Streamed::of(|| sides.only_right()),
                unexpected: Streamed::of(|| sides.only_left()),
                digest_equal: status.is_digest_equal(),
                other_content: Streamed::of(|| sides.other_content()),
                contradictions: Streamed::of(|| sides.contradictions()),
                contents: sides.counts.contents,
                open_findings,
            },
            write_compared,
        )?;
        if open_findings > 0 && !session.is_json() {
            // After what it is about.
            session.finish()?;
            let program = session.program();
            session.hint(&format!("`{program} status {dataset}` lists the files"));
        }
        Ok(if is_identical { Exit::Done } else { Exit::Differs })
    }
}

/// The result of `mirror compare`, as JSON.
#[derive(Serialize)]
struct ComparedMirrorJson<'a> {
    dataset: &'a DatasetName,
    status: MirrorStatus,
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
    missing: Streamed<'a, GranuleId>,
    unexpected: Streamed<'a, GranuleId>,
    digest_equal: bool,
    other_content: Streamed<'a, GranuleId>,
    contradictions: Streamed<'a, String>,
    #[serde(flatten)]
    contents: ContentCounts,
    open_findings: u64,
}

fn write_compared(out: &mut Output, compared: &Value) -> io::Result<()> {
    write_status(out, compared)?;
    let dataset = in_words(&compared["dataset"]);
    if compared["open_findings"] != 0 {
        let files = counted(&compared["open_findings"], "file");
        writeln!(out, "{dataset}: {files} not as recorded")?;
    }
    let nothing_yet = json!({ "dataset": dataset });
    let mirror = Some(&compared["mirror"]).filter(|mirror| !mirror.is_null());
    let mirror = mirror.unwrap_or(&nothing_yet);
    write_sides(out, [("mirror", mirror), ("primary", &compared["primary"])])?;
    let lists = [
        ["unexpected ", "unexpected", "unexpected here"],
        ["missing    ", "missing", "missing here"],
    ];
    write_differences(out, compared, lists)
}

/// Writes how a mirror compares with its primary.
fn write_status(out: &mut Output, compared: &Value) -> io::Result<()> {
    let count = |member: &str| compared[member].as_u64().unwrap_or(0);
    let both = counted(&compared["matched"], "granule");
    let (missing, unexpected) = (count("missing_count"), count("unexpected_count"));
    let status = in_words(&compared["status"]);
    match status.as_str() {
        "identical" if count("open_findings") > 0 => {
            writeln!(out, "records identical, files on disk not: {both}")?;
        }
        "identical" => writeln!(out, "identical: {both}")?,
        "other-content" => {
            let other = count("other_content_count");
            writeln!(out, "other content: equal names, other bytes in {other}")?;
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
    if missing + unexpected == 0 && compared["digest_equal"] != true {
        let files = count("compared");
        writeln!(out, "names equal; bytes compared for {files} of {}", count("matched"))?;
    }
    if status == "identical" {
        return Ok(());
    }
    writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")
}

/// How many changes one side is behind the other, and when the identifier was in force `location`.
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
/// rewritten, nothing is changed unless --reset is given, and the exit status is 1: the manifest may be an
/// older one, or that of another dataset. `mirror compare --help` describes these words.
///
/// The primary is remembered with its options, so it need not be named the next time.
///
/// Examples:
///   accession mirror pull THEM.FOOL2.002 us.db --primary-dataset US.FOOL2.002 --create
///   accession mirror pull THEM.FOOL2.002
///   accession mirror pull --all --quiet
#[derive(clap::Args)]
#[command(verbatim_doc_comment, mut_group("LimitArgs", |group| group.requires("reset")))]
pub struct PullMirror {
    /// The mirror: a dataset of this registry
    #[arg(required_unless_present = "all")]
    dataset: Option<DatasetName>,

    /// Pull every dataset from the primary of its last pull
    ///
    /// The options of the last pull are used. If one dataset fails, the others are still pulled.
    #[arg(long, conflicts_with_all = ["dataset", "primary_dataset", "reset", "create"])]
    all: bool,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// When the change takes effect in the mirror [default: now]
    ///
    /// A date means its first instant.
    #[arg(long, value_name = "T")]
    at: Option<ChangeTime>,

    /// Change the mirror whatever its status is, even if it is ahead or diverged
    #[arg(long, hide_short_help = true)]
    reset: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// The greatest number of granules that may get another checksum
    ///
    /// If this mirror recorded other checksums than the primary, those of the primary replace them. The value is a
    /// number, or a percentage of the held granules [default: that of the dataset; without it, such granules are
    /// listed and not changed].
    #[arg(long, hide_short_help = true, value_name = "N|P%", value_parser = Limit::of_held)]
    max_replace: Option<Limit>,

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
                let source = self.primary.source(dataset, session)?;
                let pulled = self.pull(dataset, &source, session)?;
                self.report(dataset, &pulled, session, write_pulled)
            }
            None => self.pull_all(session),
        }
    }

    /// Pulls every dataset from its default. One that fails does not stop the others.
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
                    // The others are pulled also if nobody reads what was: that is reported at the end.
                    Err(_) if session.output_failure().is_some() => Exit::Trouble,
                    reported => reported?,
                },
                Err(error) => error.report(session.is_json()),
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
        let policy = match self.reset {
            true => PullPolicy::Reset(self.limits.limits()),
            false => PullPolicy::Follow,
        };
        let options = PullOptions::new()
            .at(self.at.and_then(ChangeTime::instant))
            .if_missing(if_missing(self.create))
            .policy(policy)
            .max_replace(self.max_replace)
            .dry_run(self.dry_run);
        self.application(dataset)
            .make(session, |registry| Ok(registry.pull(dataset, source, options)?))
    }

    fn application<'a>(&self, dataset: &'a DatasetName) -> Application<'a> {
        let PullMirror { at, create, dry_run, .. } = *self;
        let (has_line, reads_history, findings) = (true, true, None);
        Application { dataset, at, create, dry_run, has_line, reads_history, findings }
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
        // Where nobody reads what was done, the warnings are still read.
        let reported = application.report(session, applied, *created, unchanged, also, text);
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
    let doi = session.open()?.snapshot()?.dataset(mirror)?.dataset.doi;
    if let Some(doi) = doi {
        let what = format!(
            "{mirror} has the DOI of its primary, {doi}: `accession dataset edit {mirror} --doi` sets its own, and --doi '' removes it"
        );
        session.warn(WarningKind::SharedDoi, &what);
    }
    Ok(())
}

/// Writes what was pulled in one line.
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

/// The primaries of all datasets that were not withdrawn.
fn sources(snapshot: &Snapshot) -> accession::Result<Vec<KnownPrimary>> {
    let datasets = snapshot.all_datasets(Withdrawn::LeftOut)?;
    let sources = datasets.iter().map(|listed| snapshot.mirror_sources(&listed.dataset.name));
    Ok(sources.collect::<accession::Result<Vec<_>>>()?.into_iter().flatten().collect())
}
