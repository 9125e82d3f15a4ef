//! Which datasets of a registry can be seen.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Result;
use crate::model::DatasetName;
use crate::store;

/// Which datasets the snapshots of a registry show.
#[derive(Debug, Clone, Default)]
pub(super) enum Visibility {
    /// All of them.
    #[default]
    All,
    /// All of them, without who recorded a change.
    Public,
    /// Those that have, or once had, one of these names, without who recorded a change.
    Named(Arc<[DatasetName]>),
}

/// Which datasets one snapshot shows.
#[derive(Debug)]
pub(super) enum Shown {
    All,
    /// By their names at the time of the snapshot.
    Named(BTreeSet<DatasetName>),
}

impl Visibility {
    /// Whether others see the registry.
    pub fn is_public(&self) -> bool {
        !matches!(self, Visibility::All)
    }

    /// Which datasets a snapshot shows.
    pub fn of(&self, read: &store::Snapshot) -> Result<Shown> {
        Ok(match self {
            Visibility::All | Visibility::Public => Shown::All,
            Visibility::Named(names) => {
                let mut shown = BTreeSet::new();
                for name in names.iter() {
                    shown.extend(read.dataset(name)?.map(|(_, dataset)| dataset.name));
                }
                Shown::Named(shown)
            }
        })
    }
}

impl Shown {
    /// Whether a dataset with this present name is shown.
    pub fn shows(&self, name: &DatasetName) -> bool {
        match self {
            Shown::All => true,
            Shown::Named(names) => names.contains(name),
        }
    }
}
