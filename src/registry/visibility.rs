//! Which datasets of a registry can be seen.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::Result;
use crate::model::DatasetName;
use crate::store;

/// Which datasets the snapshots of a registry show.
#[derive(Debug, Clone, Default)]
pub(super) enum Visibility {
    /// All of them.
    #[default]
    All,
    /// Those that can be published.
    Publishable,
    /// Those that can be published and have, or once had, one of these names.
    Named(Arc<[DatasetName]>),
}

/// Which datasets one snapshot shows.
#[derive(Debug)]
pub(super) enum Shown {
    All,
    Publishable,
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
            Visibility::All => Shown::All,
            Visibility::Publishable => Shown::Publishable,
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
            Shown::Publishable => name.is_publishable(),
            Shown::Named(names) => names.contains(name) && name.is_publishable(),
        }
    }
}
