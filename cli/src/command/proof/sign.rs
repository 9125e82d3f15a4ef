//! `proof sign`: adds statements about new sets, and signs the log of statements.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use accession::mirror::PrimaryOptions;
use accession::mirror::PublishedSite;
use accession::proof::{LogCheckpoint, Note, Policy, Witness};
use accession::proof::{SignedCheckpoint, StatementLog};
use accession::text::quoted;
use accession::{ErrorKind, Registry, Timestamp};
use accession::{ParseError, WarningKind};
use serde_json::Value;

use crate::args::timeout;
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::key_file::{self, KeyInUse};
use crate::output::{Output, counted, in_words, plural};
use crate::references::read_policy;
use crate::session::Session;

/// Add the new sets to the log of statements, and sign it
///
/// The log gets a statement for each new set, each new cited subset, and each set that has ended, and each week
/// for the sets that are still held. The log is signed as a whole. The witnesses of the policy, or of the
/// previous policy, are asked to cosign the log. If a witness cannot be reached, a warning is printed, and the
/// next run asks it again. If a witness has seen another log, the run ends, and the message names the
/// checkpoint that was sent to it. The last checkpoint that a key signed is stored beside the key, in FILE.last.
/// If the log does not continue this checkpoint, nothing is signed.
///
/// Examples:
///   accession proof sign --key archive.key
///   accession proof sign --key archive.key --policy policy.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Sign {
    /// The file of the private key (repeatable, to replace a key)
    ///
    /// While one key replaces another, both sign.
    #[arg(long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,

    /// The policy for readers: the keys of the log and of its witnesses
    #[arg(long, value_name = "FILE")]
    policy: Option<InputFile>,

    /// First take back the statements published here
    ///
    /// Use it after the registry was restored from an older backup, and the lost days were imported. The value is
    /// the directory of the published site, or its address.
    #[arg(long, hide_short_help = true, value_name = "DIR|URL")]
    recover: Option<String>,

    /// The time to wait for a witness or the site
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 30, value_parser = timeout())]
    timeout: u64,
}

