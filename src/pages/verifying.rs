//! How a reader verifies the files that they hold.

use maud::{Markup, html};

use crate::model::Identifier;

/// The rule as a shell program that needs only `sort` and `md5sum` (identifier.md, in a shell).
const SHELL: &str = "ls | LC_ALL=C sort | { h=; while IFS= read -r g; do
  if [ -z \"$h\" ]; then h=$(printf '%s\\n' \"$g\" | md5sum)
  else h=$(printf '%s\\n%s\\n' \"$h\" \"$g\" | md5sum); fi
  h=${h%% *}; done; echo \"DI:$h\"; }";

/// The section, which computes the identifier of the files in a directory.
pub(super) fn section(identifier: Identifier) -> Markup {
    html! {
        section #verify {
            h2 { "Verify the files that you hold" }
            p {
                "In the directory with the files, this computes their identifier and compares it. "
                "It depends on the names of the granules alone, whatever their order."
            }
            pre tabindex="0" { code { "ls | accession identify - --expect DI:" (identifier) } }
            details {
                summary { "With nothing but a shell" }
                pre tabindex="0" { code { (SHELL) } }
                p { "It must print " code.id { "DI:" (identifier) } "." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_program_computes_the_identifier() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b c", "a", "\\d"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let output = std::process::Command::new("sh")
            .args(["-c", SHELL])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let mut listing = crate::registry::Listing::new();
        for name in ["b c", "a", "\\d"] {
            listing.add(name.parse::<crate::model::GranuleId>().unwrap()).unwrap();
        }
        let identifier = listing.identify().unwrap().identifier;
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("DI:{identifier}\n"));
    }
}
