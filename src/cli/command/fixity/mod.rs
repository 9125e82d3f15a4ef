//! `fixity`: the files of granules, their sizes and checksums.

mod check;
mod files;
mod list;
mod state;

commands! {
    /// Record, compute, check and list the sizes and checksums of files
    enum Command {
        Add(state::AddFiles),
        Compute(state::ComputeChecksums),
        Check(check::Args),
        List(list::ListChecksums),
        Forget(check::ForgetRoot),
    }
}
