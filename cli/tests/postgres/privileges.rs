//! No role can erase or rewrite what was recorded, on one server or on a cluster. Triggers stop the owner.
//! Missing privileges also stop the roles of the guide.

use accession::proof::SignedCheckpoint;
use accession::proof::{Note, SigningKey};
use accession::{Clock, Registry};
use harness::values::clock;
use postgres::error::SqlState;

use crate::scene::{Scene, command, ingest, name, refused, succeed};
use harness::server::{Server, client};
use harness::witness_key::WitnessKey;

/// Statements that would erase or rewrite something.
const FORBIDDEN: [&str; 21] = [
    "DELETE FROM accession.granule",
    "UPDATE accession.granule SET granule_id = 'B'",
    "UPDATE accession.granule SET ingested = 0",
    "UPDATE accession.granule SET deleted = NULL WHERE deleted IS NOT NULL",
    "TRUNCATE accession.granule",
    "DELETE FROM accession.instance",
    "UPDATE accession.instance SET note = 'x'",
    "TRUNCATE accession.instance",
    "DELETE FROM accession.record_version",
    "UPDATE accession.record_version SET action = 'x'",
    "DELETE FROM accession.dataset",
    "TRUNCATE accession.dataset CASCADE",
    "DELETE FROM accession.writer",
    "DELETE FROM accession.payment_worker",
    "DELETE FROM accession.tree_head",
    "UPDATE accession.tree_head SET note = ''",
    "UPDATE accession.tree_head SET note = regexp_replace(note, '[^\\n]*\\n$', '')",
    "UPDATE accession.tree_head SET note = 'x' || note",
    "UPDATE accession.tree_head SET note = replace(note, E'\\n\\n', E'\\nx\\n\\n')",
    "UPDATE accession.tree_head SET size = size + 1",
    "UPDATE accession.statement SET text = text",
];

/// A server with a dataset, and a cluster with another one, if there is a cluster.
fn scenes() -> Vec<Scene> {
    let distributed = Server::of_cluster().map(Scene::distributed);
    Scene::new().into_iter().chain(distributed).map(filled).collect()
}

fn filled(scene: Scene) -> Scene {
    let registry = scene.open();
    registry.change(&name("D"), &ingest("A")).unwrap();
    let scheme = accession::ids::payment::Scheme {
        layout: accession::ids::payment::Layout::Standard,
        epoch: "2020-01-01T00:00:00Z".parse().unwrap(),
    };
    let worker = scheme.worker(1).unwrap();
    let now = || "2026-01-01T00:00:00Z".parse().unwrap();
    registry.with_clock(Clock::new(now)).lease_payment_ids(scheme, worker, 1).unwrap();
    let mut change = accession::Change::new();
    change.delete("A".parse::<accession::GranuleId>().unwrap()).unwrap();
    registry.change(&name("D"), &change).unwrap();
    sign(&registry);
    scene
}

/// Adds statements about new sets, and stores a checkpoint twice, as when a witness cosigns it.
fn sign(registry: &Registry) {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let log = registry.add_statements(&[]).unwrap();
    let checkpoint = log.checkpoint("d.example");
    let note = Note::new(checkpoint.to_string());
    let key = SigningKey::of_seed("d.example", [1; 32]).unwrap();
    let mut signed = SignedCheckpoint { checkpoint, note, policy: String::new(), signed: now };
    signed.note.sign(&key);
    registry.save_checkpoint(&log.tree, &signed).unwrap();
    let witness = WitnessKey::of_seed("w.example", [2; 32]);
    let cosignature = witness.sign(&signed.note.body, now);
    signed.note.add_line(&cosignature).unwrap();
    for _ in 0..2 {
        registry.save_checkpoint(&log.tree, &signed).unwrap();
    }
    assert_eq!(registry.snapshot().unwrap().last_signed().unwrap().unwrap().note, signed.note);
}

#[test]
fn the_owner_cannot_erase_or_rewrite_by_mistake() {
    for scene in scenes() {
        assert_refused(&scene.url);
    }
}

/// Asserts that a role can neither erase nor rewrite anything.
fn assert_refused(url: &str) {
    let mut client = client(url);
    for sql in FORBIDDEN {
        let refused = client.batch_execute(sql).expect_err(sql);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{url}: {sql}");
    }
}

/// A function that a role with the right to create functions in `public` plants there. It has the name of a
/// catalogue function, and opens a backdoor when the owner of the tables runs it.
fn trojan(argument: &str) -> String {
    format!(
        "CREATE FUNCTION public.unnest({argument}[]) RETURNS SETOF {argument} LANGUAGE plpgsql AS $f$
         BEGIN
             IF current_setting('transaction_read_only') = 'off' THEN
                 EXECUTE 'CREATE OR REPLACE FUNCTION public.door(q text) RETURNS text
                     LANGUAGE plpgsql SECURITY DEFINER
                     AS $d$ BEGIN EXECUTE q; RETURN current_user; END $d$';
             END IF;
             RETURN QUERY SELECT pg_catalog.unnest($1);
         END $f$"
    )
}

