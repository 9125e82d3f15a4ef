//! A registry file in its own directory.

use harness::values::{AtTime, clock};
use std::path::{Path, PathBuf};

use accession::{Instance, Registry, Selection};
use rusqlite::Connection;

use harness::history::{Plan, name, second};
use harness::store::new_registry_in;

/// A registry file with one dataset, `dataset`.
pub struct Stored {
    directory: tempfile::TempDir,
    pub path: PathBuf,
    pub registry: Registry,
}

/// An id of the dataset. Ids with odd numbers are not held at first.
pub fn granule_id(number: usize) -> String {
    format!("granule.{number:06}")
}

/// The first ids with even numbers, this many.
pub fn even(granules: usize) -> Vec<String> {
    (0..granules).map(|n| granule_id(2 * n)).collect()
}

/// The set that the dataset holds after its latest change.
pub fn latest() -> Selection {
    Selection::Dataset { name: name("dataset"), at: None }
}

impl Stored {
    /// Creates a registry whose first change, at second 0, ingests this many granules.
    pub fn with(granules: usize) -> Self {
        let directory = harness::directory();
        let (path, registry) = new_registry_in(directory.path());
        let stored = Stored { directory, path, registry };
        stored.change(0, &Plan { ingest: even(granules), delete: Vec::new() });
        stored
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Another handle, as a separate process would have.
    pub fn other_handle(&self) -> Registry {
        Registry::open(&self.path, clock()).unwrap()
    }

    pub fn change(&self, at: i64, plan: &Plan) -> Instance {
        change(&self.registry, at, plan)
    }

    /// A direct connection to the file.
    pub fn connection(&self) -> Connection {
        Connection::open(&self.path).unwrap()
    }
}

pub fn change(registry: &Registry, at: i64, plan: &Plan) -> Instance {
    registry.change(&name("dataset"), &plan.change().at(second(at))).unwrap().instances.remove(0)
}
