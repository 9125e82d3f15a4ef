//! Nobody erases or rewrites what was recorded: the owner is stopped by triggers, the roles of the
//! guide by their privileges.

use accession::{Access, Registry};

use crate::harness::server::client;
use crate::scene::{Scene, command, ingest, name, stamp};

/// What would erase or rewrite something.
const FORBIDDEN: [&str; 14] = [
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
];

fn filled() -> Option<Scene> {
    let scene = Scene::new()?;
    let registry = scene.open();
    registry.change(&name("D"), &ingest("A"), &stamp()).unwrap();
    let scheme = accession::minting::payment::Scheme {
        layout: accession::minting::payment::Layout::Standard,
        epoch: "2020-01-01T00:00:00Z".parse().unwrap(),
    };
    let worker = scheme.worker(1).unwrap();
    let now = || "2026-01-01T00:00:00Z".parse().unwrap();
    registry.lease_payment_ids(scheme, worker, 1, now).unwrap();
    let mut change = accession::Change::new();
    change.delete("A".parse::<accession::GranuleId>().unwrap()).unwrap();
    registry.change(&name("D"), &change, &stamp()).unwrap();
    Some(scene)
}

#[test]
fn the_owner_cannot_erase_or_rewrite_by_mistake() {
    let Some(scene) = filled() else { return };
    let mut owner = scene.client();
    for sql in FORBIDDEN {
        assert!(owner.batch_execute(sql).is_err(), "{sql}");
    }
}

/// The statements of the page that grants the privileges.
fn grants() -> String {
    let page = include_str!("../../docs/guide/postgresql.md");
    page.split("```text\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

#[test]
fn the_roles_of_the_guide_can_do_what_they_are_for_and_nothing_else() {
    let Some(scene) = filled() else { return };
    // Roles belong to the whole server, which may be that of other tests.
    let unique = format!("_{}", std::process::id());
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

    let can_write = Registry::open(ingest_url.as_ref(), Access::Write).unwrap();
    for granule_id in ["B", "C"] {
        can_write.change(&name("NEW"), &ingest(granule_id), &stamp()).unwrap();
    }
    for arguments in [
        &["delete", "NEW", "B"][..],
        &["dataset", "edit", "NEW", "--title", "T"],
        &["dataset", "rename", "NEW", "NEWER"],
        &["cite", "NEWER", "--select", "C*"],
        &["dataset", "withdraw", "NEWER", "--note", "wrong"],
        &["payment-id", "new", "--worker", "1", "--epoch", "2020-01-01"],
        &["verify"],
    ] {
        let output = command(&ingest_url, arguments).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {printed}");
    }
    for arguments in [&["lookup", "NEWER"][..], &["verify"], &["export", "NEWER"], &["find", "C"]] {
        assert!(command(&reader_url, arguments).output().unwrap().status.success());
    }
    let refused = command(&reader_url, &["--json", "ingest", "D", "X"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("\"kind\":\"denied\""));

    for url in [&ingest_url, &reader_url] {
        let mut client = client(url);
        for sql in FORBIDDEN {
            assert!(client.batch_execute(sql).is_err(), "{url}: {sql}");
        }
    }
}
