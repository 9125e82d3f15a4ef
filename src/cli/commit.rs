//! What a command has committed, which an error of writing its output must not hide.

/// Something that was committed and remains even if the output of the command is lost. The command
/// must not be repeated as if it had failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// Changes in the history of a dataset.
    History,
    /// The record of a dataset.
    Record,
    /// A subset that was cited for the first time.
    Subset,
    /// Payment ids that were issued, or taken over from an older scheme.
    PaymentIds,
    /// A backup file.
    Backup,
    /// A copy of a registry.
    Copy,
    /// The distribution of a registry over several machines.
    Distribution,
    /// A registry that was restored.
    Restored,
}

impl Commit {
    /// The part of the output that is lost.
    pub fn output(self) -> &'static str {
        match self {
            Commit::History => "its report",
            Commit::Record => "the record of the dataset",
            Commit::Subset => "the citation of the subset that it saved",
            Commit::PaymentIds => "the payment ids that it issued",
            Commit::Backup => "the report of the backup that it wrote",
            Commit::Copy => "the report of the copy that it made",
            Commit::Distribution => "the report of the distribution",
            Commit::Restored => "the report of the registry that it restored",
        }
    }

    /// What to do next.
    pub fn hint(self) -> &'static str {
        match self {
            Commit::History => {
                "do not repeat the command: `accession history DATASET` lists the change"
            }
            Commit::Record => {
                "do not repeat the command: `accession dataset show NAME` shows the record"
            }
            Commit::Subset => "repeat the command: it cites the same subset again",
            Commit::PaymentIds => {
                "ids that were not written are never issued again: repeat the command for others"
            }
            Commit::Backup => "do not repeat the command: the backup is complete and verified",
            Commit::Copy => "do not repeat the command: the copy is complete and verified",
            Commit::Distribution => "do not repeat the command: the registry is distributed",
            Commit::Restored => {
                "do not repeat the command: the copy is verified, and has replaced the registry"
            }
        }
    }
}
