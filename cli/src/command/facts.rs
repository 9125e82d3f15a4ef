//! The files of a mirror on disk: a check of them beside a comparison with the primary, and the command that would
//! improve what is known of them.

use std::io::{self, Write};
use std::path::Path;

use accession::fixity::{CheckOptions, CheckSummary, FileFinding, FileTree};
use accession::status::{FilesFact, RootState};
use accession::{DatasetName, HistoryOptions, Selection, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::fixity::{FINDINGS, watched};
use crate::error::Result;
use crate::output::{Output, counted, for_shell, write_rows};
use crate::session::Session;

/// The command that checks the files of a mirror: below the directory in which they were checked last, if this
/// machine has it. `None` means that all are good.
pub fn improvement(
    program: &str,
    dataset: &DatasetName,
    files: &FilesFact,
    roots: &[RootState],
) -> Option<String> {
    if matches!(files, FilesFact::Good { changed: 0, .. }) {
        return None;
    }
    // A root is called HOST:PATH, unless it was given another name.
    let paths = roots.iter().filter_map(|root| root.root.split_once(':'));
    let path = paths.map(|(_, path)| path).find(|path| Path::new(path).is_dir());
    let path = path.map_or("DIR".into(), for_shell);
    Some(format!("{program} mirror compare {dataset} --files {path}"))
}

/// The number of findings of a check that are kept.
const MAX_FINDINGS: usize = 1_000;

/// The number of findings that are printed as text.
const SHOWN_FINDINGS: usize = 20;

/// The check of the files of a mirror below a directory, as JSON.
#[derive(Serialize)]
pub struct DiskCheck {
    #[serde(flatten)]
    summary: CheckSummary,
    start: Timestamp,
    end: Timestamp,
    /// The number of granules that were added, deleted or replaced during the check. Of these, nothing is said.
    changed: u64,
    /// The first of them.
    first: Vec<FileFinding>,
    /// What was found, if it could not be recorded.
    #[serde(skip)]
    unrecorded: Option<FilesFact>,
}

impl DiskCheck {
    /// Checks the files that a dataset holds now, and records what was found.
    pub fn run(session: &Session, dataset: &DatasetName, root: &Path) -> Result<Self> {
        let tree = FileTree::new(root);
        let registry = watched(&tree, session.open()?, session)?;
        let start = registry.now();
        let select = |snapshot: &accession::Snapshot| {
            let selection = Selection::Dataset { name: dataset.clone(), at: None };
            Ok(snapshot.select(&selection)?.set)
        };
        let mut run = registry.check_fixity(select, &tree, CheckOptions::new())?;
        session.warn_all(run.not_recorded());
        let (mut first, mut missing, mut damaged, mut other) = (Vec::new(), 0, 0, 0);
        for finding in run.by_ref() {
            let finding = finding?;
            match finding.status {
                "missing" => missing += 1,
                "size" | "checksum" | "unreadable" => damaged += 1,
                _ => other += 1,
            }
            if first.len() < MAX_FINDINGS {
                first.push(finding);
            }
        }
        let is_recorded = run.is_recorded();
        let summary = run.finish()?;
        let end = registry.now();
        let good = Some(summary.files.saturating_sub(summary.findings));
        let found = match summary.findings {
            0 => FilesFact::Good { checked: start, good, changed: 0 },
            _ => FilesFact::Bad { checked: Some(start), good, missing, damaged, other },
        };
        let unrecorded = (!is_recorded).then_some(found);
        let mut changed = 0;
        for instance in registry.history(dataset, &HistoryOptions::new().since(start)) {
            let instance = instance?;
            changed += instance.ingested + instance.deleted + instance.replaced;
        }
        Ok(DiskCheck { summary, start, end, changed, first, unrecorded })
    }

    /// What was found, if it could not be recorded.
    pub fn unrecorded(&self) -> Option<FilesFact> {
        self.unrecorded
    }
}

/// Writes what a check of the files found.
pub fn write_check(out: &mut Output, check: &Value) -> io::Result<()> {
    if check.is_null() {
        return Ok(());
    }
    let found = check["first"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = &found[..found.len().min(SHOWN_FINDINGS)];
    if !shown.is_empty() {
        write_rows(out, FINDINGS, shown)?;
    }
    let findings = check["findings"].as_u64().unwrap_or(0);
    match findings.saturating_sub(shown.len() as u64) {
        0 => {}
        more => writeln!(out, "and {more} more")?,
    }
    let [files, bytes] = [("files", "file"), ("bytes", "byte")];
    let (files, bytes) = (counted(&check[files.0], files.1), counted(&check[bytes.0], bytes.1));
    let changed = match check["changed"].as_u64() {
        Some(0) | None => String::new(),
        Some(changed) => format!("; {changed} changed meanwhile"),
    };
    writeln!(out, "checked {files}, read {bytes}{changed}")
}
