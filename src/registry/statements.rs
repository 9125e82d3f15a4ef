//! The log of statements: what the archive stated about its sets, and the checkpoints that it signed.
//!
//! A statement is added for each instance: when it is new, each week while it is in force, and when it has
//! ended. One is added for each cited subset. The tree is computed from the statements whenever it is needed
//! (35,000 of them: 0.1 s). Its roots are compared with all signed checkpoints, which finds lost or altered
//! statements.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::handle::{End, Registry};
use super::snapshot::{Selection, Snapshot, dataset_of, select};
use super::write::noticeably_ahead_of;
use crate::disk::{AtomicFile, Spool};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    DatasetMetadata, DatasetName, Doi, Instance, Moment, Set, Subset, Timestamp, plural,
};
use crate::signed::{
    LogCheckpoint, Note, Policy, SetStatement, StatedSet, StatementProof, StatementTree, TreeHash,
};
use crate::store::{
    self, DatasetKey, REGISTRY, StoredDataset, StoredStatement, SubsetKey, Transaction, TreeHead,
};

/// The log of statements as it is stored.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StatementLog {
    /// The tree of all statements.
    pub tree: StatementTree,
    /// The last checkpoint that was signed, with its signatures. `None` means that none was.
    pub signed: Option<SignedCheckpoint>,
    /// Whether all statements are about datasets that are shown.
    pub is_shown: bool,
    /// The number of statements that were added now.
    pub added: u64,
    /// Whether a change took effect after the whole second of the new statements. It is stated the next time.
    pub is_behind: bool,
    /// The latest time recorded before, if the clock was more than 31 days ahead of it.
    pub clock_ahead_of: Option<Timestamp>,
}

/// A checkpoint with signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// The checkpoint.
    pub checkpoint: LogCheckpoint,
    /// The checkpoint with its signatures.
    pub note: Note,
    /// The policy for its witnesses: the text of a [`crate::signed::Policy`].
    pub policy: String,
    /// When it was signed.
    pub signed: Timestamp,
}

impl SignedCheckpoint {
    fn of(head: &TreeHead) -> Result<Self> {
        let broken = |error| {
            let what = format!("the checkpoint of {} statements: {error}", head.size);
            Error::damaged(what)
        };
        let note: Note = head.note.parse().map_err(broken)?;
        let checkpoint: LogCheckpoint = note.body.parse().map_err(broken)?;
        match checkpoint.size == head.size {
            true => Ok(SignedCheckpoint {
                checkpoint,
                note,
                policy: head.policy.clone(),
                signed: head.signed,
            }),
            false => Err(Error::damaged("a checkpoint has another size than its row")),
        }
    }

    fn stored(&self) -> TreeHead {
        let SignedCheckpoint { checkpoint, note, policy, signed } = self;
        let (note, policy) = (note.to_string(), policy.clone());
        TreeHead { size: checkpoint.size, note, policy, signed: *signed }
    }

    /// Whether enough witnesses have seen it for its policy.
    pub fn is_witnessed(&self) -> bool {
        let policy = self.policy.parse::<Policy>();
        policy
            .is_ok_and(|policy| policy.is_met_by(&policy.seen_by(&self.note).into_iter().collect()))
    }
}

/// A proof that a set was stated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProvedSet {
    /// The proof.
    pub proof: StatementProof,
    /// Whether enough witnesses have seen its checkpoint, for the policy with which it was signed.
    pub is_witnessed: bool,
}

/// The statements that a site has signed.
#[derive(Debug)]
#[non_exhaustive]
pub struct PublishedStatements {
    /// The signed note, with the signatures of the keys of the policy.
    pub note: Note,
    /// The checkpoint in it.
    pub checkpoint: LogCheckpoint,
    /// The texts of the statements, in their order.
    pub(crate) texts: Spool,
}

impl StatementProof {
    /// Writes the proof to `path`, where no file exists yet. The file appears complete, and is durable when
    /// this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]; [`ErrorKind::InvalidPath`]: the name is one that SQLite uses;
    /// [`ErrorKind::Io`].
    pub fn create_file(&self, path: &Path) -> Result<()> {
        let mut file = AtomicFile::beside(path)?;
        let written = write!(file.as_file_mut(), "{self}");
        written.map_err(|source| Error::cannot("write", path, source))?;
        file.put_in_place()
    }
}

