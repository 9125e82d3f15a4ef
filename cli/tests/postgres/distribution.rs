//! Distribution is rejected without Citus. On a cluster, it changes no results.

use crate::copies::{filled, masked, reports};
use crate::scene::{Scene, refused, succeed};
use harness::server::{Server, client};

#[test]
fn without_the_extension_nothing_is_changed() {
    let Some(scene) = Scene::new() else { return };
    let triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
    let count = || scene.client().query_one(triggers, &[]).unwrap().get::<_, i64>(0);
    let before = count();
    assert!(before > 0);
    refused(&scene.url, &["registry", "distribute"], "unsupported");
    assert_eq!(count(), before);
}

#[test]
fn a_registry_that_is_distributed_says_the_same_to_the_byte() {
    let Some(cluster) = Server::of_cluster() else { return };
    let directory = harness::directory();
    let source = filled(directory.path());
    let url = cluster.new_cluster_database();
    succeed("unused", &["registry", "copy", &source, &url]);
    let expected = masked(reports(&source), &source);
    assert_eq!(masked(reports(&url), &url), expected);

    let distributed = succeed(&url, &["registry", "distribute", "--json"]);
    let placed = "SELECT count(*) FROM pg_dist_partition
                  WHERE logicalrelid::text LIKE 'accession.%'";
    let tables: i64 = client(&url).query_one(placed, &[]).unwrap().get(0);
    assert_eq!(distributed, format!("{{\"tables\":{tables}}}\n"));
    assert!(tables > 12, "{tables}");
    assert_eq!(masked(reports(&url), &url), expected);
    let again = succeed(&url, &["registry", "distribute", "--json"]);
    assert_eq!(again, "{\"tables\":0}\n");

    // Changes and copies, also back to a file, work as before.
    let changes: [&[&str]; 5] = [
        &["ingest", "OURS", "--at", "2003-01-02", "--id", "B"],
        &["delete", "OURS", "--at", "2003-01-03", "--id", "A"],
        &["dataset", "edit", "OURS", "--title", "third"],
        &["dataset", "create", "FOURTH"],
        &["ids", "payment", "--worker", "7"],
    ];
    for arguments in changes {
        for registry in [&source, &url] {
            succeed(registry, arguments);
        }
    }
    let back = directory.path().join("back.db").to_str().unwrap().to_owned();
    succeed("unused", &["registry", "copy", &url, &back]);
    let exported = |registry: &str| succeed(registry, &["dataset", "export", "OURS"]);
    assert_eq!(exported(&url), exported(&source));
    assert_eq!(exported(&back), exported(&source));
}

/// The statement in the guide that a superuser runs for the owner of a new registry.
fn create_schema() -> &'static str {
    let guide = include_str!("../../../docs/guide/citus.md");
    guide.lines().find(|line| line.starts_with("CREATE SCHEMA accession")).unwrap()
}

#[test]
fn an_owner_without_further_privileges_makes_a_registry_where_citus_is_and_distributes_it() {
    let Some(cluster) = Server::of_cluster() else { return };
    let url = cluster.new_cluster_database();
    let owner = format!("archive_{}", url.rsplit('/').next().unwrap());
    let mut superuser = client(&url);
    superuser.batch_execute(&format!("CREATE ROLE {owner} LOGIN")).unwrap();
    let as_owner = url.replace("postgres@", &format!("{owner}@"));
    superuser
        .batch_execute(
            &create_schema().replace("AUTHORIZATION archive", &format!("AUTHORIZATION {owner}")),
        )
        .unwrap();
    for arguments in [
        &["dataset", "create", "FIRST"][..],
        &["registry", "distribute"],
        &["ingest", "FIRST", "--id", "A"],
        &["dataset", "create", "SECOND"],
        &["ingest", "SECOND", "--id", "A"],
        &["delete", "FIRST", "--id", "A"],
        &["dataset", "rename", "FIRST", "THIRD"],
        &["dataset", "create", "TYPO"],
        &["dataset", "remove", "TYPO"],
        &["ids", "payment", "--worker", "1"],
        &["verify"],
    ] {
        succeed(&as_owner, arguments);
    }
    let found = succeed(&as_owner, &["find", "A", "--json"]);
    assert_eq!(found.lines().count(), 2, "{found}");
}

