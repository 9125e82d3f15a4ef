//! Registries of earlier schemas.

use accession::{Access, Registry};

use crate::harness::server::{Server, client};
use crate::scene::{command, ingest, name, second, stamp};

const MIGRATIONS: [&str; 2] = [
    include_str!("../../migrations/postgres/V1__registry.sql"),
    include_str!("../../migrations/postgres/V2__mirror_memory.sql"),
];

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
        owner.batch_execute("CREATE SCHEMA accession").unwrap();
        for migration in &MIGRATIONS[..version] {
            owner.batch_execute(migration).unwrap();
        }
        let (ingested, recorded) = (second(0).as_micros(), second(1).as_micros());
        let rows = format!(
            "INSERT INTO accession.registry (registry_id, version)
                 VALUES (gen_random_uuid(), {version});
             INSERT INTO accession.writer (dataset_id) VALUES (0), (1);
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
        assert_eq!(error.kind(), "older", "{version}: {error}");
        assert_eq!(stated(&mut owner), version as i32, "reading changes nothing");
        let registry = Registry::open(url.as_ref(), Access::Write).unwrap();
        assert_eq!(stated(&mut owner), MIGRATIONS.len() as i32);
        registry.change(&name("D"), &ingest("B"), &stamp()).unwrap();
        let resolved = registry.snapshot().unwrap().resolve(identifier, None, None).unwrap();
        assert_eq!(resolved.rows.len(), 1, "{version}");
        let verified = registry.verify_all(&[], |_| Ok::<(), accession::Error>(()));
        assert_eq!(verified.unwrap().findings, 0, "{version}");
        let granules = command(&url, &["granules", "D"]).output().unwrap();
        assert_eq!(granules.stdout, b"A\nB\n");
    }
}