impl StatementLog {
    /// The checkpoint of the tree, for a log with this name.
    pub fn checkpoint(&self, origin: &str) -> LogCheckpoint {
        let size = self.tree.size();
        let root = self.tree.root(size).expect("the tree has its own size");
        LogCheckpoint { origin: origin.to_owned(), size, root }
    }

    /// Reads all statements, and compares their tree with the signed checkpoints.
    fn read(read: &store::View) -> Result<Self> {
        let mut log = StatementLog { is_shown: true, ..StatementLog::default() };
        for (statement, number) in read.statements(0).zip(0_u64..) {
            let statement = statement?;
            if statement.number != number {
                return Err(Error::damaged(format!("the statement {number} is missing")));
            }
            log.tree.push(statement.text.as_bytes());
            log.is_shown &= read.shows(statement.dataset);
        }
        for head in read.tree_heads()? {
            let signed = SignedCheckpoint::of(&head)?;
            let LogCheckpoint { size, root, .. } = signed.checkpoint;
            if log.tree.root(size) != Some(root) {
                let what = format!("the first {size} statements are not those that were signed");
                return Err(Error::damaged(what));
            }
            log.signed = Some(signed);
        }
        Ok(log)
    }
}

impl Registry {
    /// States every new instance, every new cited subset, and every instance that has ended since it was
    /// stated, in one transaction. Reads rows of histories only. The time of a statement is a whole second, so
    /// changes of the present second are stated the next time. `signed` are the checkpoints that were signed
    /// last, as the signer remembers them. The tree must continue all of them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TreeDiffers`](crate::ErrorKind::TreeDiffers): the tree does not continue them, or a stated
    /// change is not in the history. The registry was restored from an older backup. Nothing is stated.
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): statements were lost or altered.
    /// [`ErrorKind::ClockAhead`]; [`ErrorKind::Future`]: the last statement has a time after the present.
    pub fn add_statements(&self, signed: &[LogCheckpoint]) -> Result<StatementLog> {
        self.write(|transaction| {
            transaction.lock_registry()?;
            let now = self.now();
            let mut log = StatementLog::read(transaction)?;
            check_all_continued(&log.tree, signed)?;
            let last = match log.tree.size().checked_sub(1) {
                None => None,
                Some(last) => transaction.statements(last).next().transpose()?,
            };
            let last = last.as_ref().map(statement_in).transpose()?.map(|last| last.stated);
            if let Some(stated) = last.filter(|stated| *stated > now) {
                let what =
                    format!("the last statement was made at {stated}, and the clock is at {now}");
                return Err(Error::new(ErrorKind::Future, what));
            }
            let whole = Timestamp::from_micros(now.as_micros().div_euclid(1_000_000) * 1_000_000);
            let stated = whole.unwrap_or(now);
            let (first, rows) = (log.tree.size(), Vec::new());
            let mut new = NewStatements { first, now, stated, is_behind: false, rows };
            for dataset in transaction.every_dataset() {
                new.add_dataset(transaction, &dataset?)?;
            }
            if !new.rows.is_empty() {
                // A statement about a time cannot be taken back, so the clock must be plausible.
                self.record(transaction, None, Timestamp::MIN)?;
                log.clock_ahead_of = noticeably_ahead_of(transaction, now, last)?;
            }
            transaction.insert(REGISTRY, &new.rows)?;
            new.rows.iter().for_each(|row| log.tree.push(row.text.as_bytes()));
            (log.added, log.is_behind) = (new.rows.len() as u64, new.is_behind);
            Ok((log, End::commit_if(!new.rows.is_empty())))
        })
    }

    /// Stores the checkpoint of a tree that was read from this registry, with its signatures. Signatures that
    /// were stored before are kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TreeDiffers`](crate::ErrorKind::TreeDiffers): the checkpoint is not one of this tree.
    pub fn save_checkpoint(&self, tree: &StatementTree, signed: &SignedCheckpoint) -> Result<()> {
        check_continued(tree, signed.checkpoint.size, &signed.checkpoint.root)?;
        self.write(|transaction| {
            transaction.lock_registry()?;
            let mut signed = signed.clone();
            let heads = transaction.tree_heads()?;
            if let Some(head) = heads.iter().find(|head| head.size == signed.checkpoint.size) {
                signed.note.keep(SignedCheckpoint::of(head)?.note);
            }
            transaction.put(REGISTRY, &signed.stored())?;
            Ok(((), End::Commit))
        })
    }
}

