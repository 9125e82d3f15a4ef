//! A corrected history is the history up to a time. The earlier history is kept, and every identifier still
//! resolves.

use std::collections::BTreeSet;

use accession::citation::{Checker, FoundCitation};
use accession::dataset::CorrectionReport;
use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::mirror::{MirrorStatus, Primary, PrimaryOptions, PullOptions};
use accession::status::NewCheck;
use accession::{
    Citation, CitationFormat, Clock, DatasetFilter, DatasetName, ErrorDetail, ErrorKind, IfMissing,
    ListingBuilder, Moment, Pattern, Registry, Selection, SetSpec, SubsetMembers, Timestamp,
};
use proptest::prelude::*;

use harness::exported::{manifest_of, published, verified};
use harness::files::files;
use harness::history::{History, POOL, cases, change, id, instances, name, now, second, step};
use harness::pulls::PullPolicy;
use harness::store::{new_registry, new_registry_in};
use harness::values::{AtTime, clock, stating, with_file};

/// A step of the random history.
#[derive(Debug, Clone)]
enum Step {
    /// Deletes the ids that are held, and ingests the others.
    Toggle(BTreeSet<usize>),
    /// Annotates the set of an earlier change.
    Annotate(usize),
    /// Cites the granules that a pattern selects from the set of an earlier change.
    CitePattern(usize, usize),
    /// Cites the first granule of the latest set.
    CiteNamed,
    /// Corrects the history after an earlier change; without that many changes, after none of them.
    Correct(usize),
}

const PATTERNS: [&str; 3] = ["A*", "*.*", "??*"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop::collection::btree_set(0..POOL.len(), 1..6).prop_map(Step::Toggle),
        2 => (0..8_usize).prop_map(Step::Annotate),
        2 => (0..PATTERNS.len(), 0..8_usize).prop_map(|(p, at)| Step::CitePattern(p, at)),
        1 => Just(Step::CiteNamed),
        2 => (0..8_usize).prop_map(Step::Correct),
    ];
    prop::collection::vec(step, 1..20)
}

fn moment(at: Timestamp) -> Option<Moment> {
    Some(Moment::Instant(at))
}

fn correct(registry: &Registry, dataset: &str, after: Option<Moment>) -> CorrectionReport {
    registry.correct_dataset(&name(dataset), after, false).unwrap()
}

fn kept(number: usize) -> DatasetName {
    let end = if number == 1 { String::new() } else { format!("-{number}") };
    name(&format!("D.before-2026-01-01{end}"))
}

/// The model of the dataset, and of each history that it had before a correction.
#[derive(Default)]
struct Model {
    history: History,
    earlier: Vec<History>,
}

impl Model {
    fn times(&self) -> Vec<Timestamp> {
        self.history.sets.keys().copied().collect()
    }

    fn take(&mut self, registry: &Registry, at: usize, step: &Step) {
        let (dataset, times) = (name("D"), self.times());
        match step {
            Step::Toggle(ids) => {
                let ids = ids.iter().map(|index| POOL[*index].as_str()).collect();
                let plan = self.history.toggle(&ids);
                self.history.change(registry, &dataset, second(at as i64), &plan);
            }
            Step::Annotate(index) if !times.is_empty() => {
                let at = moment(times[index % times.len()]);
                let selection = Selection::Dataset { name: dataset, at };
                let note = NewAnnotation::new(format!("note {index}")).unwrap();
                registry.annotate(&selection, &note).unwrap();
            }
            Step::CitePattern(pattern, index) if !times.is_empty() => {
                let pattern: Pattern = PATTERNS[*pattern].parse().unwrap();
                let members = SubsetMembers::Patterns(vec![pattern]);
                self.cite(registry, times[index % times.len()], &members);
            }
            Step::CiteNamed if !times.is_empty() => {
                let Some(first) = self.history.held().first().cloned() else { return };
                let mut listing = ListingBuilder::new();
                listing.add(id(&first)).unwrap();
                let at = times[times.len() - 1];
                self.cite(registry, at, &SubsetMembers::Listed(listing.finish()));
            }
            Step::Correct(index) if !times.is_empty() => {
                let after = index.checked_sub(1).map(|index| times[index % times.len()]);
                if after == times.last().copied() {
                    return;
                }
                let before = instances(registry, &dataset);
                let report = correct(registry, "D", after.and_then(moment));
                self.earlier.push(self.history.clone());
                self.history.sets.retain(|at, _| after.is_some_and(|after| *at <= after));
                assert_eq!(report.correction.kept_as, kept(self.earlier.len()));
                assert_eq!(report.kept.changes, self.history.sets.len() as u64);
                assert_eq!(report.kept.changes + report.dropped.changes, before.len() as u64);
                self.assert_kept_as_recorded(registry, &before);
            }
            _ => {}
        }
    }

