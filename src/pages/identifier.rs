//! What an identifier is, how it is computed, and how files are checked with it.

use maud::{Markup, html};

use super::figures::command;
use super::layout::{Head, page};
use super::site::Site;
use crate::model::Identifier;

/// The quiet line that explains the words of a page.
pub(super) fn means(site: &Site) -> Markup {
    html! {
        p.means {
            "A " dfn { "granule" } " is what the archive keeps as one unit, usually a file. A " dfn { "DI" }
            " (dataset instance identifier) is computed from the names of all granules held at one time: any \
             archive that holds the same granules has the same DI. "
            a href=(site.href(site.identifier_page())) { "How it is computed" }
        }
    }
}

/// The rule as a shell program that needs only `sort` and `md5sum` (identifier.md, in a shell).
const SHELL: &str = "ls | LC_ALL=C sort | { h=; while IFS= read -r g; do
  if [ -z \"$h\" ]; then h=$(printf '%s\\n' \"$g\" | md5sum)
  else h=$(printf '%s\\n%s\\n' \"$h\" \"$g\" | md5sum); fi
  h=${h%% *}; done; echo \"DI:$h\"; }";

/// The section on checking files with an identifier.
pub(super) fn verifying(identifier: Identifier) -> Markup {
    html! {
        section #verify {
            h2 { "Check the files that you hold" }
            p.text {
                "In the directory with the files, this computes their identifier and compares it. The names \
                 count, in any order; the bytes inside the files do not: checksums are for these."
            }
            (command("cmd", &html! {
                "ls | accession identify - " span { "--expect" } " " span { "DI:" (identifier) }
            }))
            details {
                summary { "Without the program: sort and md5sum" }
                pre tabindex="0" { code { (SHELL) } }
                p.small { "It must print DI:" (identifier) }
            }
            details {
                summary { "It differs: which files are missing, or too many?" }
                pre tabindex="0" { code { "ls | accession compare DI:" (identifier) " --from -" } }
            }
        }
    }
}

/// The page that says how an identifier is computed.
pub fn identifier_page(site: &Site) -> String {
    let main = html! {
        div.head {
            h1 { "How an identifier is computed" }
            p.lead {
                "A DI, or dataset instance identifier, names one exact set of granules. It depends on their \
                 names alone: not on their order, the dataset, the archive or the day."
            }
        }
        section.text {
            h2 { "The rule" }
            ol.rule {
                li { "Sort the names of all granules by their bytes in UTF-8." }
                li { "Take the MD5 of the first name and a line feed, as 32 hexadecimal digits." }
                li {
                    "For each further name, take the MD5 of the digits so far, a line feed, the name and a \
                     line feed."
                }
                li { "The last digits are the identifier, written after " code { "DI:" } "." }
            }
            p {
                "The set of no granules is " code.di { "DI:" (Identifier::EMPTY) } ". A name has no control \
                 characters, so that two sets never give the same input."
            }
        }
        section.text {
            h2 { "In a shell" }
            p { "In a directory whose files are the granules:" }
            (command("shell", &html! { (SHELL) }))
            p { "With the program of this site, for a list of names in a file:" }
            (command("cmd", &html! { "accession identify names.txt" }))
        }
        section.text {
            h2 { "What it promises" }
            p {
                "Two archives that hold granules of the same names have the same identifier, and one name \
                 more or less changes it. It says nothing about the bytes inside the files, and it is a \
                 check against mistakes, not a signature: MD5 does not withstand somebody who makes two sets \
                 with the same identifier on purpose."
            }
            p {
                "Both are what the digest of a set is for: the SHA-256 of its list, in which each name is \
                 followed by the strongest checksum of each of its files. The program prints that list with "
                code { "accession granules SET --list" } ", and anyone can hash it with "
                code { "sha256sum" } "."
            }
        }
    };
    let head = Head {
        title: "How an identifier is computed".into(),
        description: Some("The rule by which a set of granules gets its identifier.".into()),
        canonical: Some(site.identifier_page().to_owned()),
        ..Head::default()
    };
    page(site, &head, &main).into_string()
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
