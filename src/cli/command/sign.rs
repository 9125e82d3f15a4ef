//! `sign`, which states what is new and signs it, and `prove`, which writes a proof of a statement.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use accession::Access;
use accession::disk::AtomicFile;
use accession::mirror::{HttpOptions, ask_witness};
use accession::model::{ValueError, WarningKind, quoted};
use accession::registry::{SignedCheckpoint, StatementLog};
use accession::signed::{KeyUse, LogCheckpoint, Note, Policy, SigningKey, Witness};

use super::proof::read_policy;
use crate::cli::args::SetArgs;
use crate::cli::error::{Context, Error, Exit, Result};
use crate::cli::key_file;
use crate::cli::output::count;
use crate::cli::reading::InputFile;
use crate::cli::session::Session;

/// State which sets the datasets hold, and sign it
///
/// Every set and every cited subset is stated that is new since the last time, and every set that has ended,
/// in one growing log of the registry, which is signed as a whole. Signing again changes nothing of it. With
/// --policy, its witnesses are asked to cosign what they have seen; one that cannot be reached is a warning,
/// and is asked again the next time. The last checkpoint that a key signed is kept beside it, in FILE.last:
/// the log must continue it, or nothing is signed.
///
/// Examples:
///   accession sign --key archive.key
///   accession sign --key archive.key --policy policy.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Sign {
    /// The file of the private key (can be repeated: while one key replaces another, both sign)
    #[arg(long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,

    /// The file with the verification keys of the log and of its witnesses, which readers are given
    #[arg(long, value_name = "FILE")]
    policy: Option<InputFile>,

    /// How long to wait for a witness, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

/// Write the proof of what was stated of a set
///
/// The proof is the statement, its path in the log, and the signed checkpoint: some 2 kB, which an author
/// deposits with the list of the set and the policy. With `accession verify --proof` anyone verifies it,
/// without this registry. An identifier means the latest set that has it.
///
/// Examples:
///   accession prove US.FOOL2.002 --at 2001-01-05 --output paper.tlog-proof
///   accession prove US.FOOL2.002 --identifier DI:763122197bfb3ffbf0da14adbfb1b13b > paper.tlog-proof
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Prove {
    #[command(flatten)]
    set: SetArgs,

    /// The file to create [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Sign {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let keys = self.key.iter().map(|file| key_file::read(file)).collect::<Result<Vec<_>>>()?;
        let origin = origin_of(&keys)?;
        let (policy, parsed) = match &self.policy {
            None => policy_of_keys(&keys)?,
            Some(file) => read_policy(file)?,
        };
        if !keys.iter().any(|key| parsed.logs.contains(key.verification_key())) {
            return Err(Error::usage("the policy has none of the keys with which is signed").with_hint(
                "readers verify by the policy: add a line `log VKEY`, with the key that `accession key show` prints",
            ));
        }
        let last: Vec<_> =
            self.key.iter().map(|file| key_file::last_signed(file)).collect::<Result<_>>()?;
        let last: Vec<LogCheckpoint> = last.into_iter().flatten().collect();
        if let Some(other) = last.iter().find(|last| last.origin != origin) {
            let (signed, origin) = (quoted(&other.origin), quoted(&origin));
            return Err(Error::usage(format!(
                "the key has signed the log {signed}, and not {origin}"
            )));
        }
        let registry = session.open(Access::Write)?;
        let now = session.now()?;
        let log = registry.state_sets(now, &last)?;
        let checkpoint = log.checkpoint(&origin);
        if checkpoint.size == 0 {
            return Err(Error::usage("there is nothing to state: no dataset has a history"));
        }
        let body = checkpoint.to_string();
        // What others have signed of the same checkpoint stays.
        let mut note = match &log.signed {
            Some(signed) if signed.note.body == body => signed.note.clone(),
            _ => Note { body: body.clone(), signatures: Vec::new() },
        };
        for (file, key) in self.key.iter().zip(&keys) {
            key_file::keep_last(file, &body)?;
            note.add(key.sign(&body, now));
        }
        let mut signed = SignedCheckpoint { checkpoint, note, policy, signed: now };
        registry.save_checkpoint(&signed)?;
        if self.add_cosignatures(session, &parsed, &log, &mut signed.note) {
            registry.save_checkpoint(&signed)?;
        }
        report(session, &parsed, log.added, &signed)
    }

    /// Asks the witnesses that have not cosigned the note. Returns whether one has now.
    fn add_cosignatures(
        &self,
        session: &Session,
        policy: &Policy,
        log: &StatementLog,
        note: &mut Note,
    ) -> bool {
        let before = log.signed.as_ref();
        let mut is_changed = false;
        for Witness { name, key, url } in &policy.witnesses {
            let Some(url) = url.as_ref().filter(|_| !matches!(note.verified(key), Ok(Some(_))))
            else {
                continue;
            };
            let seen = before.filter(|before| matches!(before.note.verified(key), Ok(Some(_))));
            let old = seen.map_or(0, |seen| seen.checkpoint.size);
            let timeout = Duration::from_secs(self.timeout.max(1));
            let options = HttpOptions { timeout, ..HttpOptions::default() };
            match ask_witness(url, key, (&log.tree, note), old, options) {
                Ok(signature) => {
                    note.add(signature);
                    is_changed = true;
                }
                Err(error) => {
                    let message =
                        format!("the witness {name} has not cosigned: {}", error.with_causes());
                    session.warn(WarningKind::NotWitnessed, &message);
                }
            }
        }
        is_changed
    }
}

