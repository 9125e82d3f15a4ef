//! If a byte of a granule row changes, every operation that reads the whole set, or writes values that depend
//! on it, fails and changes nothing. `damaged_rows` tests the other tables.

use harness::pulls::PullPolicy;
use harness::values::{AtTime, clock};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use accession::dataset::DatasetMetadata;
use accession::mirror::{Primary, PrimaryOptions, PullOptions, manifest};
use accession::{
    ChangeOptions, DatasetFilter, Import, Limits, Listing, ListingBuilder, Moment, Registry,
    Selection, Set, SubsetMembers,
};

use crate::stored::{even, granule_id, latest};
use harness::history::{Plan, change, id, instances, name, now, plan, second};
use harness::server::client;
use harness::store::{is_on_server, new_registry, new_registry_in};

/// Enough for a list of several pages that is hashed on another thread.
const GRANULES: usize = 4_500;

/// Which row is changed. The new byte leaves the position of the granule in the order unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flip {
    /// The row of a granule that has been held since the first change.
    Present,
    /// The row of a granule that the second change deleted.
    Deleted,
}

/// A dataset of three instances with two cited subsets of the first, and the manifest of the same dataset one
/// change later.
pub struct World {
    directory: tempfile::TempDir,
    pub path: PathBuf,
    pub registry: Registry,
    later: Vec<u8>,
    patterns: Set,
    pub named: Set,
}

/// The result of an operation.
pub type Done = Result<(), Box<dyn std::error::Error>>;

impl Flip {
    fn ids(self) -> (String, String) {
        let held = match self {
            Flip::Present => 1_000,
            Flip::Deleted => 2_000,
        };
        (granule_id(held), granule_id(held + 1))
    }
}

impl World {
    pub fn new() -> Self {
        let directory = harness::directory();
        let (path, registry) = new_registry_in(directory.path());
        let dataset = name("dataset");
        let apply = |registry: &Registry, at: i64, plan: &Plan| {
            registry.change(&dataset, &plan.change().at(second(at))).unwrap();
        };
        let changes = [
            Plan { ingest: even(GRANULES), delete: Vec::new() },
            plan([granule_id(1).as_str()], [granule_id(2_000).as_str()]),
            plan([granule_id(3).as_str()], []),
            plan([granule_id(5).as_str()], [granule_id(8).as_str()]),
        ];
        let good = new_registry();
        for (at, plan) in (0..).zip(&changes) {
            apply(&good, at, plan);
        }
        let mut later = Vec::new();
        manifest::write(&good, &dataset, None, &mut later).unwrap();
        for (at, plan) in (0..).zip(&changes[..3]) {
            apply(&registry, at, plan);
        }
        let cite = |wanted| {
            let cited = registry.cite_subset(&dataset, Some(first()), &wanted).unwrap();
            cited.period.set
        };
        let mut list = ListingBuilder::new();
        list.add(id(&granule_id(1_000))).unwrap();
        list.add(id(&granule_id(2_000))).unwrap();
        let list = list.finish();
        let patterns = cite(SubsetMembers::Patterns(vec!["granule.001*".parse().unwrap()]));
        let named = cite(SubsetMembers::Listed(list));
        World { directory, path, registry, later, patterns, named }
    }

