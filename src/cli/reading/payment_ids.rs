//! Payment ids of an older scheme.

use std::io::{BufRead, BufReader};

use accession::minting::payment::PaymentId;
use accession::quoted;
use anyhow::{Context, Result};

use super::file::open;
use super::input_file::InputFile;

/// Reads payment ids, one a line, of which only those that could be issued again are returned.
///
/// # Errors
///
/// The file cannot be read, or is not UTF-8.
pub fn old_payment_ids(file: &InputFile) -> Result<Vec<PaymentId>> {
    let (reader, name) = open(file)?;
    let mut payment_ids = Vec::new();
    for line in BufReader::new(reader).lines() {
        let line = line.with_context(|| format!("cannot read {}", quoted(&name)))?;
        // An id with another length or other characters can never be issued.
        payment_ids.extend(line.trim().to_ascii_uppercase().parse::<PaymentId>());
    }
    Ok(payment_ids)
}
