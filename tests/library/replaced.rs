//! A registry file that is removed or replaced by another file while it is open.

use harness::values::{AtTime, clock};
use std::path::{Path, PathBuf};

use accession::{HistoryOptions, Registry};

use crate::stored::{Stored, latest};
use harness::history::{change, name, plan, second};

/// More than one page.
const GRANULES: usize = 5_000;

/// What another process does with the file.
type Deed = fn(&Path, &Path);

const DEEDS: [(&str, Deed); 3] = [
    ("removed", |path, _| std::fs::remove_file(path).unwrap()),
    ("renamed", |path, _| std::fs::rename(path, path.with_extension("old")).unwrap()),
    ("replaced", |path, other| std::fs::rename(other, path).unwrap()),
];

/// A registry, and beside it another one that no process has open.
fn stored() -> (Stored, PathBuf) {
    let stored = Stored::with(GRANULES);
    let other = stored.directory().join("other.db");
    let registry = Registry::create(&other, clock()).unwrap();
    crate::stored::change(&registry, 5, &plan(["other"], []));
    (stored, other)
}

#[test]
fn nothing_is_written_to_a_registry_that_is_no_longer_at_its_path() {
    for (name_of_deed, deed) in DEEDS {
        let (stored, other) = stored();
        let bytes = std::fs::read(&other).unwrap();
        deed(&stored.path, &other);
        let new = change(["new"], []);
        let refused = stored.registry.change(&name("dataset"), &new.at(second(6))).unwrap_err();
        assert_eq!(refused.kind().as_str(), "replaced", "{name_of_deed}: {refused:?}");
        assert_eq!(stored.registry.snapshot().err().unwrap().kind().as_str(), "replaced");
        let refused = stored.registry.verify(&name("dataset")).unwrap_err();
        assert_eq!(refused.kind().as_str(), "replaced", "{name_of_deed}");
        let at_path = if other.exists() { &other } else { &stored.path };
        assert_eq!(std::fs::read(at_path).unwrap(), bytes, "{name_of_deed}");
        let at_path = at_path.clone();
        drop(stored.registry);
        // Closing the last handle does not change the file either.
        assert_eq!(std::fs::read(&at_path).unwrap(), bytes, "{name_of_deed}");
    }
}

#[test]
fn granules_end_with_an_error_when_the_file_is_replaced_between_two_pages() {
    for (name_of_deed, deed) in DEEDS {
        let (stored, other) = stored();
        let set = stored.registry.snapshot().unwrap().select(&latest()).unwrap().set;
        let mut granules = stored.registry.granules(&set);
        let mut history = stored.registry.history(&name("dataset"), &HistoryOptions::new());
        granules.next().unwrap().unwrap();
        deed(&stored.path, &other);
        let rest: Vec<_> = granules.by_ref().collect();
        assert_eq!(rest.len(), 4_096, "{name_of_deed}: the page that was read, and the error");
        let error = rest.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.kind().as_str(), "replaced", "{name_of_deed}");
        assert!(granules.next().is_none());
        assert_eq!(granules.finish().unwrap_err().kind().as_str(), "replaced");
        assert_eq!(
            history.next().unwrap().unwrap_err().kind().as_str(),
            "replaced",
            "{name_of_deed}"
        );
        assert!(history.next().is_none());
    }
}
