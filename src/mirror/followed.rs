//! How the statements of a primary are read, what is found, and how they are compared with its log.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, LogChange, Timestamp};
use crate::signed::{LogCheckpoint, NoteSignature, SetStatement, StatementTree};

/// Cosigns a checkpoint, of which a mirror has verified that its tree continues what it has kept. It fails if
/// the key has cosigned another tree.
pub type Cosign = dyn Fn(&StatementTree, &LogCheckpoint) -> Result<NoteSignature> + Send + Sync;

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
#[derive(Default)]
pub(super) struct DatasetStatements {
    of_change: BTreeMap<u64, Vec<(u64, SetStatement)>>,
    difference: Option<String>,
}

impl DatasetStatements {
    pub fn add(&mut self, number: u64, text: &[u8], names: &[DatasetName]) {
        // What is no statement was refused when it was read.
        if let Ok(statement) = SetStatement::read(text)
            && names.contains(&statement.dataset)
        {
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
                continue;
            }
            self.difference.get_or_insert_with(|| {
                let end = |until: Option<Timestamp>| {
                    until.map_or("then".to_owned(), |until| until.to_string())
                };
                format!(
                    "the statement {statement_number} is that {} of {} was held from {} until {}, and the log has {identifier} from {timestamp} until {} in its change {number}",
                    it.identifier, it.dataset, it.from, end(it.until), end(until)
                )
            });
        }
    }

    /// The first statement that the log contradicts, in words.
    pub fn difference(self) -> Option<String> {
        let beyond = self.of_change.into_values().flatten().next();
        self.difference.or(beyond.map(|(number, statement)| {
            let SetStatement { dataset, changes, .. } = statement;
            format!("the statement {number} is of change {changes} of {dataset}, which the log does not have")
        }))
    }
}
