//! `proof`: keys, the signed log of statements, and proofs of its statements.

mod create;
mod key;
mod sign;
mod verify;

commands! {
    /// Sign the history, and prove what it said
    enum Command {
        Keygen(key::Keygen),
        Pubkey(key::Pubkey),
        Sign(sign::Sign),
        Create(create::Create),
        Verify(verify::Verify),
    }
}
