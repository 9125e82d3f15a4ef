//! What a check of files finds beside what earlier checks of the same root found, and forgetting a root.

use std::collections::{BTreeMap, VecDeque};

use super::stamp::Stamp;
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::registry::handle::{End, Registry};
use crate::registry::snapshot::{closings, dataset_of, open_pages, runs_of};
use crate::store::{DatasetKey, StoredFinding, StoredRun, Transaction};

/// How many open findings are read at once.
const PAGE_ROWS: u32 = 1_000;

/// What a check compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckMode {
    /// Checksums, and sizes.
    Checksums,
    /// Only the sizes.
    Size,
}

impl CheckMode {
    /// The name under which it is stored.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            CheckMode::Checksums => "checksums",
            CheckMode::Size => "size",
        }
    }
}

/// What was found of one file: its status, what is recorded, and what was found instead.
pub(super) type Found = (String, Option<String>, Option<String>);

/// What is to be stored of the findings of a check.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Findings without the number of their check.
    pub new: Vec<StoredFinding>,
    /// Earlier findings that no longer hold, and why.
    pub closed: Vec<((u64, u64), &'static str)>,
}

impl Changes {
    pub fn append(&mut self, other: Changes) {
        self.new.extend(other.new);
        self.closed.extend(other.closed);
    }

    pub fn count(&self) -> usize {
        self.new.len() + self.closed.len()
    }

    /// Stores them, as found by a check. Returns the number of the last finding.
    pub fn save(
        &self,
        transaction: &Transaction,
        dataset: DatasetKey,
        run: u64,
        mut last: u64,
        now: Timestamp,
    ) -> Result<u64> {
        let numbered = self.new.iter().map(|finding| {
            last += 1;
            StoredFinding { run, number: last, ..finding.clone() }
        });
        let numbered: Vec<StoredFinding> = numbered.collect();
        transaction.insert_fixity_findings(dataset, &numbered)?;
        for (finding, why) in &self.closed {
            transaction.close_finding(dataset, *finding, now, why)?;
        }
        Ok(last)
    }
}

/// The open findings of a root that earlier checks have made, as files are passed in canonical order of
/// their granules.
pub(super) struct EarlierFindings {
    registry: Registry,
    dataset: DatasetKey,
    mode: CheckMode,
    /// The checks of the root, by number.
    runs: BTreeMap<u64, StoredRun>,
    page: VecDeque<StoredFinding>,
    /// The position of the last finding that was read.
    position: (String, u64, u64),
    is_over: bool,
    /// The granule that is being passed. `None` means that none was.
    granule_id: Option<String>,
    /// Its findings, by path.
    of_granule: BTreeMap<String, Vec<StoredFinding>>,
}

impl EarlierFindings {
    /// Closes what ended by a change of the dataset since it was found, and begins at the first granule.
    pub fn settle(
        registry: &Registry,
        dataset: &DatasetName,
        (root, mode): (&str, CheckMode),
        stamp: &Stamp,
    ) -> Result<Self> {
        let named = |error| registry.named(error);
        let read = registry.read()?;
        let (key, _) = dataset_of(&read, dataset).map_err(named)?;
        let runs = runs_of(&read, key).map_err(named)?;
        let mut ended = Vec::new();
        for page in open_pages(&read, key) {
            let page = page.map_err(named)?;
            let closings = closings(&read, key, &page, &runs).map_err(named)?;
            for (finding, why) in page.iter().zip(closings) {
                ended.extend(why.map(|why| ((finding.run, finding.number), why)));
            }
        }
        drop(read);
        if !ended.is_empty() {
            registry.write(|transaction| {
                let (now, _) = stamp.record(transaction, None, Timestamp::MIN)?;
                for (finding, why) in &ended {
                    transaction.close_finding(key, *finding, now, why)?;
                }
                Ok(((), End::Commit))
            })?;
        }
        let mut runs = runs;
        runs.retain(|_, run| run.root == root);
        Ok(EarlierFindings {
            registry: registry.clone(),
            dataset: key,
            mode,
            runs,
            page: VecDeque::new(),
            position: (String::new(), 0, 0),
            is_over: false,
            granule_id: None,
            of_granule: BTreeMap::new(),
        })
    }

