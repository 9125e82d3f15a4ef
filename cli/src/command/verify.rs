use std::io::{self, Write};
use std::num::NonZeroUsize;

use accession::listing::unzipped;
use accession::proof::{KeyUse, ListedSet, Policy, ProofVerdict, StatementProof, VerificationKey};
use accession::text::quoted;
use accession::verify::DatasetVerification;
use accession::verify::VerificationTotals;
use accession::{DatasetName, Moment};
use serde::Serialize;
use serde_json::Value;

use crate::args::{moment, named_or_all};
use crate::error::{Context, Error, Exit, Kind, Result};
use crate::output::{Column, one_line, plural};
use crate::reading::{InputFile, open, parsed, read_policy, read_text};
use crate::session::Session;

/// Recompute every identifier that was ever issued, and check that the registry is consistent
///
/// If no dataset is named, all are checked. The pages and indexes of a file are checked in any case;
/// of a registry on a server, only the rows of the datasets that are named. Nothing is repaired. The exit
/// status is 1 if something is inconsistent; each finding is printed.
///
/// With --proof, a proof is verified instead, that an archive said what a dataset held. One sentence says
/// what is proved, and who has seen it; the exit status is 1 if it is not proved, and 2 if the proof cannot
/// be read, or nobody is named whom you believe.
///
/// Examples:
///   accession verify
///   accession verify --proof paper.tlog-proof --list list.txt --at 2001-01-05 --policy policy.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// Check at most this many datasets at the same time, up to 16 [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    proof: ProofArgs,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if let Some(exit) = self.proof.run(session)? {
            return Ok(exit);
        }
        let registry = session.open()?;
        const COLUMNS: &[Column] = &[
            Column::text("dataset").or(FILE),
            Column::number("identifiers"),
            Column::text("result").of("mismatches").by(result),
        ];
        let mut list = session.list(COLUMNS);
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.jobs.unwrap_or(cores);
        let mut verifications = registry.verify_all_on(jobs, &named_or_all(&self.datasets))?;
        for verification in verifications.by_ref() {
            let verification = verification?;
            if !session.is_json() {
                write_findings(session.out(), &verification)?;
            }
            list.add(session, &verification)?;
        }
        let verified = verifications.verified();
        list.finish(session)?;
        if !session.is_json() {
            if let Some(left_out) = verified.left_out {
                writeln!(session.out(), "not checked: {left_out}")?;
            }
            write_summary(session.out(), &verified)?;
        }
        match verified {
            VerificationTotals { findings: 1.., .. } => Ok(Exit::Differs),
            VerificationTotals { unreachable: datasets @ 1.., .. } => {
                let message = format!(
                    "a machine cannot be reached, and the answer lacks its datasets: {datasets}"
                );
                Err(Error::new(Kind::Incomplete, message))
            }
            _ => Ok(Exit::Done),
        }
    }
}

fn write_findings(out: &mut impl Write, verification: &DatasetVerification) -> io::Result<()> {
    let subject = verification.dataset.as_ref().map_or(FILE, DatasetName::as_str);
    for finding in &verification.mismatches {
        write!(out, "{subject}: ")?;
        match (&finding.granule, finding.timestamp) {
            (Some(granule), _) => write!(out, "{}: ", quoted(granule))?,
            (None, Some(timestamp)) => write!(out, "{timestamp}: ")?,
            (None, None) => {}
        }
        writeln!(out, "{}", one_line(&finding.text))?;
    }
    Ok(())
}

/// What is verified beside the datasets.
const FILE: &str = "the file";

/// What verifying a dataset gave.
fn result(mismatches: &Value) -> String {
    let found = mismatches.as_array().map_or(&[][..], Vec::as_slice);
    match found {
        [] => "ok".to_owned(),
        [only] if only["code"] == "unreachable" => "not verified".to_owned(),
        found => format!("NOT ok: {}", plural(found.len() as u64, "finding")),
    }
}