    fn cite(&self, registry: &Registry, at: Timestamp, members: &SubsetMembers) {
        // A pattern may select nothing.
        let _ = registry.cite_subset(&name("D"), moment(at), members);
    }

    /// Asserts that both histories have the instances with everything that was recorded about them.
    fn assert_kept_as_recorded(&self, registry: &Registry, before: &[accession::Instance]) {
        let of = |dataset: &DatasetName| instances(registry, dataset);
        let mut kept = of(&kept(self.earlier.len()));
        kept.iter_mut().for_each(|instance| instance.dataset = name("D"));
        assert_eq!(kept, before);
        let mut new = of(&name("D"));
        if let Some(last) = new.last_mut() {
            assert_eq!(last.until, None);
            last.until = before[self.history.sets.len() - 1].until;
        }
        assert_eq!(new, before[..self.history.sets.len()]);
    }

    fn assert_matches(&self, registry: &Registry) {
        let histories = self.earlier.iter().zip(1..).map(|(history, n)| (history, kept(n)));
        for (history, dataset) in histories.chain([(&self.history, name("D"))]) {
            history.assert_sets_match(registry, &dataset);
            let verification = registry.verify(&dataset).unwrap();
            assert_eq!(verification.mismatches, []);
        }
        assert_eq!(registry.check_file().unwrap(), []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn a_corrected_history_is_that_up_to_a_time_and_the_earlier_one_is_kept(steps in steps()) {
        let registry = new_registry();
        let mut model = Model::default();
        let all: BTreeSet<&str> = POOL.iter().map(String::as_str).collect();
        let plan = model.history.toggle(&all);
        model.history.change(&registry, &name("D"), second(0), &plan);
        let mut issued = BTreeSet::new();
        for (at, step) in (1..).zip(&steps) {
            model.take(&registry, at, step);
            issued.extend(instances(&registry, &name("D")).iter().map(|it| it.identifier));
            let subsets = registry.snapshot().unwrap().subsets(&name("D")).unwrap();
            issued.extend(subsets.iter().map(|subset| subset.identifier));
        }
        model.assert_matches(&registry);
        for identifier in issued {
            let selection = Selection::from(identifier);
            let selected = registry.snapshot().unwrap().select(&selection);
            prop_assert!(selected.is_ok(), "{}", identifier);
        }
    }
}

/// A dataset with three sets, with files, notes, an author and subsets.
fn three(registry: &Registry) {
    let file = |byte: u8| {
        let checksum = Checksum::from_bytes(Algorithm::Sha256, &[byte; 32]).unwrap();
        with_file("A", "A", Some(7), Some(checksum))
    };
    step(registry, "D", 0, ["A", "B"], []);
    let registry = registry.recorded_by("alice".parse().unwrap());
    for (at, byte) in [(1, 1), (2, 2)] {
        let change = stating([file(byte)]).at(second(at));
        registry.change(&name("D"), &change).unwrap();
    }
    step(&registry, "D", 3, ["C"], ["B"]);
    let cite = |pattern: &str, at| {
        let members = SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
        registry.cite_subset(&name("D"), moment(second(at)), &members).unwrap();
    };
    cite("C", 3);
    cite("A", 1);
    let selection = Selection::Dataset { name: name("D"), at: moment(second(3)) };
    registry.annotate(&selection, &NewAnnotation::new("wrong date").unwrap()).unwrap();
    registry
        .edit_dataset(&name("D"), |dataset| dataset.doi = Some("10.9999/D".parse().unwrap()))
        .unwrap();
}

#[test]
fn files_and_subsets_are_those_of_the_time_and_later_ones_stay_with_the_earlier_history() {
    let registry = new_registry();
    three(&registry);
    let before = instances(&registry, &name("D"));
    let report = correct(&registry, "D", moment(second(1)));
    assert_eq!((report.kept.changes, report.kept.subsets, report.kept.annotations), (2, 1, 0));
    let dropped = report.dropped;
    assert_eq!((dropped.changes, dropped.subsets, dropped.annotations), (2, 1, 1));
    assert_eq!(report.latest.as_ref().unwrap().digest, before[1].digest);
    let snapshot = registry.snapshot().unwrap();
    let [subset] = &snapshot.subsets(&name("D")).unwrap()[..] else { panic!("one subset") };
    assert_eq!((subset.timestamp, subset.granules), (second(1), 1));
    assert_eq!(snapshot.subsets(&kept(1)).unwrap().len(), 2);
    let (new, old) = (snapshot.dataset(&name("D")).unwrap(), snapshot.dataset(&kept(1)).unwrap());
    assert_eq!(new.dataset.doi, Some("10.9999/D".parse().unwrap()));
    assert_eq!((old.dataset.doi, new.withdrawn.is_none()), (None, true));
    let note = old.withdrawn.unwrap().note;
    assert_eq!(note.as_deref(), Some("the history of D was corrected on 2026-01-01"));
    assert_eq!(new.corrections, [report.correction]);
    drop(snapshot);
    // The history continues: the correct change gets its correct date.
    let content = instances(&registry, &name("D"))[1].identifier;
    step(&registry, "D", 2, ["C"], ["B"]);
    assert!(registry.verify(&name("D")).unwrap().ok);
    // Both datasets held this set. The identifier selects the corrected dataset.
    let selected = registry.snapshot().unwrap().select(&content.into()).unwrap();
    assert_eq!(selected.instance().dataset, name("D"));
    let later = before[3].identifier;
    let selected = registry.snapshot().unwrap().select(&later.into()).unwrap();
    assert_eq!(selected.instance().dataset, name("D"), "it is held there since second 2");
    let versions = registry.snapshot().unwrap().record_versions(&name("D")).unwrap();
    let actions: Vec<&str> = versions.iter().map(|version| version.action.as_str()).collect();
    assert_eq!(actions, ["added", "edited", "corrected"]);
}

#[test]
fn a_dry_run_reports_the_same_and_changes_nothing() {
    let registry = new_registry();
    three(&registry);
    let before = instances(&registry, &name("D"));
    let mut tried = registry.correct_dataset(&name("D"), moment(second(1)), true).unwrap();
    assert!(tried.dry_run);
    assert_eq!(instances(&registry, &name("D")), before);
    assert!(!registry.snapshot().unwrap().has_dataset(&kept(1)).unwrap());
    let report = correct(&registry, "D", moment(second(1)));
    tried.dry_run = false;
    assert_eq!(tried, report);
}

#[test]
fn a_time_that_leaves_all_changes_or_none_is_refused_and_so_is_a_second_correction() {
    let registry = new_registry();
    three(&registry);
    let try_correct = |dataset: &str, after: Option<Moment>| {
        registry.correct_dataset(&name(dataset), after, false).unwrap_err()
    };
    for after in [second(3), second(9), second(-1)] {
        let error = try_correct("D", moment(after));
        assert_eq!(error.detail(), Some(ErrorDetail::NothingToCorrect), "{error}");
    }
    assert_eq!(try_correct("E", None).kind(), ErrorKind::DatasetUnknown);
    correct(&registry, "D", moment(second(2)));
    let again = try_correct("D", moment(second(2)));
    assert_eq!(again.detail(), Some(ErrorDetail::NothingToCorrect), "{again}");
    // The earlier history is closed to changes.
    assert_eq!(try_correct(kept(1).as_str(), None).kind(), ErrorKind::Withdrawn);
    let error = registry.change(&kept(1), &change(["Z"], []).at(second(9))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Withdrawn);
    // Two more corrections on the same day. After the second, no change is left to correct.
    assert_eq!(correct(&registry, "D", moment(second(0))).correction.kept_as, kept(2));
    assert_eq!(correct(&registry, "D", None).correction.kept_as, kept(3));
    assert_eq!(try_correct("D", None).detail(), Some(ErrorDetail::NothingToCorrect));
    assert_eq!(instances(&registry, &name("D")), []);
    step(&registry, "D", 0, ["B"], []);
    let corrections = registry.snapshot().unwrap().dataset(&name("D")).unwrap().corrections;
    let kept_as: Vec<DatasetName> = corrections.into_iter().map(|it| it.kept_as).collect();
    assert_eq!(kept_as, [kept(1), kept(2), kept(3)]);
    for dataset in [name("D"), kept(1), kept(2), kept(3)] {
        assert!(registry.verify(&dataset).unwrap().ok);
    }
}

#[test]
fn a_dataset_keeps_its_former_names_and_a_mirror_follows_its_primary() {
    let registry = new_registry();
    step(&registry, "FIRST", 0, ["A"], []);
    step(&registry, "FIRST", 1, ["B"], []);
    registry.rename_dataset(&name("FIRST"), &name("D")).unwrap();
    let report = correct(&registry, "FIRST", moment(second(0)));
    assert_eq!((&report.dataset, &report.correction.kept_as), (&name("D"), &kept(1)));
    let snapshot = registry.snapshot().unwrap();
    let named = |dataset: &str| snapshot.dataset(&name(dataset)).unwrap();
    assert_eq!(
        (named("FIRST").dataset.name, named("D").former_names),
        (name("D"), vec![name("FIRST")])
    );
    assert_eq!(named(kept(1).as_str()).former_names, []);
    assert!(snapshot.lasting_name(&name("D")).unwrap().ends_with(" FIRST"));
    drop(snapshot);
    // After a later rename, the correction record still leads to the earlier history.
    registry.rename_dataset(&name("D"), &name("LAST")).unwrap();
    step(&registry, "D", 5, ["X"], []);
    assert_eq!(
        correct(&registry, "D", moment(second(0))).correction.kept_as,
        name("LAST.before-2026-01-01")
    );

    let directory = harness::directory();
    let path = directory.path().join("us.db");
    let us = Registry::create(&path, clock()).unwrap();
    (0..2).zip(["A", "B"]).for_each(|(at, id)| drop(step(&us, "US", at, [id], [])));
    let mirror = new_registry();
    let pull = |at: i64, policy: PullPolicy| {
        let options = PullOptions::new().if_missing(IfMissing::Create).at(second(at));
        let of = PrimaryOptions { primary_dataset: Some(name("US")), ..PrimaryOptions::default() };
        let primary = Primary::from(path.clone()).with_options(of);
        policy.pull(&mirror, &name("M"), &primary, options).unwrap()
    };
    assert!(pull(3, PullPolicy::Follow).is_identical());
    let refused = mirror.correct_dataset(&name("M"), moment(second(3)), false).unwrap_err();
    assert_eq!(refused.detail(), Some(ErrorDetail::FollowsPrimary), "{refused}");
    // The mirror finds an older state, and then a different history, until it is reset.
    correct(&us, "US", moment(second(0)));
    assert_eq!(pull(4, PullPolicy::Follow).before.status, MirrorStatus::Stale);
    step(&us, "US", 2, ["C"], []);
    assert_eq!(pull(5, PullPolicy::Follow).before.status, MirrorStatus::Rewritten);
    assert!(pull(6, PullPolicy::Reset).is_identical());
}

#[test]
fn citations_from_before_a_correction_are_true_of_the_earlier_history() {
    let registry = new_registry();
    for (at, id) in [("2001-01-02", "A"), ("2001-02-02", "B"), ("2001-03-02", "C")] {
        let at: Moment = at.parse().unwrap();
        registry.change(&name("D"), &change([id], []).at(at.of_change())).unwrap();
    }
    registry
        .edit_dataset(&name("D"), |dataset| dataset.doi = Some("10.9999/D".parse().unwrap()))
        .unwrap();
    let cite = |registry: &Registry, at: &str| {
        let at = Some(at.parse().unwrap());
        let cited = registry.snapshot().unwrap();
        let cited = cited.cite(&Selection::Dataset { name: name("D"), at }).unwrap();
        Citation::new(cited, at, now().day()).render(CitationFormat::Text)
    };
    let texts = ["2001-01-05", "2001-02-05", "2001-04-01"].map(|at| cite(&registry, at));
    let later = texts[2].replace("2001-04-01", "2026-01-09");
    correct(&registry, "D", Some("2001-01-31".parse().unwrap()));
    let at: Moment = "2001-02-03".parse().unwrap();
    registry.change(&name("D"), &change(["B"], []).at(at.of_change())).unwrap();
    let registry = registry.with_clock(Clock::fixed("2026-02-01T00:00:00Z".parse().unwrap()));
    let checked = |text: &str| {
        let mut checker = Checker::new(&registry).unwrap();
        let [pasted] = &FoundCitation::find_all(text)[..] else { panic!("one citation: {text}") };
        let verdict = checker.check(1, pasted).unwrap();
        (verdict.ok, verdict.problem.or(verdict.note))
    };
    let earlier =
        "the history was corrected on 2026-01-01: D.before-2026-01-01 has the earlier one";
    assert_eq!(checked(&texts[0]), (true, None));
    assert_eq!(checked(&texts[1]), (true, None), "it is held then in both");
    assert_eq!(checked(&texts[2]), (true, Some(earlier.to_owned())));
    let (ok, problem) = checked(&later);
    assert_eq!((ok, problem.as_deref()), (false, Some("it names D, which never held this set")));
    // A citation by the dataset's name without a DOI, and one without a date.
    let identifier = instances(&registry, &kept(1))[2].identifier;
    for text in
        [format!("D. DI:{identifier}, 2001-04-01"), format!("doi:10.9999/D, DI:{identifier}")]
    {
        assert!(checked(&text).0, "{text}");
    }
    // A pasted citation as an argument.
    let spec: SetSpec = texts[2].parse().unwrap();
    let snapshot = registry.snapshot().unwrap();
    let selected = snapshot.resolve(&spec).unwrap().names().unwrap();
    assert_eq!((selected.instance().dataset.clone(), selected.instance().granules), (kept(1), 3));
    let spec: SetSpec = later.parse().unwrap();
    assert_eq!(snapshot.resolve(&spec).unwrap_err().kind(), ErrorKind::IdentifierUnknown);
}

#[test]
fn a_site_begins_the_log_of_the_dataset_anew_and_keeps_the_bytes_of_the_earlier_one() {
    let directory = harness::directory();
    let registry = new_registry();
    three(&registry);
    published(&registry, directory.path()).unwrap();
    let before = files(directory.path());
    correct(&registry, "D", moment(second(1)));
    step(&registry, "D", 2, ["E"], []);
    for _ in 0..2 {
        published(&registry, directory.path()).unwrap();
        assert!(verified(&registry, directory.path()).iter().all(|row| row.ok));
    }
    let after = files(directory.path());
    let log = |dataset: &str| format!("datasets/{dataset}/log/000000.jsonl");
    assert_eq!(after[&log(kept(1).as_str())], before[&log("D")]);
    assert_ne!(after[&log("D")], before[&log("D")]);
    let manifest = manifest_of(&registry, "D");
    assert!(manifest.starts_with(&after[&log("D")]));
}

#[test]
fn statements_stay_those_of_the_earlier_history() {
    let registry = new_registry();
    three(&registry);
    let stated = registry.add_statements(&[]).unwrap().added;
    assert_eq!(stated, 6);
    correct(&registry, "D", moment(second(1)));
    assert_eq!(registry.snapshot().unwrap().check_statements().unwrap(), None);
    // Statements about two instances and a subset of the new history.
    let again = registry.with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()));
    assert_eq!(again.add_statements(&[]).unwrap().added, 3);
    assert_eq!(again.snapshot().unwrap().check_statements().unwrap(), None);
    assert_eq!(again.add_statements(&[]).unwrap().added, 0);
}