    /// What becomes of them by a check of one file of a granule ('' means that no granule has it), in
    /// which something was found or not.
    pub fn compare(
        &mut self,
        granule_id: &str,
        path: &str,
        found: Option<Found>,
        now: Timestamp,
    ) -> Result<Changes> {
        self.load(granule_id)?;
        let path = if path == granule_id { "" } else { path };
        let of_file = self.of_granule.remove(path).unwrap_or_default();
        let mut changes = Changes::default();
        let mut is_known = false;
        for finding in of_file {
            // Sizes that agree say nothing of what a check of checksums has found.
            let is_of_size =
                self.runs.get(&finding.run).is_some_and(|it| it.mode == CheckMode::Size.as_str());
            if self.mode == CheckMode::Size && !is_of_size {
                continue;
            }
            let why = match &found {
                None => "good",
                Some((status, expected, was)) => {
                    let same = (&finding.status, &finding.expected, &finding.found);
                    if !is_known && same == (status, expected, was) {
                        is_known = true;
                        continue;
                    }
                    "repeated"
                }
            };
            changes.closed.push(((finding.run, finding.number), why));
        }
        if let Some((status, expected, found)) = found.filter(|_| !is_known) {
            changes.new.push(StoredFinding {
                run: 0,
                number: 0,
                granule_id: granule_id.to_owned(),
                path: path.to_owned(),
                status,
                expected,
                found,
                checked: now,
                closed: None,
            });
        }
        Ok(changes)
    }

    /// Closes the findings of a granule of which no file was passed: nothing was found there any more.
    pub fn rest(&mut self, granule_id: &str) -> Result<Changes> {
        self.load(granule_id)?;
        let rest = std::mem::take(&mut self.of_granule).into_values().flatten();
        let closed = rest.map(|finding| ((finding.run, finding.number), "good"));
        Ok(Changes { new: Vec::new(), closed: closed.collect() })
    }

    /// Reads the findings of a granule.
    fn load(&mut self, granule_id: &str) -> Result<()> {
        if self.granule_id.as_deref() == Some(granule_id) {
            return Ok(());
        }
        let passed = self.granule_id.replace(granule_id.to_owned());
        self.of_granule.clear();
        if passed.is_some_and(|passed| granule_id < passed.as_str()) {
            (self.position, self.is_over) = ((String::new(), 0, 0), false);
            self.page.clear();
        }
        loop {
            while let Some(finding) =
                self.page.pop_front_if(|finding| finding.granule_id.as_str() <= granule_id)
            {
                if finding.granule_id == granule_id {
                    self.of_granule.entry(finding.path.clone()).or_default().push(finding);
                }
            }
            if !self.page.is_empty() || self.is_over {
                return Ok(());
            }
            // Findings before the granule are not read.
            let (last, run, number) = &self.position;
            let position = match last.as_str() < granule_id {
                true => (granule_id, 0, 0),
                false => (last.as_str(), *run, *number),
            };
            let read = self.registry.read()?;
            let page = read.open_findings_after(self.dataset, position, PAGE_ROWS);
            let page = page.map_err(|error| self.registry.named(error))?;
            self.is_over = page.len() < PAGE_ROWS as usize;
            if let Some(last) = page.last() {
                self.position = (last.granule_id.clone(), last.run, last.number);
            }
            self.page = page.into();
            self.page.retain(|finding| self.runs.contains_key(&finding.run));
        }
    }
}

impl Registry {
    /// Forgets that files of a dataset were checked at a root, which is no longer used: what was found
    /// there is closed. Returns how many findings that were. `None` means that no file was ever checked
    /// there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown); the error of a registry.
    pub fn forget_root(
        &self,
        dataset: &DatasetName,
        root: &str,
        stamp: &Stamp,
    ) -> Result<Option<u64>> {
        self.write(|transaction| {
            let (key, _) = dataset_of(transaction, dataset)?;
            let mut runs = runs_of(transaction, key)?;
            runs.retain(|_, run| run.root == root && run.forgotten.is_none());
            if runs.is_empty() {
                return Ok((None, End::RollBack));
            }
            let (now, _) = stamp.record(transaction, None, Timestamp::MIN)?;
            let mut open = Vec::new();
            for page in open_pages(transaction, key) {
                let page = page?;
                let of_root = page.iter().filter(|finding| runs.contains_key(&finding.run));
                open.extend(of_root.map(|finding| (finding.run, finding.number)));
            }
            for run in runs.keys() {
                transaction.forget_fixity_run(key, *run, now)?;
            }
            for finding in &open {
                transaction.close_finding(key, *finding, now, "forgotten")?;
            }
            Ok((Some(open.len() as u64), End::Commit))
        })
    }
}