fn write_summary(out: &mut impl Write, verified: &VerificationTotals) -> io::Result<()> {
    let datasets = plural(verified.datasets, "dataset");
    let identifiers = plural(verified.identifiers, "identifier");
    match verified.findings {
        0 if verified.unreachable > 0 => {
            writeln!(out, "{datasets}, {identifiers}: {} not verified", verified.unreachable)
        }
        0 => writeln!(out, "{datasets}, {identifiers}: all ok"),
        findings => {
            writeln!(out, "{datasets}, {identifiers}: NOT ok, {}", plural(findings, "finding"))
        }
    }
}

/// The options of `verify` that concern a proof.
#[derive(clap::Args)]
struct ProofArgs {
    /// Verify a proof that `accession prove` wrote, instead of a registry: what an archive said that a
    /// dataset held. Needs no registry and no network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["datasets", "jobs"])]
    proof: Option<InputFile>,

    /// Verify that this is the list that is proved: the canonical list, as `granules --list` prints it,
    /// or its ids alone; - is stdin
    #[arg(long, value_name = "FILE", requires = "proof")]
    list: Option<InputFile>,

    /// Verify that the set was held at this time. A date means the end of that day
    #[arg(long, value_name = "T", requires = "proof", value_parser = moment)]
    at: Option<Moment>,

    /// Whom you believe: a file with the keys of the archive and of witnesses, and how many of these
    /// must have seen it
    #[arg(long, value_name = "FILE", requires = "proof", conflicts_with = "vkey")]
    policy: Option<InputFile>,

    /// Believe the archive that has this verification key, whoever has seen what it signed
    #[arg(long, value_name = "VKEY", requires = "proof")]
    vkey: Option<String>,
}

/// The verdict on a proof, as JSON.
#[derive(Serialize)]
struct ExaminedProof {
    proved: bool,
    #[serde(flatten)]
    verdict: ProofVerdict,
}

impl ProofArgs {
    /// Examines the proof, if one is named.
    fn run(&self, session: &mut Session) -> Result<Option<Exit>> {
        let Some(proof) = &self.proof else { return Ok(None) };
        let policy = match (&self.policy, &self.vkey) {
            (Some(file), _) => read_policy(file)?.1,
            // Read here, since a message about an argument repeats it, and it may be the private key.
            (None, Some(text)) => match text.parse::<VerificationKey>() {
                Ok(key) if key.key_use() == KeyUse::Log => Policy::of_log(key),
                Ok(key) => {
                    let what = format!("{} is the key of a witness, not of a log", key.name());
                    return Err(Error::usage(what));
                }
                Err(error) => {
                    return Err(Error::usage(format!("--vkey: {error}"))
                        .with_hint("`accession key show` prints it"));
                }
            },
            (None, None) => {
                return Err(Error::usage("a proof is verified by a key that you believe").with_hint(
                    "--policy names a file with such keys, --vkey is the key of the archive, as it publishes it",
                ));
            }
        };
        let proof: StatementProof =
            parsed(&read_text(proof, StatementProof::MAX_BYTES as u64)?, proof)?;
        let listed = |file: &InputFile| -> Result<ListedSet> {
            let (reader, name) = open(file)?;
            let listed = unzipped(reader).and_then(|(list, _)| ListedSet::read(list));
            listed.with_context(|| format!("cannot read {}", quoted(&name)))
        };
        let listed = self.list.as_ref().map(listed).transpose()?;
        let verdict = ProofVerdict::of(&proof, &policy, listed.as_ref(), self.at, session.now()?);
        let is_proved = verdict.problems.is_empty();
        if session.is_json() {
            session.json(&ExaminedProof { proved: is_proved, verdict })?;
        } else if is_proved {
            writeln!(session.out(), "{verdict}")?;
        } else {
            for problem in &verdict.problems {
                writeln!(session.out(), "NOT proved: {}", problem.text)?;
            }
        }
        Ok(Some(if is_proved { Exit::Done } else { Exit::Differs }))
    }
}
