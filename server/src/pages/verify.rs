//! Explains what an identifier is and how it is computed, and how a reader checks a copy: the names with the
//! identifier, and the contents of the files with the checksums.

use maud::{Markup, html};

use super::figures::{command, counted, date, facts};
use super::granules::Ends;
use super::layout::{PageHead, page};
use super::site::Site;
use accession::Result;
use accession::Snapshot;
use accession::file::Algorithm;
use accession::{DatasetName, Identifier, Set, Timestamp};

/// The line that explains the terms of a page.
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

/// The page that explains how an identifier is computed.
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
            (command("cmd", &html! { "accession show names.txt" }))
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
                code { "accession granules SET --format list" } ", and anyone can hash it with "
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
    page(site, &head, &main)
}

/// The rule of identifiers as a shell program that needs only `sort` and `md5sum`. `listing` is the command
/// that lists the names.
fn shell(listing: &str) -> String {
    const RULE: &str = " | LC_ALL=C sort | { h=; while IFS= read -r g; do
  if [ -z \"$h\" ]; then h=$(printf '%s\\n' \"$g\" | md5sum)
  else h=$(printf '%s\\n%s\\n' \"$h\" \"$g\" | md5sum); fi
  h=${h%% *}; done; echo \"DI:$h\"; }";
    format!("{listing}{RULE}")
}

/// A set with which a copy is compared.
#[derive(Debug)]
pub(super) struct CheckedSet<'a> {
    pub set: &'a Set,
    /// Its first and last granules.
    pub ends: &'a Ends,
    /// The address of its list. In published files, the list is compressed.
    pub list: &'a str,
    /// The results of checking its files. `None` means that none were recorded.
    pub fixity: Option<&'a Fixity>,
    /// Whether other datasets hold it, too. Their records may differ.
    pub is_shared: bool,
}

impl CheckedSet<'_> {
    /// The buttons for the set: its list, and the sections below that check and cite it.
    pub fn actions(&self) -> Markup {
        let size = match self.list.ends_with(".gz") {
            true => "gzip".to_owned(),
            false => self.ends.list_size(self.set.granule_count()),
        };
        html! {
            p.actions {
                a.button.main href=(self.list) download=(self.list_name()) {
                    "Get the list (" (size) ")"
                }
                " " a.button href="#verify" { "Check your copy" }
                " " a.button href="#cite" { "Cite" }
            }
        }
    }

    /// The file name under which a browser saves its list.
    fn list_name(&self) -> String {
        let ending = if self.list.ends_with(".gz") { "txt.gz" } else { "txt" };
        format!("DI_{}.{ending}", self.set.identifier())
    }

    /// The section on checking a copy.
    pub fn section(&self, site: &Site) -> Markup {
        let identifier = self.set.identifier();
        let listing = if self.ends.are_paths() { r"find . -type f -printf '%P\n'" } else { "ls" };
        html! {
            section #verify {
                h2 { "Check your copy" }
                p.text {
                    "In the directory with the files, this computes their identifier and compares it. The names \
                     count, in any order; the bytes inside the files do not: checksums are for these."
                }
                (command("cmd", &html! {
                    (listing) " | accession compare " span { "DI:" (identifier) } " -"
                }))
                (drop_area(identifier, self.set.granule_count(), self.list))
                // The shell program cannot compute the identifier of an empty set.
                @if self.set.granule_count() > 0 {
                    details {
                        summary { "Without the program: sort and md5sum" }
                        pre tabindex="0" { code { (shell(listing)) } }
                        p.small { "It must print DI:" (identifier) }
                    }
                }
                details {
                    summary { "It differs: which files are missing, or too many?" }
                    p { "This compares them with the list, as you got it above:" }
                    pre tabindex="0" { code { (listing) " | accession compare " (self.list_name()) " -" } }
                }
                details {
                    summary { "The digest, which also covers the recorded checksums" }
                    p.digest { code { (self.set.digest()) } }
                }
                @if let Some(fixity) = self.fixity { (fixity.section(site, self)) }
            }
        }
    }
}

