//! Everything that a registry reports, as lines that can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use accession::{Access, DatasetName, Instance, Registry, Selection};

use crate::harness::oracle::naive;

/// What a registry reports on every subject: the subject, and the value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answers {
    facts: Vec<(&'static str, String)>,
}

impl Answers {
    /// Reads everything that a registry reports.
    pub fn of(registry: &mut Registry) -> accession::Result<Self> {
        let mut answers = Answers::default();
        let listed = registry.datasets()?;
        for listed in &listed {
            let dataset = &listed.dataset;
            answers.add("dataset name", &dataset.name);
            answers.add("dataset doi", &dataset.doi);
            answers.add("dataset title", &dataset.title);
            answers.add("dataset creators", &dataset.creators);
            answers.add("dataset publisher", &dataset.publisher);
            answers.add("dataset version", &dataset.version);
            answers.add("dataset year", &dataset.year);
            answers.add("dataset url", &dataset.url);
            answers.add("dataset archive", &dataset.archive);
            answers.add("latest", &listed.latest.as_ref().map(|latest| latest.identifier));
        }
        for listed in &listed {
            let name = &listed.dataset.name;
            for instance in history(registry, name)? {
                answers.add_instance(&instance);
                answers.add_granules(registry, name, &instance)?;
                let mut intervals = Vec::new();
                registry.resolve(instance.identifier, None, None, |found| {
                    let found = found.instance;
                    intervals.push((found.dataset, found.timestamp, found.until));
                    Ok(())
                })?;
                answers.add("resolve", &intervals);
            }
        }
        Ok(answers)
    }

    fn add_instance(&mut self, instance: &Instance) {
        self.add("timestamp", &instance.timestamp);
        self.add("until", &instance.until);
        self.add("identifier", &instance.identifier);
        self.add("granules", &instance.granules);
        self.add("ingested", &instance.ingested);
        self.add("deleted", &instance.deleted);
        self.add("recorded", &instance.recorded);
        self.add("note", &instance.note);
    }

    fn add_granules(
        &mut self,
        registry: &mut Registry,
        name: &DatasetName,
        instance: &Instance,
    ) -> accession::Result<()> {
        let at = Some(accession::Moment::Instant(instance.timestamp));
        let selection = Selection::Dataset { name: name.clone(), at };
        registry.granules(&selection, |granule| {
            self.facts.push(("granule", granule.granule_id.to_string()));
            self.add("granule ingested", &granule.ingested);
            self.add("granule deleted", &granule.deleted);
            self.add("granule producer", &granule.producer_granule);
            Ok(())
        })?;
        Ok(())
    }

    pub fn add(&mut self, about: &'static str, answer: &impl std::fmt::Debug) {
        self.facts.push((about, format!("{answer:?}")));
    }

    /// The answers that do not depend on when a change was recorded.
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
pub fn history(registry: &mut Registry, name: &DatasetName) -> accession::Result<Vec<Instance>> {
    let mut instances = Vec::new();
    registry.history(name, |instance| {
        instances.push(instance);
        Ok(())
    })?;
    Ok(instances)
}

/// The ids of the selected granules.
pub fn granule_ids(
    registry: &mut Registry,
    selection: &Selection,
) -> accession::Result<BTreeSet<String>> {
    let mut granule_ids = BTreeSet::new();
    registry.granules(selection, |granule| {
        assert!(granule_ids.insert(granule.granule_id.to_string()), "{granule:?} is listed twice");
        Ok(())
    })?;
    Ok(granule_ids)
}

/// Asserts that a registry file is sound and agrees with itself: its pages, each identifier, each
/// count; and that each identifier is the naive one of the granules listed for it.
pub fn assert_sound(registry: &mut Registry, context: &str) {
    registry.check_file().unwrap_or_else(|error| panic!("{context}: {error:?}"));
    for listed in registry.datasets().unwrap() {
        let name = listed.dataset.name;
        let verification = registry.verify(&name).unwrap();
        assert_eq!(verification.mismatches, [], "{context}");
        let Some(latest) = listed.latest else { continue };
        let selection = Selection::Dataset { name, at: None };
        let held = granule_ids(registry, &selection).unwrap();
        assert_eq!(naive(held.iter().map(String::as_str)), latest.identifier, "{context}");
    }
}

/// Opens a registry as the next command would, asserts that it is sound, and reads all answers.
pub fn examine(path: &Path, context: &str) -> Answers {
    let mut registry = Registry::open(path, Access::Write)
        .unwrap_or_else(|error| panic!("{context}: cannot open the registry: {error:?}"));
    assert_sound(&mut registry, context);
    Answers::of(&mut registry).unwrap().timeless()
}
