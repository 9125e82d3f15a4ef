//! Bringing a mirror to its primary's set, in one change that proves itself.

use super::Primary;
use crate::model::{DatasetName, Event, EventKind, Granule, Instance, Moment};
use crate::registry::{Expected, ImportOptions, Registry, Side, Stamp, Work};
use crate::{Error, Result};

/// How a pull is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullOptions {
    /// As of when at the primary; none: its latest change.
    pub primary_at: Option<Moment>,
    /// When the change takes effect here.
    pub stamp: Stamp,
    /// Adds the dataset if it is not there.
    pub create: bool,
    /// Does everything, and then undoes it.
    pub dry_run: bool,
}

/// What a pull did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The change; none if the mirror was identical.
    pub change: Option<Instance>,
    /// What the primary holds, and the mirror now too.
    pub primary: Instance,
    /// What it cost.
    pub work: Work,
}

/// Makes a mirror hold what its primary holds: one change, committed only if the identifier that it
/// leads to is the primary's. The mirror keeps its own timestamps and its own history.
///
/// The memory is that of the differences.
///
/// # Errors
///
/// [`Error::NoDataset`]: it is not there, and `create` is not asked for; as
/// [`Registry::select`] on the primary; [`Error::Change`]: the time, or, if somebody else changed
/// the mirror meanwhile, another identifier.
pub fn pull(
    mirror: &mut Registry,
    dataset: &DatasetName,
    primary: &mut Primary,
    options: PullOptions,
) -> Result<Pulled> {
    if !options.create {
        mirror.dataset(dataset)?;
    }
    let selection = primary.selection(options.primary_at);
    let mut differences: Vec<(EventKind, Granule)> = Vec::new();
    let (here, there, _) =
        mirror.compare_with(dataset, primary.registry(), &selection, |side| {
            differences.push(match side {
                Side::Left(granule) => (EventKind::Deleted, granule),
                Side::Right(granule) => (EventKind::Ingested, granule),
            });
            Ok(())
        })?;
    let unchanged = Pulled { change: None, primary: there.clone(), work: Work::default() };
    if differences.is_empty() {
        return Ok(unchanged);
    }
    let (at, _) = options.stamp.after(here.map(|here| here.timestamp)).map_err(Error::from)?;
    let mut import = mirror.begin_import()?;
    for (kind, granule) in differences {
        let Granule { granule_id, producer_granule, .. } = granule;
        import.add(Event { at, kind, granule_id, producer_granule, location: None })?;
    }
    import.expect(at, Expected { identifier: there.identifier, note: None, location: None });
    let import_options = ImportOptions { create: options.create, dry_run: options.dry_run };
    let imported = import.apply(dataset, import_options, options.stamp.now.max(at))?;
    let change = imported.instances.into_iter().next();
    Ok(Pulled { change, work: imported.work, ..unchanged })
}