#[test]
fn checks_of_files_are_continued_as_far_as_the_files_are_the_same() {
    for (at, is_kept) in [(2, false), (3, true)] {
        let registry = new_registry();
        three(&registry);
        step(&registry, "D", 4, ["D"], []);
        let latest = Selection::Dataset { name: name("D"), at: None };
        let set = registry.snapshot().unwrap().select(&latest).unwrap().set;
        let check = NewCheck { root: "here".to_owned(), is_rolling: false, is_recorded: true };
        let mut check = registry.check_files(&set, check).unwrap();
        for granule in check.granules().unwrap() {
            let granule = granule.unwrap().granule_id;
            let found = (granule.as_str() != "D").then_some(("missing", None, None));
            check.add(&granule, granule.as_str(), 7, found);
        }
        check.finish().unwrap();
        correct(&registry, "D", moment(second(at)));
        let snapshot = registry.snapshot().unwrap();
        let roots = snapshot.checked_roots(&name("D")).unwrap();
        assert_eq!((roots.len(), roots[0].since.is_some()), (1, is_kept), "{at}");
        let open = snapshot.open_findings(&name("D"), 9).unwrap();
        let open: Vec<&str> = open.iter().map(|found| found.granule.as_str()).collect();
        assert_eq!(open, if is_kept { vec!["A", "C"] } else { vec!["A"] });
        assert!(
            registry.verify_all(&DatasetFilter::All).unwrap().into_iter().all(|it| it.unwrap().ok)
        );
    }
}