impl Sign {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut keys = open_keys(&self.key)?;
        let origin = origin_of(&keys)?;
        let given = self.policy.as_ref().map(read_policy).transpose()?;
        let last: Vec<LogCheckpoint> = keys.iter().filter_map(|key| key.last.clone()).collect();
        if let Some(other) = last.iter().find(|last| last.origin != origin) {
            let (signed, origin) = (quoted(&other.origin), quoted(&origin));
            return Err(Error::usage(format!(
                "the key has signed the log {signed}, and not {origin}"
            )));
        }
        let registry = session.open()?;
        let now = session.now()?;
        let stored = registry.snapshot()?.last_signed()?;
        self.refuse_moved(&keys, stored.as_ref())?;
        if let Some(other) = stored.as_ref().filter(|it| it.checkpoint.origin != origin) {
            let (signed, origin) = (quoted(&other.checkpoint.origin), quoted(&origin));
            return Err(Error::usage(format!(
                "the registry is signed as the log {signed}, and not as {origin}"
            )));
        }
        // Without a policy, the policy of the latest signature is used.
        let (policy, parsed) = match (given, stored) {
            (Some(given), _) => given,
            (None, Some(SignedCheckpoint { policy: text, .. })) => {
                let policy = text.parse();
                (text, policy.map_err(|error: ParseError| Error::usage(error.to_string()))?)
            }
            (None, None) => policy_of_keys(&keys)?,
        };
        if !keys.iter().any(|key| parsed.logs.contains(key.key.verification_key())) {
            return Err(Error::usage("the policy has none of the keys with which is signed").with_hint(
                "readers verify by the policy: add a line `log VKEY`, with the key that `accession proof pubkey` prints",
            ));
        }
        let mut recovered = None;
        if let Some(place) = &self.recover {
            let taken =
                self.recover(&registry, (place, &last), &origin, (&policy, &parsed), now)?;
            recovered = Some(taken);
            session.note_commit();
        }
        let mut log = state_sets(&registry, &last)?;
        let mut clock_ahead_of = log.clock_ahead_of;
        if log.is_behind {
            // A change was made in this second, for example by the previous command.
            std::thread::sleep(Duration::from_secs(1));
            let added = log.added;
            log = state_sets(&registry, &last)?;
            log.added += added;
            clock_ahead_of = clock_ahead_of.or(log.clock_ahead_of);
        }
        if let Some(newest) = clock_ahead_of {
            let message = format!(
                "the clock is at {now}, and the registry has recorded nothing since {newest}: if the clock is ahead, correct it now; nothing more can be signed before that time"
            );
            session.warn(WarningKind::ClockAhead, &message);
        }
        let checkpoint = log.checkpoint(&origin);
        if checkpoint.size == 0 {
            return Err(Error::usage("there is nothing to state: no dataset has a history"));
        }
        let body = checkpoint.to_string();
        // Signatures of others on the same checkpoint are kept.
        let mut note = match &log.signed {
            Some(signed) if signed.note.body == body => signed.note.clone(),
            _ => Note::new(body.clone()),
        };
        for key in &mut keys {
            key.keep(&body)?;
            note.sign(&key.key);
        }
        let mut signed = SignedCheckpoint { checkpoint, note, policy, signed: now };
        // The files beside the keys keep the checkpoint even if this fails: witnesses already have the
        // signatures.
        self.add_cosignatures(session, &parsed, &log, &mut signed.note)
            .map_err(|refused| refused.into_error(&signed.checkpoint, &keys))?;
        registry.save_checkpoint(&log.tree, &signed)?;
        report(session, &parsed, (recovered, log.added), &signed)
    }

    /// Rejects a key that has signed the log if the file with its last checkpoint is missing, unless
    /// `--recover` is given.
    fn refuse_moved(&self, keys: &[KeyInUse], signed: Option<&SignedCheckpoint>) -> Result<()> {
        let has_signed = |key: &&KeyInUse| {
            let key = key.key.verification_key();
            signed.is_some_and(|signed| matches!(signed.note.verified(key), Ok(Some(_))))
        };
        let mut moved = keys.iter().filter(|key| key.last.is_none() && self.recover.is_none());
        match moved.find(has_signed) {
            None => Ok(()),
            Some(key) => {
                let message = format!(
                    "{} is missing, and the registry was signed with this key",
                    key.name_of_last()
                );
                Err(Error::usage(message).with_hint(
                    "the file says what the key signed last: copy it from where the key was; or name what was published with --recover",
                ))
            }
        }
    }

    /// The options of requests to witnesses and to the site.
    fn http(&self) -> PrimaryOptions {
        PrimaryOptions { timeout_seconds: Some(self.timeout), ..PrimaryOptions::default() }
    }

    /// Restores published statements that are signed with a key of the policy. Returns the number of statements
    /// that were missing. The policy of the site is ignored: whoever writes to the site could choose whom
    /// readers trust.
    fn recover(
        &self,
        registry: &Registry,
        (place, last): (&str, &[LogCheckpoint]),
        origin: &str,
        (text, policy): (&str, &Policy),
        now: Timestamp,
    ) -> Result<u64> {
        let site = PublishedSite::named(place)?;
        let read = site.statements(origin, policy, (&self.http(), now));
        let published = read.map_err(|error| match error.kind() {
            ErrorKind::PrimaryInvalid => Error::from(error).with_hint(
                "nothing was taken back and nothing was signed; name another copy of what was published",
            ),
            _ => error.into(),
        })?;
        let (checkpoint, note) = (published.checkpoint.clone(), published.note.clone());
        let signed = SignedCheckpoint { checkpoint, note, policy: text.to_owned(), signed: now };
        Ok(registry.recover_statements(&published, &signed, last)?)
    }

    /// Requests cosignatures from the witnesses that have not cosigned the note.
    ///
    /// # Errors
    ///
    /// A witness has seen another tree, or a larger one.
    fn add_cosignatures(
        &self,
        session: &Session,
        policy: &Policy,
        log: &StatementLog,
        note: &mut Note,
    ) -> std::result::Result<(), RefusedByWitness> {
        let before = log.signed.as_ref();
        for Witness { name, key, url } in &policy.witnesses {
            let Some(url) = url.as_ref().filter(|_| !matches!(note.verified(key), Ok(Some(_))))
            else {
                continue;
            };
            let seen = before.filter(|before| matches!(before.note.verified(key), Ok(Some(_))));
            let old = seen.map_or(0, |seen| seen.checkpoint.size);
            match log.tree.ask_witness(url, key, note, old, &self.http()) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::TreeDiffers => {
                    return Err(RefusedByWitness { name: name.clone(), error });
                }
                Err(error) => {
                    let message =
                        format!("the witness {name} has not cosigned: {}", error.with_causes());
                    session.warn(WarningKind::NotWitnessed, &message);
                }
            }
        }
        Ok(())
    }
}