/// The area where a reader drops a listing, which the script compares with a set. `list` is the address of the
/// set's list, or empty.
pub(super) fn drop_area(identifier: Identifier, granules: u64, list: &str) -> Markup {
    html! {
        div.drop hidden data-identifier=(identifier) data-granules=(granules) data-list=(list) {
            label for="listing" {
                "Or here: drop a listing, a text file with a name a line. It is compared in your browser, and sent \
                 nowhere."
            }
            input #listing type="file";
            div role="status" {}
        }
    }
}

/// How a reader checks the contents of the files of a dataset, and the results of the archive's own checks.
#[derive(Debug)]
pub struct Fixity {
    /// The algorithm of the first recorded checksums. `None` means that only sizes are recorded.
    algorithm: Option<Algorithm>,
    /// Whether files of the dataset were checked, and the time since which all files that were then held have
    /// been checked. `None` means that no file was checked.
    checked: Option<Option<Timestamp>>,
    /// The number of files of the dataset that differ from their records.
    open: u64,
    /// The dataset of these records.
    dataset: DatasetName,
}

impl Fixity {
    /// Reads the state of the files of a dataset. `None` means that nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn read(snapshot: &Snapshot, dataset: &DatasetName) -> Result<Option<Self>> {
        let Some(algorithm) = snapshot.recorded_algorithm(dataset)? else { return Ok(None) };
        let roots = snapshot.checked_roots(dataset)?;
        let checked = roots.iter().map(|root| root.since).max();
        let open = match checked {
            Some(_) => snapshot.count_open_findings(dataset)?,
            None => 0,
        };
        Ok(Some(Fixity { algorithm, checked, open, dataset: dataset.clone() }))
    }

    /// The section on checking the contents of the files of a set.
    fn section(&self, site: &Site, set: &CheckedSet<'_>) -> Markup {
        // The program checks one algorithm. The list must name it, because parts of the set may have others.
        let tool = self.algorithm.as_ref().and_then(|it| Some((it, tool(it)?)));
        // An identifier alone means its latest set, whose files may differ.
        let (identifier, digest) = (set.set.identifier(), set.set.digest());
        let (mut query, path) = match set.is_shared {
            true => {
                let of_dataset = vec![format!("dataset={}", self.dataset)];
                (of_dataset, Site::of_set(identifier, "checksums"))
            }
            false => (Vec::new(), format!("/{digest}/checksums")),
        };
        query.extend(tool.map(|(algorithm, _)| format!("algorithm={algorithm}")));
        let path = match query.is_empty() {
            true => path,
            false => format!("{path}?{}", query.join("&")),
        };
        let checked = match self.checked {
            Some(Some(since)) => html! { "all since " (date(since)) },
            Some(None) => html! { "not all yet" },
            None => html! { "not yet" },
        };
        html! {
            div #files {
                h3 { "Their bytes" }
                (facts([
                    ("Checked", Some(checked)),
                    ("Open findings", self.checked.map(|_| self.findings())),
                    ("List", site.is_complete().then(|| html! { a href=(site.href(&path)) { "Checksums" } })),
                ]))
                @if let Some((_, tool)) = tool.filter(|_| site.is_complete()) {
                    p.text { "In the directory with the files, this compares each with its checksum:" }
                    (command("sums", &html! {
                        "curl -s " span { "'" (site.address_or_href(&path)) "'" } " | "
                        span { (tool) " -c --quiet" }
                    }))
                }
            }
        }
    }

    fn findings(&self) -> Markup {
        html! {
            @match self.open {
                0 => "none",
                open => strong.warn { (counted(open, "file")) " not as recorded" },
            }
        }
    }
}

/// The program of GNU coreutils that checks a list of checksums. `None` means that none does.
fn tool(algorithm: &Algorithm) -> Option<&'static str> {
    match algorithm {
        Algorithm::Md5 => Some("md5sum"),
        Algorithm::Sha1 => Some("sha1sum"),
        Algorithm::Sha256 => Some("sha256sum"),
        Algorithm::Sha384 => Some("sha384sum"),
        Algorithm::Sha512 => Some("sha512sum"),
        _ => None,
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
            .args(["-c", &shell("ls")])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let mut listing = accession::ListingBuilder::new();
        for name in ["b c", "a", "\\d"] {
            listing.add(name.parse::<accession::GranuleId>().unwrap()).unwrap();
        }
        let listing = listing.finish();
        let identifier = listing.identify().unwrap().identifier;
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("DI:{identifier}\n"));
    }
}
