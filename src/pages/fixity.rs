//! What is recorded of the files of a set, and how a reader checks their bytes.

use maud::{Markup, html};

use super::figures::{command, counted, date};
use super::site::Site;
use crate::error::Result;
use crate::model::{Algorithm, DatasetName, Identifier, Timestamp};
use crate::registry::Snapshot;

/// How a reader checks the bytes of the files of a dataset, and what its archive's checks found.
#[derive(Debug)]
pub struct Fixity {
    /// The algorithm of the first checksums that are recorded. `None` means that they are sizes only.
    algorithm: Option<Algorithm>,
    /// Whether files of the dataset were checked, and since when all that were held then were. `None` means
    /// never.
    checked: Option<Option<Timestamp>>,
    /// How many files of the dataset are not as they are recorded.
    open: u64,
    /// The dataset whose records these are.
    dataset: DatasetName,
}

impl Fixity {
    /// Reads what is known of the files of a dataset. `None` means that nothing is recorded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
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

    /// The section on the bytes of the set with an identifier. `is_shared`: other datasets hold it too, whose records may
    /// differ.
    pub(super) fn section(&self, site: &Site, identifier: Identifier, is_shared: bool) -> Markup {
        // The program checks one algorithm: the list names it, because a part of the set may have others.
        let tool = self.algorithm.as_ref().and_then(|it| Some((it, tool(it)?)));
        let mut query = Vec::new();
        if is_shared {
            query.push(format!("dataset={}", self.dataset));
        }
        query.extend(tool.map(|(algorithm, _)| format!("algorithm={algorithm}")));
        let path = match query.is_empty() {
            true => Site::checksums(identifier),
            false => format!("{}?{}", Site::checksums(identifier), query.join("&")),
        };
        html! {
            section #files {
                h2 { "Check their bytes" }
                dl.facts {
                    dt { "Checked" }
                    dd {
                        @match self.checked {
                            Some(Some(since)) => { "all since " (date(since)) }
                            Some(None) => "not all yet",
                            None => "not yet",
                        }
                    }
                    @if self.checked.is_some() {
                        dt { "Open findings" }
                        dd { (self.findings()) }
                    }
                    @if site.is_complete() {
                        dt { "List" }
                        dd { a href=(site.href(&path)) { "Checksums" } }
                    }
                }
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

/// The program of GNU coreutils that checks a list of checksums. `None` means that there is none.
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
