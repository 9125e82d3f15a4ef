//! An identifier in one of the usual notations.

use std::str::FromStr;

use accession::Identifier;
use accession::citation::recognise::{Stated, find};

/// An identifier as it is typed: with or without `DI:`, with or without a space after that, in any
/// case; or a citation or an address that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedIdentifier(pub Identifier);

/// Why a string does not contain exactly one identifier.
#[derive(Debug, thiserror::Error)]
pub enum TypedIdentifierError {
    #[error(
        "it contains no identifier: 32 hexadecimal characters, with or without \"DI:\" before them"
    )]
    Nothing,
    #[error("it contains several identifiers: {0} and {1}")]
    Several(Identifier, Identifier),
    #[error("it contains {0:?}, which cannot be read as an identifier")]
    Unreadable(String),
}

impl FromStr for TypedIdentifier {
    type Err = TypedIdentifierError;

    fn from_str(text: &str) -> Result<Self, TypedIdentifierError> {
        if let Ok(identifier) = text.parse() {
            return Ok(TypedIdentifier(identifier));
        }
        let mut found = None;
        for pasted in find(text) {
            match (pasted.identifier, found) {
                (Stated::Unreadable(text), _) => {
                    return Err(TypedIdentifierError::Unreadable(text));
                }
                (Stated::Read(other), Some(first)) if other != first => {
                    return Err(TypedIdentifierError::Several(first, other));
                }
                (Stated::Read(identifier), _) => found = Some(identifier),
            }
        }
        found.map(TypedIdentifier).ok_or(TypedIdentifierError::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_read_in_every_spelling() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        for text in [
            digits.to_owned(),
            format!("DI:{digits}"),
            format!("DI: {digits}"),
            format!("di:{}", digits.to_uppercase()),
            format!("{{ doi:10.9999/US/FOOL2, 5 January 2001, DI:{digits} }}"),
            format!("https://example.org/di/{digits}"),
            format!("https://doi.org/10.9999/US/FOOL2?DI:{digits}"),
        ] {
            let typed = text.parse::<TypedIdentifier>().unwrap();
            assert_eq!(typed.0.to_string(), digits, "{text}");
        }
    }

    #[test]
    fn a_string_with_no_identifier_or_several_is_refused() {
        let digits = "763122197bfb3ffbf0da14adbfb1b13b";
        let other = "d41d8cd98f00b204e9800998ecf8427e";
        for text in ["", "US.FOOL2.002", "DI:763122", &format!("DI:{digits}, DI:{other}")] {
            assert!(text.parse::<TypedIdentifier>().is_err(), "{text}");
        }
    }
}
