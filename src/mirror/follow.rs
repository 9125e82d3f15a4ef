//! What a mirror reads of the statements of its primary, before anything else: that they are signed by a key
//! that it believes, that their tree continues the one that it has kept, and that they agree with the log.

use super::followed::{Cosign, DatasetStatements, FollowedStatements};
use super::place::StatementPlace;
use super::plan::known;
use super::primary::Primary;
use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, LogChange, quoted};
use crate::registry::{KeptLog, LogToKeep, Registry};
use crate::signed::{LogCheckpoint, Note, Policy, StatementTree};

/// The statements of a primary, read and verified.
pub(super) struct Following {
    pub found: FollowedStatements,
    policy: String,
    /// The checkpoint of the site, or, if that is an older state, the one that was kept.
    note: Note,
    /// The checkpoint that was kept before.
    kept: Option<Note>,
    /// Whether the tree of the site continues the one that was kept.
    is_continued: bool,
    /// Another tree, which was seen before, and of which it is not decided whether it is followed.
    fork: Option<Note>,
    tree: StatementTree,
    /// Statements of that tree from a number on: those before are kept.
    first: u64,
    texts: Spool,
}

/// Reads the statements of a primary. `None` means that they are not followed: the place is not a site, the
/// site publishes none, or they were not followed when the primary was read before.
///
/// # Errors
///
/// [`ErrorKind::NotSigned`]: no key that is believed signed the checkpoint, or a signature is wrong;
/// [`ErrorKind::NotPublished`]: a file is not what the checkpoint says; those of requests.
pub(super) fn follow(
    primary: &Primary,
    mirror: &Registry,
    dataset: &DatasetName,
) -> Result<Option<Following>> {
    let given = primary.follow.policy.clone();
    let Some(place) = primary.place.statements() else {
        return if given.is_some() { Err(Error::not_a_site()) } else { Ok(None) };
    };
    let source = primary.place.source();
    let before = source.map(|source| known(mirror, dataset, &source)).transpose()?.flatten();
    let is_first = before.is_none();
    let origin = before.and_then(|before| before.origin);
    if given.is_none() && origin.is_none() && !is_first {
        return Ok(None);
    }
    let is_required = given.is_some() || origin.is_some();
    let (mut note, checkpoint) = match place.checkpoint() {
        Ok(Some(read)) => read,
        Ok(None) if is_required => return Err(place.refused("checkpoint", "it is missing")),
        Ok(None) => return Ok(None),
        // Some servers forbid what does not exist, or send a page in its place.
        Err(error) => match error.kind() {
            ErrorKind::Response | ErrorKind::NotPublished if !is_required => return Ok(None),
            _ => return Err(error),
        },
    };
    let origin = match (&given, origin) {
        (None, Some(origin)) => origin,
        _ => checkpoint.origin.clone(),
    };
    let kept = mirror.snapshot()?.kept_log(&origin)?;
    let mut pinned = Vec::new();
    let policy = match (given, &kept) {
        (Some(given), _) => given,
        (None, Some(kept)) => kept.policy.clone(),
        (None, None) => {
            let policy = place.policy()?;
            let keys = believed(&policy, &place)?;
            pinned = keys.logs.iter().map(ToString::to_string).collect();
            policy
        }
    };
    verify(&mut note, &origin, &believed(&policy, &place)?, &place)?;
    Following::read(&place, (note, checkpoint), policy, kept, pinned).map(Some)
}

fn believed(policy: &str, place: &StatementPlace<'_>) -> Result<Policy> {
    policy.parse().map_err(|error| place.refused("policy", error))
}

/// Verifies that a key of a log signed its checkpoint, and that no signature of a known key is wrong. Those
/// of unknown keys are removed: anyone can add them.
fn verify(
    note: &mut Note,
    origin: &str,
    policy: &Policy,
    place: &StatementPlace<'_>,
) -> Result<()> {
    let refused = |what: String| {
        Error::new(ErrorKind::NotSigned, format!("{}: {what}", place.name("checkpoint")))
    };
    let logs = || policy.logs.iter().filter(|key| key.name() == origin);
    let keys: Vec<_> = logs().chain(policy.witnesses.iter().map(|it| &it.key)).collect();
    for key in &keys {
        note.verified(key).map_err(|error| refused(error.to_string()))?;
    }
    let is_of_log = note.body.lines().next() == Some(origin);
    if is_of_log && logs().any(|key| matches!(note.verified(key), Ok(Some(_)))) {
        note.signatures.retain(|signature| keys.iter().any(|key| key.is_named_by(signature)));
        // There is room for a cosignature.
        note.signatures.truncate(Note::MAX_SIGNATURES - 1);
        return Ok(());
    }
    let signed_by = note.signatures.iter().map(|it| format!("{}+{:08x}", it.name, it.key_id));
    let signed_by = signed_by.collect::<Vec<_>>().join(" ");
    Err(refused(format!(
        "it is not signed by a key of {} that is believed, but by {}",
        quoted(origin),
        quoted(&signed_by)
    )))
}

