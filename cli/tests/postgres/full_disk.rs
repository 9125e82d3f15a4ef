//! The server's disk is full: its files may not grow beyond a size that is not a multiple of its page size, so
//! it reports the same errors as on a full disk.

use accession::{Change, DatasetFilter, GranuleId, IfMissing, Registry};

use crate::scene::{Scene, ingest, name, periods_of};
use harness::server::Server;

/// The maximum size of a file. A segment of the log has 1,024 kB here.
const KILOBYTES: u32 = 2_052;

fn many(count: usize) -> Change {
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    for number in 0..count {
        let granule_id = format!("granule.{number:0>60}");
        change.ingest(granule_id.parse::<GranuleId>().unwrap()).unwrap();
    }
    change
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_changed() {
    let Some(server) = Server::start_with(&["--wal-segsize=1"], &[]) else { return };
    let scene = Scene::on(server);
    scene.open().change(&name("D"), &many(2_000)).unwrap();
    scene.server.kill();
    scene.server.restart_with_files_of_at_most(KILOBYTES);
    let registry = scene.open();
    // The larger change uses COPY, the smaller one INSERT.
    for granules in [100_000, 900] {
        let refused = (0..200).find_map(|round| {
            let dataset = format!("E{round}");
            registry.change(&name(&dataset), &many(granules)).err()
        });
        let error = refused.expect("the table outgrew the largest file");
        assert_eq!(error.kind().as_str(), "full", "{granules}: {error}");
        assert_consistent(&registry);
    }
    let output =
        scene.command(&["--json", "ingest", "F", "--create", "--id", "A"]).output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains(r#""kind":"full""#), "{printed}");

    scene.server.kill();
    scene.server.restart();
    let registry = scene.open();
    registry.change(&name("D"), &ingest("there is room again")).unwrap();
    assert_eq!(periods_of(&registry, "there is room again"), 1);
    assert_eq!(periods_of(&registry, "A"), 0);
    assert_consistent(&registry);
}

fn assert_consistent(registry: &Registry) {
    let verified = registry.verify_all(&DatasetFilter::All).unwrap().finish();
    assert_eq!(verified.unwrap().findings, 0);
}
