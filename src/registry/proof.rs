//! The proof that the granules that were read of a set are those of its identifier, and the check of
//! the ids in rows.
//!
//! A row can be damaged on the disk, or changed by others. Whatever reads all granules of a set hashes
//! them on the way ([`Hashing`]) and compares the result with the identifier that the history states.
//! What reads only a part of a set cannot, and proves nothing.

use super::handle::Registry;
use crate::chain::Chain;
use crate::chain::{Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{DatasetName, Digest, GranuleId, Identifier, Instance, Set, Timestamp};

/// A set that is read in full, and the registry that has it.
#[derive(Clone)]
pub(crate) struct Claim {
    registry: Registry,
    set: Set,
}

impl Claim {
    /// The claim that a set of a registry has its identifier.
    pub fn of(registry: &Registry, set: &Set) -> Self {
        Claim { registry: registry.clone(), set: set.clone() }
    }

    /// Compares it with the granules that were read: their identifier, and how many there were.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): they are not those of the set.
    pub fn check(&self, identifier: Identifier, granules: u64) -> Result<()> {
        let checked = match &self.set {
            Set::Instance(instance) => check(instance, identifier, granules),
            Set::Subset { subset, instance } => {
                let Instance { dataset, timestamp, .. } = instance;
                let what = format!("the subset of {dataset} at {timestamp}");
                compare(&what, (subset.identifier, subset.granules), (identifier, granules))
            }
        };
        checked.map_err(|error| self.registry.named(error))
    }

    /// Compares its digest with what was read of the files of its granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): it is not that of the set.
    pub fn check_digest(&self, digest: Digest) -> Result<()> {
        let Instance { dataset, timestamp, .. } = self.set.instance();
        let stated = self.set.digest();
        let checked = compare_digests(dataset, *timestamp, (stated, digest));
        checked.map_err(|error| self.registry.named(error))
    }
}

/// Compares an instance with the granules that were read of it: their identifier, and how many there
/// were.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): they are not those of the instance.
pub(super) fn check(instance: &Instance, identifier: Identifier, granules: u64) -> Result<()> {
    let what = format!("{} at {}", instance.dataset, instance.timestamp);
    compare(&what, (instance.identifier, instance.granules), (identifier, granules))
}

/// Compares an instance with what was read of the files of its granules.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): it is not what the instance states.
pub(super) fn check_digest(instance: &Instance, digest: Digest) -> Result<()> {
    let Instance { dataset, timestamp, .. } = instance;
    compare_digests(dataset, *timestamp, (instance.digest, digest))
}

fn compare_digests(
    dataset: &DatasetName,
    at: Timestamp,
    (stated, read): (Digest, Digest),
) -> Result<()> {
    if stated == read {
        return Ok(());
    }
    Err(Error::damaged(format!(
        "{dataset} at {at} has the digest {stated}, but what is known of the files gives {read}"
    )))
}

fn compare(what: &str, stated: (Identifier, u64), read: (Identifier, u64)) -> Result<()> {
    if stated == read {
        return Ok(());
    }
    Err(Error::damaged(format!(
        "{what} has the identifier {} and {} granules, but the granule rows give {} and {}",
        stated.0, stated.1, read.0, read.1
    )))
}

/// The proof of one set, whose granules are added as they are read.
pub(crate) struct Proof {
    claim: Claim,
    hasher: Hasher,
    granules: u64,
}

/// What hashes the granules.
enum Hasher {
    /// Another thread, if there are many granules.
    Beside(Box<Hashing>),
    /// The thread that reads them: it holds no memory for the batches of another one.
    Here(Chain),
}

impl Proof {
    pub fn of(registry: &Registry, set: &Set) -> Self {
        let hasher = Hasher::Beside(Box::new(Hashing::of(Sweep::over(1))));
        Proof { claim: Claim::of(registry, set), hasher, granules: 0 }
    }

    /// The same proof on the thread that reads. Must be called before the first granule is added.
    pub fn hashed_here(self) -> Self {
        Proof { hasher: Hasher::Here(Chain::start()), ..self }
    }

    /// Adds the next granule in canonical order.
    pub fn add(&mut self, granule_id: &str) {
        match &mut self.hasher {
            Hasher::Beside(hashing) => drop(hashing.hold(granule_id, 0..1)),
            Hasher::Here(chain) => chain.push(granule_id),
        }
        self.granules += 1;
    }

    /// Compares the set with the granules that were added.
    ///
    /// # Errors
    ///
    /// Those of [`Claim::check`].
    pub fn finish(self) -> Result<()> {
        let identifier = match self.hasher {
            Hasher::Beside(hashing) => hashing.finish().sweep.latest(),
            Hasher::Here(chain) => chain.identifier(),
        };
        self.claim.check(identifier, self.granules)
    }
}

/// The granule id in a row of a dataset.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): it is not valid.
pub(super) fn granule_id<'row>(bytes: &'row [u8], dataset: &DatasetName) -> Result<&'row str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| GranuleId::check(text).is_ok());
    text.ok_or_else(|| not_an_id(dataset))
}

/// The error for a row whose granule id is not valid.
pub(super) fn not_an_id(dataset: &DatasetName) -> Error {
    Error::damaged(format!("{dataset} has a row whose granule id is not valid"))
}