/// The name of the log, which all keys have.
fn origin_of(keys: &[SigningKey]) -> Result<String> {
    let mut names = BTreeSet::new();
    for key in keys.iter().map(SigningKey::verification_key) {
        if key.key_use() != KeyUse::Log {
            let what =
                format!("{} is the key of a witness, which signs no log of its own", key.name());
            return Err(Error::usage(what));
        }
        names.insert(key.name().to_owned());
    }
    match names.len() {
        1 => Ok(names.into_iter().next().unwrap_or_default()),
        _ => Err(Error::usage("the keys of a log have one name, and these have several")),
    }
}

/// The policy that believes any of these keys.
fn policy_of_keys(keys: &[SigningKey]) -> Result<(String, Policy)> {
    let lines = keys.iter().map(|key| format!("log {}\n", key.verification_key()));
    let text: String = lines.chain(["quorum none\n".to_owned()]).collect();
    // Refused if a key is named twice.
    let policy = text.parse().map_err(|error: ValueError| Error::usage(error.to_string()))?;
    Ok((text, policy))
}

/// Prints what was stated, and who has seen it.
fn report(
    session: &mut Session,
    policy: &Policy,
    added: u64,
    signed: &SignedCheckpoint,
) -> Result<Exit> {
    let SignedCheckpoint { checkpoint: LogCheckpoint { origin, size, .. }, note, .. } = signed;
    let seen = |witness: &&Witness| matches!(note.verified(&witness.key), Ok(Some(_)));
    let witnesses: Vec<&str> = policy.witnesses.iter().filter(seen).map(|it| &*it.name).collect();
    let printed = object!({
        "origin": origin,
        "stated": added,
        "size": size,
        "witnesses": witnesses,
        "quorum": policy.is_met_by(&witnesses.iter().copied().collect()),
    });
    session.confirm(&printed, |out| {
        let seen = match &witnesses[..] {
            [] => "no witness".to_owned(),
            names => format!("seen by {}", names.join(", ")),
        };
        writeln!(
            out,
            "stated {added} new of {}; signed {origin}; {seen}",
            count(*size, "statement")
        )
    })
}

impl Prove {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let now = session.now()?;
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let selection = self.set.into_selection(now, &snapshot)?;
        let proof = snapshot.prove(&selection)?;
        drop(snapshot);
        match &self.output {
            None => write!(session.out(), "{proof}")?,
            Some(path) => {
                let mut file = AtomicFile::beside(path)?;
                let written = file.as_file_mut().write_all(proof.to_string().as_bytes());
                written
                    .with_context(|| format!("cannot write {}", quoted(&path.to_string_lossy())))?;
                file.put_in_place()?;
                session.note_commit();
            }
        }
        Ok(Exit::Done)
    }
}
