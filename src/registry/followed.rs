//! The logs of statements of other archives, as a mirror has verified and kept them: it proves from them when
//! the archive is gone.

use std::ops::Range;

use super::snapshot::Snapshot;
use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Moment, Set, Timestamp, ValueError, quoted};
use crate::signed::{LogCheckpoint, Note, Policy, SetStatement, StatementProof, StatementTree};
use crate::store::{self, FollowedLog, FollowedStatement, Transaction};

/// A log of statements of another archive, as it was kept when it was verified last.
#[derive(Debug, Clone)]
pub(crate) struct KeptLog {
    /// The keys that are believed: the text of a [`crate::signed::Policy`].
    pub policy: String,
    /// The checkpoint with its signatures.
    pub note: Note,
    /// The tree of its statements, or what follows those that agree with the log of a dataset.
    pub tree: StatementTree,
    /// The checkpoint of another tree that was signed, too, until it is decided which one is followed.
    pub fork: Option<Note>,
}

impl KeptLog {
    /// Reads what follows a tree, and calls `each` for every statement.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): statements were lost or altered, or do not continue
    /// that tree.
    fn read(
        read: &store::View,
        log: &FollowedLog,
        mut tree: StatementTree,
        mut each: impl FnMut(u64, &str),
    ) -> Result<Self> {
        let FollowedLog { origin, policy, note, fork, settled } = log;
        let damaged =
            |what: &str| Error::damaged(format!("the log {} is followed: {what}", quoted(origin)));
        let broken = |error: ValueError| damaged(&error.to_string());
        let note: Note = note.parse().map_err(broken)?;
        let LogCheckpoint { size, root, .. } = note.body.parse().map_err(broken)?;
        let fork = fork.as_ref().filter(|_| settled.is_none());
        let fork = fork.map(|fork| fork.parse()).transpose().map_err(broken)?;
        for statement in read.followed_statements(origin, tree.size()..i64::MAX as u64) {
            let FollowedStatement { number, text, .. } = statement?;
            if number != tree.size() {
                return Err(damaged(&format!("its statement {} is missing", tree.size())));
            }
            tree.push(text.as_bytes());
            each(number, &text);
        }
        match tree.size() == size && tree.root(size) == Some(root) {
            true => Ok(KeptLog { policy: policy.clone(), note, tree, fork }),
            false => Err(damaged("its statements are not those of its checkpoint")),
        }
    }
}

/// What is to be kept of a log of statements that was verified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogToKeep<'a> {
    pub origin: &'a str,
    pub policy: &'a str,
    /// The checkpoint that is followed.
    pub note: &'a Note,
    /// The one that was kept when it was read.
    pub before: Option<&'a Note>,
    /// The statements from this number on; 0 means in the place of all that were kept. `None` means that
    /// these stay.
    pub statements: Option<(u64, &'a Spool)>,
    /// The checkpoint of another tree that was signed, too, and whether it is decided which one is followed.
    pub fork: Option<(&'a Note, bool)>,
    /// The tree of those that agree with the log of the dataset that was read with them. `None` means that
    /// none was compared.
    pub agreed: Option<&'a StatementTree>,
}

/// How many statements are stored at once.
const BATCH: usize = 256;

impl LogToKeep<'_> {
    /// Keeps it, within the transaction of what was made of the primary.
    pub(super) fn save(&self, transaction: &Transaction, now: Timestamp) -> Result<()> {
        transaction.lock_registry()?;
        let stored = transaction.followed_log(self.origin)?;
        let before = self.before.map(Note::to_string);
        let mut log = match stored {
            // Another process has kept what it verified meanwhile: the next pull goes on from there.
            Some(stored) if Some(&stored.note) != before.as_ref() => self.joined(stored),
            stored => {
                self.save_statements(transaction)?;
                let (fork, settled) = stored.map_or((None, None), |it| (it.fork, it.settled));
                let (policy, note) = (self.policy.to_owned(), self.note.to_string());
                FollowedLog { origin: self.origin.to_owned(), policy, note, fork, settled }
            }
        };
        if let Some((fork, is_settled)) = self.fork {
            (log.fork, log.settled) = (Some(fork.to_string()), is_settled.then_some(now));
        }
        transaction.put_followed_log(&log)
    }

    /// What another process has kept, with the signatures that are new, if it is the same checkpoint.
    fn joined(&self, mut stored: FollowedLog) -> FollowedLog {
        if let Ok(mut note) = stored.note.parse::<Note>()
            && note.body == self.note.body
        {
            self.note.signatures.iter().for_each(|signature| note.add(signature.clone()));
            stored.note = note.to_string();
        }
        stored
    }

    fn save_statements(&self, transaction: &Transaction) -> Result<()> {
        let Some((first, texts)) = self.statements else { return Ok(()) };
        if first == 0 {
            transaction.forget_followed_statements(self.origin)?;
        }
        let mut batch = Vec::new();
        for (number, text) in (first..).zip(texts.records()) {
            let text = String::from_utf8_lossy(&text?).into_owned();
            batch.push(FollowedStatement { origin: self.origin.to_owned(), number, text });
            if batch.len() == BATCH {
                transaction.insert_followed_statements(&batch)?;
                batch.clear();
            }
        }
        transaction.insert_followed_statements(&batch)
    }
}