impl Registry {
    /// Restores published statements, with their checkpoint `signed`, after this registry was restored from an
    /// older backup. Returns the number of statements that were missing here. The statements here must be the
    /// beginning of the published ones, or continue them. The result must continue what was signed `last`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TreeDiffers`](crate::ErrorKind::TreeDiffers): one of these conditions is not met, or a
    /// stated dataset or subset is not in the registry. Nothing is stored.
    pub fn recover_statements(
        &self,
        published: &PublishedStatements,
        signed: &SignedCheckpoint,
        last: &[LogCheckpoint],
    ) -> Result<u64> {
        let differs = |what: String| Error::new(ErrorKind::TreeDiffers, what);
        self.write(|transaction| {
            transaction.lock_registry()?;
            let mut log = StatementLog::read(transaction)?;
            for (text, number) in published.texts.records().zip(0..) {
                let text = text?;
                if number < log.tree.size() && log.tree.is_leaf(number, &text) {
                    continue;
                }
                if number < log.tree.size() {
                    let what = "the registry has stated something else than what was published";
                    return Err(differs(format!("{what}, in the statement {number}")));
                }
                let missing = || {
                    let what = format!("the history lacks what the statement {number} is of");
                    differs(format!("{what}: import the days that the registry lost first"))
                };
                log.tree.push(&text);
                let text = String::from_utf8_lossy(&text).into_owned();
                let row = row_of(transaction, number, text)?.ok_or_else(missing)?;
                transaction.insert(REGISTRY, &[row])?;
                log.added += 1;
            }
            let taken = log.added;
            check_all_continued(&log.tree, last)?;
            // If nothing was missing, the stored checkpoint is not replaced: it may have been cosigned since it
            // was published.
            if taken > 0 {
                check_continued(&log.tree, signed.checkpoint.size, &signed.checkpoint.root)?;
                transaction.put(REGISTRY, &signed.stored())?;
            }
            Ok((taken, End::commit_if(taken > 0)))
        })
    }
}

/// The row of a published statement. `None` means that the registry does not have its set.
fn row_of(read: &Transaction, number: u64, text: String) -> Result<Option<StoredStatement>> {
    let damaged = |error| Error::damaged(format!("the statement {number} is {error}"));
    let statement = SetStatement::read(text.as_bytes()).map_err(damaged)?;
    let Some((dataset, _)) = read.key_and_name(&statement.dataset)? else { return Ok(None) };
    let subset = if statement.part {
        let names = (statement.identifier, statement.digest);
        let mut new = read.subsets_not_stated(dataset)?.into_iter();
        let found = new.find(|(_, it)| (it.identifier, it.digest) == names);
        let Some((key, _)) = found else { return Ok(None) };
        Some(key)
    } else {
        let found = read.instance_at(dataset, statement.from)?;
        if !found.is_some_and(|instance| is_of(&statement, &instance)) {
            return Ok(None);
        }
        None
    };
    Ok(Some(StoredStatement { number, dataset, subset, since: statement.from, text }))
}

fn check_all_continued(tree: &StatementTree, signed: &[LogCheckpoint]) -> Result<()> {
    signed.iter().try_for_each(|signed| check_continued(tree, signed.size, &signed.root))
}

fn check_continued(tree: &StatementTree, size: u64, root: &TreeHash) -> Result<()> {
    match tree.root(size) {
        Some(found) if found == *root => Ok(()),
        found => {
            let what = match found {
                None => {
                    let stored = plural(tree.size(), "statement");
                    format!("the registry has {stored}, but {size} were signed")
                }
                Some(_) => format!("the first {size} statements are not those that were signed"),
            };
            Err(Error::new(ErrorKind::TreeDiffers, what))
        }
    }
}

