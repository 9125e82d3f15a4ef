use std::io::{self, Write};

use accession::mirror::{
    FirstDifference, MirrorDifference, MirrorStatus, Outcome as Followed, Standing, Status,
};
use accession::model::{ContentMatch, Warning, WarningKind};
use accession::registry::{ContentCounts, Counts};
use accession::{Access, DatasetName, Instance, Timestamp};
use serde::Serialize;

use crate::cli::args::{PrimaryArgs, warn_of_not_remembered};
use crate::cli::command::compare::{MAX_LISTED, Report, Side, write_sides};
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Ids, count};
use crate::cli::session::Session;

/// Show whether a mirror is identical to its primary, and how they differ if it is not
///
/// Every granule of both is compared, and those that only one of them has are listed. A mirror is
/// identical, of other content (the same granules, and files with other bytes), behind (the primary once
/// held the mirror's set), ahead (the mirror once held the
/// primary's set), or diverged. Before that, the primary is compared with what this mirror read of
/// it before: it is stale if it shows an earlier state, and rewritten if a change that was read is
/// no longer there. The exit status is 0 only if they are identical.
///
/// Examples:
///   accession mirror compare THEM.FOOL2.002 FOOL2.manifest.jsonl
///   accession mirror compare THEM.FOOL2.002 https://data.example.org/datasets/US.FOOL2.002/
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The mirror: a dataset of this registry
    dataset: DatasetName,

    #[command(flatten)]
    primary: PrimaryArgs,

    /// List all granules that differ, instead of the first 20 of each side
    #[arg(long)]
    all: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let source = self.primary.source(&self.dataset, session)?;
        let (registry, stamp) = (session.open(Access::Read)?, session.stamp(None)?);
        let (writable, at) = (|| session.open(Access::Write), self.primary.primary_at);
        let compared = source.compare(&registry, writable, &self.dataset, at, &stamp);
        let (dataset, comparison) = compared.map_err(|failure| {
            warn_of_not_remembered(session, failure.not_remembered);
            failure.error
        })?;
        let (status, mut differences) = (comparison.status(), comparison.differences()?);
        let limit = if self.all || session.is_json() { u64::MAX } else { MAX_LISTED };
        let mut report = Report { limit, ..Report::default() };
        for difference in differences.by_ref() {
            match difference? {
                MirrorDifference::Unexpected(granule_id) => report.add_left(&granule_id)?,
                MirrorDifference::Missing(entry) => report.add_right(&entry.granule_id)?,
                MirrorDifference::Content(other) => {
                    if let ContentMatch::Other(contradiction) = &other.compared {
                        report.add_other(&other.granule_id, contradiction)?;
                    }
                }
            }
        }
        (report.counts, report.contents) = (differences.counts(), differences.contents());
        if comparison.has_memory() {
            let remembered = session.open(Access::Write).and_then(|registry| {
                comparison.remember(&registry, &dataset, &stamp, Followed::Compared)
            });
            // A registry that cannot be written can be compared all the same.
            if let Err(error) = remembered {
                session.warn(
                    WarningKind::MirrorNotRemembered,
                    &format!("what was read of the primary could not be remembered: {error}"),
                );
            }
        }
        if let Some(withdrawal) = comparison.primary_withdrawn() {
            session.warn_all([Warning::of_withdrawn_primary(&dataset, withdrawal)]);
        }
        if session.is_json() {
            let behind = status.standing.filter(|_| status.status == Status::Behind);
            session.json(&ComparedMirror {
                status: status.status,
                mirror: status.mirror.as_ref(),
                primary: &status.primary,
                behind_by: behind.map(|standing| standing.changes_ago),
                in_force_at_primary: behind
                    .map(|standing| Interval { from: standing.since, until: standing.until }),
                first_difference: status.first_difference,
                matched: report.counts.matched,
                missing: Ids(&report.right),
                unexpected: Ids(&report.left),
                digest_equal: status.is_digest_equal(),
                other_content: Ids(&report.other),
                contents: report.contents,
            })?;
        } else {
            write_found(session.out(), status, &report)?;
            let mirror = match &status.mirror {
                Some(instance) => Side::of("mirror", instance),
                None => Side::without_history("mirror", &dataset),
            };
            write_sides(session, [mirror, Side::of("primary", &status.primary)])?;
            let sides = [["unexpected ", "unexpected here"], ["missing    ", "missing here"]];
            report.write(session.out(), sides)?;
        }
        let is_same = status.status == Status::Identical;
        Ok(if is_same { Exit::Done } else { Exit::Differs })
    }
}

/// The result of `mirror compare`, as JSON.
#[derive(Serialize)]
struct ComparedMirror<'a> {
    status: Status,
    mirror: Option<&'a Instance>,
    primary: &'a Instance,
    behind_by: Option<u64>,
    in_force_at_primary: Option<Interval>,
    first_difference: Option<FirstDifference>,
    matched: u64,
    missing: Ids<'a>,
    unexpected: Ids<'a>,
    digest_equal: bool,
    other_content: Ids<'a>,
    #[serde(flatten)]
    contents: ContentCounts,
}

/// When an identifier was in force.
#[derive(Serialize)]
struct Interval {
    from: Timestamp,
    until: Option<Timestamp>,
}

fn write_found(out: &mut impl Write, found: &MirrorStatus, report: &Report) -> io::Result<()> {
    let Report { contents, .. } = report;
    let Counts { matched, only_left: unexpected, only_right: missing } = report.counts;
    let both = count(matched, "granule");
    match found.status {
        Status::Identical => writeln!(out, "identical: {both}")?,
        Status::OtherContent => {
            writeln!(out, "other content: equal names, other bytes in {}", contents.other)?;
        }
        Status::Behind => {
            writeln!(out, "behind{}", by_changes("at the primary", found.standing))?;
        }
        Status::Ahead => writeln!(out, "ahead{}", by_changes("here", found.standing))?,
        Status::Diverged => writeln!(out, "diverged")?,
        Status::Stale => writeln!(out, "stale: an older state of the log than was read before")?,
        Status::Rewritten => {
            let change = found.first_difference.map_or_else(String::new, |it| format!(": {it}"));
            writeln!(out, "rewritten{change}")?;
        }
    }
    if found.contents.is_some() {
        writeln!(out, "names equal; bytes compared for {} of {matched}", contents.compared)?;
    }
    if found.status == Status::Identical {
        return Ok(());
    }
    writeln!(out, "{both} in both, {missing} missing here, {unexpected} unexpected here")
}

/// How many changes one side is behind the other, and when the identifier was in force `location`.
fn by_changes(location: &str, standing: Option<Standing>) -> String {
    let Some(Standing { since, until, changes_ago }) = standing else { return String::new() };
    let until = until.map_or("now".to_owned(), |until| until.to_string());
    let changes = count(changes_ago, "change");
    format!(" by {changes}: in force {location} {since} until {until}")
}
