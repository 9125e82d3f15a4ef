//! The licence of a dataset.

use std::str::FromStr;

use spdx::identifiers::{EXCEPTIONS, LICENSES};

use super::message::{ParseError, quoted};
use super::web_address::WebAddress;

/// The licence under which a dataset may be used.
///
/// # Syntax
///
/// An identifier of the SPDX licence list (`CC-BY-4.0`), an SPDX expression that combines several
/// (`MIT OR Apache-2.0`), a `LicenseRef-…`, or the [`WebAddress`] of a licence that is not in the list.
/// Identifiers and operators are read in any case, and written as the list spells them.
///
/// # Examples
///
/// ```
/// use accession::dataset::Licence;
///
/// let licence: Licence = "cc-by-4.0".parse()?;
/// assert_eq!(licence.as_str(), "CC-BY-4.0");
///
/// let refused = "CC BY 4.0".parse::<Licence>().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "\"CC BY 4.0\" is not an SPDX licence identifier or expression, such as CC-BY-4.0 or MIT OR ISC, nor the \
///      address of a licence"
/// );
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Licence(Box<str>);

impl Licence {
    /// Returns the identifier, the expression or the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address of the licence text, which is a page of spdx.org if the SPDX list has the licence.
    /// `None` means that the licence is an expression, such as `(MIT)` or `Apache-2.0+`, or a custom
    /// `LicenseRef-…`.
    pub fn address(&self) -> Option<String> {
        if self.0.parse::<WebAddress>().is_ok() {
            return Some(self.0.to_string());
        }
        // `NOASSERTION` is not a licence, although the crate lists it.
        let has_page = |name: &str| name == self.as_str() && name != "NOASSERTION";
        let is_listed = LICENSES.iter().any(|licence| has_page(licence.name));
        is_listed.then(|| format!("https://spdx.org/licenses/{}", self.0))
    }
}

impl FromStr for Licence {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `"CC BY 4.0"`, `"public domain"`: not in the SPDX licence list
    /// - `"MIT OR"`, `"MIT Apache-2.0"`: not an expression
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if let Ok(address) = text.parse::<WebAddress>() {
            return Ok(Licence(address.as_str().into()));
        }
        let written = canonical(text);
        // Older datasets have deprecated identifiers, such as `GPL-2.0+`.
        let mode = spdx::ParseMode {
            allow_deprecated: true,
            allow_postfix_plus_on_gpl: true,
            ..spdx::ParseMode::STRICT
        };
        match spdx::Expression::parse_mode(&written, mode) {
            Ok(_) => Ok(Licence(written.into())),
            Err(_) => Err(ParseError::new(format!(
                "{} is not an SPDX licence identifier or expression, such as CC-BY-4.0 or MIT OR ISC, nor the \
                 address of a licence",
                quoted(text)
            ))),
        }
    }
}

/// Whether a character separates the words of an expression.
fn is_separator(character: char) -> bool {
    matches!(character, ' ' | '(' | ')')
}

/// Returns a word as the SPDX list spells it. The case of `word` does not matter.
fn listed(word: &str) -> Option<&'static str> {
    let licences = LICENSES.iter().map(|licence| licence.name);
    let exceptions = EXCEPTIONS.iter().map(|exception| exception.name);
    let mut known = licences.chain(exceptions).chain(["AND", "OR", "WITH"]);
    known.find(|known| known.eq_ignore_ascii_case(word))
}

/// Returns the expression with each word spelled as in the SPDX list.
fn canonical(expression: &str) -> String {
    let mut written = String::with_capacity(expression.len());
    for word in expression.split_inclusive(is_separator) {
        let bare = word.trim_end_matches(is_separator);
        // `MIT+` means version MIT or later.
        let (name, later) = bare.strip_suffix('+').map_or((bare, ""), |name| (name, "+"));
        match listed(bare) {
            Some(spelling) => written.push_str(spelling),
            None => {
                written.push_str(listed(name).unwrap_or(name));
                written.push_str(later);
            }
        }
        written.push_str(&word[bare.len()..]);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_written_as_the_spdx_list_spells_it() {
        let cases = [
            ("CC-BY-4.0", "CC-BY-4.0"),
            ("cc-by-4.0", "CC-BY-4.0"),
            (" cc0-1.0 ", "CC0-1.0"),
            ("mit or apache-2.0", "MIT OR Apache-2.0"),
            ("(MIT OR ISC) AND cc-by-4.0", "(MIT OR ISC) AND CC-BY-4.0"),
            (
                "gpl-2.0-or-later with classpath-exception-2.0",
                "GPL-2.0-or-later WITH Classpath-exception-2.0",
            ),
            ("GPL-2.0", "GPL-2.0"),
            ("gpl-2.0+", "GPL-2.0+"),
            ("apache-2.0+", "Apache-2.0+"),
            ("LicenseRef-US-Archive", "LicenseRef-US-Archive"),
            ("https://example.org/licence", "https://example.org/licence"),
        ];
        for (text, written) in cases {
            let licence: Licence = text.parse().unwrap();
            assert_eq!(licence.to_string(), written);
            assert_eq!(written.parse(), Ok(licence));
        }
    }

    #[test]
    fn only_a_licence_of_the_spdx_list_has_a_page_there() {
        for text in ["CC-BY-4.0", "GPL-2.0+", "GPL-2.0"] {
            let address = text.parse::<Licence>().unwrap().address();
            assert_eq!(address, Some(format!("https://spdx.org/licenses/{text}")));
        }
        let address = "https://example.org/licence";
        assert_eq!(address.parse::<Licence>().unwrap().address().as_deref(), Some(address));
        for text in [
            "(MIT)",
            "Apache-2.0+",
            "MIT OR ISC",
            "NOASSERTION",
            "LicenseRef-US-Archive",
            "DocumentRef-a:LicenseRef-b",
        ] {
            assert_eq!(text.parse::<Licence>().unwrap().address(), None, "{text}");
        }
    }

    #[test]
    fn refused_licences_are_named() {
        for text in
            ["CC BY 4.0", "MIT OR Apache2.0", "", "javascript:alert(1)", "MIT OR", "MIT Apache-2.0"]
        {
            let error = text.parse::<Licence>().unwrap_err().to_string();
            let start = format!("{} is not an SPDX licence identifier or expression", quoted(text));
            assert!(error.starts_with(&start), "{error}");
        }
    }
}