/// The statement in a row.
fn statement_in(row: &StoredStatement) -> Result<SetStatement> {
    let number = row.number;
    let damaged = |error| Error::damaged(format!("the statement {number} is {error}"));
    SetStatement::read(row.text.as_bytes()).map_err(damaged)
}

/// The time after which an instance that is still in force is stated again, in microseconds. A statement says
/// nothing about the time after it.
const STATED_AGAIN_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;

/// Statements that are about to be added.
struct NewStatements {
    /// The number of the first one.
    first: u64,
    now: Timestamp,
    /// `now`, rounded down to a whole second.
    stated: Timestamp,
    is_behind: bool,
    rows: Vec<StoredStatement>,
}

impl NewStatements {
    fn add_dataset(&mut self, read: &Transaction, stored: &StoredDataset) -> Result<()> {
        let StoredDataset { key: dataset, dataset: DatasetMetadata { doi, .. }, .. } = stored;
        let dataset = *dataset;
        let last = read.last_statement_of(dataset)?;
        let last = last.as_ref().map(statement_in).transpose()?;
        let mut changes = last.as_ref().map_or(0, |last| last.changes - 1);
        // The instance that was stated last is checked again: it may have ended.
        let after =
            last.as_ref().and_then(|last| Timestamp::from_micros(last.from.as_micros() - 1));
        let mut instances = read.history(dataset, after, self.now).peekable();
        if let Some(last) = &last {
            let is_there = matches!(instances.peek(), Some(Ok(found)) if is_of(last, found));
            if !is_there && !matches!(instances.peek(), Some(Err(_))) {
                let (name, from) = (&last.dataset, last.from);
                let what = format!(
                    "it was stated what {name} held since {from}, which its history does not have"
                );
                return Err(Error::new(ErrorKind::TreeDiffers, what));
            }
        }
        for instance in instances {
            let Some(instance) = self.as_of_stated(instance?) else { break };
            changes += 1;
            let is_stated = last.as_ref().is_some_and(|last| {
                let age = self.stated.as_micros() - last.stated.as_micros();
                let is_known = instance.until.is_none() && age < STATED_AGAIN_MICROS;
                is_of(last, &instance) && (last.until.is_some() || is_known)
            });
            if !is_stated {
                let set = stated_set(Set::Instance(instance), doi, changes);
                self.add(dataset, None, set);
            }
        }
        for (key, subset) in read.subsets_not_stated(dataset)? {
            let instance = read.instance_at(dataset, subset.timestamp)?;
            let Some(instance) = instance.and_then(|it| self.as_of_stated(it)) else { continue };
            let changes = read.count_instances(dataset, instance.timestamp)?;
            let set = stated_set(Set::Subset { subset, instance }, doi, changes);
            self.add(dataset, Some(key), set);
        }
        Ok(())
    }

    /// The instance as it was known in the second `stated`. `None` means that it took effect later.
    fn as_of_stated(&mut self, instance: Instance) -> Option<Instance> {
        let stated = self.stated;
        self.is_behind |= instance.timestamp > stated;
        let until = instance.until.filter(|until| *until <= stated);
        (instance.timestamp <= stated).then_some(Instance { until, ..instance })
    }

    fn add(&mut self, dataset: DatasetKey, subset: Option<SubsetKey>, set: StatedSet) {
        let number = self.first + self.rows.len() as u64;
        let since = set.from;
        let text = SetStatement::of(set, self.stated).text();
        self.rows.push(StoredStatement { number, dataset, subset, since, text });
    }
}

/// Whether a statement is about an instance.
fn is_of(statement: &SetStatement, instance: &Instance) -> bool {
    let Instance { timestamp, identifier, digest, .. } = instance;
    (statement.from, statement.identifier, statement.digest) == (*timestamp, *identifier, *digest)
}

fn stated_set(set: Set, doi: &Option<Doi>, changes: u64) -> StatedSet {
    let Instance { timestamp, until, .. } = set.instance();
    StatedSet {
        dataset: set.dataset().clone(),
        doi: doi.clone(),
        identifier: set.identifier(),
        digest: set.digest(),
        granules: set.granule_count(),
        from: *timestamp,
        until: *until,
        part: set.subset().is_some(),
        changes,
    }
}

