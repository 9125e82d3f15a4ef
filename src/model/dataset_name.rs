//! The name of a dataset.

use std::str::FromStr;

use super::identifier::Identifier;
use super::message::{ParseError, quoted, strip_prefix_of_any_case};

/// The name of a dataset in a registry.
///
/// # Syntax
///
/// 1 to 200 ASCII letters, digits and `. _ - :`, without `..`, beginning with a letter or a digit. A name
/// becomes part of paths and addresses, so it has no `/`; `@` separates the name from the time in `NAME@TIME`.
/// A name is not an [`Identifier`], and does not begin with `DI:`, `sha256:` or `doi:`, because commands accept
/// identifiers, digests and DOIs where they accept names.
///
/// # Examples
///
/// ```
/// use accession::DatasetName;
///
/// assert!("US.FOOL2.002".parse::<DatasetName>().is_ok());
/// assert!("FOOL2@2001-01-02".parse::<DatasetName>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatasetName(Box<str>);

impl DatasetName {
    /// The greatest length of a name, in characters.
    pub const MAX_CHARS: usize = 200;

    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The prefixes of identifiers, digests and DOIs.
const MARKS: [&str; 3] = ["DI:", "sha256:", "doi:"];

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-' | ':')
}

impl FromStr for DatasetName {
    type Err = ParseError;

    /// Parses a name.
    ///
    /// # Errors
    ///
    /// - `""`, or 201 characters: the length
    /// - `"FOOL2@2001-01-02"`, `"10.5067/ABC"`, `"größe"`: a character that is not allowed in names
    /// - `".hidden"`, `"-o"`, `":a"`: does not begin with a letter or a digit
    /// - `"A..B"`: two dots in a row
    /// - `"763122197bfb3ffbf0da14adbfb1b13b"`: an identifier
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (chars, name) = (text.chars().count(), quoted(text));
        let refused = |message: String| Err(ParseError::new(message));
        if chars == 0 || chars > DatasetName::MAX_CHARS {
            return refused(format!(
                "a dataset name has 1 to 200 characters, but this one has {chars}"
            ));
        }
        if let Some(character) = text.chars().find(|character| !is_allowed(*character)) {
            let character = character.to_string();
            return refused(format!(
                "a dataset name has only letters, digits and . _ - :, but {name} contains {}",
                quoted(&character)
            ));
        }
        let is_marked = |mark: &&&str| strip_prefix_of_any_case(text, mark).is_some();
        if let Some(mark) = MARKS.iter().find(is_marked) {
            return refused(format!("a dataset name does not begin with {mark}, as {name} does"));
        }
        if text.parse::<Identifier>().is_ok() {
            return refused(format!(
                "{name} would be read as an identifier, not as a dataset name"
            ));
        }
        if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            return refused(format!(
                "a dataset name begins with a letter or a digit, unlike {name}"
            ));
        }
        // In a path, two dots are the parent directory.
        if text.contains("..") {
            return refused(format!(
                "a dataset name cannot contain two dots in a row, as {name} does"
            ));
        }
        Ok(DatasetName(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_names_say_why() {
        let refused = |text: &str| text.parse::<DatasetName>().unwrap_err().to_string();
        for (text, chars) in [("", 0), (&"a".repeat(201), 201)] {
            let message = "a dataset name has 1 to 200 characters, but this one has";
            assert_eq!(refused(text), format!("{message} {chars}"));
        }
        for (text, other) in [
            ("A@B", "@"),
            ("a/b", "/"),
            ("a b", " "),
            (" a", " "),
            ("größe", "ö"),
            ("A\u{1b}", "\u{1b}"),
            ("A\\B", "\\"),
        ] {
            let message = "a dataset name has only letters, digits and . _ - :, but";
            let (text, other) =
                (refused(text), format!("{} contains {}", quoted(text), quoted(other)));
            assert_eq!(text, format!("{message} {other}"));
        }
        for text in [".a", "..", "-a", "_a", ":a"] {
            let message = "a dataset name begins with a letter or a digit, unlike";
            assert_eq!(refused(text), format!("{message} {}", quoted(text)));
        }
        for text in ["a..b", "a.."] {
            let message = "a dataset name cannot contain two dots in a row, as";
            assert_eq!(refused(text), format!("{message} {} does", quoted(text)));
        }
        let text = "763122197bfb3ffbf0da14adbfb1b13b";
        let message = "would be read as an identifier, not as a dataset name";
        assert_eq!(refused(text), format!("{} {message}", quoted(text)));
        for (text, mark) in [("DI:7631", "DI:"), ("SHA256:7", "sha256:"), ("doi:10", "doi:")] {
            let message = format!("a dataset name does not begin with {mark}, as");
            assert_eq!(refused(text), format!("{message} {} does", quoted(text)));
        }
    }

    #[test]
    fn names_that_follow_the_rule_are_kept_unchanged() {
        let long = "a".repeat(200);
        for text in ["A", "7", "a.b.", "MOD09GQ.061", "a:1_2-3", "DIX:7631", &long] {
            let name: DatasetName = text.parse().unwrap();
            assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
        }
        assert_eq!(format!("{:?}", "A.1".parse::<DatasetName>().unwrap()), "\"A.1\"");
    }
}