#[test]
fn a_role_without_any_privilege_on_the_registry_cannot_have_its_owner_run_a_function() {
    let Some(scene) = Scene::new().map(filled) else { return };
    let mallory = format!("mallory_{}", std::process::id());
    // The owner must not be a superuser. Others may create functions in `public`, as in PostgreSQL 14 and
    // earlier.
    let mut superuser = scene.client();
    superuser
        .batch_execute(&format!(
            "CREATE ROLE {mallory} LOGIN; GRANT CREATE ON SCHEMA public TO {mallory}, PUBLIC"
        ))
        .unwrap();
    let mut planting = client(&scene.url.replace("postgres@", &format!("{mallory}@")));
    for argument in ["text", "bigint", "bytea"] {
        planting.batch_execute(&trojan(argument)).unwrap();
    }
    // Each of them runs a statement that calls unnest.
    for arguments in [
        &["ingest", "D", "--id", "B", "--id", "C"][..],
        &["delete", "D", "--id", "B"],
        &["cite", "D", "--select", "C*"],
        &["ids", "import", "-"],
        &["verify"],
    ] {
        let output = command(&scene.url, arguments).stdin(std::process::Stdio::null()).output();
        let output = output.unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || arguments[0] == "ids", "{arguments:?}: {printed}");
        let door = "SELECT to_regprocedure('public.door(text)') IS NULL";
        assert!(superuser.query_one(door, &[]).unwrap().get::<_, bool>(0), "{arguments:?}");
    }
    // Before each request, `serve` checks whether anything has changed, with a query that hashes the tokens.
    let plant = "
        CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql AS
        $f$ BEGIN RAISE EXCEPTION 'planted'; END $f$;
        CREATE FUNCTION public.concat(integer, text, numeric) RETURNS text LANGUAGE plpgsql AS
        $f$ BEGIN RAISE EXCEPTION 'planted'; END $f$";
    planting.batch_execute(plant).unwrap();
    {
        let served = crate::serve::Served::start(&scene.url);
        for path in ["/", "/datasets/D/", "/datasets/D/history"] {
            let (status, body) = served.get(path, "text/html");
            assert_eq!(status, 200, "{path}: {body}");
        }
    }
    let copy = scene.server.new_database();
    let mut there = client(&copy);
    there.batch_execute("GRANT CREATE ON SCHEMA public TO PUBLIC").unwrap();
    for argument in ["text", "bigint", "bytea"] {
        there.batch_execute(&trojan(argument)).unwrap();
    }
    let copied = command("unused", &["registry", "copy", &scene.url, &copy]).output().unwrap();
    assert!(copied.status.success());
    let door = "SELECT to_regprocedure('public.door(text)') IS NULL";
    assert!(there.query_one(door, &[]).unwrap().get::<_, bool>(0));
}

