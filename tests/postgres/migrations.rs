//! Registries of earlier schemas.

use accession::{Access, Registry};

use crate::harness::server::{Server, client};
use crate::scene::{command, confirmed_stamp, ingest, name, second};

pub const MIGRATIONS: [&str; 6] = [
    include_str!("../../migrations/postgres/V1__registry.sql"),
    include_str!("../../migrations/postgres/V2__mirror_memory.sql"),
    include_str!("../../migrations/postgres/V3__mirror_checksums.sql"),
    include_str!("../../migrations/postgres/V4__annotations.sql"),
    include_str!("../../migrations/postgres/V5__fixity.sql"),
    include_str!("../../migrations/postgres/V6__fixity_checks.sql"),
];

/// Creates the tables of an earlier schema.
fn create(owner: &mut postgres::Client, version: usize) {
    owner.batch_execute("CREATE SCHEMA accession").unwrap();
    for migration in &MIGRATIONS[..version] {
        owner.batch_execute(migration).unwrap();
    }
    let rows = format!(
        "INSERT INTO accession.registry (registry_id, version)
             VALUES (gen_random_uuid(), {version});
         INSERT INTO accession.writer (dataset_id) VALUES (0)"
    );
    owner.batch_execute(&rows).unwrap();
}

#[test]
fn a_registry_of_every_earlier_schema_is_brought_up_to_date_by_a_change() {
    let Some(server) = Server::find(&[]) else { return };
    // The identifier of the set with one granule.
    let memory = Registry::in_memory().unwrap();
    let at = accession::Stamp::at(second(0), second(1));
    let applied = memory.change(&name("D"), &ingest("A"), &at).unwrap();
    let identifier = applied.instance.unwrap().identifier;
    for version in 1..MIGRATIONS.len() {
        let url = server.new_database();
        let mut owner = client(&url);
        create(&mut owner, version);
        let (ingested, recorded) = (second(0).as_micros(), second(1).as_micros());
        let rows = format!(
            "INSERT INTO accession.writer (dataset_id) VALUES (1);
             INSERT INTO accession.dataset (id, name, creators) VALUES (1, 'D', '[]');
             INSERT INTO accession.granule (dataset_id, granule_id, ingested)
                 VALUES (1, 'A', {ingested});
             INSERT INTO accession.instance
                 (dataset_id, timestamp, identifier, granules, ingested, deleted, recorded)
                 VALUES (1, {ingested}, '\\x{identifier}', 1, 1, 0, {recorded})"
        );
        owner.batch_execute(&rows).unwrap();

        let stated = |owner: &mut postgres::Client| -> i32 {
            owner.query_one("SELECT version FROM accession.registry", &[]).unwrap().get(0)
        };
        let error = Registry::open(url.as_ref(), Access::Read).err().unwrap();
        assert_eq!(error.kind().as_str(), "older", "{version}: {error}");
        assert_eq!(stated(&mut owner), version as i32, "reading changes nothing");
        let registry = Registry::open(url.as_ref(), Access::Write).unwrap();
        assert_eq!(stated(&mut owner), MIGRATIONS.len() as i32);
        registry.change(&name("D"), &ingest("B"), &confirmed_stamp()).unwrap();
        let resolved = registry.snapshot().unwrap().resolve(identifier, None, None).unwrap();
        assert_eq!(resolved.rows.len(), 1, "{version}");
        let verified = registry.verify_all(&[]).unwrap().finish();
        assert_eq!(verified.unwrap().findings, 0, "{version}");
        let granules = command(&url, &["granules", "D"]).output().unwrap();
        assert_eq!(granules.stdout, b"A\nB\n");
    }
}