impl Following {
    /// Reads what is new, or, where that does not continue what was kept, everything.
    fn read(
        place: &StatementPlace<'_>,
        (note, checkpoint): (Note, LogCheckpoint),
        policy: String,
        kept: Option<KeptLog>,
        pinned: Vec<String>,
    ) -> Result<Self> {
        let LogCheckpoint { origin, size, root } = checkpoint;
        let (mut tree, kept, fork) = match kept {
            Some(KeptLog { tree, note, fork, .. }) => (tree, Some(note), fork),
            None => (StatementTree::default(), None, None),
        };
        let (mut first, mut texts) = (tree.size(), Spool::default());
        let read = |first: u64, tree: &mut StatementTree, texts: &mut Spool| {
            place.statements(first.min(size), size, |text| {
                tree.push(text);
                texts.add(text).map(drop)
            })
        };
        read(first, &mut tree, &mut texts)?;
        let is_continued = tree.root(size) == Some(root);
        if !is_continued {
            (first, tree, texts) = (0, StatementTree::default(), Spool::default());
            read(0, &mut tree, &mut texts)?;
            if tree.root(size) != Some(root) {
                let what = "the statements are not those of this checkpoint";
                return Err(place.refused("checkpoint", what));
            }
        }
        let found = FollowedStatements {
            origin,
            size: tree.size(),
            cosigned: false,
            fork: None,
            misstated: None,
            pinned,
        };
        let mut following =
            Following { found, policy, note, kept, is_continued, fork, tree, first, texts };
        following.compare_with_kept(size);
        Ok(following)
    }

    /// Compares the checkpoint of the site, of so many statements, with the one that was kept.
    fn compare_with_kept(&mut self, size: u64) {
        let Some(kept) = &self.kept else { return };
        let other = if self.is_continued { self.fork.as_ref() } else { Some(&self.note) };
        self.found.fork = other.map(|other| [kept.to_string(), other.to_string()]);
        if self.note.body == kept.body {
            // What was cosigned before stays cosigned, whether the site publishes that or not.
            for signature in &kept.signatures {
                if self.note.signatures.len() + 1 < Note::MAX_SIGNATURES {
                    self.note.add(signature.clone());
                }
            }
        } else if self.is_continued && size < self.tree.size() {
            self.note = kept.clone();
        }
    }

    /// Compares what was stated of a dataset, under these names, with the changes of its log, all of which
    /// `each` shows, in order.
    pub fn compare_with_log(
        &mut self,
        mirror: &Registry,
        names: &[DatasetName],
        each: impl FnOnce(&mut dyn FnMut(&LogChange)) -> Result<()>,
    ) -> Result<()> {
        let mut stated = DatasetStatements::default();
        let mut number = 0;
        if self.first > 0 {
            mirror.snapshot()?.each_followed_statement(&self.found.origin, |text| {
                stated.add(number, text.as_bytes(), names);
                number += 1;
                Ok(())
            })?;
        }
        for text in self.texts.records() {
            stated.add(number, &text?, names);
            number += 1;
        }
        let mut before: Option<LogChange> = None;
        each(&mut |change| {
            if let Some(before) = before.replace(change.clone()) {
                stated.compare(&before, Some(change.timestamp));
            }
        })?;
        if let Some(last) = before {
            stated.compare(&last, None);
        }
        self.found.misstated = stated.difference();
        Ok(())
    }

    /// Cosigns the checkpoint, which was verified.
    pub fn cosign(&mut self, cosign: &Cosign) -> Result<()> {
        let FollowedStatements { origin, size, .. } = &self.found;
        let root = self.tree.root(*size).expect("the tree has its own size");
        let checkpoint = LogCheckpoint { origin: origin.clone(), size: *size, root };
        let signature = cosign(&self.tree, &checkpoint)?;
        self.note.add(signature);
        self.found.cosigned = true;
        Ok(())
    }

    /// What is to be kept of it. As long as it is not decided which of two trees is followed, that is the one
    /// that was kept.
    pub fn to_keep(&self, is_decided: bool) -> LogToKeep<'_> {
        let before = self.kept.as_ref();
        let mut keep = LogToKeep {
            origin: &self.found.origin,
            policy: &self.policy,
            note: &self.note,
            before,
            statements: Some((self.first, &self.texts)),
            fork: self.fork.as_ref().map(|fork| (fork, true)),
        };
        let Some(kept) = before.filter(|_| self.found.fork.is_some()) else { return keep };
        let other = if self.is_continued { self.fork.as_ref() } else { Some(&self.note) };
        match (is_decided, self.is_continued) {
            (false, _) => {
                (keep.note, keep.statements) = (kept, None);
                keep.fork = other.map(|other| (other, false));
            }
            (true, false) => keep.fork = Some((kept, true)),
            (true, true) => {}
        }
        keep
    }
}