/// Writers continue while the history is corrected. Each change goes to the earlier history or to the new one.
#[test]
fn a_writer_that_waits_changes_the_new_history() {
    let directory = harness::directory();
    let (_, registry) = new_registry_in(directory.path());
    step(&registry, "D", 0, ["A"], []);
    step(&registry, "D", 1, ["B"], []);
    let writer = |offset: i64| {
        let registry = registry.clone();
        std::thread::spawn(move || {
            let mut written = Vec::new();
            for number in 0..12 {
                let granule = format!("{offset}.{number}");
                let mut change = change([granule.as_str()], []);
                change.options = change.options.if_missing(IfMissing::Fail);
                let applied = registry.change(&name("D"), &change).unwrap();
                written.push(applied.instances[0].identifier);
            }
            written
        })
    };
    let writers = [writer(1), writer(2)];
    for _ in 0..3 {
        correct(&registry, "D", moment(second(0)));
        registry.edit_dataset(&name("D"), |it| it.title = Some("T".to_owned())).unwrap();
        registry.remove_dataset(&name("UNUSED")).unwrap_err();
        let _ = registry.change(&name("D"), &change(["last"], []));
    }
    for writer in writers {
        for identifier in writer.join().unwrap() {
            registry.snapshot().unwrap().select(&identifier.into()).unwrap();
        }
    }
    for verification in registry.verify_all(&DatasetFilter::All).unwrap() {
        assert_eq!(verification.unwrap().mismatches, []);
    }
}

