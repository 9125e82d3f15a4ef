//! What a command has committed, which an error of writing its output must not hide.

/// Something that remains when the output of a command is lost: the command must not be repeated
/// as if it had failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// A change of the registry.
    Change,
    /// Payment ids that were issued.
    PaymentIds,
    /// A backup file.
    Backup,
}

impl Commit {
    /// The beginning of the message: what was done, and what of the output is lost.
    pub fn but(self) -> &'static str {
        match self {
            Commit::Change => "the change was made, but its report",
            Commit::PaymentIds => "the change was made, but the payment ids that it issued",
            Commit::Backup => "the change was made, but the report of the backup",
        }
    }

    /// What to do next.
    pub fn hint(self) -> &'static str {
        match self {
            Commit::Change => {
                "do not repeat the command: `accession history DATASET` lists the change"
            }
            Commit::PaymentIds => {
                "ids that were not written are never issued again: repeat the command for others"
            }
            Commit::Backup => "do not repeat the command: the backup is complete and verified",
        }
    }
}
