//! Alterations of the history or of the granule rows result in few findings.

use accession::verify::FindingKind;

use super::sandbox::{Sandbox, codes, micros, only};
use harness::history::second;

#[test]
fn an_untouched_registry_verifies() {
    assert_eq!(Sandbox::new().verify(), []);
    assert_eq!(Sandbox::new().with_subsets().verify(), []);
}

#[test]
fn one_byte_of_one_identifier_names_that_instance_and_no_other() {
    for seconds in 0..4 {
        let findings = Sandbox::new().after(&format!(
            "UPDATE instance SET identifier = unhex('00' || substr(hex(identifier), 3)) WHERE timestamp = {}",
            micros(seconds)
        ));
        assert_eq!(codes(&findings), [FindingKind::Identifier], "{findings:#?}");
        assert_eq!(findings[0].timestamp, Some(second(seconds)));
    }
}

#[test]
fn one_byte_of_one_id_names_the_instances_that_held_it_and_the_interval() {
    // Only the first three instances held this granule, so no checkpoint counts it now.
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'granule.05000x' WHERE granule_id = 'granule.05000'",
    );
    assert_eq!(codes(&findings), [FindingKind::Identifier], "{findings:#?}");
    assert_eq!(findings[0].timestamp, Some(second(0)));
    assert!(findings[0].text.ends_with("; and 2 more of this kind"), "{findings:#?}");

    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    assert!(checkpoints.len() >= 3, "enough for an interval between two");
    let (before, after) = (&checkpoints[0], &checkpoints[1]);
    let altered = sandbox.first_after(before);
    let findings = sandbox.after(&format!(
        "UPDATE granule SET granule_id = granule_id || 'x' WHERE granule_id = '{altered}'"
    ));
    assert_eq!(
        codes(&findings),
        [FindingKind::Identifier, FindingKind::Checkpoint],
        "{findings:#?}"
    );
    assert!(findings[0].text.ends_with("; and 3 more of this kind"), "{findings:#?}");
    assert_eq!(findings[1].granule.as_deref(), Some(after.as_str()));
    let last = format!("; the last checkpoint that agrees is after {before:?}");
    assert!(findings[1].text.ends_with(&last), "{findings:#?}");
}

#[test]
fn an_altered_date_names_its_granule() {
    for (sql, what) in [
        (
            "UPDATE granule SET ingested = ingested + 1 WHERE granule_id = 'granule.00500'",
            "ingested",
        ),
        ("UPDATE granule SET deleted = deleted + 1 WHERE granule_id = 'granule.05000'", "deleted"),
    ] {
        let findings = Sandbox::new().after(sql);
        let finding = only(&findings, FindingKind::Date);
        assert!(finding.text.starts_with(what), "{finding:?}");
        assert!(sql.contains(finding.granule.as_deref().unwrap()));
        assert!(findings.len() <= 4, "{findings:#?}");
    }
}

#[test]
fn a_date_moved_to_another_change_is_one_wrong_count() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE granule SET ingested = {} WHERE granule_id = 'granule.00500'",
        micros(1)
    ));
    assert_eq!(codes(&findings), [FindingKind::Identifier, FindingKind::Count], "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.timestamp == Some(second(0))));
}

#[test]
fn an_altered_timestamp_of_an_instance_names_the_first_granule_and_counts_the_others() {
    let findings = Sandbox::new().after(&format!(
        "UPDATE instance SET timestamp = timestamp + 1 WHERE timestamp = {}",
        micros(0)
    ));
    assert_eq!(codes(&findings), [FindingKind::Count, FindingKind::Date], "{findings:#?}");
    assert_eq!(findings[1].granule.as_deref(), Some("granule.00000"));
    assert!(findings[1].text.ends_with("; and 5999 more of this kind"), "{findings:#?}");
}

#[test]
fn a_removed_instance_is_one_finding_for_what_it_ingested_and_deleted() {
    for (seconds, granules) in [(1, "granule.00010"), (2, "granule.00010")] {
        let sql = format!("DELETE FROM instance WHERE timestamp = {}", micros(seconds));
        let findings = Sandbox::new().after(&sql);
        assert_eq!(only(&findings, FindingKind::Date).granule.as_deref(), Some(granules));
        assert!(findings.len() <= 2, "{findings:#?}");
    }
}

