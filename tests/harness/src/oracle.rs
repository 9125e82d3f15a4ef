//! The identifier computed in the simplest way: sort all ids, and hash them one after another.

use accession::Digest;
use accession::Identifier;
use md5::{Digest as _, Md5};
use sha2::Sha256;

/// The identifier of a set, computed from all of its ids.
pub fn naive<'a>(granule_ids: impl IntoIterator<Item = &'a str>) -> Identifier {
    let mut granule_ids: Vec<&str> = granule_ids.into_iter().collect();
    granule_ids.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let mut chain: Option<String> = None;
    for granule_id in granule_ids {
        let message = match chain {
            None => format!("{granule_id}\n"),
            Some(previous) => format!("{previous}\n{granule_id}\n"),
        };
        chain = Some(hex::encode(Md5::digest(message)));
    }
    match chain {
        Some(text) => text.parse().unwrap(),
        None => hex::encode(Md5::digest("")).parse().unwrap(),
    }
}

/// The digest of a set without metadata of files: the SHA-256 of the sorted ids, one a line.
pub fn naive_digest<'a>(granule_ids: impl IntoIterator<Item = &'a str>) -> Digest {
    let mut granule_ids: Vec<&str> = granule_ids.into_iter().collect();
    granule_ids.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    let lines: String = granule_ids.iter().map(|granule_id| format!("{granule_id}\n")).collect();
    Digest::from_bytes(Sha256::digest(lines).into())
}
