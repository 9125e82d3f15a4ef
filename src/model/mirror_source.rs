//! The options for reading a mirror's primary, and the results of reading it.

use serde::{Deserialize, Serialize};

use super::dataset_name::DatasetName;
use super::message::is_interpreted;
use super::time::Timestamp;

/// The options for reading the primary of a mirror, stored with its source. `None` and `false` mean the
/// default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrimaryOptions {
    /// The dataset in the primary's registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_dataset: Option<DatasetName>,
    /// How long a server may send nothing, or less than the minimum rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// The number of bytes that may be read, after decompression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The greatest age of the primary's publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_seconds: Option<u64>,
    /// The absolute path of a file of certificates that replaces those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Whether `http` is accepted for every host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

impl PrimaryOptions {
    /// Returns these options, with missing ones filled from earlier options.
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

/// The latest pull of a mirror from a source, or the latest comparison that found the two identical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastPull {
    /// When it was recorded.
    pub recorded: Timestamp,
    /// The options that were used.
    pub options: PrimaryOptions,
}

/// A failed attempt to read a source or to pull from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// When it was recorded.
    pub recorded: Timestamp,
    /// The error, on one line.
    pub message: String,
}

/// The greatest number of characters of a stored message.
const MAX_CHARACTERS: usize = 1_000;

impl FailedAttempt {
    /// Makes an attempt from the message of its error, which is truncated and written on one line.
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
