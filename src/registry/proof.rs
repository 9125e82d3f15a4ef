//! Verifies that the granules that were read of a set match its identifier, and checks the ids in rows.
//!
//! A row can be damaged on the disk, or changed by others. Code that reads all granules of a set hashes them on
//! the way ([`Hashing`]), and compares the result with the identifier in the history. Code that reads only some
//! granules cannot, and proves nothing.

use super::handle::Registry;
use super::look_ups::{self, LookUps};
use crate::chain::{CanonicalList, Hashing, Sweep};
use crate::error::{Error, Result};
use crate::model::{
    DatasetName, Digest, EncodedFiles, GranuleId, Identifier, Instance, Set, SourceLocation,
    Timestamp,
};
use crate::store::{DatasetKey, View};

/// The identifier, the digest and the number of granules, computed from what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recomputed {
    pub identifier: Identifier,
    pub digest: Digest,
    pub granules: u64,
}

impl Recomputed {
    pub const EMPTY: Recomputed =
        Recomputed { identifier: Identifier::EMPTY, digest: Digest::EMPTY, granules: 0 };

    /// Compares an instance with the granules that were read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules, or the metadata of their files, are not
    /// those of the instance.
    pub fn check(self, instance: &Instance) -> Result<()> {
        let set = Set::Instance(instance.clone());
        check(&set, self.identifier, self.granules)?;
        check_digest(&set, self.digest)
    }
}

/// The granules of one set, which are hashed as they are read, with the metadata of their files.
pub(super) struct Recomputing {
    hashing: Hashing,
    granules: u64,
    look_ups: LookUps,
}

impl Recomputing {
    pub fn start() -> Self {
        let hashing = Hashing::with_lists(Sweep::over(1), CanonicalList::start());
        Recomputing { hashing, granules: 0, look_ups: LookUps::up_to(usize::MAX) }
    }

    /// Adds the next granule in canonical order.
    pub fn add(&mut self, granule_id: &str, known: EncodedFiles<'_>) {
        self.hashing.hold(granule_id, 0..1);
        if !known.is_empty() {
            self.hashing.add_line(0..1, |line| known.write_line(granule_id, line));
        }
        self.granules += 1;
    }

    /// Adds granules in canonical order, with the metadata of their files at an instant. All are held at that
    /// instant.
    pub fn add_known(
        &mut self,
        read: &View,
        dataset: DatasetKey,
        at: Timestamp,
        mut granule_ids: &[&str],
    ) -> Result<()> {
        while !granule_ids.is_empty() {
            let (next, after) =
                granule_ids.split_at(self.look_ups.granules().min(granule_ids.len()));
            granule_ids = after;
            let known = read.content_among(dataset, at, next)?;
            self.look_ups.note(next.len(), look_ups::bytes_of_contents(&known));
            let mut known = known.into_iter().peekable();
            for granule_id in next {
                let known = known.next_if(|known| known.granule_id.as_str() == *granule_id);
                let content = known.map(|known| known.content).unwrap_or_default();
                self.add(granule_id, content.encoded());
            }
        }
        Ok(())
    }

    pub fn finish(self) -> Recomputed {
        let hashed = self.hashing.finish();
        let set = hashed.sets().next();
        let (identifier, digest) = set.unwrap_or((Identifier::EMPTY, Digest::EMPTY));
        Recomputed { identifier, digest, granules: self.granules }
    }
}

/// The set that granules are claimed to be. The granules are read in full.
#[derive(Clone)]
pub(crate) enum Claim {
    /// A set of a registry.
    Set(Registry, Box<Set>),
    /// The set after a change of a log, and the location of the change in the log.
    Log(Timestamp, Identifier, Option<SourceLocation>),
}

impl Claim {
    /// The claim that a set of a registry has its identifier.
    pub fn of(registry: &Registry, set: &Set) -> Self {
        Claim::Set(registry.clone(), Box::new(set.clone()))
    }

    /// Compares the claim with the identifier and the number of the granules that were read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the granules are not those of the set;
    /// [`ErrorKind::NotAsExpected`](crate::ErrorKind::NotAsExpected): the log contradicts itself.
    pub fn check(&self, identifier: Identifier, granules: u64) -> Result<()> {
        match self {
            Claim::Set(registry, set) => {
                check(set, identifier, granules).map_err(|error| registry.named(error))
            }
            Claim::Log(_, stated, _) if *stated == identifier => Ok(()),
            Claim::Log(timestamp, stated, location) => {
                let error = Error::not_as_expected(*timestamp, identifier, *stated);
                Err(error.at(location.clone()))
            }
        }
    }

    /// Compares the digest of a set with the digest of the granules that were read. The digest of a log is
    /// compared when its change is made.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the digest is not that of the set.
    pub fn check_digest(&self, digest: Digest) -> Result<()> {
        match self {
            Claim::Set(registry, set) => {
                check_digest(set, digest).map_err(|error| registry.named(error))
            }
            Claim::Log(..) => Ok(()),
        }
    }
}

fn check(set: &Set, identifier: Identifier, granules: u64) -> Result<()> {
    let stated = (set.identifier(), set.granule_count());
    if stated == (identifier, granules) {
        return Ok(());
    }
    let what = if set.subset().is_some() { "the subset of " } else { "" };
    let Instance { dataset, timestamp, .. } = set.instance();
    Err(Error::damaged(format!(
        "{what}{dataset} at {timestamp} has the identifier {} and {} granules, but the granule rows give {identifier} and {granules}",
        stated.0, stated.1
    )))
}

fn check_digest(set: &Set, digest: Digest) -> Result<()> {
    let stated = set.digest();
    if stated == digest {
        return Ok(());
    }
    let Instance { dataset, timestamp, .. } = set.instance();
    Err(Error::damaged(format!(
        "{dataset} at {timestamp} has the digest {stated}, but the recorded files give {digest}"
    )))
}

/// The verification of one set, whose granules are added as they are read.
pub(crate) struct Proof {
    claim: Claim,
    hashing: Box<Hashing>,
    granules: u64,
}

impl Proof {
    pub fn of(registry: &Registry, set: &Set) -> Self {
        let hashing = Box::new(Hashing::of(Sweep::over(1)));
        Proof { claim: Claim::of(registry, set), hashing, granules: 0 }
    }

    /// The same, but hashes on the thread that reads. Must be called before the first granule is added.
    pub fn hashed_here(self) -> Self {
        Proof { hashing: Box::new(self.hashing.alone()), ..self }
    }

    /// Adds the next granule in canonical order.
    pub fn add(&mut self, granule_id: &str) {
        self.hashing.hold(granule_id, 0..1);
        self.granules += 1;
    }

    /// Compares the set with the granules that were added.
    pub fn finish(self) -> Result<()> {
        self.claim.check(self.hashing.finish().sweep.latest(), self.granules)
    }
}

/// The granule id in a row of a dataset.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the id is not valid.
pub(super) fn granule_id<'row>(bytes: &'row [u8], dataset: &DatasetName) -> Result<&'row str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| GranuleId::check(text).is_ok());
    text.ok_or_else(|| not_an_id(dataset))
}

/// The error for a row whose granule id is not valid.
pub(super) fn not_an_id(dataset: &DatasetName) -> Error {
    Error::damaged(format!("{dataset} has a row whose granule id is not valid"))
}
