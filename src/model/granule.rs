//! One stay of a granule in a dataset.

use serde::Serialize;

use super::{GranuleId, Timestamp};

/// One stay of a granule in a dataset; a granule that was put back has several.
///
/// Its fields, in this order, are those of the rows of `granules` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Granule {
    /// Its id.
    #[serde(rename = "granule")]
    pub granule_id: GranuleId,
    /// The change that brought it: held from this instant on.
    pub ingested: Timestamp,
    /// The change that took it: held until just before this instant; none: held still.
    pub deleted: Option<Timestamp>,
    /// The id its producer gave it, where the register holds it under a unique one.
    pub producer_granule: Option<GranuleId>,
}
