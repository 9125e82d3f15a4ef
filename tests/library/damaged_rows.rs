//! If a byte of any row other than a granule's changes, every operation that reads the row fails, and the
//! damage is not passed on.

use accession::HistoryOptions;
use accession::dataset::DatasetMetadata;
use accession::dataset::Withdrawn;
use accession::file::Checksum;
use accession::history::{GranuleQuery, NewAnnotation};
use accession::mirror::manifest;
use harness::values::AtTime;

use crate::flipped_rows::{Done, World, outcome, outcome_once};
use crate::stored::{granule_id, latest};
use harness::history::{name, second};
use harness::seal::row_check;
use harness::store::is_on_server;
use harness::values::{stating, with_file};

type TrialOfLastRow = (&'static str, fn(&World) -> Done);

/// Operations that read the newest row of a history, or continue it.
const TRIALS_OF_LAST_ROW: &[TrialOfLastRow] = &[
    ("lookup", |world| {
        world.registry.snapshot()?.dataset(&name("dataset"))?;
        Ok(())
    }),
    ("list of datasets", |world| {
        world.registry.snapshot()?.datasets(None, Withdrawn::Listed, 10)?;
        Ok(())
    }),
    ("count", |world| {
        world.registry.snapshot()?.select(&latest())?;
        Ok(())
    }),
    ("history", |world| {
        for instance in world.registry.history(&name("dataset"), &HistoryOptions::new()) {
            instance?;
        }
        Ok(())
    }),
    ("export", World::export),
    PUBLISH,
    COPY,
    CITE,
    ("append", |world| world.ingest("zzz")),
    ("delete", |world| world.delete(&granule_id(0))),
    ("sync", |world| world.sync(&[7_000])),
    ("sync with what it should hold", |world| world.sync(&[])),
    ("pull", World::pull),
    ("import", World::import),
];

#[test]
fn a_flip_in_the_last_row_of_a_history_is_neither_handed_out_nor_continued() {
    let byte = match is_on_server() {
        true => "set_byte(identifier, 0, get_byte(identifier, 0) # 32)",
        false => "unhex('ff' || substr(hex(identifier), 3))",
    };
    for flip in [
        &format!("identifier = {byte}"),
        "granules = granules + 64",
        "ingested = ingested + 64",
        "recorded = recorded + 64",
        "timestamp = timestamp + 1048576",
        "note = 'fyrst note'",
        "recorded_by = 'nobody'",
    ] {
        let world = World::new();
        let identifier = world.set(&latest()).identifier();
        let update =
            format!("UPDATE instance SET {flip} WHERE timestamp = {}", second(2).as_micros());
        world.alter("instance", &update);
        let stored = || world.sql("", Some("SELECT concat(timestamp, granules) FROM instance"));
        let before = stored();
        for (what, trial) in TRIALS_OF_LAST_ROW {
            let Some((kind, text)) = outcome(&world, *trial) else { panic!("{what} with {flip}") };
            assert_eq!(kind, "damaged", "{what} with {flip}: {text}");
            let named = "an instance of dataset differs from its checksum";
            assert!(text.contains(named), "{what} with {flip}: {text}");
            assert_eq!(stored(), before, "{what} with {flip}");
        }
        // If the identifier was changed, the index by identifier changed with it, so the original identifier
        // does not find the row.
        let is_found = !flip.starts_with("identifier");
        let resolved = world.registry.snapshot().unwrap().periods(identifier, None, None);
        assert_eq!(resolved.is_err(), is_found, "resolve with {flip}");
        assert!(!world.registry.verify(&name("dataset")).unwrap().ok, "`verify` finds {flip}");
    }
}

/// A log with its annotations and subsets, as `dataset export` and `publish` write it.
const WRITE: TrialOfLastRow = ("manifest", |world| {
    Ok(manifest::write(&world.registry, &name("dataset"), None, &mut Vec::new())?)
});
const PUBLISH: TrialOfLastRow = ("publish", |world| world.publish(harness::directory().path()));
const COPY: TrialOfLastRow = ("copy", |world| {
    let directory = harness::directory();
    world.registry.copy_with_payment_ids_to(directory.path().join("copy.db"))?;
    Ok(())
});
const CITE: TrialOfLastRow = ("cite", |world| {
    world.registry.snapshot()?.cite(&latest())?;
    Ok(())
});
const RESOLVE: TrialOfLastRow = ("resolve a subset", |world| {
    let identifier = world.named.identifier();
    world.registry.snapshot()?.periods(identifier, None, None)?;
    Ok(())
});

/// Reads the records of all files of a set.
const FILES: TrialOfLastRow = ("files", |world| {
    let files = world.registry.files(&world.set(&latest()));
    Ok(files.collect::<accession::Result<Vec<_>>>().map(drop)?)
});

#[test]
fn a_flip_in_what_is_known_of_a_file_is_met_by_all_who_read_it() {
    let world = World::new();
    let change = stating([with_file(&granule_id(3), "x", Some(7), None)]);
    world.registry.change(&name("dataset"), &change.at(second(3))).unwrap();
    for (what, trial) in [FILES, WRITE, PUBLISH, COPY] {
        assert_eq!(outcome_once(&world, trial), None, "{what}");
    }
    let bytes = if is_on_server() { r"'\xff'" } else { "x'ff'" };
    world.alter("content", &format!("UPDATE content SET files = {bytes}"));
    for (what, trial) in [FILES, WRITE, PUBLISH, COPY] {
        let (kind, text) = outcome(&world, trial).unwrap_or_else(|| panic!("{what}"));
        assert_eq!(kind, "damaged", "{what}: {text}");
        assert!(text.contains("the content of a granule of dataset differs"), "{what}: {text}");
    }
    assert!(!world.registry.verify(&name("dataset")).unwrap().ok);
}

#[test]
fn files_that_are_stored_out_of_order_are_found_and_not_read() {
    let world = World::new();
    let id = granule_id(3);
    let stated = [("adler32", "00620062"), ("sha-256", &"07".repeat(32))].map(|(name, value)| {
        let checksum = Checksum::parse(name.parse().unwrap(), value).unwrap();
        with_file(&id, &id, None, Some(checksum))
    });
    for (at, stated) in (3..).zip(stated) {
        world.registry.change(&name("dataset"), &stating([stated]).at(second(at))).unwrap();
    }
    assert!(world.registry.verify(&name("dataset")).unwrap().ok);
    assert_eq!(outcome_once(&world, FILES.1), None);
    // The weaker checksum first, in a row whose own checksum is correct: only the order is wrong.
    let sha_256 = [vec![3], vec![7; 32]].concat();
    let swapped = [vec![2 << 2, 8, 0, 0x62, 0, 0x62], sha_256].concat();
    let since = second(4).as_micros();
    let row = [1.into(), id.clone().into(), since.into(), swapped.clone().into()];
    let hex: String = swapped.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = if is_on_server() { format!(r"'\x{hex}'") } else { format!("x'{hex}'") };
    let check = row_check(&row);
    world.alter(
        "content",
        &format!("UPDATE content SET files = {bytes}, row_check = {check} WHERE since = {since}"),
    );
    assert_eq!(world.registry.check_file().unwrap(), []);
    let is_named = |text: &str| {
        text.contains("the files of \"granule.000003\" cannot be read, or are not in order")
    };
    let found = world.registry.verify(&name("dataset")).unwrap().mismatches;
    assert!(found.iter().any(|finding| is_named(&finding.text)), "{found:?}");
    for (what, trial) in [FILES, PUBLISH, COPY] {
        let (kind, text) = outcome(&world, trial).unwrap_or_else(|| panic!("{what}"));
        assert_eq!(kind, "damaged", "{what}: {text}");
        assert!(is_named(&text) || what == COPY.0, "{what}: {text}");
    }
}

#[test]
fn a_damaged_record_hides_neither_granules_nor_identifiers() {
    for flip in ["record = replace(record, '\"title\"', '\"tytle\"')", "record = '[]'", "doi = 'x'"]
    {
        let world = World::new();
        let edit = |dataset: &mut DatasetMetadata| {
            dataset.granule_url = Some("https://data.example.org/{granule}".parse().unwrap());
        };
        world.registry.edit_dataset(&name("dataset"), edit).unwrap();
        let id: GranuleQuery = granule_id(1_000).parse().unwrap();
        let url = |world: &World| {
            let periods = world.registry.snapshot().unwrap().find(&id, None, 10).unwrap();
            assert_eq!(periods.len(), 1);
            periods[0].url.is_some()
        };
        assert!(url(&world));
        let set = world.set(&latest());
        world.alter("dataset", &format!("UPDATE dataset SET {flip}"));
        assert_eq!(world.set(&latest()), set);
        let snapshot = world.registry.snapshot().unwrap();
        world.list(&set).unwrap();
        snapshot.registry().files(&set).for_each(|files| drop(files.unwrap()));
        snapshot.period(set.clone()).unwrap();
        assert_eq!(snapshot.periods(set.identifier(), None, None).unwrap().rows.len(), 1);
        assert_eq!(snapshot.warnings_of(&name("dataset")).unwrap(), []);
        // The contents of the dataset's record are unknown, and reading the record reports the damage.
        assert!(!url(&world) && snapshot.granule_url(&name("dataset")).unwrap().is_none());
        assert_eq!(snapshot.dataset(&name("dataset")).unwrap_err().kind().as_str(), "damaged");
        assert!(!world.registry.verify(&name("dataset")).unwrap().ok);
    }
}

/// A table, the damage to its rows, and the operations that must report it.
type Damage = (&'static str, &'static str, &'static [TrialOfLastRow]);

const DAMAGES: &[Damage] = &[
    ("annotation", "note = 'fyrst note'", &[WRITE, PUBLISH, COPY, CITE]),
    ("annotation", "questionable = 0", &[WRITE, PUBLISH, COPY, CITE]),
    ("annotation", "recorded = recorded + 64", &[WRITE, PUBLISH, COPY, CITE]),
    ("subset", "granules = granules + 64", &[WRITE, PUBLISH, COPY, RESOLVE]),
    ("subset", "cited = cited - 64", &[WRITE, PUBLISH, COPY, RESOLVE]),
    ("subset", "patterns = replace(patterns, '001', '003')", &[WRITE, PUBLISH, COPY]),
    (
        "named_granule",
        "granule_id = replace(granule_id, '2', '6')",
        &[WRITE, PUBLISH, COPY, ("list", |world| world.list(&world.named))],
    ),
    ("dataset", "record = replace(record, 'title of', 'tytle of')", &[WRITE, PUBLISH, COPY, CITE]),
    ("dataset", "doi = '10.9999/other'", &[WRITE, PUBLISH, COPY, CITE]),
    (
        "record_version",
        "record = replace(record, 'title of', 'tytle of')",
        &[
            COPY,
            ("versions", |world| {
                world.registry.snapshot()?.record_versions(&name("dataset"))?;
                Ok(())
            }),
        ],
    ),
    ("refusal", "recorded = recorded + 64", &[COPY]),
    ("confirmation", "recorded = recorded + 64", &[COPY]),
];

#[test]
fn what_cannot_be_recomputed_is_not_passed_on_when_it_is_damaged() {
    for (table, flip, trials) in DAMAGES {
        let world = World::new();
        let mut annotation = NewAnnotation::new("first note").unwrap();
        annotation.questionable = true;
        world.registry.annotate(&latest(), &annotation).unwrap();
        let edit =
            |dataset: &mut DatasetMetadata| dataset.title = Some("The title of it".to_owned());
        world.registry.edit_dataset(&name("dataset"), edit).unwrap();
        world.sync(&[]).unwrap();
        world.registry.note_refused_listing(&name("dataset"), "it is empty").unwrap();
        for (what, trial) in *trials {
            assert_eq!(outcome_once(&world, *trial), None, "{what} before {table}.{flip}");
        }
        assert_eq!(world.registry.check_file().unwrap(), []);
        world.alter(table, &format!("UPDATE {table} SET {flip}"));
        for (what, trial) in *trials {
            let Some((kind, text)) = outcome(&world, *trial) else {
                panic!("{what} with {table}.{flip}")
            };
            assert_eq!(kind, "damaged", "{what} with {table}.{flip}: {text}");
            let is_named = text.contains(" of dataset differs from its checksum");
            assert!(is_named, "{what} with {table}.{flip}: {text}");
        }
        let found = world.registry.check_file().unwrap();
        assert!(found[0].text.contains(&format!("rows of {table} differ")), "{found:?}");
    }
}
