//! The first checkpoint that differs shows where granule rows were lost. Checkpoints themselves are verified.

use accession::verify::FindingKind;

use super::sandbox::{Sandbox, codes, granule_id, micros, of_row, only};
use harness::history::second;

fn last_agrees(checkpoint: &str) -> String {
    format!("; the last checkpoint that agrees is after {checkpoint:?}")
}

#[test]
fn one_lost_row_is_three_findings_that_narrow_it_down() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let (before, after) = (&checkpoints[1], &checkpoints[2]);
    sandbox.lose(&sandbox.first_after(before));
    let findings = sandbox.verify();
    let [identifier, count, checkpoint] = of_row(&findings);
    assert_eq!((identifier.timestamp, count.timestamp), (Some(second(0)), Some(second(0))));
    assert!(identifier.text.ends_with("; and 3 more of this kind"), "{findings:#?}");
    assert_eq!(
        count.text,
        "the history counts 6000 granules, 6000 ingested and 0 deleted, but the granule rows give 5999 granules, 5999 ingested and 0 deleted; and 3 more of this kind"
    );
    assert_eq!(checkpoint.granule.as_ref(), Some(after));
    assert!(checkpoint.text.ends_with(&last_agrees(before)), "{findings:#?}");
}

#[test]
fn of_rows_lost_in_several_places_the_first_place_is_found() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let number = checkpoints.len();
    assert!(number >= 4);
    // After the third-last checkpoint, before the first one, and after the last one.
    let before_last = sandbox.first_after(&checkpoints[number - 3]);
    let lost = [(before_last, number - 2), (granule_id(5), 0), (granule_id(6_009), 0)];
    for (granule_id, first) in &lost {
        sandbox.lose(granule_id);
        let findings = sandbox.verify();
        let found = only(&findings, FindingKind::Checkpoint);
        assert_eq!(found.granule.as_ref(), Some(&checkpoints[*first]), "{findings:#?}");
        let last = first.checked_sub(1).map(|last| last_agrees(&checkpoints[last]));
        let last = last.unwrap_or_else(|| "; no checkpoint before it agrees".to_owned());
        assert!(found.text.ends_with(&last), "{findings:#?}");
        assert!(findings.len() <= 6, "{findings:#?}");
    }
}

#[test]
fn a_row_lost_after_the_last_checkpoint_is_narrowed_to_the_rows_after_it() {
    let sandbox = Sandbox::new();
    let last = sandbox.checkpoints().pop().unwrap();
    sandbox.lose("granule.06009");
    let findings = sandbox.verify();
    assert_eq!(codes(&findings), [FindingKind::Identifier, FindingKind::Count], "{findings:#?}");
    let says = format!("; up to {last:?} the granule rows agree with every checkpoint");
    assert!(findings[0].text.contains(&says), "{findings:#?}");
}

#[test]
fn a_lost_row_that_a_checkpoint_follows_is_named() {
    let sandbox = Sandbox::new();
    let lost = &sandbox.checkpoints()[1];
    sandbox.lose(lost);
    let findings = sandbox.verify();
    let [_, _, checkpoint] = of_row(&findings);
    assert_eq!(checkpoint.granule.as_ref(), Some(lost));
    let says = "a checkpoint is stored after this granule, which is not held";
    assert!(checkpoint.text.starts_with(says), "{findings:#?}");
}

#[test]
fn an_added_row_is_found_before_the_checkpoint_that_follows_it() {
    let sandbox = Sandbox::new();
    let findings = sandbox.after(&format!(
        "INSERT INTO granule SELECT id, 'granule.00005x', {}, NULL, NULL FROM dataset",
        micros(2)
    ));
    let [_, count, checkpoint] = of_row(&findings);
    assert_eq!(count.timestamp, Some(second(2)));
    assert!(count.text.ends_with("; and 1 more of this kind"), "{findings:#?}");
    assert_eq!(checkpoint.granule.as_ref(), Some(&sandbox.checkpoints()[0]));
}

#[test]
fn an_altered_missing_or_misplaced_checkpoint_is_named_alone() {
    let number = Sandbox::new().checkpoints().len();
    for index in [0, 1, number - 1] {
        for sql in [
            "UPDATE checkpoint SET chain = unhex('00' || substr(hex(chain), 3)) WHERE granule_id = ",
            "UPDATE checkpoint SET granules = granules + 1 WHERE granule_id = ",
            "DELETE FROM checkpoint WHERE granule_id = ",
        ] {
            let sandbox = Sandbox::new();
            let granule_id = &sandbox.checkpoints()[index];
            let findings = sandbox.after(&format!("{sql}'{granule_id}'"));
            assert_eq!(codes(&findings), [FindingKind::Checkpoint], "{sql} {findings:#?}");
            assert_eq!(findings[0].granule.as_ref(), Some(granule_id));
        }
    }
    let number_of = |n: usize| (0..n).map(|n| format!("absent.{n}"));
    let absent = number_of(100_000).find(|id| accession::chain::Chain::is_checkpoint(id)).unwrap();
    for misplaced in ["granule.00001", "granule.00001x", "zzz", &absent] {
        let findings = Sandbox::new().after(&format!(
            "INSERT INTO checkpoint SELECT id, '{misplaced}', zeroblob(16), zeroblob(40), 2 FROM dataset"
        ));
        assert_eq!(codes(&findings), [FindingKind::Checkpoint], "{findings:#?}");
        assert_eq!(findings[0].granule.as_deref(), Some(misplaced));
    }
}

#[test]
fn an_altered_checkpoint_before_a_lost_row_is_the_first_that_differs() {
    let sandbox = Sandbox::new();
    let checkpoints = sandbox.checkpoints();
    let (altered, before) = (&checkpoints[0], &checkpoints[1]);
    sandbox.alter(&format!(
        "UPDATE checkpoint SET chain = zeroblob(16) WHERE granule_id = '{altered}'"
    ));
    sandbox.lose(&sandbox.first_after(before));
    assert_eq!(of_row(&sandbox.verify())[2].granule.as_ref(), Some(altered));
}

#[test]
fn the_loss_of_all_checkpoints_is_one_finding() {
    for sql in ["DELETE FROM checkpoint", "UPDATE checkpoint SET chain = zeroblob(16)"] {
        let findings = Sandbox::new().after(sql);
        assert_eq!(codes(&findings), [FindingKind::Checkpoint], "{sql}: {findings:#?}");
    }
}
