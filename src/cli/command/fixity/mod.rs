//! `fixity`: the files of granules, their sizes and checksums.

mod check;
mod files;
mod list;
mod state;

commands! {
    /// Record, compute, check and list the sizes and checksums of files
    enum Command {
        Add(state::Add),
        Compute(state::Compute),
        Check(check::Args),
        List(list::List),
        Forget(check::Forget),
    }
}
