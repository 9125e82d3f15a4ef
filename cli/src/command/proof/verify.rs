//! `proof verify`: verifies a proof, without a registry.

use std::io::{self, Write};

use accession::Moment;
use accession::listing::unzipped;
use accession::proof::{Policy, ProofVerdict, StatementProof, VerificationKey};
use accession::text::quoted;
use serde::Serialize;
use serde_json::Value;

use crate::args::moment;
use crate::error::{Context, Error, Exit, Result};
use crate::input_file::{InputFile, open, parsed, read_text};
use crate::output::{Output, in_words};
use crate::references::read_policy;
use crate::session::Session;

/// Verify a proof of what an archive stated
///
/// One sentence says what is proved, and which witnesses have seen it. If the proof fails, the exit status is 1.
/// If the proof cannot be read, or no key is given, it is 2. Needs no registry and no network.
///
/// Examples:
///   accession proof verify paper.tlog-proof --policy policy.txt
///   accession proof verify paper.tlog-proof --policy policy.txt --list list.txt --at 2001-01-05
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Verify {
    /// The proof, as `accession proof create` wrote it, or -
    #[arg(value_name = "FILE")]
    proof: InputFile,

    /// Verify that the proof is about this list, or -
    ///
    /// The list is a canonical list, as `granules --format list` prints it, or only its ids.
    #[arg(long, value_name = "FILE")]
    list: Option<InputFile>,

    /// Verify that the set was held then; a date means its end
    #[arg(long, value_name = "T", value_parser = moment)]
    at: Option<Moment>,

    /// The keys of the archive and the witnesses that you trust
    ///
    /// The file also says how many of the witnesses must have seen the statement.
    #[arg(long, value_name = "FILE", conflicts_with = "vkey")]
    policy: Option<InputFile>,

    /// Trust the archive with this key, without witnesses
    #[arg(long, hide_short_help = true, value_name = "VKEY")]
    vkey: Option<String>,
}

/// The verdict on a proof, as JSON.
#[derive(Serialize)]
struct ExaminedProof {
    proved: bool,
    /// What is proved, in words.
    sentence: Option<String>,
    #[serde(flatten)]
    verdict: ProofVerdict,
}

impl Verify {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let policy = match (&self.policy, &self.vkey) {
            (Some(file), _) => read_policy(file)?.1,
            // clap would repeat the argument in its error message, and it may be the private key, so it is
            // parsed here.
            (None, Some(text)) => match text.parse::<VerificationKey>() {
                Ok(key) if !key.is_of_witness() => Policy::of_log(key),
                Ok(key) => {
                    let what = format!("{} is the key of a witness, not of a log", key.name());
                    return Err(Error::usage(what));
                }
                Err(error) => {
                    return Err(Error::usage(format!("--vkey: {error}"))
                        .with_hint("`accession proof pubkey` prints it"));
                }
            },
            (None, None) => {
                return Err(Error::usage("a proof is verified by a key that you believe").with_hint(
                    "--policy names a file with such keys, --vkey is the key of the archive, as it publishes it",
                ));
            }
        };
        let proof: StatementProof =
            parsed(&read_text(&self.proof, StatementProof::MAX_BYTES as u64)?, &self.proof)?;
        let now = session.now()?;
        let verdict = match &self.list {
            None => ProofVerdict::of(&proof, &policy, None, self.at, now)?,
            Some(file) => {
                let (reader, name) = open(file)?;
                let verified = unzipped(reader).and_then(|(mut list, _)| {
                    ProofVerdict::of(&proof, &policy, Some(&mut list), self.at, now)
                });
                verified.with_context(|| format!("cannot read {}", quoted(&name)))?
            }
        };
        let is_proved = verdict.problems.is_empty();
        let sentence = is_proved.then(|| verdict.to_string());
        let examined = ExaminedProof { proved: is_proved, sentence, verdict };
        session.present(&examined, write_examined)?;
        Ok(if is_proved { Exit::Done } else { Exit::Differs })
    }
}

fn write_examined(out: &mut Output, examined: &Value) -> io::Result<()> {
    if let Some(sentence) = examined["sentence"].as_str() {
        return writeln!(out, "{sentence}");
    }
    let problems = examined["problems"].as_array().into_iter().flatten();
    for problem in problems {
        writeln!(out, "NOT proved: {}", in_words(&problem["text"]))?;
    }
    Ok(())
}
