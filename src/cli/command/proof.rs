//! `verify --proof`: what a proof proves, without a registry.

use std::io::Write;

use accession::Moment;
use accession::input::unzipped;
use accession::model::quoted;
use accession::signed::{KeyUse, ListedSet, Policy, ProofVerdict, StatementProof, VerificationKey};
use serde::Serialize;

use crate::cli::error::{Context, Error, Exit, Result};
use crate::cli::reading::{InputFile, open, parsed, read_policy, read_small};
use crate::cli::session::Session;

/// The options of `verify` that concern a proof.
#[derive(clap::Args)]
pub struct ProofArgs {
    /// Verify a proof that `accession prove` wrote, instead of a registry: what an archive said that a
    /// dataset held. Needs no registry and no network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["datasets", "jobs"])]
    proof: Option<InputFile>,

    /// Verify that this is the list that is proved: the canonical list, as `granules --list` prints it,
    /// or its ids alone; - is stdin
    #[arg(long, value_name = "FILE", requires = "proof")]
    list: Option<InputFile>,

    /// Verify that the set was held at this time. A date means the end of that day
    #[arg(long, value_name = "T", requires = "proof")]
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
    pub fn run(&self, session: &mut Session) -> Result<Option<Exit>> {
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
                Err(error) => return Err(Error::usage(format!("--vkey: {error}"))),
            },
            (None, None) => {
                return Err(Error::usage("a proof is verified by a key that you believe").with_hint(
                    "--policy names a file with such keys, --vkey is the key of the archive, as it publishes it",
                ));
            }
        };
        let proof: StatementProof = parsed(&read_small(proof, StatementProof::MAX_BYTES)?, proof)?;
        let listed = |file: &InputFile| -> Result<ListedSet> {
            let (reader, name) = open(file)?;
            let listed = unzipped(reader).and_then(|(list, _)| ListedSet::read(list));
            listed.with_context(|| format!("cannot read {}", quoted(&name)))
        };
        let listed = self.list.as_ref().map(listed).transpose()?;
        let verdict = ProofVerdict::of(&proof, &policy, listed.as_ref(), self.at);
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
