//! One holding period of a granule in a dataset.

use serde::Serialize;

use super::granule_id::GranuleId;
use super::timestamp::Timestamp;

/// One holding period of a granule in a dataset. A granule that was deleted and ingested again has
/// several.
///
/// Its fields, in this order, are those of the rows of `granules` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Granule {
    /// The id.
    #[serde(rename = "granule")]
    pub granule_id: GranuleId,
    /// The time of the change that ingested it: it is held from this instant on.
    pub ingested: Timestamp,
    /// The time of the change that deleted it: it is held until just before this instant. `None`
    /// means that it is still held.
    pub deleted: Option<Timestamp>,
    /// The producer's id. `None` unless the registry holds the granule under a unique id instead.
    pub producer_granule: Option<GranuleId>,
}
