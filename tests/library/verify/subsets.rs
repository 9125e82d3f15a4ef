//! Alterations of cited subsets are found. Many subsets cost little more than a few.

use accession::verify::FindingKind;
use accession::{Clock, ListingBuilder, Moment, Registry, SubsetMembers};
use harness::values::clock;

use super::sandbox::{Sandbox, granule, ingest_and_delete, only};
use harness::history::{name, second};

#[test]
fn an_altered_subset_is_named_alone() {
    for (sql, granule) in [
        ("UPDATE subset SET identifier = zeroblob(16) WHERE id = 1", None),
        ("UPDATE subset SET granules = granules + 1 WHERE id = 2", None),
        ("UPDATE subset SET patterns = '[\"granule.0001?\"]' WHERE id = 1", None),
        ("DELETE FROM named_granule WHERE granule_id = 'granule.00002'", None),
        ("UPDATE subset SET timestamp = timestamp + 1 WHERE id = 2", None),
        (
            "UPDATE named_granule SET granule_id = 'granule.9' WHERE granule_id = 'granule.00003'",
            Some("granule.9"),
        ),
    ] {
        let found = Sandbox::new().with_subsets().after(sql);
        assert!((1..=2).contains(&found.len()), "{sql}: {found:#?}");
        assert!(
            found.iter().all(|finding| finding.code == FindingKind::Subset),
            "{sql}: {found:#?}"
        );
        assert_eq!(found[0].granule.as_deref(), granule, "{sql}: {found:#?}");
    }
    let sql = "UPDATE subset SET patterns = '[\"granule.0000?\"]' WHERE id = 1";
    assert_eq!(Sandbox::new().with_subsets().after(sql), [], "they select the same granules");
}

#[test]
fn a_lost_row_that_a_subset_names_is_named() {
    let sandbox = Sandbox::new().with_subsets();
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00002'");
    let of_subsets = only(&findings, FindingKind::Subset);
    assert!(of_subsets.text.contains("of \"granule.0000*\""), "{findings:#?}");
    // The granule is not held, and the named granules have a different identifier.
    assert!(of_subsets.text.ends_with("; and 1 more of this kind"), "{findings:#?}");
}

#[test]
fn a_lost_row_of_many_subsets_is_a_few_findings() {
    let sandbox = Sandbox::empty();
    let registry = Registry::create(&sandbox.path, clock()).unwrap();
    for seconds in 0..100 {
        let n = seconds as usize;
        ingest_and_delete(&registry, "dataset", seconds, n * 10..n * 10 + 10, []);
        let wanted = SubsetMembers::Patterns(vec!["*".parse().unwrap()]);
        let other = SubsetMembers::Patterns(vec!["granule.0000*".parse().unwrap()]);
        for wanted in [wanted, other] {
            let at = Some(Moment::Instant(second(seconds)));
            registry
                .with_clock(Clock::fixed(second(seconds)))
                .cite_subset(&name("dataset"), at, &wanted)
                .unwrap();
        }
        let mut named = ListingBuilder::new();
        named.add(granule(3)).unwrap();
        named.add(granule(n * 10 + 4)).unwrap();
        let named = named.finish();
        registry.cite_subset(&name("dataset"), None, &SubsetMembers::Listed(named)).unwrap();
    }
    drop(registry);
    assert_eq!(sandbox.verify(), []);
    let findings = sandbox.after("DELETE FROM granule WHERE granule_id = 'granule.00003'");
    assert!(findings.len() <= 4, "{findings:#?}");
    assert!(
        only(&findings, FindingKind::Subset).text.contains(" more of this kind"),
        "{findings:#?}"
    );
}

#[test]
fn many_subsets_are_verified_in_one_pass_over_the_granules() {
    let registry = Registry::temporary(clock()).unwrap();
    ingest_and_delete(&registry, "dataset", 0, 0..5_000, []);
    ingest_and_delete(&registry, "dataset", 1, 5_000..5_001, []);
    let cite = |pattern: String, seconds| {
        let wanted = SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
        let at = Some(Moment::Instant(second(seconds)));
        registry.cite_subset(&name("dataset"), at, &wanted).unwrap();
    };
    for n in 0..50 {
        cite(format!("granule.{n:03}*"), 0);
    }
    let verification = registry.verify(&name("dataset")).unwrap();
    assert_eq!((verification.mismatches, verification.identifiers), (vec![], 52));
    assert_eq!(verification.work.rows, 5_001);
}
