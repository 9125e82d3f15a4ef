mod compare;
mod pull;
mod status;

commands! {
    /// Compare a mirror with its primary, and bring it up to date
    enum Command {
        Compare(compare::Args),
        Pull(pull::Args),
        Status(status::ListPrimaries),
        Forget(status::ForgetPrimary),
    }
}
