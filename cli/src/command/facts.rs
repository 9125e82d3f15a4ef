//! The files of a mirror on disk. Checks them beside a comparison with the primary, and suggests the command
//! that checks them.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use accession::fixity::{CheckOptions, CheckSummary, FileFinding, FileTree};
use accession::history::Exported;
use accession::status::{FilesFact, RootState};
use accession::{
    DatasetName, EventKind, HistoryOptions, ListingBuilder, Registry, Selection, Timestamp,
};
use serde::Serialize;
use serde_json::Value;

use super::fixity::{FINDINGS, watched};
use crate::error::Result;
use crate::output::{Output, counted, for_shell, write_rows};
use crate::session::Session;

/// The command that checks the files of a mirror. It names the directory of their last check, if this machine
/// has it. `None` means that all files are good.
pub fn improvement(
    program: &str,
    dataset: &DatasetName,
    files: &FilesFact,
    roots: &[RootState],
) -> Option<String> {
    if matches!(files, FilesFact::Good { changed: 0, .. }) {
        return None;
    }
    // The name of a root is HOST:PATH, unless another name was given.
    let paths = roots.iter().filter_map(|root| root.root.split_once(':'));
    let path = paths.map(|(_, path)| path).find(|path| Path::new(path).is_dir());
    let path = path.map_or("DIR".into(), for_shell);
    Some(format!("{program} mirror compare {dataset} --files {path}"))
}

/// The maximum number of findings in the result of a check.
const MAX_FINDINGS: usize = 1_000;

/// The maximum number of findings that are printed as text.
const SHOWN_FINDINGS: usize = 20;

/// The check of the files of a mirror below a directory, as JSON.
#[derive(Serialize)]
pub struct DiskCheck {
    files: u64,
    bytes: u64,
    findings: u64,
    unexpected: u64,
    complete: bool,
    start: Timestamp,
    end: Timestamp,
    /// The number of granules that were added, deleted or replaced during the check. Their findings are
    /// omitted.
    changed: u64,
    /// The first findings: files that differ from their records, or that no granule has.
    first: Vec<FileFinding>,
    /// The result of the check, if it could not be recorded.
    #[serde(skip)]
    unrecorded: Option<FilesFact>,
}

/// The numbers of files that differ from their records, by the kind of difference, and of files that no granule
/// has.
#[derive(Default)]
struct FindingCounts {
    missing: u64,
    damaged: u64,
    other: u64,
    unexpected: u64,
}

impl FindingCounts {
    /// The number to which a finding is added.
    fn of(&mut self, finding: &FileFinding) -> &mut u64 {
        match finding.status {
            "unexpected" => &mut self.unexpected,
            "missing" => &mut self.missing,
            "size" | "checksum" | "unreadable" => &mut self.damaged,
            _ => &mut self.other,
        }
    }
}

impl DiskCheck {
    /// Checks the files that a dataset holds now, and records the result. Files that no granule has are
    /// counted, except hidden files and files of the registry.
    pub fn run(session: &Session, dataset: &DatasetName, root: &Path) -> Result<Self> {
        let tree = FileTree::new(root);
        let registry = watched(&tree, session.open()?, session)?;
        let start = registry.now();
        let select = |snapshot: &accession::Snapshot| {
            let selection = Selection::Dataset { name: dataset.clone(), at: None };
            Ok(snapshot.select(&selection)?.set)
        };
        let options = CheckOptions::new().report_unexpected();
        let mut run = registry.check_fixity(select, &tree, options)?;
        session.warn_all(run.not_recorded());
        let (mut first, mut counts) = (Vec::new(), FindingCounts::default());
        for finding in run.by_ref() {
            let finding = finding?;
            let is_left_out = is_hidden(&finding.path) || session.is_own_file(&finding.path);
            if finding.granule.is_none() && is_left_out {
                continue;
            }
            *counts.of(&finding) += 1;
            if first.len() < MAX_FINDINGS {
                first.push(finding);
            }
        }
        let is_recorded = run.is_recorded();
        let CheckSummary { files, bytes, complete, .. } = run.finish()?;
        let end = registry.now();
        let changed =
            Changes::recorded_since(&registry, dataset, start, first.iter().map(name_of))?;
        first.retain(|finding| {
            let is_changed = changed.concern(finding);
            if is_changed {
                *counts.of(finding) -= 1;
            }
            !is_changed
        });
        let FindingCounts { missing, damaged, other, unexpected } = counts;
        let findings = missing + damaged + other;
        let good = Some(files.saturating_sub(findings));
        let found = match findings {
            0 => FilesFact::Good { checked: start, good, changed: 0 },
            _ => FilesFact::Bad { checked: Some(start), good, missing, damaged, other },
        };
        let unrecorded = (!is_recorded).then_some(found);
        let changed = changed.granules;
        Ok(DiskCheck {
            files,
            bytes,
            findings,
            unexpected,
            complete,
            start,
            end,
            changed,
            first,
            unrecorded,
        })
    }

