//! The settings of a transaction reach every machine of a cluster.

use std::time::{Duration, Instant};

use crate::scene::{Scene, command, ingest, name};
use harness::server::Server;

/// A registry on a cluster with one dataset of 2,000 granules.
fn scene() -> Option<Scene> {
    let scene = Scene::distributed(Server::of_cluster()?);
    let ids: Vec<String> = (0..2_000).map(|number| format!("granule-{number:04}")).collect();
    let options = ids.iter().flat_map(|id| ["--id", id]);
    let ingested =
        command(&scene.url, &["ingest", "D", "--create", "--quiet"]).args(options).output();
    assert!(ingested.unwrap().status.success());
    Some(scene)
}

/// The results of a query on each machine or shard.
fn strings(scene: &Scene, sql: &str) -> Vec<String> {
    scene.client().query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_lock_is_waited_for_as_long_as_on_one_server() {
    let Some(scene) = scene() else { return };
    let mut other = scene.client();
    other.batch_execute("BEGIN; UPDATE accession.writer SET revision = revision + 1").unwrap();
    let began = Instant::now();
    let error = scene.impatient(1_500).change(&name("D"), &ingest("A")).unwrap_err();
    assert_eq!(error.kind().as_str(), "busy", "{error}");
    let waited = began.elapsed();
    assert!((1..8).contains(&waited.as_secs()), "{waited:?}");
    other.batch_execute("ROLLBACK").unwrap();
    scene.open().change(&name("D"), &ingest("A")).unwrap();
}

#[test]
fn a_commit_is_durable_on_a_machine_whose_own_setting_is_less() {
    let Some(scene) = scene() else { return };
    let database = scene.url.rsplit('/').next().unwrap();
    // A trigger of a shard sees the settings of its machine.
    scene
        .client()
        .batch_execute(&format!(
            "SELECT run_command_on_workers('ALTER DATABASE {database} SET synchronous_commit = off');
             SELECT run_command_on_workers('CREATE TABLE public.seen (setting text)');
             CREATE OR REPLACE FUNCTION accession.refuse_but_deletion() RETURNS trigger
             LANGUAGE plpgsql AS $$
             BEGIN
                 INSERT INTO public.seen SELECT concat_ws(' ', current_setting('synchronous_commit'),
                     current_setting('search_path'), current_setting('enable_seqscan'));
                 RETURN NEW;
             END
             $$"
        ))
        .unwrap();
    let deleted = command(&scene.url, &["delete", "D", "--id", "granule-0001"]).output().unwrap();
    assert!(deleted.status.success());
    let mut seen = strings(
        &scene,
        "SELECT result FROM run_command_on_workers('SELECT string_agg(setting, '';'') FROM public.seen')",
    );
    seen.retain(|seen| !seen.is_empty());
    assert_eq!(seen, ["on pg_catalog, pg_temp off"]);
}

#[test]
fn no_machine_reads_a_whole_shard_for_one_page() {
    let Some(scene) = scene() else { return };
    // If the planner may choose, it reads tables of one block as a whole.
    let scans = || -> u64 {
        let scans = strings(
            &scene,
            "SELECT result FROM run_command_on_shards('accession.granule',
                 'SELECT seq_scan FROM pg_stat_all_tables WHERE relid = ''%s''::regclass')
             UNION ALL
             SELECT result FROM run_command_on_shards('accession.instance',
                 'SELECT seq_scan FROM pg_stat_all_tables WHERE relid = ''%s''::regclass')",
        );
        scans.iter().map(|scans| scans.parse::<u64>().unwrap()).sum()
    };
    // Statistics are sent at most once a second.
    let settled = || {
        std::thread::sleep(Duration::from_millis(1_500));
        scans()
    };
    let before = settled();
    for arguments in [
        &["granules", "D", "--limit", "5"][..],
        &["show", "D"],
        &["history", "D"],
        &["find", "granule-0005"],
        &["find", "granule-0007"],
    ] {
        let output = command(&scene.url, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
    }
    assert_eq!(settled(), before);
}
