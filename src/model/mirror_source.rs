//! With which options a mirror reads its primary, and what came of it.

use serde::{Deserialize, Serialize};

use super::dataset_name::DatasetName;
use super::message::is_interpreted;
use super::time::Timestamp;

/// The options with which the primary of a mirror is read, which are kept with its source. `None`
/// and `false` mean the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrimaryOptions {
    /// The dataset of the primary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_dataset: Option<DatasetName>,
    /// How long a server may send nothing, or too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// How many bytes may be read, after decompression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// How long ago the primary may have been published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_seconds: Option<u64>,
    /// The absolute path of a file of certificates, in place of those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Whether `http` is accepted for any host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

impl PrimaryOptions {
    /// These options, completed by those of an earlier time.
    #[must_use]
    pub fn or(self, earlier: &PrimaryOptions) -> Self {
        PrimaryOptions {
            primary_dataset: self.primary_dataset.or_else(|| earlier.primary_dataset.clone()),
            timeout_seconds: self.timeout_seconds.or(earlier.timeout_seconds),
            max_bytes: self.max_bytes.or(earlier.max_bytes),
            max_age_seconds: self.max_age_seconds.or(earlier.max_age_seconds),
            ca_file: self.ca_file.or_else(|| earlier.ca_file.clone()),
            insecure: self.insecure || earlier.insecure,
        }
    }
}

/// The last time that a mirror was pulled from a source, or was found to be identical to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastPull {
    /// When it was recorded.
    pub recorded: Timestamp,
    /// With which options.
    pub options: PrimaryOptions,
}

/// An attempt to read a source, or to pull from it, that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// When it was recorded.
    pub recorded: Timestamp,
    /// Why it failed, in one line.
    pub message: String,
}

/// The greatest number of characters of a message that is kept.
const MAX_CHARACTERS: usize = 1_000;

impl FailedAttempt {
    /// An attempt that failed with an error, whose message is cut and written in one line.
    pub fn new(recorded: Timestamp, message: &str) -> Self {
        let plain = |character: char| if is_interpreted(character) { ' ' } else { character };
        let mut kept: String = message.chars().take(MAX_CHARACTERS).map(plain).collect();
        if message.chars().nth(MAX_CHARACTERS).is_some() {
            kept.push('…');
        }
        FailedAttempt { recorded, message: kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_completed_and_survive_json() {
        let earlier = PrimaryOptions {
            primary_dataset: Some("US.FOOL2".parse().unwrap()),
            timeout_seconds: Some(5),
            max_bytes: Some(1),
            max_age_seconds: Some(2),
            ca_file: Some("/ca.pem".to_owned()),
            insecure: true,
        };
        let typed = PrimaryOptions { timeout_seconds: Some(7), ..PrimaryOptions::default() };
        let both = typed.clone().or(&earlier);
        assert_eq!(both, PrimaryOptions { timeout_seconds: Some(7), ..earlier });
        for options in [both, typed, PrimaryOptions::default()] {
            let text = serde_json::to_string(&options).unwrap();
            assert_eq!(serde_json::from_str::<PrimaryOptions>(&text).unwrap(), options);
        }
        assert_eq!(serde_json::to_string(&PrimaryOptions::default()).unwrap(), "{}");
    }

    #[test]
    fn a_message_is_one_bounded_line() {
        let kept = |message: &str| FailedAttempt::new(Timestamp::EPOCH, message).message;
        assert_eq!(kept("a\nb\u{2028}c\u{1b}[2J"), "a b c [2J");
        let long = kept(&"é".repeat(MAX_CHARACTERS + 1));
        assert_eq!(long.chars().count(), MAX_CHARACTERS + 1);
        assert!(long.ends_with('…'));
    }
}