#[test]
fn only_an_unused_dataset_is_removed_and_its_name_and_key_are_free() {
    let registry = new_registry();
    let add = |dataset: &str| {
        registry.add_dataset(&accession::dataset::DatasetMetadata::named(name(dataset))).unwrap();
    };
    let refusal = |dataset: &str| {
        let error = registry.remove_dataset(&name(dataset)).unwrap_err();
        assert!(registry.snapshot().unwrap().has_dataset(&name(dataset)).unwrap());
        (error.detail(), error.to_string())
    };
    step(&registry, "US", 0, ["A"], []);
    add("TYPO");
    registry.edit_dataset(&name("TYPO"), |it| it.title = Some("T".to_owned())).unwrap();
    registry.note_refused_listing(&name("TYPO"), "wrong").unwrap();
    registry.remove_dataset(&name("TYPO")).unwrap();
    let again = registry.remove_dataset(&name("TYPO")).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DatasetUnknown);
    add("TYPO");
    let versions = registry.snapshot().unwrap().record_versions(&name("TYPO")).unwrap();
    assert_eq!(versions.len(), 1);
    step(&registry, "TYPO", 0, ["A"], []);
    let unused = |message: &str| {
        (Some(ErrorDetail::NotUnused), format!("{message}: only an unused dataset can be removed"))
    };
    assert_eq!(refusal("US"), unused("US has held granules since 2001-01-01T00:00:00Z"));
    correct(&registry, "TYPO", None);
    let kept_as = "TYPO.before-2026-01-01";
    assert_eq!(refusal("TYPO"), unused(&format!("TYPO had the history of {kept_as}")));
    add("OLD");
    registry.rename_dataset(&name("OLD"), &name("NEW")).unwrap();
    assert_eq!(refusal("NEW"), unused("NEW was called OLD"));
    for verification in registry.verify_all(&DatasetFilter::All).unwrap() {
        assert_eq!(verification.unwrap().mismatches, []);
    }
}
