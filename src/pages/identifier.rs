//! What an identifier is, and how it is computed.

use maud::{Markup, html};

use super::figures::command;
use super::layout::{PageHead, page};
use super::site::Site;
use super::verify::shell;
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
            (command("shell", &html! { (shell("ls")) }))
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
    let head = PageHead {
        title: "How an identifier is computed".into(),
        description: Some("The rule by which a set of granules gets its identifier.".into()),
        canonical: Some(site.identifier_page().to_owned()),
        ..PageHead::default()
    };
    page(site, &head, &main).into_string()
}
