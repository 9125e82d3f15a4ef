//! Requests a cosignature of a checkpoint from a witness: `tlog-witness`, add-checkpoint.

use std::io::Read;

use url::Url;

use super::address::Address;
use super::client::{Client, HttpOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::model::PrimaryOptions;
use crate::signed::{LogCheckpoint, Note, NoteSignature, StatementTree, VerificationKey};

/// The greatest length of a witness's response, in bytes.
const MAX_RESPONSE_BYTES: u64 = Note::MAX_BYTES as u64;

impl StatementTree {
    /// Requests a cosignature of a checkpoint of the tree from the witness at an address, and adds it to
    /// `note`. `old` is the size of the latest tree that the witness has seen, or a guess: if it is wrong, the
    /// witness responds with the right size, and the request is repeated once.
    ///
    /// # Errors
    ///
    /// The address is rejected; the witness cannot be reached, rejects the request, or has seen a larger tree;
    /// its response is not a signature of this checkpoint by its key.
    pub fn ask_witness(
        &self,
        address: &str,
        key: &VerificationKey,
        note: &mut Note,
        old: u64,
        options: &PrimaryOptions,
    ) -> Result<()> {
        let options = HttpOptions::of(options)?;
        let url = Address::parse(address, options.permits_http)?.file("add-checkpoint");
        let refused = |what: String| Error::new(ErrorKind::Response, format!("{url}: {what}"));
        let differs = || {
            let what = "it has seen another tree of these statements";
            Error::new(ErrorKind::TreeDiffers, format!("{url}: {what}"))
        };
        let LogCheckpoint { size, .. } =
            note.body.parse().map_err(|error| refused(format!("the checkpoint is {error}")))?;
        let client = Client::new(&url, options)?;
        let mut old = old.min(size);
        let mut is_last = false;
        loop {
            let path = self.consistency(old, size).unwrap_or_default();
            let path: String =
                path.iter().map(|hash| format!("{}\n", LogCheckpoint::hash_text(hash))).collect();
            let (status, response) = post(&client, &url, &format!("old {old}\n{path}\n{note}"))?;
            match status {
                200 => {
                    let signature = signature_in(&response, key, note).ok_or_else(|| {
                        refused(format!(
                            "it sent no cosignature of this checkpoint by {}",
                            key.name()
                        ))
                    })?;
                    note.add(signature);
                    return Ok(());
                }
                409 => match response.trim_end().parse() {
                    // It has seen a tree of this size with another root.
                    Ok(known) if known == old => return Err(differs()),
                    Ok(known) if known <= size && !is_last => (old, is_last) = (known, true),
                    Ok(known) if known > size => {
                        let what = format!(
                            "it has seen a tree of {known} statements, and this one has {size}"
                        );
                        return Err(Error::new(ErrorKind::TreeDiffers, format!("{url}: {what}")));
                    }
                    Ok(_) => {
                        return Err(refused(
                            "it does not keep to the size that it names".to_owned(),
                        ));
                    }
                    Err(_) => {
                        return Err(refused("it did not say which tree it has seen".to_owned()));
                    }
                },
                422 => return Err(differs()),
                status => return Err(refused(format!("it responded with {status}"))),
            }
        }
    }
}

/// The first line that is a signature of the note by the key.
fn signature_in(response: &str, key: &VerificationKey, note: &Note) -> Option<NoteSignature> {
    let signatures =
        response.lines().take(Note::MAX_SIGNATURES).filter_map(|line| line.parse().ok());
    let mut of_key = signatures.filter(|signature| key.is_named_by(signature));
    of_key.find(|signature| key.verified(signature, &note.body).is_some())
}

fn post(client: &Client, url: &Url, body: &str) -> Result<(u16, String)> {
    let response = client.post(url, body)?;
    let status = response.status().as_u16();
    let mut text = String::new();
    let read =
        response.into_body().into_reader().take(MAX_RESPONSE_BYTES).read_to_string(&mut text);
    match read {
        Ok(_) => Ok((status, text)),
        Err(error) => {
            Err(Error::new(ErrorKind::Unreachable, format!("{url}: the response broke off"))
                .because(error))
        }
    }
}
