//! Errors of the server: which are reported as damage, and which are tried again.

use crate::scene::{Scene, ingest, name, periods_of};

/// Makes every COMMIT of a change fail with a code, and counts the attempts.
fn fail_at_commit(scene: &Scene, code: &str, constraint: &str) {
    let sql = format!(
        "CREATE SEQUENCE IF NOT EXISTS public.attempts;
         ALTER SEQUENCE public.attempts RESTART;
         CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM nextval('public.attempts');
             RAISE EXCEPTION 'made to fail' USING ERRCODE = '{code}', CONSTRAINT = '{constraint}';
         END $$;
         DROP TRIGGER IF EXISTS fail ON accession.granule;
         CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON accession.granule
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.fail()"
    );
    scene.client().batch_execute(&sql).unwrap();
}

#[test]
fn only_what_the_server_calls_damage_is_damage_and_only_interference_is_tried_again() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    registry.change(&name("D"), &ingest("first")).unwrap();
    for (code, constraint, kind, attempts) in [
        ("XX001", "", "damaged", 1),
        ("XX002", "", "damaged", 1),
        ("XX000", "", "database", 1),
        ("58030", "", "database", 1),
        ("08006", "", "conflict", 8),
        ("57P01", "", "conflict", 8),
        ("40001", "", "conflict", 8),
        ("23505", "dataset_name_key", "conflict", 8),
        ("23505", "granule_pkey", "database", 1),
        ("23514", "granule_check", "database", 1),
        ("57014", "", "database", 1),
        ("22021", "", "database", 1),
    ] {
        fail_at_commit(&scene, code, constraint);
        let error = registry.change(&name("D"), &ingest("A")).unwrap_err();
        assert_eq!(error.kind().as_str(), kind, "{code} {constraint}: {error}");
        let made: i64 =
            scene.client().query_one("SELECT last_value FROM public.attempts", &[]).unwrap().get(0);
        assert_eq!(made, attempts, "{code} {constraint}");
        assert_eq!(periods_of(&registry, "A"), 0);
    }
    scene.client().batch_execute("DROP TRIGGER fail ON accession.granule").unwrap();
    registry.change(&name("D"), &ingest("A")).unwrap();
}

#[test]
fn a_read_reports_that_its_connection_was_cut() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    registry.change(&name("D"), &ingest("A")).unwrap();
    let snapshot = registry.snapshot().unwrap();
    let end_others = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    scene.client().batch_execute(end_others).unwrap();
    let error = snapshot.dataset(&name("D")).unwrap_err();
    assert_eq!(error.kind().as_str(), "connection-lost", "{error}");
    drop(snapshot);
    assert_eq!(periods_of(&registry, "A"), 1);
}
