//! Payment ids of an older scheme.

use accession::input::{self, OldPaymentIds};
use accession::minting::payment::PaymentId;
use anyhow::Result;

use super::file::open;
use super::input_file::InputFile;

/// Reads payment ids, one per line.
///
/// # Errors
///
/// The file cannot be read, or a line is not a payment id.
pub fn old_payment_ids(file: &InputFile) -> Result<Vec<PaymentId>> {
    let (reader, name) = open(file)?;
    Ok(OldPaymentIds::open(reader, &name)?.collect::<Result<_, input::Error>>()?)
}