impl Snapshot {
    /// The log of statements, and the last signed checkpoint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): statements were lost or altered.
    pub fn statement_log(&self) -> Result<StatementLog> {
        self.ask(StatementLog::read)
    }

    /// The problem with the statements: one was lost or altered, or does not match the history. `None` means
    /// that there is none.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn check_statements(&self) -> Result<Option<String>> {
        self.ask(check_statements)
    }

    /// The texts of at most `count` statements, from the number `first` on.
    pub(crate) fn statement_texts(&self, first: u64, count: u64) -> Result<Vec<String>> {
        self.ask(|read| {
            let rows = read.statements(first).take(count as usize);
            rows.map(|row| Ok(row?.text)).collect()
        })
    }

    /// The last signed checkpoint. `None` means that none was signed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the checkpoint was altered.
    pub fn last_signed(&self) -> Result<Option<SignedCheckpoint>> {
        self.ask(|read| read.tree_heads()?.last().map(SignedCheckpoint::of).transpose())
    }

    /// The datasets with statements that not enough witnesses have seen, for the policy with which they were
    /// signed. Each has the time of its first such statement. Empty if nothing was signed.
    pub(super) fn unwitnessed(&self) -> Result<BTreeMap<DatasetName, Timestamp>> {
        self.ask(|read| {
            let heads = read.tree_heads()?;
            let mut since = BTreeMap::new();
            let mut seen = (!heads.is_empty()).then_some(0);
            for head in heads.iter().rev() {
                if SignedCheckpoint::of(head)?.is_witnessed() {
                    seen = Some(head.size);
                    break;
                }
            }
            for row in seen.into_iter().flat_map(|seen| read.statements(seen)) {
                let row = row?;
                since.entry(row.dataset).or_insert(statement_in(&row)?.stated);
            }
            if since.is_empty() {
                return Ok(BTreeMap::new());
            }
            let named = read.every_dataset().filter_map(|stored| {
                let named = |stored: StoredDataset| {
                    since.get(&stored.key).map(|since| (stored.dataset.name, *since))
                };
                stored.map(named).transpose()
            });
            named.collect()
        })
    }

    /// The proof that a set was stated and, if a time is given, that it was held then. The proof uses the last
    /// checkpoint that enough witnesses have seen for its policy. If there is none, it uses the last
    /// checkpoint. If an instance was stated several times, its last statement in that checkpoint is proved.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`]; [`ErrorKind::NotStated`](crate::ErrorKind::NotStated): the set was not
    /// stated yet, nothing was signed since, or no signed statement of the set covers the time.
    pub fn prove(&self, selection: &Selection, at: Option<Moment>) -> Result<ProvedSet> {
        self.ask(|read| {
            let set = select(read, selection)?.set;
            let stated = stored(read, &set)?;
            let stated = stated.iter().map(|row| Ok((row.number, statement_in(row)?)));
            let stated = stated.collect::<Result<Vec<_>>>()?;
            let log = StatementLog::read(read)?;
            let heads = read.tree_heads()?;
            let mut best = None;
            for head in heads.iter().rev() {
                let mut known = stated.iter().rev().filter(|(number, _)| *number < head.size);
                let is_meant = |statement: &SetStatement| at.is_none_or(|at| statement.covers(at));
                let found = known.find(|(_, statement)| is_meant(statement));
                let Some((index, statement)) = found else { break };
                let signed = SignedCheckpoint::of(head)?;
                let is_witnessed = signed.is_witnessed();
                if is_witnessed || best.is_none() {
                    best = Some((*index, statement, signed, is_witnessed));
                }
                if is_witnessed {
                    break;
                }
            }
            let proof = best.and_then(|(index, statement, signed, is_witnessed)| {
                let path = log.tree.inclusion(index, signed.checkpoint.size)?;
                let (statement, note) = (statement.clone(), signed.note);
                let proof = StatementProof { statement, index, path, note };
                Some(ProvedSet { proof, is_witnessed })
            });
            proof.ok_or_else(|| {
                let (identifier, name): (_, &DatasetName) = (set.identifier(), set.dataset());
                let signed = heads.last().map_or(0, |head| head.size);
                let last = stated.iter().rev().find(|(number, _)| *number < signed);
                let what = match last.zip(at) {
                    Some(((_, SetStatement { from, until, stated, .. }), at)) => {
                        let end = until.unwrap_or(*stated);
                        format!(
                            "{at} is outside of what was signed of {identifier} of {name}, from {from} until {end}: name a time within"
                        )
                    }
                    None => format!("{identifier} of {name} was not stated and signed yet"),
                };
                Error::new(ErrorKind::NotStated, what)
            })
        })
    }
}