#[test]
fn the_loss_of_the_whole_history_is_a_few_findings() {
    let findings = Sandbox::new().after("DELETE FROM instance");
    assert!((1..=10).contains(&findings.len()), "{findings:#?}");
    let date = only(&findings, FindingKind::Date);
    assert!(date.text.starts_with("ingested 2001-01-01T00:00:00Z, when"), "{findings:#?}");
}

#[test]
fn an_added_instance_is_named() {
    let findings = Sandbox::new().after(&format!(
        "INSERT INTO instance
         SELECT dataset_id, timestamp + 1, zeroblob(16), digest, granules, 1, 0, 0, 0, recorded,
             NULL, NULL, row_check
         FROM instance WHERE timestamp = {}",
        micros(1)
    ));
    assert_eq!(codes(&findings), [FindingKind::Identifier, FindingKind::Count], "{findings:#?}");
}

#[test]
fn an_altered_count_or_recording_is_named_alone() {
    for (column, seconds, code) in [
        ("granules = granules + 1", 1, FindingKind::Count),
        ("ingested = ingested + 1", 2, FindingKind::Count),
        ("deleted = deleted + 1", 1, FindingKind::Count),
        ("recorded = timestamp - 1", 3, FindingKind::Recorded),
    ] {
        let sandbox = Sandbox::new();
        let sql = format!("UPDATE instance SET {column} WHERE timestamp = {}", micros(seconds));
        let findings = sandbox.after(&sql);
        assert_eq!(codes(&findings), [code], "{sql}: {findings:#?}");
        assert_eq!(findings[0].timestamp, Some(second(seconds)));
    }
}

#[test]
fn each_damaged_row_of_the_history_is_named_and_everything_else_is_verified() {
    let sandbox = Sandbox::new();
    sandbox.damage("UPDATE instance SET note = 'forged'");
    let findings = sandbox.verify();
    assert_eq!(codes(&findings), [FindingKind::Unreadable; 4], "{findings:#?}");
    let times = findings.iter().map(|finding| finding.timestamp.unwrap());
    assert!(times.eq((0..4).map(second)), "{findings:#?}");
    sandbox.damage("UPDATE granule SET granule_id = 'other' WHERE granule_id = 'granule.05000'");
    assert!(codes(&sandbox.verify()).contains(&FindingKind::Identifier));
}

#[test]
fn wrong_counts_of_several_instances_are_one_finding() {
    let findings =
        Sandbox::new().after("UPDATE instance SET granules = granules + 7 WHERE timestamp >= 0");
    assert_eq!(codes(&findings), [FindingKind::Count], "{findings:#?}");
    assert!(findings[0].text.ends_with("; and 3 more of this kind"), "{findings:#?}");
}

#[test]
fn a_granule_held_twice_at_once_is_named() {
    let findings = Sandbox::new().with_subsets().after(&format!(
        "INSERT INTO granule SELECT dataset_id, granule_id, {}, NULL, NULL FROM granule WHERE granule_id = 'granule.00002'",
        micros(2)
    ));
    assert_eq!(only(&findings, FindingKind::Overlap).granule.as_deref(), Some("granule.00002"));
    assert_eq!(codes(&findings), [FindingKind::Count, FindingKind::Overlap], "{findings:#?}");
}

#[test]
fn an_invalid_granule_id_is_named() {
    let findings = Sandbox::new().after(
        "UPDATE granule SET granule_id = 'a' || char(10) WHERE granule_id = 'granule.00020'",
    );
    assert_eq!(only(&findings, FindingKind::GranuleId).granule.as_deref(), Some("a\n"));
    assert!(findings.len() <= 4, "{findings:#?}");
}

#[test]
fn damage_is_found_and_never_repaired() {
    let sandbox = Sandbox::new();
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.05999'");
    let bytes = std::fs::read(&sandbox.path).unwrap();
    assert_eq!(sandbox.verify(), findings);
    assert_eq!(std::fs::read(&sandbox.path).unwrap(), bytes);
}
