//! What is recorded of the files of a set, and how a reader checks their bytes.

use std::sync::Arc;

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::figures::{command, counted, date, grouped};
use super::site::Site;
use crate::error::Result;
use crate::model::{Algorithm, DatasetName, Identifier, Set, Timestamp};
use crate::registry::{FileTotals, Snapshot};

/// What is recorded of the files of a set, and what checks of them found.
#[derive(Debug)]
pub struct Fixity {
    /// What is recorded. `None` means that there are too many files to be counted for a page.
    pub totals: Option<Arc<FileTotals>>,
    /// Whether files of the dataset were checked, and since when all that were held then were. `None` means
    /// never.
    pub checked: Option<Option<Timestamp>>,
    /// How many files of the dataset are not as they are recorded.
    pub open: u64,
    /// The dataset whose records these are.
    dataset: DatasetName,
}

impl Fixity {
    /// Reads what is known of the files of a set. `count` returns what is recorded of them, up to a
    /// record. `None` means that nothing is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); those of `count`.
    pub fn read(
        snapshot: &Snapshot,
        set: &Set,
        count: impl FnOnce(u64) -> Result<Option<Arc<FileTotals>>>,
    ) -> Result<Option<Self>> {
        let dataset = set.dataset();
        let last_record = snapshot.last_file_record(dataset)?;
        if last_record == 0 {
            return Ok(None);
        }
        let totals = count(last_record)?;
        if totals.as_ref().is_some_and(|totals| totals.files == 0) {
            return Ok(None);
        }
        let roots = snapshot.checked_roots(dataset)?;
        let checked = roots.iter().map(|root| root.since).max();
        let open = match checked {
            Some(_) => snapshot.count_open_findings(dataset)?,
            None => 0,
        };
        Ok(Some(Fixity { totals, checked, open, dataset: dataset.clone() }))
    }

    /// The section on the bytes of the set with an identifier. `is_shared`: other datasets hold it too, whose records may
    /// differ.
    pub(super) fn section(&self, site: &Site, identifier: Identifier, is_shared: bool) -> Markup {
        let mut path = Site::checksums(identifier);
        if is_shared {
            path.push_str(&format!("?dataset={}", self.dataset));
        }
        let tool = self.totals.as_ref().and_then(|it| tool(it.usual_algorithm()?));
        html! {
            section #files {
                h2 { "Check their bytes" }
                dl.facts {
                    @if let Some(totals) = &self.totals { (recorded(totals)) }
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
                @if let Some(tool) = tool.filter(|_| site.is_complete()) {
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

    /// Adds what schema.org has of it: the size of the granules, and of the list of them.
    pub(super) fn describe(&self, object: &mut Map<String, Value>) {
        let Some(totals) = &self.totals else { return };
        if totals.without_size < totals.files {
            object.insert("size".to_owned(), size_text(totals.bytes).into());
        }
        if let Some(list) = object.get_mut("distribution").and_then(|it| it.get_mut(0)) {
            list["contentSize"] = json!(format!("{} B", totals.list_bytes));
        }
    }
}

fn recorded(totals: &FileTotals) -> Markup {
    let FileTotals { granules, with_checksums, files, bytes, without_size, .. } = totals;
    html! {
        @if without_size < files {
            dt { "Size" }
            dd {
                (size_text(*bytes)) " in " (counted(files - without_size, "file"))
                @if *without_size > 0 { "; the size of " (grouped(*without_size)) " more is not known" }
            }
        }
        dt { "Checksums" }
        dd {
            @if with_checksums == granules { "of all " (counted(*granules, "granule")) }
            @else { "of " (grouped(*with_checksums)) " of " (counted(*granules, "granule")) }
            @if let Some(algorithm) = totals.usual_algorithm() { ", " (algorithm.as_str()) }
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

/// A number of bytes with three digits in the decimal unit that fits: `1.23 GB`.
fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in UNITS {
        // What would be rounded to 1000 is one of the next unit.
        if size < 999.5 {
            break;
        }
        (size, unit) = (size / 1e3, larger);
    }
    let decimals = match size {
        _ if unit == "B" => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{size:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (12_345, "12.3 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (3_400_000_000, "3.40 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(size_text(bytes), text, "{bytes}");
        }
    }
}
