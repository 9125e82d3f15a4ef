//! Incorrect usage that clap cannot detect.

/// An error in the arguments, or in the files that they name, that only the command can detect.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct UsageError {
    /// What is wrong.
    message: String,
    /// What to type instead. `None` means that the message is sufficient.
    hint: Option<String>,
}

impl UsageError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        UsageError { message: message.into(), hint: None }
    }

    /// The same error with a hint.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        UsageError { hint: Some(hint.into()), ..self }
    }

    /// What to type instead.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
