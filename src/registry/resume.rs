//! From where a change hashes forward.

use crate::Result;
use crate::model::{GranuleId, Identifier, Instance};
use crate::store::{Begin, DatasetKey, Write};

/// Where the chain is resumed, and which ids follow.
pub(super) enum Resume {
    /// At the end of the canonical order: from the identifier in force, with the id that comes.
    End(Identifier, GranuleId),
    /// Behind the last checkpoint before the divergence.
    Behind(Identifier, GranuleId),
    /// At the start: there is no checkpoint before the divergence.
    Start,
}

/// Decides where to resume for a change whose smallest id is `divergence`, and drops the
/// checkpoints that the change makes wrong. Called before the rows are changed.
///
/// By sort position, never by time: the seed's rule (resume from the identifier stored before the
/// ingest of the granule just before) is wrong unless granules arrive in canonical order
/// (identifier.md, The seed's rewind is not sound).
pub(super) fn resume_before(
    write: &Write<'_>,
    dataset: DatasetKey,
    divergence: &GranuleId,
    latest: Option<&Instance>,
) -> Result<Resume> {
    if let Some(latest) = latest
        && !write.holds_from(dataset, divergence)?
    {
        return Ok(Resume::End(latest.identifier, divergence.clone()));
    }
    write.drop_checkpoints_from(dataset, divergence)?;
    Ok(match write.checkpoint_before(dataset, divergence)? {
        Some(checkpoint) => Resume::Behind(checkpoint.chain, checkpoint.granule_id),
        None => Resume::Start,
    })
}

impl Resume {
    /// The chain to resume, and the id it goes on with.
    pub(super) fn point(&self) -> (Identifier, Begin<'_>) {
        match self {
            Resume::End(identifier, granule_id) => (*identifier, Begin::At(granule_id)),
            Resume::Behind(chain, granule_id) => (*chain, Begin::Behind(granule_id)),
            Resume::Start => (Identifier::EMPTY, Begin::Start),
        }
    }
}
