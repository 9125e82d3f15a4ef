//! Everything that a registry reports, as lines that can be compared.

use harness::values::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use accession::dataset::{DatasetRecord, Withdrawn};
use accession::{DatasetName, Granules, HistoryOptions, Instance, Moment, Registry, Selection};

use harness::oracle::naive;

/// The reports of a registry: each a subject and a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answers {
    facts: Vec<(&'static str, String)>,
}

impl Answers {
    /// Reads everything that a registry reports.
    pub fn of(registry: &Registry) -> accession::Result<Self> {
        let mut answers = Answers::default();
        let listed = datasets(registry)?;
        for listed in &listed {
            answers.add("dataset", &listed.dataset);
            // The time of a withdrawal depends on the clock.
            let withdrawn = listed.withdrawn.as_ref().map(|withdrawal| &withdrawal.note);
            answers.add("dataset withdrawn", &withdrawn);
            answers.add("dataset former names", &listed.former_names);
            answers.add("latest", &listed.latest.as_ref().map(|latest| latest.identifier));
        }
        for listed in &listed {
            let name = &listed.dataset.name;
            for instance in history(registry, name)? {
                answers.add_instance(&instance);
                answers.add_granules(registry, name, &instance)?;
                let resolution = registry.snapshot()?.periods(instance.identifier, None, None)?;
                for row in &resolution.rows {
                    let found = row.set.instance();
                    answers.add("resolve", &(&found.dataset, found.timestamp, found.until));
                    answers.add("resolve subset", &row.set.subset());
                }
            }
        }
        Ok(answers)
    }

    fn add_instance(&mut self, instance: &Instance) {
        self.add("interval", &(instance.timestamp, instance.until));
        self.add("identifier", &instance.identifier);
        self.add("counts", &(instance.granules, instance.ingested, instance.deleted));
        self.add("recorded", &instance.recorded);
        self.add("said of it", &(&instance.note, &instance.recorded_by));
    }

    fn add_granules(
        &mut self,
        registry: &Registry,
        name: &DatasetName,
        instance: &Instance,
    ) -> accession::Result<()> {
        let at = Some(Moment::Instant(instance.timestamp));
        let selection = Selection::Dataset { name: name.clone(), at };
        for granule in granules(registry, &selection)? {
            let granule = granule?;
            self.facts.push(("granule", granule.granule_id.to_string()));
            self.add("granule ingested", &granule.ingested);
            self.add("granule deleted", &granule.deleted);
            self.add("granule producer", &granule.producer_granule);
        }
        Ok(())
    }

    pub fn add(&mut self, about: &'static str, answer: &impl std::fmt::Debug) {
        self.facts.push((about, format!("{answer:?}")));
    }

    /// The answers, without the time at which changes were recorded.
    pub fn timeless(self) -> Self {
        self.without("recorded")
    }

    pub fn without(mut self, subject: &str) -> Self {
        self.facts.retain(|(about, _)| *about != subject);
        self
    }

    /// The subjects on which the answers differ.
    pub fn differing(&self, other: &Answers) -> BTreeSet<&'static str> {
        let subjects = |answers: &Answers| {
            let mut by_subject: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
            for (about, answer) in &answers.facts {
                by_subject.entry(about).or_default().push(answer.clone());
            }
            by_subject
        };
        let (left, right) = (subjects(self), subjects(other));
        let all: BTreeSet<&'static str> = left.keys().chain(right.keys()).copied().collect();
        all.into_iter().filter(|about| left.get(about) != right.get(about)).collect()
    }
}

/// The history of a dataset.
pub fn history(registry: &Registry, name: &DatasetName) -> accession::Result<Vec<Instance>> {
    let history = registry.history(name, &HistoryOptions::new());
    history.collect()
}

/// All datasets, including withdrawn ones.
pub fn datasets(registry: &Registry) -> accession::Result<Vec<DatasetRecord>> {
    registry.snapshot()?.all_datasets(Withdrawn::Listed)
}

fn granules(registry: &Registry, selection: &Selection) -> accession::Result<Granules> {
    let snapshot = registry.snapshot()?;
    let selected = snapshot.select(selection)?;
    Ok(snapshot.registry().granules(&selected.set))
}

/// The ids of the selected granules.
pub fn granule_ids(
    registry: &Registry,
    selection: &Selection,
) -> accession::Result<BTreeSet<String>> {
    let mut granule_ids = BTreeSet::new();
    for granule in granules(registry, selection)? {
        let granule = granule?;
        assert!(granule_ids.insert(granule.granule_id.to_string()), "{granule:?} is listed twice");
    }
    Ok(granule_ids)
}

/// Asserts that a registry file is sound and consistent: its pages, each identifier and each count. Each
/// identifier must be the naive one of the granules listed for it.
pub fn assert_sound(registry: &Registry, context: &str) {
    let findings = registry.check_file().unwrap_or_else(|error| panic!("{context}: {error:?}"));
    assert_eq!(findings, [], "{context}");
    for listed in datasets(registry).unwrap() {
        let name = listed.dataset.name;
        let verification = registry.verify(&name).unwrap();
        assert_eq!(verification.mismatches, [], "{context}");
        let Some(latest) = listed.latest else { continue };
        let selection = Selection::Dataset { name, at: None };
        let held = granule_ids(registry, &selection).unwrap();
        assert_eq!(naive(held.iter().map(String::as_str)), latest.identifier, "{context}");
    }
}

/// Opens a registry like the next command, asserts that it is sound, and reads everything that it reports.
pub fn examine(path: &Path, context: &str) -> Answers {
    let registry = Registry::open(path, clock())
        .unwrap_or_else(|error| panic!("{context}: cannot open the registry: {error:?}"));
    assert_sound(&registry, context);
    Answers::of(&registry).unwrap().timeless()
}
