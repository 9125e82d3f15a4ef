//! `key`: the signing keys of an archive.

use std::io::Write;
use std::path::PathBuf;

use accession::proof::SigningKey;

use crate::error::{Exit, Result};
use crate::key_file;
use crate::session::Session;

commands! {
    /// Make a key that signs what an archive says, and show its public part
    enum Command {
        Generate(GenerateKey),
        Show(ShowKey),
    }
}

/// Make a private key, and print the verification key that belongs to it
///
/// The name is the address at which what it signs is published, without https://. The file can be read by
/// its owner only, and is never replaced. Whoever has it can sign in the name of the archive, and nobody can
/// make it again: keep a copy of it where a fire does not reach both, and keep it away from web servers.
///
/// Example:
///   accession key generate data.example.org/statements --output archive.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct GenerateKey {
    /// The name of the key: an address without https://
    name: String,

    /// The file to create
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Print the verification key of a private key
///
/// Readers verify with it what the private key signs: publish it, and put it into the policy that readers
/// are given. The exit status is 2 if others than its owner may read the private key.
///
/// Example:
///   accession key show archive.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ShowKey {
    /// The file of the private key
    file: PathBuf,
}

impl GenerateKey {
    fn run(self, session: &mut Session) -> Result<Exit> {
        let key = SigningKey::generate(&self.name)?;
        key_file::create(&self.output, &key)?;
        session.note_commit();
        show(session, &key)
    }
}

impl ShowKey {
    fn run(self, session: &mut Session) -> Result<Exit> {
        show(session, &key_file::read(&self.file)?)
    }
}

fn show(session: &mut Session, key: &SigningKey) -> Result<Exit> {
    let key = key.verification_key();
    let shown = object!({ "key": key.to_string(), "name": key.name() });
    session.print(&shown, |out| writeln!(out, "{key}"))
}
