//! Times that must not be in the future.

use accession::{Moment, Timestamp};
use anyhow::Result;

use crate::cli::usage::UsageError;

/// Refuses a time after `now`, since the set in force then is not known.
pub fn refuse_future(at: Moment, now: Timestamp) -> Result<()> {
    if at.first_instant() > now {
        let message = format!("{at} is in the future: now it is {now}");
        return Err(UsageError::new(message)
            .with_hint("name an earlier time, or omit it for now")
            .into());
    }
    Ok(())
}