/// Citus changes a table that every machine has only if the transaction has not queried many machines at once
/// before.
#[test]
fn datasets_are_created_renamed_withdrawn_corrected_and_removed_on_every_machine() {
    let Some(cluster) = Server::of_cluster() else { return };
    let url = Scene::distributed(cluster).url;
    for _ in 0..2 {
        for arguments in [
            &["dataset", "create", "TYPO"][..],
            &["dataset", "edit", "TYPO", "--title", "T"],
            &["dataset", "remove", "TYPO"],
        ] {
            succeed(&url, arguments);
        }
    }
    for arguments in [
        &["ingest", "D", "--create", "--at", "2001-01-02", "--id", "A", "--id", "B"][..],
        &["ingest", "D", "--at", "2001-01-03", "--id", "C"],
        &["cite", "D@2001-01-02", "--select", "A"],
        &["annotate", "D@2001-01-03", "wrong date"],
        &["dataset", "correct", "D", "--after", "2001-01-02"],
        &["ingest", "E", "--create", "--id", "A"],
        &["dataset", "withdraw", "E", "--note", "twice"],
        &["dataset", "reinstate", "E"],
        &["dataset", "rename", "E", "F"],
        &["dataset", "create", "UNUSED"],
        &["verify"],
    ] {
        succeed(&url, arguments);
    }
    refused(&url, &["dataset", "remove", "D"], "usage");
    // They cannot be erased by hand either, except datasets that were never used.
    let mut owner = client(&url);
    let mut erase = |table: &str, column: &str, dataset: &str| {
        let sql = format!(
            "DELETE FROM accession.{table} WHERE {column} = (SELECT id FROM accession.dataset WHERE name = '{dataset}')"
        );
        owner.batch_execute(&sql)
    };
    for dataset in ["D", "D.before", "F"] {
        let kept = succeed(&url, &["dataset", "list", "--json"]);
        let name =
            kept.lines().filter_map(|line| line.split_once("\"name\":\"")).find_map(|(_, rest)| {
                let name = rest.split('"').next().unwrap();
                name.starts_with(dataset).then(|| name.to_owned())
            });
        let Some(name) = name else { continue };
        for (table, column) in [("record_version", "dataset_id"), ("dataset", "id")] {
            let refused = erase(table, column, &name).unwrap_err();
            let message = refused.as_db_error().unwrap().message();
            assert!(message.ends_with("are never erased after the first change"), "{message}");
        }
    }
    succeed(&url, &["dataset", "remove", "UNUSED"]);
    succeed(&url, &["verify"]);
}

#[test]
fn distribute_completes_what_is_not_distributed() {
    let Some(cluster) = Server::of_cluster() else { return };
    let url = Scene::distributed(cluster).url;
    let mut owner = client(&url);
    succeed(&url, &["ingest", "D", "--create", "--id", "A"]);
    let local = |owner: &mut postgres::Client| -> Vec<String> {
        let tables = "
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'accession'::regnamespace AND relkind = 'r'
              AND NOT EXISTS (
                  SELECT FROM pg_dist_partition
                  WHERE logicalrelid = pg_class.oid AND (partmethod = 'h' OR repmodel = 't'))";
        owner.query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(local(&mut owner), Vec::<String>::new());

    // One table was gathered again.
    owner.batch_execute("SELECT undistribute_table('accession.checkpoint')").unwrap();
    assert_eq!(local(&mut owner), ["checkpoint"]);
    for expected in ["{\"tables\":1}\n", "{\"tables\":0}\n"] {
        let distributed = succeed(&url, &["registry", "distribute", "--json"]);
        assert_eq!(distributed, expected);
        assert_eq!(local(&mut owner), Vec::<String>::new());
    }
    succeed(&url, &["delete", "D", "--id", "A"]);
    succeed(&url, &["verify"]);
}