impl Snapshot {
    /// What is kept of a log of statements, of which those of a tree are not read again. That is empty
    /// afterwards if they are not the first ones of what is kept. `None` means that it is not followed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): statements were lost or altered.
    pub(crate) fn kept_log(
        &self,
        origin: &str,
        agreed: &mut StatementTree,
    ) -> Result<Option<KeptLog>> {
        self.ask(|read| {
            let Some(log) = read.followed_log(origin)? else { return Ok(None) };
            match KeptLog::read(read, &log, agreed.clone(), |_, _| {}) {
                // Another tree was followed since.
                Err(error) if error.kind() == ErrorKind::Damaged && agreed.size() > 0 => {
                    *agreed = StatementTree::default();
                    KeptLog::read(read, &log, agreed.clone(), |_, _| {}).map(Some)
                }
                read => read.map(Some),
            }
        })
    }

    /// Calls `each` for every statement that is kept of a log from a number on, up to another.
    pub(crate) fn each_followed_statement(
        &self,
        origin: &str,
        numbers: Range<u64>,
        mut each: impl FnMut(&FollowedStatement),
    ) -> Result<()> {
        self.ask(|read| {
            let mut statements = read.followed_statements(origin, numbers);
            statements.try_for_each(|it| it.map(|it| each(&it)))
        })
    }
}

/// The proof that another archive stated a set, and whether enough witnesses have seen it: by the statement
/// of the same time if there is one, which a replica has, and else by the last one. `None` means that none
/// is kept.
pub(super) fn prove_followed(
    read: &store::View,
    set: &Set,
    at: Option<Moment>,
) -> Result<Option<(StatementProof, bool)>> {
    let (names, part) = ((set.identifier(), set.digest()), set.subset().is_some());
    let (since, digits) = (set.instance().timestamp, names.1.to_string());
    let mut best: Option<(bool, StatementProof, bool)> = None;
    for log in read.followed_logs()? {
        let mut found: Option<(bool, u64, SetStatement)> = None;
        let kept = KeptLog::read(read, &log, StatementTree::default(), |number, text| {
            // Most are of other sets, and need not be read.
            let statement = Some(text).filter(|text| text.contains(&digits));
            let statement = statement.and_then(|text| SetStatement::read(text.as_bytes()).ok());
            let is_of = |it: &SetStatement| ((it.identifier, it.digest), it.part) == (names, part);
            if let Some(statement) = statement.filter(is_of) {
                let is_of_time = at.map_or(statement.from == since, |at| statement.covers(at));
                if is_of_time || found.as_ref().is_none_or(|(before, ..)| !before) {
                    found = Some((is_of_time, number, statement));
                }
            }
        })?;
        let Some((is_of_time, index, statement)) = found else { continue };
        let path = kept.tree.inclusion(index, kept.tree.size()).unwrap_or_default();
        let policy = kept.policy.parse::<Policy>();
        let is_witnessed =
            policy.is_ok_and(|it| it.is_met_by(&it.seen_by(&kept.note).into_iter().collect()));
        let proof = StatementProof { statement, index, path, note: kept.note };
        if best.as_ref().is_none_or(|(before, ..)| is_of_time && !before) {
            best = Some((is_of_time, proof, is_witnessed));
        }
    }
    Ok(best.map(|(_, proof, is_witnessed)| (proof, is_witnessed)))
}

/// Reads every log that is followed, whose statements must be those of its checkpoint.
pub(super) fn check_followed(read: &store::View) -> Result<()> {
    let logs = read.followed_logs()?;
    let whole = |log| KeptLog::read(read, log, StatementTree::default(), |_, _| {}).map(drop);
    logs.iter().try_for_each(whole)
}
