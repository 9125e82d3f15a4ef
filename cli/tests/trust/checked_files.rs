//! Files, some of which are damaged before each check, and the recorded findings of the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use accession::{DatasetName, Registry};

use crate::dice::Dice;
use crate::ledger::Found;
use harness::values::{name, step};

const FILES: usize = 20;

/// A dataset whose files are checked, each time with another root name.
pub struct CheckedFiles {
    pub dataset: DatasetName,
    pub root: PathBuf,
    /// The damaged files that were found, by the name of the root.
    found: BTreeMap<String, BTreeSet<String>>,
    /// The root name of the planned check, and what it must find.
    planned: (String, BTreeSet<String>),
    checks: usize,
}

impl CheckedFiles {
    /// Adds the dataset, and writes its files. Their checksums are recorded by `fixity compute`.
    pub fn new(registry: &Registry, root: PathBuf) -> Self {
        let dataset = name("FILES");
        std::fs::create_dir(&root).unwrap();
        let ids: Vec<String> = (0..FILES).map(|n| format!("file.{n:02}")).collect();
        step(registry, "FILES", 1, ids.iter().map(String::as_str), []);
        let planned = (String::new(), BTreeSet::new());
        let files = CheckedFiles { dataset, root, found: BTreeMap::new(), planned, checks: 0 };
        files.write(&BTreeSet::new());
        files
    }

    /// Damages some of the files, and repairs the others. Returns the arguments of the check.
    pub fn plan(&mut self, dice: &mut Dice) -> String {
        self.checks += 1;
        let root = format!("R{}", self.checks);
        let damaged: BTreeSet<String> = (0..dice.within(1..FILES))
            .map(|_| format!("file.{:02}", dice.within(0..FILES)))
            .collect();
        self.write(&damaged);
        let rolling = if dice.once_in(2) { "--for 1h" } else { "" };
        let directory = self.root.display();
        let arguments =
            format!("fixity check FILES --root {directory} --root-name {root} --jobs 2 {rolling}");
        self.planned = (root, damaged);
        arguments
    }

    fn write(&self, damaged: &BTreeSet<String>) {
        for n in 0..FILES {
            let file = format!("file.{n:02}");
            let content = if damaged.contains(&file) { "damaged!" } else { "as it is" };
            std::fs::write(self.root.join(file), content).unwrap();
        }
    }

    /// Compares the recorded findings with what the checks found. The planned check may have recorded all or
    /// nothing: returns which.
    pub fn settle(&mut self, registry: &Registry, context: &str) -> Found {
        let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for finding in registry.snapshot().unwrap().open_findings(&self.dataset, u32::MAX).unwrap()
        {
            assert_eq!(finding.status, "checksum", "{context}");
            open.entry(finding.root).or_default().insert(finding.path);
        }
        let (root, damaged) = &self.planned;
        let found = if open.contains_key(root) { Found::After } else { Found::Before };
        if found == Found::After {
            self.found.insert(root.clone(), damaged.clone());
        }
        assert_eq!(open, self.found, "{context}");
        // If a check has recorded its findings, it has also recorded what it checked.
        let roots = registry.snapshot().unwrap().checked_roots(&self.dataset).unwrap();
        let checked = roots.into_iter().filter(|root| root.since.is_some());
        let checked: BTreeSet<String> = checked.map(|root| root.root).collect();
        assert_eq!(checked, self.found.keys().cloned().collect(), "{context}");
        found
    }
}
