//! `proof keygen` and `proof pubkey`: the signing keys of an archive.

use std::io::Write;
use std::path::PathBuf;

use accession::proof::SigningKey;

use crate::error::{Exit, Result};
use crate::key_file;
use crate::output::in_words;
use crate::session::Session;

/// Make a private key, and print its verification key
///
/// The name is the address at which the statements are published, without https://. Only the owner can read
/// the file, and it is never replaced. Anyone who has the file can sign in the name of the archive, and nobody
/// can make it again: keep a copy in another building, and keep it away from web servers.
///
/// Example:
///   accession proof keygen data.example.org/statements --output archive.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Keygen {
    /// The name of the key: an address without https://
    name: String,

    /// The file to create
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Print the verification key of a private key
///
/// Readers verify signatures with it: publish it, and put it into the policy for readers. If users other than
/// its owner may read the private key, the exit status is 2.
///
/// Example:
///   accession proof pubkey archive.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Pubkey {
    /// The file of the private key
    file: PathBuf,
}

impl Keygen {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let key = SigningKey::generate(&self.name)?;
        key_file::create(&self.output, &key)?;
        session.note_commit();
        show(session, &key)
    }
}

impl Pubkey {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        show(session, &key_file::read(&self.file)?)
    }
}

fn show(session: &mut Session, key: &SigningKey) -> Result<Exit> {
    let key = key.verification_key();
    let shown = object!({ "key": key.to_string(), "name": key.name() });
    session.present(&shown, |out, shown| writeln!(out, "{}", in_words(&shown["key"])))
}