#[test]
fn roles_that_were_made_before_a_migration_can_go_on_after_it() {
    let Some(server) = Server::find(&[]) else { return };
    for version in 1..MIGRATIONS.len() {
        let url = server.new_database();
        let mut owner = client(&url);
        create(&mut owner, version);
        // The grants of the guide, of the tables that there were then.
        let granted = format!("before_{version}_{}", std::process::id());
        // The last version added a column to what may be remembered of a mirror.
        let named = grants_named(&granted).replace(", failure, files)", ", failure)");
        // The release that added these tables granted nothing on them.
        let added: &[&str] = match version {
            1 | 2 => &["mirror_source", "log_change", "confirmation", "fixity"],
            3 => &["confirmation", "fixity"],
            _ => &["fixity"],
        };
        let named = match version {
            1..4 => named
                .replace(", granule_url, keywords, free_access, temporal, max_delete, max_add", "")
                .replace(", pulled, options, failed, failure", ""),
            _ => named,
        };
        let known = named
            .split_inclusive(';')
            .filter(|grant| !added.iter().any(|table| grant.contains(table)));
        owner.batch_execute(&known.collect::<String>()).unwrap();
        if version == 2 {
            owner
                .batch_execute(&format!(
                    "REVOKE ALL ON accession.mirror_source, accession.log_change
                     FROM ingest_{granted}, reader_{granted};
                     UPDATE pg_class SET relacl = NULL
                     WHERE oid IN ('accession.mirror_source'::regclass,
                         'accession.log_change'::regclass)"
                ))
                .unwrap();
        }
        owner
            .batch_execute(&format!(
                "ALTER ROLE ingest_{granted} LOGIN; ALTER ROLE reader_{granted} LOGIN"
            ))
            .unwrap();
        let url_of = |role: &str| url.replace("postgres@", &format!("{role}_{granted}@"));
        let (ingest_url, reader_url) = (url_of("ingest"), url_of("reader"));
        let directory = tempfile::tempdir().unwrap();
        let run = |registry: &str, arguments: &[&str]| {
            let mut command = command(registry, arguments);
            let output = command.current_dir(directory.path()).output().unwrap();
            let printed = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{version} {arguments:?}: {printed}");
        };
        // The database grants something on every new table, so that none is without privileges.
        if version == 3 {
            let everybody = format!("reader_{granted}");
            owner
                .batch_execute(&format!(
                    "ALTER DEFAULT PRIVILEGES IN SCHEMA accession GRANT SELECT ON TABLES TO {everybody}"
                ))
                .unwrap();
        }
        // Only the owner migrates.
        let refused = command(&ingest_url, &["--json", "ingest", "D", "--create", "A"]).output();
        let refused = String::from_utf8(refused.unwrap().stderr).unwrap();
        assert!(refused.contains("denied"), "{refused}");
        run(&url, &["ingest", "D", "--create", "A"]);
        std::fs::write(directory.path().join("ids.txt"), "A\nB\n").unwrap();
        run(&ingest_url, &["sync", "D", "--from", "ids.txt"]);
        run(&ingest_url, &["export", "D", "--output", "d.jsonl"]);
        run(&ingest_url, &["mirror", "pull", "MIRROR", "d.jsonl", "--create"]);
        run(&ingest_url, &["mirror", "pull", "MIRROR", "d.jsonl"]);
        run(&ingest_url, &["sync", "D", "--from", "ids.txt"]);
        for arguments in [&["verify"][..], &["verify", "D"], &["mirror", "status", "MIRROR"]] {
            run(&reader_url, arguments);
        }
        #[cfg(feature = "serve")]
        {
            let served = crate::serve::Served::start(&reader_url);
            for path in ["/", "/datasets/MIRROR/", "/datasets/D/history", "/find?granule=B"] {
                assert_eq!(served.get(path, "text/html").0 / 100, 2, "{version} {path}");
            }
        }
        // Nobody gets more than that.
        let mut reader = client(&reader_url);
        assert!(reader.batch_execute("DELETE FROM accession.log_change").is_err());
    }
}

/// The statements of the guide that make roles, with other names for them.
fn grants_named(name: &str) -> String {
    crate::privileges::grants()
        .replace("accession_ingest", &format!("ingest_{name}"))
        .replace("accession_reader", &format!("reader_{name}"))
}
