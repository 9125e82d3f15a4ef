//! Distribution: refused where there is no Citus; on a cluster, nothing is different afterwards.

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

    // Changes and copies, also back to a file, are as before.
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

/// The statement of the guide that a superuser runs for the owner of a new registry.
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
        &["ids", "payment", "--worker", "1"],
        &["verify"],
    ] {
        succeed(&as_owner, arguments);
    }
    let found = succeed(&as_owner, &["find", "A", "--json"]);
    assert_eq!(found.lines().count(), 2, "{found}");
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

    // Something else was gathered again.
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
