//! The person or program that records a change.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::model::check_characters;

/// The person or the program that records a change. The name is stored in this registry only.
///
/// # Examples
///
/// ```
/// use accession::Author;
///
/// let author: Author = "curt".parse()?;
/// assert_eq!(author.as_str(), "curt");
/// assert!("a\nb".parse::<Author>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author(Arc<str>);

impl Author {
    /// The greatest length of a name, in bytes.
    const MAX_BYTES: usize = 256;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Author {
    type Err = Error;

    /// # Errors
    ///
    /// [`ErrorKind::Usage`]: the name contains a control character (SQLite ends a string at NUL), or is longer
    /// than 256 bytes.
    fn from_str(name: &str) -> Result<Self, Error> {
        check_characters("name of who records a change", name)
            .map_err(|error| Error::new(ErrorKind::Usage, error.to_string()))?;
        if name.len() > Author::MAX_BYTES {
            let (bytes, most) = (name.len(), Author::MAX_BYTES);
            let message = format!(
                "the name of who records a change has {bytes} bytes, and at most {most} are allowed"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Author(name.into()))
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_control_character_is_rejected() {
        let long = "a".repeat(257);
        for name in ["a\0b", "a\nb", "\u{9b}", &long] {
            let rejected = name.parse::<Author>().unwrap_err();
            assert_eq!(rejected.kind(), ErrorKind::Usage, "{name:?}");
        }
    }
}
