//! Imports a history from an address into a registry on a server.

use accession::{DatasetFilter, Registry};
use harness::values::clock;

use crate::scene::{Scene, succeed};
use harness::values::step;
use harness::web_server::WebServer;

/// Once, the code looked for a file with the name of the server's address. No such file exists, so the whole
/// log was read each time.
#[test]
fn an_import_from_an_address_reads_only_what_is_new() {
    let Some(scene) = Scene::new() else { return };
    let directory = harness::directory();
    let us = Registry::temporary(clock()).unwrap();
    for number in 0..300 {
        step(&us, "US", number, [format!("granule.{number}").as_str()], []);
    }
    us.publish(directory.path(), &DatasetFilter::All, |_, published| published.map(drop)).unwrap();
    let server = WebServer::over(directory.path());
    let import = || {
        let address = server.dataset("US");
        succeed(&scene.url, &["import", "US", &address, "--create"]);
    };
    import();
    // From here, a segment of the log cannot be read from its beginning.
    server.misbehave(|request, reply| {
        if request.path.contains("/log/") && !request.headers.contains_key("range") {
            reply.status = 404;
        }
    });
    server.served();
    import();
    let served = server.served();
    let bytes: usize = served.iter().map(|(_, bytes)| bytes).sum();
    assert!(bytes < 5_000, "{bytes} bytes: {served:?}");
}