/// The statements in the guide that grant the privileges.
pub fn grants() -> String {
    let page = include_str!("../../../docs/guide/postgresql.md");
    page.split("```text\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn the_roles_of_the_guide_can_do_what_they_are_for_and_nothing_else() {
    for scene in scenes() {
        assert_roles_can_do_what_they_are_for(&scene);
    }
}

fn assert_roles_can_do_what_they_are_for(scene: &Scene) {
    // Roles belong to the whole server, which other tests may use, and outlive this test.
    let unique = format!("_{}", scene.url.rsplit('/').next().unwrap());
    let named = |text: &str| {
        text.replace("accession_ingest", &format!("accession_ingest{unique}"))
            .replace("accession_reader", &format!("accession_reader{unique}"))
    };
    let mut owner = scene.client();
    owner.batch_execute(&named(&grants())).unwrap();
    owner
        .batch_execute(&named(
            "ALTER ROLE accession_ingest LOGIN; ALTER ROLE accession_reader LOGIN",
        ))
        .unwrap();
    let url_of = |role: &str| scene.url.replace("postgres@", &format!("{role}@"));
    let ingest_url = url_of(&named("accession_ingest"));
    let reader_url = url_of(&named("accession_reader"));

    let can_write = Registry::open(&ingest_url, clock()).unwrap();
    for granule_id in ["B", "C"] {
        can_write.change(&name("NEW"), &ingest(granule_id)).unwrap();
    }
    sign(&can_write);
    for arguments in [
        &["delete", "NEW", "--id", "B"][..],
        &["dataset", "edit", "NEW", "--title", "T"],
        &["dataset", "rename", "NEW", "NEWER"],
        &["cite", "NEWER", "--select", "C*"],
        &["dataset", "withdraw", "NEWER", "--note", "wrong"],
        &["ingest", "WRONG", "--create", "--id", "W"],
        &["dataset", "correct", "WRONG", "--after", "none"],
        &["ingest", "WRONG", "--id", "W"],
        &["dataset", "create", "UNUSED"],
        &["dataset", "remove", "UNUSED"],
        &["dataset", "create", "UNUSED"],
        &["ids", "payment", "--worker", "1", "--epoch", "2020-01-01"],
        &["verify"],
    ] {
        succeed(&ingest_url, arguments);
    }
    let directory = harness::directory();
    let path = |file: &str| directory.path().join(file).to_str().unwrap().to_owned();
    std::fs::write(path("C"), "abc").unwrap();
    succeed(&ingest_url, &["ingest", "FILES", "--create", "--id", "C"]);
    let root = path("");
    for arguments in [
        &["fixity", "compute", "FILES", "--root", &root][..],
        &["fixity", "check", "FILES", "--root", &root, "--root-name", "R"],
        &["fixity", "check", "FILES", "--root", &root, "--root-name", "R", "--for", "1m"],
        &["status", "FILES"],
        &["fixity", "forget", "FILES", "R"],
    ] {
        succeed(&ingest_url, arguments);
    }
    // A mirror stores how far it has read the records, again and again.
    let us = path("us.db");
    succeed(&us, &["ingest", "US", "--create", "--id", "C"]);
    succeed(&us, &["fixity", "compute", "US", "--root", &root]);
    for algorithm in ["md5", "crc32"] {
        succeed(&ingest_url, &["mirror", "pull", "M", &us, "--primary-dataset", "US", "--create"]);
        succeed(&us, &["fixity", "compute", "US", "--root", &root, "--algorithm", algorithm]);
    }
    for arguments in
        [&["show", "NEWER"][..], &["verify"], &["dataset", "export", "NEWER"], &["find", "C"]]
    {
        succeed(&reader_url, arguments);
    }
    // A role that may only read gets the citation, and a warning that it is not saved.
    for arguments in [&["cite", "NEWER", "--select", "C*"][..], &["cite", "D@2000-01-01"]] {
        let expected = command(&ingest_url, arguments).output().unwrap().stdout;
        let cited = command(&reader_url, arguments).output().unwrap();
        assert_eq!(cited.stdout, expected, "{arguments:?}");
    }
    can_write.change(&name("NEW2"), &ingest("C1")).unwrap();
    can_write.change(&name("NEW2"), &ingest("D1")).unwrap();
    let cited = command(&reader_url, &["cite", "NEW2", "--select", "C*"]).output().unwrap();
    assert!(cited.status.success() && cited.stdout.starts_with(b"NEW2"), "{cited:?}");
    let warned = String::from_utf8_lossy(&cited.stderr).into_owned();
    assert!(warned.contains("the subset is not saved"), "{warned}");
    assert!(!succeed(&reader_url, &["show", "NEW2"]).contains("subset"));
    refused(&reader_url, &["ingest", "D", "--id", "X"], "denied");

    assert_refused(&ingest_url);
    assert_refused(&reader_url);
    assert_a_wrong_time_of_deletion_is_found(&ingest_url);
}

/// The role must be able to end the period of a granule, so it can also end it at a wrong time.
fn assert_a_wrong_time_of_deletion_is_found(ingest_url: &str) {
    let deleted = "
        UPDATE accession.granule
        SET deleted = ingested + 1
        WHERE granule_id = 'C1' AND deleted IS NULL";
    assert_eq!(client(ingest_url).execute(deleted, &[]).unwrap(), 1);
    let output = command(ingest_url, &["verify", "NEW2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_role_that_may_not_state_files_is_told_which_table_denies_it() {
    let Some(scene) = Scene::new().map(filled) else { return };
    let unique = scene.url.rsplit('/').next().unwrap().to_owned();
    let named = grants()
        .replace("accession_ingest", &format!("names_only_{unique}"))
        .replace("accession_reader", &format!("names_reader_{unique}"));
    let mut owner = scene.client();
    owner.batch_execute(&named).unwrap();
    owner
        .batch_execute(&format!(
            "ALTER ROLE names_only_{unique} LOGIN;
             REVOKE INSERT ON accession.content FROM names_only_{unique};
             GRANT INSERT (dataset_id, granule_id, since) ON accession.content
                TO names_only_{unique}"
        ))
        .unwrap();
    let url = scene.url.replace("postgres@", &format!("names_only_{unique}@"));
    succeed(&url, &["ingest", "D", "--id", "N"]);
    let directory = harness::directory();
    let sums = directory.path().join("sums");
    std::fs::write(&sums, "900150983cd24fb0d6963f7d28e17f72  N\n").unwrap();
    let sums = sums.to_str().unwrap();
    let printed = refused(&url, &["fixity", "add", "D", sums], "denied");
    assert!(printed.contains("permission denied for table content"), "{printed}");
    // Nothing was recorded.
    let listed = command(&url, &["granules", "D", "--format", "checksums"]).output().unwrap();
    assert!(listed.stdout.is_empty() && listed.status.code() == Some(2));
}
