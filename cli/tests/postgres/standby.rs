//! A hot standby: it serves readers, rejects changes, and takes over from its server.

use accession::{DatasetFilter, Registry};
use harness::values::clock;

use crate::scene::{Scene, command, ingest, name, periods_of, refused, succeed};
use harness::standby::Standby;
use harness::values::step;

#[test]
fn a_standby_answers_as_its_server_does_and_takes_over_from_it() {
    let Some(scene) = Scene::private() else { return };
    let primary = scene.open();
    let change = |number: i64| {
        step(&primary, "D", number, [format!("G{}", number * 7 % 60).as_str()], []);
    };
    (0..20).for_each(change);
    let standby = Standby::of(&scene.server);
    let url = standby.url(scene.url.rsplit('/').next().unwrap());
    (20..60).for_each(change);
    succeed(&scene.url, &["cite", "D", "--select", "G1*"]);
    standby.catch_up();

    for arguments in [
        &["history", "D"][..],
        &["granules", "D@2001-01-01T00:00:20Z"],
        &["--json", "show", "D"],
        &["cite", "D"],
        &["show", "D"],
        &["compare", "D@2001-01-01T00:00:20Z", "D"],
        &["find", "G7"],
        &["dataset", "export", "D", "--output", "-"],
        &["verify"],
    ] {
        let expected = scene.command(arguments).output().unwrap();
        let output = command(&url, arguments).output().unwrap();
        assert_eq!(output.status, expected.status, "{arguments:?}");
        let of =
            |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&url, &scene.url);
        assert_eq!(of(&output.stdout), of(&expected.stdout), "{arguments:?}");
        assert_eq!(of(&output.stderr), of(&expected.stderr), "{arguments:?}");
    }
    for arguments in [
        &["ingest", "D", "--id", "new"][..],
        &["dataset", "edit", "D", "--title", "T"],
        &["ids", "payment", "--worker", "0"],
    ] {
        refused(&url, arguments, "denied");
    }

    drop(primary);
    scene.server.kill();
    standby.promote();
    let registry = Registry::open(&url, clock()).unwrap();
    registry
        .with_clock(clock().confirmed())
        .change(&name("D"), &ingest("after the promotion"))
        .unwrap();
    for number in 0..60 {
        assert_eq!(periods_of(&registry, &format!("G{number}")), 1);
    }
    let verified = registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap();
    assert_eq!(verified.findings, 0);
    // The server is stopped when it is dropped.
    scene.server.restart();
}
