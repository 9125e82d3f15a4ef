//! What a mirror reads of the statements of its primary, before anything else: that they are signed by a key
//! that it believes, that their tree continues the one that it has kept, and that they agree with the log.

use super::followed_statements::{Cosign, DatasetStatements, FollowedStatements};
use super::place::StatementPlace;
use super::primary::Primary;
use crate::disk::Spool;
use crate::error::{Error, Result};
use crate::model::{DatasetName, LogChange, Timestamp};
use crate::registry::{KeptLog, LogToKeep, MirrorSource, Registry};
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
    /// What follows the statements that agreed with the log before, or all.
    tree: StatementTree,
    /// Statements of that tree from a number on: those before are kept.
    first: u64,
    texts: Spool,
    /// The tree of those that agreed with the log, as far as it was read before.
    agreed: StatementTree,
    /// Whether the log as it was read now agrees with all of them.
    is_agreed: bool,
}

/// Reads the statements of a primary, of which this was read before. `None` means that they are not followed:
/// the place is not a site, the site publishes none, or they were not followed when the primary was read
/// before.
///
/// # Errors
///
/// [`ErrorKind::NotSigned`]: no key that is believed signed the checkpoint, or a signature is wrong;
/// [`ErrorKind::NotPublished`]: a file is not what the checkpoint says; those of requests.
pub(super) fn follow(
    primary: &Primary,
    mirror: &Registry,
    before: Option<&MirrorSource>,
) -> Result<Option<Following>> {
    let given = primary.follow.policy.clone();
    let Some(place) = primary.place.statements() else {
        return if given.is_some() { Err(Error::not_a_site()) } else { Ok(None) };
    };
    let origin = before.and_then(|before| before.origin.clone());
    let was_pulled = before.is_some_and(|before| before.pulled.is_some());
    if given.is_none() && origin.is_none() && was_pulled && primary.follow.cosign.is_none() {
        return Ok(None);
    }
    let is_required = given.is_some() || origin.is_some();
    let Some((mut note, checkpoint)) = place.checkpoint(is_required)? else { return Ok(None) };
    let mut agreed = before
        .and_then(|before| StatementTree::of_edge_text(before.agreed.as_ref()?))
        // All of the tree is needed to find an older state in it.
        .filter(|agreed| agreed.size() <= checkpoint.size)
        .unwrap_or_default();
    let origin = match (&given, origin) {
        (None, Some(origin)) => origin,
        _ => checkpoint.origin.clone(),
    };
    let kept = mirror.snapshot()?.kept_log(&origin, &mut agreed)?;
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
    place.verify(&mut note, &origin, &believed(&policy, &place)?)?;
    let found = FollowedStatements {
        origin,
        size: 0,
        cosigned: false,
        fork: None,
        misstated: None,
        of_former: None,
        pinned,
    };
    Following::read(&place, (note, checkpoint), (found, policy), kept, agreed).map(Some)
}

fn believed(policy: &str, place: &StatementPlace<'_>) -> Result<Policy> {
    policy.parse().map_err(|error| place.refused("policy", error))
}

impl Following {
    /// Reads what is new, or, where that does not continue what was kept, everything.
    fn read(
        place: &StatementPlace<'_>,
        (note, checkpoint): (Note, LogCheckpoint),
        (mut found, policy): (FollowedStatements, String),
        kept: Option<KeptLog>,
        agreed: StatementTree,
    ) -> Result<Self> {
        let size = checkpoint.size;
        let (mut tree, kept, fork, agreed) = match kept {
            Some(KeptLog { tree, note, fork, .. }) => (tree, Some(note), fork, agreed),
            None => (StatementTree::default(), None, None, StatementTree::default()),
        };
        let (mut first, mut texts) = (tree.size(), Spool::default());
        place.statements(first, size, |text| {
            tree.push(text);
            texts.add(text).map(drop)
        })?;
        let is_continued = tree.root(size) == Some(checkpoint.root);
        if !is_continued {
            first = 0;
            (tree, texts) = place.all_of(&checkpoint)?;
        }
        found.size = tree.size();
        let mut following = Following {
            found,
            policy,
            note,
            kept,
            is_continued,
            fork,
            tree,
            first,
            texts,
            agreed,
            is_agreed: false,
        };
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

    /// Compares what was stated of a dataset, under these names, with the changes of its log. Those from a
    /// number on are shown by `each`, in order. What agreed with the log before is not compared again if the
    /// log continues what was read then: its changes are the same, and an end that was unknown says nothing.
    /// Statements that were made later than `not_after` agree with no log, whatever their dataset is.
    pub fn compare_with_log(
        &mut self,
        mirror: &Registry,
        names: &[DatasetName],
        (is_continued, not_after): (bool, Timestamp),
        each: impl FnOnce(u64, &mut dyn FnMut(&LogChange)) -> Result<()>,
    ) -> Result<()> {
        let mut stated = DatasetStatements::new(not_after);
        let agreed = if is_continued { self.agreed.size() } else { 0 };
        let kept = agreed..self.first;
        if !kept.is_empty() {
            mirror.snapshot()?.each_followed_statement(&self.found.origin, kept, |it| {
                stated.add(it.number, it.text.as_bytes(), names);
            })?;
        }
        for (number, text) in (self.first..).zip(self.texts.records()) {
            stated.add(number, &text?, names);
        }
        if let Some(first) = stated.first_change() {
            let mut before: Option<LogChange> = None;
            each(first, &mut |change| {
                if let Some(before) = before.replace(change.clone()) {
                    stated.compare(&before, Some(change.timestamp));
                }
            })?;
            if let Some(last) = before {
                stated.compare(&last, None);
            }
        }
        (self.found.misstated, self.found.of_former) = stated.differences();
        self.is_agreed = self.found.misstated.is_none();
        Ok(())
    }

    /// Cosigns the checkpoint, which was verified.
    pub fn cosign(&mut self, mirror: &Registry, cosign: &Cosign) -> Result<()> {
        let FollowedStatements { origin, size, .. } = &self.found;
        let root = self.tree.root(*size).expect("the tree has its own size");
        let checkpoint = LogCheckpoint { origin: origin.clone(), size: *size, root };
        let root_of = |older: u64| match self.tree.root(older) {
            None if older < self.first => {
                let mut tree = StatementTree::default();
                mirror.snapshot()?.each_followed_statement(origin, 0..older, |it| {
                    tree.push(it.text.as_bytes());
                })?;
                Ok(tree.root(older))
            }
            root => Ok(root),
        };
        let signature = cosign(&root_of, &checkpoint)?;
        self.note.add(signature);
        self.found.cosigned = true;
        Ok(())
    }

    /// What is to be kept of it. As long as it is not decided which of two trees is followed, that is the one
    /// that was kept. What agrees with a log that does not continue what was read before agrees with the log
    /// that is followed only if the mirror was pulled from it.
    pub fn to_keep(&self, is_decided: bool, is_continued: bool) -> LogToKeep<'_> {
        let before = self.kept.as_ref();
        let agreed = match (is_decided, is_continued) {
            (true, _) | (_, true) if self.is_agreed => Some(&self.tree),
            (true, false) => None,
            _ => Some(&self.agreed),
        };
        let mut keep = LogToKeep {
            origin: &self.found.origin,
            policy: &self.policy,
            note: &self.note,
            before,
            statements: Some((self.first, &self.texts)),
            fork: self.fork.as_ref().map(|fork| (fork, true)),
            agreed: agreed.filter(|agreed| agreed.size() > 0),
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