    /// Executes SQL statements directly, and returns the first column of a query.
    pub fn sql(&self, statements: &str, query: Option<&str>) -> Vec<String> {
        if is_on_server() {
            let mut client = client(self.path.to_str().unwrap());
            client.batch_execute("SET search_path TO accession").unwrap();
            client.batch_execute(statements).unwrap();
            let rows = query.map(|query| client.query(query, &[]).unwrap());
            return rows.unwrap_or_default().iter().map(|row| row.get(0)).collect();
        }
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.execute_batch(statements).unwrap();
        let Some(query) = query else { return Vec::new() };
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    fn rename(&self, from: &str, to: &str) {
        let update = format!("UPDATE granule SET granule_id = '{to}' WHERE granule_id = '{from}'");
        self.alter("granule", &update);
    }

    /// Alters a table whose rows are protected on a server.
    pub fn alter(&self, table: &str, update: &str) {
        let sql = match is_on_server() {
            true => format!(
                "ALTER TABLE {table} DISABLE TRIGGER ALL; {update};
                 ALTER TABLE {table} ENABLE TRIGGER ALL"
            ),
            false => update.to_owned(),
        };
        self.sql(&sql, None);
    }

    /// Everything that a change could change.
    fn content(&self) -> (Vec<String>, Vec<accession::Instance>) {
        let rows = "
            SELECT concat(granule_id, ' ', ingested, ' ', deleted) FROM granule
            UNION ALL SELECT concat(granule_id, ' ', granules) FROM checkpoint
            ORDER BY 1";
        (self.sql("", Some(rows)), instances(&self.registry, &name("dataset")))
    }

    pub fn list(&self, set: &Set) -> Done {
        for granule in self.registry.granules(set) {
            granule?;
        }
        Ok(())
    }

    pub fn set(&self, selection: &Selection) -> Set {
        self.registry.snapshot().unwrap().select(selection).unwrap().set
    }

    fn primary(&self) -> Primary {
        let manifest = Cursor::new(&self.later);
        Primary::from_reader(manifest, "later.jsonl", PrimaryOptions::default()).unwrap()
    }

    pub fn ingest(&self, granule_id: &str) -> Done {
        let change = change([granule_id], []);
        self.registry.change(&name("dataset"), &change.at(second(9)))?;
        Ok(())
    }

    pub fn delete(&self, granule_id: &str) -> Done {
        let change = change([], [granule_id]);
        self.registry.change(&name("dataset"), &change.at(second(9)))?;
        Ok(())
    }

    /// A listing of the granules that the undamaged dataset would hold, without the given ones.
    fn listing(&self, without: &[usize]) -> Listing {
        let mut held = even(GRANULES);
        held.extend([1, 3].map(granule_id));
        let mut listing = ListingBuilder::new();
        let left_out: Vec<String> = without.iter().copied().map(granule_id).collect();
        let wanted = held.iter().filter(|held| **held != granule_id(2_000));
        for granule_id in wanted.filter(|held| !left_out.contains(held)) {
            listing.add(id(granule_id)).unwrap();
        }
        listing.finish()
    }

    pub fn sync(&self, without: &[usize]) -> Done {
        let options = ChangeOptions::new().limits(Limits::NONE);
        let listing = self.listing(without);
        self.registry.sync(&name("dataset"), &listing, &options.at(second(9)))?;
        Ok(())
    }

    pub fn export(&self) -> Done {
        // The set is verified before anything is returned.
        let exported = self.registry.export(&name("dataset"), None)?;
        assert_ne!(exported.map(Result::unwrap).count(), 0);
        Ok(manifest::write(&self.registry, &name("dataset"), None, &mut Vec::new())?)
    }

    /// Publishes into a directory that does not exist yet, or that contains the first changes.
    pub fn publish(&self, directory: &Path) -> Done {
        let published = self
            .registry
            .publish(directory, &DatasetFilter::All, |_, published| published.map(drop));
        let log = std::fs::read_to_string(directory.join("datasets/dataset/log/000000.jsonl"));
        for flip in [Flip::Present, Flip::Deleted] {
            let damaged = flip.ids().1;
            assert!(!log.as_ref().is_ok_and(|log| log.contains(&damaged)), "{damaged}");
        }
        Ok(published?)
    }

    fn compare_with_mirror(&self, primary: &Primary) -> Done {
        self.registry.compare_mirror(&name("dataset"), primary)?.finish()?;
        Ok(())
    }

    pub fn pull(&self) -> Done {
        let options = PullOptions::new().at(second(9));
        PullPolicy::Reset.pull(&self.registry, &name("dataset"), &self.primary(), options)?;
        Ok(())
    }

    pub fn import(&self) -> Done {
        let mut import = Import::new();
        self.primary().read_into(&name("dataset"), &mut import, now(), |_| {})?;
        self.registry.import(&name("dataset"), &import)?;
        Ok(())
    }
}

fn first() -> Moment {
    Moment::Instant(second(0))
}

fn at_first() -> Selection {
    Selection::Dataset { name: name("dataset"), at: Some(first()) }
}

/// An operation: its name, whether it must detect a damaged row of a present and of a deleted granule, and the
/// function.
type Trial = (&'static str, [bool; 2], fn(&World) -> Done);

const TRIALS: &[Trial] = &[
    ("list", [true, false], |world| world.list(&world.set(&latest()))),
    ("list of the past", [true, true], |world| world.list(&world.set(&at_first()))),
    ("list in pages", [true, true], |world| {
        let granules = world.registry.granules(&world.set(&at_first()));
        for page in granules.into_id_pages() {
            page?;
        }
        Ok(())
    }),
    ("list that is finished after a part", [true, true], |world| {
        let mut granules = world.registry.granules(&world.set(&at_first()));
        granules.by_ref().take(5).try_for_each(|granule| granule.map(drop))?;
        Ok(granules.finish()?)
    }),
    ("list of files that is finished", [true, true], |world| {
        Ok(world.registry.files(&world.set(&at_first())).finish()?)
    }),
    ("list that was begun one by one", [true, true], |world| {
        let mut granules = world.registry.granules(&world.set(&at_first()));
        for granule in granules.by_ref().take(5) {
            granule?;
        }
        for page in granules.into_id_pages() {
            page?;
        }
        Ok(())
    }),
    ("a part of a list", [false, false], |world| {
        let (set, after) = (world.set(&at_first()), id("granule.000100"));
        for granule in world.registry.granules_after(&set, Some(&after)) {
            granule?;
        }
        Ok(())
    }),
    ("subset by patterns", [true, false], |world| world.list(&world.patterns)),
    ("subset of named granules", [true, true], |world| world.list(&world.named)),
    ("compare", [true, true], |world| {
        let snapshot = world.registry.snapshot()?;
        let (latest, first) = (snapshot.select(&latest())?.set, snapshot.select(&at_first())?.set);
        drop(snapshot);
        world.registry.compare(&latest, &first).finish()?;
        Ok(())
    }),
    ("compare with a list", [true, false], |world| {
        let listing = world.listing(&[10]);
        let latest = world.registry.snapshot()?.select(&latest())?.set;
        world.registry.compare_with(&latest, &listing)?.finish()?;
        Ok(())
    }),
    ("mirror compare", [true, false], |world| world.compare_with_mirror(&world.primary())),
    ("mirror compare, as the primary", [true, true], |world| {
        if is_on_server() {
            return world.export();
        }
        let empty = Registry::temporary(clock())?;
        empty.add_dataset(&DatasetMetadata::named(name("dataset")))?;
        empty.compare_mirror(&name("dataset"), &Primary::from(world.path.clone()))?.finish()?;
        Ok(())
    }),
    ("export", [true, true], World::export),
    ("publish", [true, true], |world| world.publish(harness::directory().path())),
    ("copy", [true, true], |world| {
        let directory = harness::directory();
        world.registry.copy_with_payment_ids_to(directory.path().join("copy.db"))?;
        Ok(())
    }),
    ("cite a subset", [true, false], |world| {
        let wanted = SubsetMembers::Patterns(vec!["granule.00000*".parse()?]);
        world.registry.snapshot()?.preview_subset(&name("dataset"), None, &wanted)?;
        Ok(())
    }),
    // Operations that change something come last.
    ("cite a subset of the past", [true, true], |world| {
        let wanted = SubsetMembers::Patterns(vec!["granule.00001*".parse()?]);
        world.registry.cite_subset(&name("dataset"), Some(first()), &wanted)?;
        Ok(())
    }),
    ("ingest", [true, false], |world| world.ingest(&granule_id(5))),
    ("delete", [true, false], |world| world.delete(&granule_id(0))),
    ("sync with what it should hold", [true, false], |world| world.sync(&[])),
    ("sync", [true, false], |world| world.sync(&[7_000])),
    ("revert", [true, true], |world| {
        let to = Selection::Dataset { name: name("dataset"), at: Some(first()) };
        let options = ChangeOptions::default().at(second(9));
        world.registry.revert(&name("dataset"), &to, &options)?;
        Ok(())
    }),
    ("pull", [true, false], World::pull),
    ("import", [true, true], World::import),
];

/// Runs an operation twice, and returns the kind and the messages of its error.
pub fn outcome(world: &World, trial: fn(&World) -> Done) -> Option<(String, String)> {
    let run = || {
        let error = trial(world).err()?;
        let mut text = error.to_string();
        let mut source = error.source();
        let mut kind = kind_of(error.as_ref());
        while let Some(error) = source {
            text += &format!(": {error}");
            kind = kind.or_else(|| kind_of(error));
            source = error.source();
        }
        Some((kind.unwrap_or("another").to_owned(), text))
    };
    let refused = run()?;
    assert_eq!(run(), Some(refused.clone()), "the second time it says the same");
    Some(refused)
}

fn kind_of(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    error.downcast_ref::<accession::Error>().map(|error| error.kind().as_str())
}

fn every_trial_meets_the_damage(flip: Flip) {
    let (held, damaged) = flip.ids();
    let mut world = World::new();
    let mut content = world.content();
    world.rename(&held, &damaged);
    for (what, meets, trial) in TRIALS {
        if !meets[flip as usize] {
            continue;
        }
        let before = world.content();
        let Some((kind, text)) = outcome(&world, *trial) else { panic!("{what} with {flip:?}") };
        assert_eq!(kind, "damaged", "{what}: {text}");
        assert!(text.contains("dataset"), "{what} names the dataset: {text}");
        assert_eq!(world.content(), before, "{what}");
    }
    assert!(!world.registry.verify(&name("dataset")).unwrap().ok, "`verify` finds it");
    // After the repair, everything works again. Operations that do not read the damaged row work with the
    // damage, too.
    world.rename(&damaged, &held);
    assert_eq!(world.content(), content);
    assert!(world.registry.verify(&name("dataset")).unwrap().ok);
    for (what, meets, trial) in TRIALS {
        if what.starts_with("ingest") || world.content() != content {
            world = World::new();
            content = world.content();
        }
        if !meets[flip as usize] {
            world.rename(&held, &damaged);
        }
        assert_eq!(outcome_once(&world, *trial), None, "{what} with {flip:?}");
    }
}

pub fn outcome_once(world: &World, trial: fn(&World) -> Done) -> Option<String> {
    trial(world).err().map(|error| error.to_string())
}

#[test]
fn a_flip_in_the_row_of_a_present_granule_refuses_what_depends_on_it() {
    every_trial_meets_the_damage(Flip::Present);
}

#[test]
fn a_flip_in_the_row_of_a_deleted_granule_refuses_what_depends_on_it() {
    every_trial_meets_the_damage(Flip::Deleted);
}

#[test]
fn the_error_names_the_registry_the_instance_and_what_its_rows_give() {
    let world = World::new();
    let set = world.set(&latest());
    let (held, damaged) = Flip::Present.ids();
    world.rename(&held, &damaged);
    let (kind, text) = outcome(&world, |world| world.list(&world.set(&latest()))).unwrap();
    let expected = format!(
        "the registry is damaged: dataset at 2001-01-01T00:00:02Z has the identifier {} and 4501 granules, but the granule rows give ",
        set.identifier()
    );
    assert!(kind == "damaged" && text.contains(&expected), "{text}");
    let path = world.registry.location().to_string();
    assert!(text.contains(path.rsplit('/').next().unwrap()), "{text}");
}

#[test]
fn what_was_published_stays_as_it_is_when_a_later_change_cannot_be_proved() {
    let world = World::new();
    let directory = world.directory.path().join("www");
    world.publish(&directory).unwrap();
    let log = directory.join("datasets/dataset/log/000000.jsonl");
    let head = directory.join("datasets/dataset/head.json");
    let published = || (std::fs::read(&log).unwrap(), std::fs::read(&head).unwrap());
    let before = published();
    world.ingest(&granule_id(5)).unwrap();
    let (held, damaged) = Flip::Present.ids();
    world.rename(&held, &damaged);
    assert_eq!(
        outcome(&world, |world| world.publish(&world.directory.path().join("www"))).unwrap().0,
        "damaged"
    );
    assert_eq!(published(), before);
    world.rename(&damaged, &held);
    world.publish(&directory).unwrap();
    assert_ne!(published(), before);
}

#[test]
fn an_append_reads_nothing_and_issues_the_identifier_of_what_was_held() {
    let world = World::new();
    let (held, damaged) = Flip::Present.ids();
    world.rename(&held, &damaged);
    world.ingest("zzz").unwrap();
    world.rename(&damaged, &held);
    assert!(world.registry.verify(&name("dataset")).unwrap().ok);
}

#[test]
fn a_checkpoint_that_was_changed_refuses_the_change_that_resumes_at_it() {
    let world = World::new();
    let checkpoint =
        even(GRANULES).into_iter().rfind(|it| accession::chain::Chain::is_checkpoint(it));
    let checkpoint = checkpoint.unwrap();
    let chain = if is_on_server() { "decode(repeat('00', 16), 'hex')" } else { "zeroblob(16)" };
    world.sql(
        &format!("UPDATE checkpoint SET chain = {chain} WHERE granule_id = '{checkpoint}'"),
        None,
    );
    let before = world.content();
    let (kind, text) =
        outcome(&world, |world| world.delete(&granule_id(2 * GRANULES - 2))).unwrap();
    assert_eq!(kind, "damaged", "{text}");
    assert_eq!(world.content(), before);
}
