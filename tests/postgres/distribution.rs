//! Distribution: refused where there is no Citus; on a cluster, nothing is different afterwards.

use crate::copies::{filled, masked, reports, succeed};
use crate::harness::server::{Server, client};
use crate::scene::{Scene, command};

#[test]
fn without_the_extension_nothing_is_changed() {
    let Some(scene) = Scene::new() else { return };
    let triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
    let count = || scene.client().query_one(triggers, &[]).unwrap().get::<_, i64>(0);
    let before = count();
    assert!(before > 0);
    let refused = scene.command(&["distribute", "--json"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("\"no-citus\""), "{refused:?}");
    assert_eq!(count(), before);
}

#[test]
fn a_registry_that_is_distributed_says_the_same_to_the_byte() {
    let Some(cluster) = Server::of_cluster() else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = filled(directory.path());
    let url = cluster.new_cluster_database();
    succeed(command("unused", &["copy", &source, &url]).output().unwrap());
    let expected = masked(reports(&source), &source);
    assert_eq!(masked(reports(&url), &url), expected);

    let distributed = succeed(command(&url, &["distribute", "--json"]).output().unwrap());
    let placed = "SELECT count(*) FROM pg_dist_partition
                  WHERE logicalrelid::text LIKE 'accession.%'";
    let tables: i64 = client(&url).query_one(placed, &[]).unwrap().get(0);
    assert_eq!(distributed, format!("{{\"tables\":{tables}}}\n"));
    assert!(tables > 12, "{tables}");
    assert_eq!(masked(reports(&url), &url), expected);
    let again = succeed(command(&url, &["distribute", "--json"]).output().unwrap());
    assert_eq!(again, "{\"tables\":0}\n");

    // Changes and copies, also back to a file, are as before.
    let changes: [&[&str]; 5] = [
        &["ingest", "OURS", "--at", "2003-01-02", "B"],
        &["delete", "OURS", "--at", "2003-01-03", "A"],
        &["dataset", "edit", "OURS", "--title", "third"],
        &["dataset", "add", "FOURTH"],
        &["payment-id", "new", "--worker", "7"],
    ];
    for arguments in changes {
        for registry in [&source, &url] {
            succeed(command(registry, arguments).output().unwrap());
        }
    }
    let back = directory.path().join("back.db").to_str().unwrap().to_owned();
    succeed(command("unused", &["copy", &url, &back]).output().unwrap());
    let exported =
        |registry: &str| succeed(command(registry, &["export", "OURS"]).output().unwrap());
    assert_eq!(exported(&url), exported(&source));
    assert_eq!(exported(&back), exported(&source));
}