    /// The result of the check, if it could not be recorded.
    pub fn unrecorded(&self) -> Option<FilesFact> {
        self.unrecorded
    }
}

/// Whether a component of a path begins with a dot.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// The granule of a finding, or the path of a file that no granule has.
fn name_of(finding: &FileFinding) -> &str {
    finding.granule.as_ref().unwrap_or(&finding.path)
}

/// The granules that were added, deleted or replaced while files were checked.
#[derive(Default)]
struct Changes {
    /// The number of these granules.
    granules: u64,
    /// The names of findings about these granules.
    found: HashSet<String>,
}

impl Changes {
    /// The granules whose changes were recorded since `start`. Such a change may take effect earlier. `sought`
    /// contains the granules and paths of findings.
    fn recorded_since<'a>(
        registry: &Registry,
        dataset: &DatasetName,
        start: Timestamp,
        sought: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        let mut first = None;
        for instance in registry.history(dataset, &HistoryOptions::new().newest_first()) {
            let instance = instance?;
            if instance.recorded < start {
                break;
            }
            first = Some(instance.timestamp);
        }
        let Some(first) = first else { return Ok(Changes::default()) };
        let sought: HashSet<&str> = sought.into_iter().collect();
        let (mut changed, mut found) = (ListingBuilder::new(), HashSet::new());
        let before = Timestamp::from_micros(first.as_micros() - 1);
        for exported in registry.export(dataset, before)? {
            let Exported::Event(event) = exported? else { continue };
            if event.kind == EventKind::Described {
                continue;
            }
            let files = event.content.iter().flat_map(|content| content.files());
            let paths = files.map(|file| file.path(&event.granule_id).to_string());
            let names = paths.chain([event.granule_id.to_string()]);
            found.extend(names.filter(|name| sought.contains(name.as_str())));
            changed.add(event.granule_id)?;
        }
        Ok(Changes { granules: changed.finish().identify()?.granules, found })
    }

    /// Whether a finding is about a granule that changed.
    fn concern(&self, finding: &FileFinding) -> bool {
        self.found.contains(name_of(finding))
    }
}

/// Writes the result of a check of the files.
pub fn write_check(out: &mut Output, check: &Value) -> io::Result<()> {
    if check.is_null() {
        return Ok(());
    }
    let found = check["first"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = &found[..found.len().min(SHOWN_FINDINGS)];
    if !shown.is_empty() {
        write_rows(out, FINDINGS, shown)?;
    }
    let [findings, unexpected] =
        ["findings", "unexpected"].map(|member| check[member].as_u64().unwrap_or(0));
    match (findings + unexpected).saturating_sub(shown.len() as u64) {
        0 => {}
        more => writeln!(out, "and {more} more")?,
    }
    let [files, bytes] = [("files", "file"), ("bytes", "byte")];
    let (files, bytes) = (counted(&check[files.0], files.1), counted(&check[bytes.0], bytes.1));
    let changed = match check["changed"].as_u64() {
        Some(0) | None => String::new(),
        Some(changed) => format!("; {changed} changed meanwhile"),
    };
    let unexpected = match unexpected {
        0 => String::new(),
        unexpected => format!("; {unexpected} unexpected"),
    };
    writeln!(out, "checked {files}, read {bytes}{unexpected}{changed}")
}

#[cfg(test)]
mod tests {
    use accession::Clock;
    use harness::values::{AtTime, change, name, second, step};

    use super::*;

    #[test]
    fn nothing_is_said_of_a_granule_that_changed_while_its_file_was_checked() {
        let at = |text: &str| Clock::fixed(text.parse().unwrap()).confirmed();
        let (before, start, during) = (
            at("2026-01-01T00:00:00Z"),
            "2026-01-02T00:00:00Z".parse().unwrap(),
            at("2026-01-02T00:00:01Z"),
        );
        let registry = Registry::temporary(before).unwrap();
        step(&registry, "D", 0, ["A", "B", "C"], []);
        step(&registry, "D", 1, [], ["C"]);
        let of = |names: &[&str]| {
            let dataset = name("D");
            let changes =
                Changes::recorded_since(&registry, &dataset, start, names.iter().copied());
            let Changes { granules, found } = changes.unwrap();
            let mut found: Vec<String> = found.into_iter().collect();
            found.sort();
            (granules, found)
        };
        assert_eq!(of(&["A", "C"]), (0, vec![]));
        // A change that is recorded during the check may take effect earlier.
        let during = registry.with_clock(during);
        during.change(&name("D"), &change(["E"], ["A"]).at(second(2))).unwrap();
        during.change(&name("D"), &change(["A"], ["E"]).at(second(3))).unwrap();
        assert_eq!(of(&["A", "B", "C", "E"]), (2, vec!["A".to_owned(), "E".to_owned()]));
    }
}
