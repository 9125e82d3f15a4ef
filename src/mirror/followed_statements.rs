//! How the statements of a primary are read, what is found, and how they are compared with its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, LogChange, Timestamp};
use crate::signed::{LogCheckpoint, NoteSignature, SetStatement, TreeHash};

/// Finds the root that a tree had when it had so many statements. `None` means that it has fewer.
pub type RootOf<'a> = dyn Fn(u64) -> Result<Option<TreeHash>> + 'a;

/// Cosigns a checkpoint, of which a mirror has verified that its tree continues what it has kept. It fails if
/// the key has cosigned another tree.
pub type Cosign = dyn Fn(&RootOf<'_>, &LogCheckpoint) -> Result<NoteSignature> + Send + Sync;

/// How the statements of a primary are read.
#[derive(Clone, Default)]
pub struct FollowOptions {
    /// The text of the policy whose keys are believed from now on. `None` means that of the last time, or, of
    /// a primary that is read for the first time, the one that its site publishes.
    pub policy: Option<String>,
    /// What cosigns a checkpoint that was verified. `None` means that nothing does.
    pub cosign: Option<Arc<Cosign>>,
}

/// What was read of the log of statements of a primary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FollowedStatements {
    /// The name of the log.
    pub origin: String,
    /// How many statements it has.
    pub size: u64,
    /// Whether its checkpoint was cosigned now.
    pub cosigned: bool,
    /// The checkpoints of two trees that both are signed, with their signatures: that of the tree that is
    /// kept, and the other one. `None` means that there is one tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<[String; 2]>,
    /// Where the log of the dataset is not what was stated of it. `None` means that they agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misstated: Option<String>,
    /// How many statements that were compared now are of another dataset, which had the name before.
    /// `None` means that none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_former: Option<u64>,
    /// The keys of the site that are believed from now on, if it was read for the first time. The reader
    /// should compare them with what the archive says elsewhere.
    #[serde(skip)]
    pub pinned: Vec<String>,
}

impl Error {
    /// Statements are asked for where none can be.
    pub(super) fn not_a_site() -> Self {
        let what = "statements are read of a published site: name the address of a dataset, or its directory";
        Error::new(ErrorKind::Usage, what)
    }
}

/// What was stated of a dataset: for each number of a change, the statements with their numbers.
///
/// A name that was given up may have been that of another dataset before. Its statements name changes of a
/// history that began anew: they differ from the log in the time of the change or, where it began with the
/// same changes, in that of the next. They precede one of the first change of this dataset, or one under
/// another of its names.
pub(super) struct DatasetStatements {
    /// The latest time that a statement may have.
    not_after: Timestamp,
    of_change: BTreeMap<u64, Vec<(u64, SetStatement)>>,
    /// The last statement under each name that agrees with the log, and (`None`) of the first change.
    agreed: BTreeMap<Option<DatasetName>, u64>,
    /// Those that the log contradicts: the number, the name, whether they may be of another dataset, and what
    /// they say.
    contradicted: Vec<(u64, DatasetName, bool, String)>,
}

impl DatasetStatements {
    pub fn new(not_after: Timestamp) -> Self {
        DatasetStatements {
            not_after,
            of_change: BTreeMap::new(),
            agreed: BTreeMap::new(),
            contradicted: Vec::new(),
        }
    }

    /// Adds a statement, if it is about one of these names. A statement that is dated in the future
    /// contradicts every log.
    pub fn add(&mut self, number: u64, text: &[u8], names: &[DatasetName]) {
        // What is no statement was refused when it was read.
        let Ok(statement) = SetStatement::read(text) else { return };
        if statement.stated > self.not_after && self.contradicted.is_empty() {
            let SetStatement { dataset, stated, .. } = &statement;
            let what =
                format!("the statement {number} of {dataset} is dated in the future: {stated}");
            self.contradicted.push((number, dataset.clone(), false, what));
        }
        if names.contains(&statement.dataset) {
            self.of_change.entry(statement.changes).or_default().push((number, statement));
        }
    }

    /// Compares what was stated of a change with the log, in which the next one took effect at `until`.
    pub fn compare(&mut self, change: &LogChange, until: Option<Timestamp>) {
        let stated = self.of_change.remove(&change.number).unwrap_or_default();
        let LogChange { number, timestamp, identifier, digest, .. } = change;
        for (statement_number, it) in stated {
            let names = (it.identifier, it.digest);
            let is_set = it.part || names == (*identifier, *digest);
            let is_until = it.until.is_none() || it.until == until;
            if it.from == *timestamp && is_set && is_until {
                let begins = (*number == 1 && !it.part).then_some(None);
                for name in begins.into_iter().chain([Some(it.dataset)]) {
                    let last = self.agreed.entry(name).or_default();
                    *last = statement_number.max(*last);
                }
                continue;
            }
            let SetStatement { dataset, identifier: other, from, until: ended, .. } = it;
            let [ended, until] = [ended, until]
                .map(|until| until.map_or("then".to_owned(), |until| until.to_string()));
            let what = format!(
                "the statement {statement_number} is that {other} of {dataset} was held from {from} until {ended}, and the log has {identifier} from {timestamp} until {until} in its change {number}"
            );
            let may_be = from != *timestamp || is_set;
            self.contradicted.push((statement_number, dataset, may_be, what));
        }
    }

    /// The number of the first change of which something was stated. `None` means that nothing was.
    pub fn first_change(&self) -> Option<u64> {
        self.of_change.keys().next().copied()
    }

    /// The first statement that the log contradicts, in words, and how many are of another dataset that had
    /// the name before.
    pub fn differences(mut self) -> (Option<String>, Option<u64>) {
        for (number, it) in self.of_change.into_values().flatten() {
            let of = format!("change {} of {}", it.changes, it.dataset);
            let what = format!("the statement {number} is of {of}, which the log does not have");
            self.contradicted.push((number, it.dataset, true, what));
        }
        let is_of_other = |(number, name, may_be, _): &(u64, DatasetName, bool, String)| {
            let mut others = self.agreed.iter().filter(|(other, _)| other.as_ref() != Some(name));
            *may_be && others.any(|(_, last)| number < last)
        };
        let (of_other, mut wrong): (Vec<_>, Vec<_>) =
            self.contradicted.into_iter().partition(is_of_other);
        wrong.sort();
        let of_other = Some(of_other.len() as u64).filter(|count| *count > 0);
        (wrong.into_iter().next().map(|(.., what)| what), of_other)
    }
}