/// The statements of a set, in order.
fn stored(read: &store::View, set: &Set) -> Result<Vec<StoredStatement>> {
    let (dataset, _) = dataset_of(read, set.dataset())?;
    match set {
        Set::Instance(instance) => read.statements_since(dataset, instance.timestamp),
        Set::Subset { subset, .. } => {
            let names = (subset.identifier, subset.digest);
            match read.subset(dataset, names, &subset.criteria)? {
                Some((key, _)) => read.statement_of_subset(dataset, key),
                None => Ok(Vec::new()),
            }
        }
    }
}

/// The problem with the statements. `None` means that there is none.
pub(in crate::registry) fn check_statements(read: &store::View) -> Result<Option<String>> {
    match StatementLog::read(read).and_then(|_| compare_with_history(read)) {
        Ok(()) => Ok(None),
        Err(error) if error.concerns_content() => Ok(Some(error.reason())),
        Err(error) => Err(error),
    }
}

/// Compares the statements with the histories and the subsets. All statements are in memory meanwhile. A
/// statement stays valid if a change is recorded after it: the stated set may have ended before it was stated.
fn compare_with_history(read: &store::View) -> Result<()> {
    let (mut whole, mut other) = (BTreeMap::<DatasetKey, Vec<_>>::new(), None);
    for row in read.statements(0) {
        let row = row?;
        let statement = statement_in(&row)?;
        match row.subset {
            None => whole.entry(row.dataset).or_default().push((statement, row.number)),
            Some(key) => {
                let is_there = known(is_of_subset(read, key, &statement))?;
                other = other.or((is_there == Some(false)).then_some(row.number));
            }
        }
    }
    for (dataset, stated) in whole {
        other = other.or(known(other_than_history(read, dataset, stated))?.flatten());
    }
    other.map_or(Ok(()), |number| {
        let what = format!("the statement {number} is of a set that the history does not have");
        Err(Error::damaged(what))
    })
}

/// The value that was read. `None` means that it is damaged or unreachable, which the verification of its
/// dataset reports.
fn known<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.concerns_content() => Ok(None),
        Err(error) if error.kind() == ErrorKind::Unreachable => Ok(None),
        read => read.map(Some),
    }
}

/// Whether a stored subset is the one in a statement.
fn is_of_subset(read: &store::View, key: SubsetKey, statement: &SetStatement) -> Result<bool> {
    let subsets = read.subsets_with(statement.identifier)?;
    let is_there = |(it, subset): &(SubsetKey, Subset)| {
        *it == key && subset.digest == statement.digest && statement.part
    };
    Ok(subsets.iter().any(is_there))
}

/// The number of the first statement about an instance that the dataset's history does not have.
fn other_than_history(
    read: &store::View,
    dataset: DatasetKey,
    mut stated: Vec<(SetStatement, u64)>,
) -> Result<Option<u64>> {
    stated.sort_by_key(|(statement, _)| statement.changes);
    let mut stated = stated.into_iter().peekable();
    for (instance, changes) in read.history(dataset, None, Timestamp::MAX).zip(1..) {
        let instance = instance?;
        while let Some((statement, number)) =
            stated.next_if(|(statement, _)| statement.changes == changes)
        {
            let is_end = statement.until.is_none_or(|until| Some(until) == instance.until);
            if statement.part || !is_end || !is_of(&statement, &instance) {
                return Ok(Some(number));
            }
        }
    }
    Ok(stated.next().map(|(_, number)| number))
}
