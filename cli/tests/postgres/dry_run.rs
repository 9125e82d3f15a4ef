//! A dry run on a server runs every statement of the change.

use crate::scene::{Scene, ingest, name, periods_of};

#[test]
fn a_dry_run_fails_at_what_the_server_would_refuse() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    let mut change = ingest("A");
    change.options = change.options.dry_run(true);
    assert_eq!(registry.change(&name("D"), &change).unwrap().instances.remove(0).granules, 1);
    // A note is stored in the last row that a change writes.
    let refuse = "ALTER TABLE accession.instance ADD CONSTRAINT no_notes CHECK (note IS NULL)";
    scene.client().batch_execute(refuse).unwrap();
    change.options = change.options.note("reprocessed".to_owned());
    let refused = registry.change(&name("D"), &change).unwrap_err();
    assert!(refused.to_string().contains("no_notes"), "{refused:?}");
    assert_eq!(periods_of(&registry, "A"), 0);
}