/// A refusal by a witness that received the signed checkpoint, but has seen another tree.
struct RefusedByWitness {
    name: String,
    error: accession::Error,
}

impl RefusedByWitness {
    /// The error of the command. It says what was sent, and what to do next.
    fn into_error(self, checkpoint: &LogCheckpoint, keys: &[KeyInUse]) -> Error {
        let RefusedByWitness { name, error } = self;
        let stated = plural(checkpoint.size, "statement");
        let message = format!(
            "the witness {name} was sent the signed checkpoint of {stated}, and refuses it: {error}"
        );
        let kept: Vec<String> = keys.iter().map(KeyInUse::name_of_last).collect();
        let kept = kept.join(" and ");
        Error::new(ErrorKind::TreeDiffers, message).with_hint(format!(
            "if this history is the true one, sign again with a --policy without this witness; if the registry was restored from an older backup, the key has signed two trees: sign with a new key under a new name. {kept} has what was sent: do not change it"
        ))
    }
}

/// Adds statements about all new sets.
fn state_sets(registry: &Registry, last: &[LogCheckpoint]) -> Result<StatementLog> {
    registry.add_statements(last).map_err(|error| match error.kind() {
        ErrorKind::Future => Error::from(error).with_hint(
            "`date -u` shows the clock: correct it if it is behind; if it is right, it was ahead when that statement was made, and nothing can be signed before that time",
        ),
        _ => error.into(),
    })
}

/// Opens the keys in an order that does not depend on the command line. Otherwise two processes that sign with
/// the same keys could wait for each other.
fn open_keys(files: &[PathBuf]) -> Result<Vec<KeyInUse>> {
    let mut by_key = BTreeMap::new();
    for file in files {
        let key = key_file::read(file)?.verification_key().to_string();
        // A process would wait for itself if one key had two names, such as a link and its target.
        if by_key.insert(key, file).is_some() {
            let name = file.to_string_lossy();
            return Err(Error::usage(format!("the key {} is named twice", quoted(&name))));
        }
    }
    by_key.into_values().map(|file| KeyInUse::open(file)).collect()
}

/// The name of the log. All keys must have it.
fn origin_of(keys: &[KeyInUse]) -> Result<String> {
    let names = keys.iter().map(|key| key.key.verification_key().name());
    let mut names: BTreeSet<&str> = names.collect();
    match (names.pop_first(), names.is_empty()) {
        (Some(name), true) => Ok(name.to_owned()),
        _ => Err(Error::usage("the keys of a log have one name, and these have several")),
    }
}

/// A policy that trusts any of these keys.
fn policy_of_keys(keys: &[KeyInUse]) -> Result<(String, Policy)> {
    let lines = keys.iter().map(|key| format!("log {}\n", key.key.verification_key()));
    let text: String = lines.chain(["quorum none\n".to_owned()]).collect();
    // A policy that names a key twice is invalid.
    let policy = text.parse().map_err(|error: ParseError| Error::usage(error.to_string()))?;
    Ok((text, policy))
}

/// Prints the number of statements, and the witnesses that have seen them.
fn report(
    session: &mut Session,
    policy: &Policy,
    (recovered, added): (Option<u64>, u64),
    signed: &SignedCheckpoint,
) -> Result<Exit> {
    let SignedCheckpoint { checkpoint: LogCheckpoint { origin, size, .. }, note, .. } = signed;
    let witnesses = policy.seen_by(note);
    let is_met = policy.is_met_by(&witnesses.iter().copied().collect());
    let printed = object!({
        "origin": origin,
        "recovered": recovered,
        "stated": added,
        "size": size,
        "witnesses": witnesses,
        "quorum": is_met,
    });
    session.present_done(&printed, write_signed)
}

fn write_signed(out: &mut Output, signed: &Value) -> io::Result<()> {
    let recovered = &signed["recovered"];
    if !recovered.is_null() {
        writeln!(out, "took back {} that were published", counted(recovered, "statement"))?;
    }
    let seen = match in_words(&signed["witnesses"]) {
        none if none.is_empty() => "no witness".to_owned(),
        names => format!("seen by {names}"),
    };
    let is_met = signed["quorum"] == true;
    let quorum = if is_met { "" } else { ", not enough for the quorum of the policy" };
    let [stated, origin] = ["stated", "origin"].map(|member| in_words(&signed[member]));
    let size = counted(&signed["size"], "statement");
    writeln!(out, "stated {stated} new of {size}; signed {origin}; {seen}{quorum}")
}
