//! The licence of a dataset, as the formats distinguish it.

use super::web_address::encoded;

/// A licence.
pub(super) enum Licence {
    /// An identifier of the SPDX licence list, in the spelling of that list.
    Spdx(&'static str),
    /// The web address of the licence text.
    Address(String),
    /// Any other words.
    Words(String),
}

impl Licence {
    /// The SPDX identifiers under which data are published; any other identifier counts as words.
    const SPDX: [&str; 24] = [
        "Apache-2.0",
        "BSD-3-Clause",
        "CC-BY-3.0",
        "CC-BY-4.0",
        "CC-BY-NC-4.0",
        "CC-BY-NC-ND-4.0",
        "CC-BY-NC-SA-4.0",
        "CC-BY-ND-4.0",
        "CC-BY-SA-3.0",
        "CC-BY-SA-4.0",
        "CC0-1.0",
        "CC-PDDC",
        "CDLA-Permissive-1.0",
        "CDLA-Permissive-2.0",
        "CDLA-Sharing-1.0",
        "DL-DE-BY-2.0",
        "DL-DE-ZERO-2.0",
        "etalab-2.0",
        "MIT",
        "NLOD-2.0",
        "ODbL-1.0",
        "ODC-By-1.0",
        "OGL-UK-3.0",
        "PDDL-1.0",
    ];

    /// Classifies the licence of a record. The case of SPDX identifiers is ignored.
    pub fn of(text: String) -> Self {
        let known = Licence::SPDX.into_iter().find(|known| known.eq_ignore_ascii_case(&text));
        match known {
            Some(known) => Licence::Spdx(known),
            None if text.contains("://") => Licence::Address(encoded(&text)),
            None => Licence::Words(text),
        }
    }

    /// The page of an SPDX identifier.
    pub fn spdx_address(licence: &str) -> String {
        format!("https://spdx.org/licenses/{licence}")
    }
}
