//! Registries of other schemas.

use accession::{Access, Registry};

use crate::scene::{Scene, command};

#[test]
fn a_registry_of_another_version_is_refused_with_a_sentence_and_not_changed() {
    for (sql, what) in [
        ("UPDATE accession.registry SET version = 6", "it is schema 6, not 1"),
        ("UPDATE accession.registry SET schema_check = 0", "created by another version"),
        // A testing version did not have it.
        ("ALTER TABLE accession.registry DROP COLUMN schema_check", "schema_check"),
    ] {
        let Some(scene) = Scene::new() else { return };
        scene.client().batch_execute(sql).unwrap();
        for access in [Access::Read, Access::Write] {
            let error = Registry::open(&scene.path(), access).err().unwrap();
            assert_eq!(error.kind().as_str(), "other-schema", "{sql}");
            let text = error.to_string();
            assert!(text.contains("as those of testing versions have"), "{text}");
            assert!(text.contains(what), "{text}");
        }
        // Nor is another one created in its place.
        let refused = command(&scene.url, &["ingest", "D", "--create", "A"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
    }
}
