use std::io::{self, Write};

use accession::mirror::{
    ComparedMirror, FirstDifference, FollowedStatements, MirrorStatus, Standing, Status,
};
use accession::registry::{ContentCounts, Counts, TwoSides};
use accession::{Access, DatasetName, Instance, Timestamp};
use serde::Serialize;

use crate::cli::args::{PrimaryArgs, warn_of_not_remembered};
use crate::cli::command::compare::{MAX_LISTED, Side, write_differences, write_sides};
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
/// no longer there. Where its site publishes signed statements, it is forked if it has signed two trees of
/// them, and misstated if its log is not what it has stated. The exit status is 0 only if they are identical.
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
        let limit = if self.all || session.is_json() { u64::MAX } else { MAX_LISTED };
        let (writable, wanted) = (|| session.open(Access::Write), (self.primary.primary_at, limit));
        let compared = source.compare(&registry, writable, &self.dataset, wanted, &stamp);
        let ComparedMirror { dataset, status, sides, warnings } = compared.map_err(|failure| {
            warn_of_not_remembered(session, failure.not_remembered);
            failure.error
        })?;
        session.warn_all(warnings);
        if session.is_json() {
            let behind = status.standing.filter(|_| status.status == Status::Behind);
            session.json(&ComparedMirrorJson {
                status: status.status,
                mirror: status.mirror.as_ref(),
                primary: &status.primary,
                behind_by: behind.map(|standing| standing.changes_ago),
                in_force_at_primary: behind
                    .map(|standing| Interval { from: standing.since, until: standing.until }),
                first_difference: status.first_difference,
                matched: sides.counts.matched,
                missing: Ids(&sides.right),
                unexpected: Ids(&sides.left),
                digest_equal: status.is_digest_equal(),
                other_content: Ids(&sides.other),
                contents: sides.contents,
                statements: status.statements.as_ref(),
            })?;
        } else {
            write_found(session.out(), &status, &sides)?;
            write_statements(session.out(), &status)?;
            let mirror = match &status.mirror {
                Some(instance) => Side::of("mirror", instance),
                None => Side::without_history("mirror", &dataset),
            };
            write_sides(session, [mirror, Side::of("primary", &status.primary)])?;
            let marks = [["unexpected ", "unexpected here"], ["missing    ", "missing here"]];
            write_differences(session.out(), &sides, marks)?;
        }
        let is_same = status.status == Status::Identical;
        Ok(if is_same { Exit::Done } else { Exit::Differs })
    }
}

/// The result of `mirror compare`, as JSON.
#[derive(Serialize)]
struct ComparedMirrorJson<'a> {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    statements: Option<&'a FollowedStatements>,
}

/// When an identifier was in force.
#[derive(Serialize)]
struct Interval {
    from: Timestamp,
    until: Option<Timestamp>,
}

fn write_found(out: &mut impl Write, found: &MirrorStatus, sides: &TwoSides) -> io::Result<()> {
    let TwoSides { contents, .. } = sides;
    let Counts { matched, only_left: unexpected, only_right: missing } = sides.counts;
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
        Status::Forked => writeln!(out, "forked: the primary has signed two trees of statements")?,
        Status::Misstated => {
            writeln!(out, "misstated: the log is not what the primary has stated")?;
        }
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

/// Writes what was verified, if statements are followed, and both checkpoints of an archive that has signed
/// two trees: who is sent them needs nothing else to see it.
pub fn write_statements(out: &mut impl Write, found: &MirrorStatus) -> io::Result<()> {
    let Some(statements) = &found.statements else { return Ok(()) };
    let FollowedStatements { origin, size, cosigned, fork, misstated, of_former, .. } = statements;
    match (fork, misstated) {
        (Some([kept, other]), _) => {
            writeln!(out, "{origin} has signed two trees of statements, that which is kept:\n")?;
            writeln!(out, "{kept}\nand another one:\n\n{other}")
        }
        (_, Some(misstated)) => writeln!(out, "{origin}: {misstated}"),
        _ => {
            let cosigned = if *cosigned { ", and cosigned" } else { "" };
            let of_former = match of_former {
                None => String::new(),
                Some(of_former) => format!("; {of_former} of a dataset that had the name before"),
            };
            writeln!(out, "{} of {origin} verified{cosigned}{of_former}", count(*size, "statement"))
        }
    }
}

/// How many changes one side is behind the other, and when the identifier was in force `location`.
fn by_changes(location: &str, standing: Option<Standing>) -> String {
    let Some(Standing { since, until, changes_ago }) = standing else { return String::new() };
    let until = until.map_or("now".to_owned(), |until| until.to_string());
    let changes = count(changes_ago, "change");
    format!(" by {changes}: in force {location} {since} until {until}")
}
