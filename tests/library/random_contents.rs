//! Random histories of names and contents through the public API, compared with a naive model after every step:
//! digests, contents as of any time, the four counts, subsets, logs, mirrors and copies.

use std::collections::{BTreeMap, BTreeSet};

use accession::citation::Checker;
use accession::citation::FoundCitation;
use accession::file::{Algorithm, Checksum, Content, FilePath};
use accession::history::DigestPrefix;
use accession::mirror::PullOptions;
use accession::{
    Change, ChangeOptions, Error, ErrorKind, Identifier, IfMissing, Limit, Limits, ListingBuilder,
    ListingEntry, Moment, Registry, Selection, Set, SetSpec, SubsetMembers, Timestamp,
};
use accession::{Digest, FileRecord};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use harness::exported::{import_of, manifest_of, primary_of};
use harness::history::{POOL, cases, id, instances, name, second};
use harness::oracle::naive;
use harness::store::new_registry;

/// The record of a file: its size, and one byte for each algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    size: Option<u64>,
    sums: BTreeMap<&'static str, u8>,
}

/// The records of a granule's files, by path.
type Files = BTreeMap<String, Known>;

/// The granules held, with their records.
type State = BTreeMap<String, Files>;

/// A recorded value of one file: path, algorithm, size and checksum.
type Stated = (usize, usize, Option<u8>, u8);

#[derive(Debug, Clone)]
enum Step {
    /// Deletes the ids that are held, and ingests the others with this content.
    Toggle(BTreeSet<usize>, Vec<Stated>),
    /// Adds records of some files. At most this many granules may be replaced.
    Add(Vec<(usize, Stated)>, u64),
    /// Synchronises with a listing of all granules held. The listing has records of some of them.
    Sync(Vec<(usize, Vec<Stated>)>, u64),
    Revert(usize),
    /// Cites the granules that begin with a character.
    Cite(usize),
}

const PATHS: [&str; 3] = ["", "meta.xml", "a/b"];
const ALGORITHMS: [&str; 3] = ["sha-256", "md5", "x-sum"];

fn stated() -> impl Strategy<Value = Stated> {
    (0..PATHS.len(), 0..ALGORITHMS.len() + 1, prop::option::weighted(0.4, 0..2_u8), 0..2_u8)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let few = || 0..POOL.len() / 2;
    let files = || prop::collection::vec(stated(), 0..4);
    let step = prop_oneof![
        4 => (prop::collection::btree_set(few(), 1..5), files())
            .prop_map(|(ids, files)| Step::Toggle(ids, files)),
        4 => (prop::collection::vec((few(), stated()), 1..6), 0..3_u64)
            .prop_map(|(all, most)| Step::Add(all, most)),
        4 => (prop::collection::vec((few(), files()), 0..6), 0..4_u64)
            .prop_map(|(all, most)| Step::Sync(all, most)),
        2 => (0..12_usize).prop_map(Step::Revert),
        1 => few().prop_map(Step::Cite),
    ];
    prop::collection::vec(step, 1..12)
}

fn add_to(files: &mut Files, granule: &str, (path, algorithm, size, byte): Stated) -> bool {
    let path = if PATHS[path].is_empty() { granule } else { PATHS[path] };
    let algorithm = ALGORITHMS.get(algorithm).copied();
    let known = files.entry(path.to_owned()).or_default();
    let size = size.map(u64::from).or(algorithm.is_none().then_some(u64::from(byte)));
    let other = |one: Option<u64>, two: Option<u64>| one.zip(two).is_some_and(|(a, b)| a != b);
    if other(known.size, size)
        || algorithm.is_some_and(|it| known.sums.get(it).is_some_and(|sum| *sum != byte))
    {
        return false;
    }
    known.size = known.size.or(size);
    known.sums.extend(algorithm.map(|algorithm| (algorithm, byte)));
    true
}

/// The combined records of a granule's values. `None` means that they contradict each other.
fn files_of(granule: &str, stated: &[Stated]) -> Option<Files> {
    let mut files = Files::new();
    stated.iter().all(|it| add_to(&mut files, granule, *it)).then_some(files)
}

fn content(granule: &str, files: &Files) -> Content {
    let granule_id = id(granule);
    let mut known = Vec::new();
    for (path, Known { size, sums }) in files {
        let path = FilePath::new(path.as_str()).unwrap();
        let sums = sums.iter().map(|(name, byte)| {
            let algorithm: Algorithm = name.parse().unwrap();
            let bytes = match algorithm.checksum_bytes() {
                Some(length) => vec![*byte; length],
                None => byte.to_string().into_bytes(),
            };
            Some(Checksum::from_bytes(algorithm, &bytes).unwrap())
        });
        for sum in sums.chain([None]) {
            known.extend(FileRecord::new(&granule_id, Some(path.clone()), *size, sum));
        }
    }
    Content::of(&granule_id, known).unwrap()
}

fn entry(granule: &str, files: &Files) -> ListingEntry {
    let content = Some(content(granule, files)).filter(|content| !content.is_empty());
    ListingEntry { content, ..id(granule).into() }
}

/// The records after a change, and whether it replaces any, according to the rule.
fn after(known: &Files, stated: &Files, is_whole: bool) -> (Files, bool) {
    if stated.is_empty() {
        return (known.clone(), false);
    }
    let (mut files, mut is_replaced) = (Files::new(), false);
    for (path, new) in stated {
        let Some(old) = known.get(path) else {
            files.insert(path.clone(), new.clone());
            continue;
        };
        let sizes = old.size.zip(new.size).is_some_and(|(old, new)| old != new);
        let differs = |(name, byte): (&&str, &u8)| new.sums.get(name).is_some_and(|it| it != byte);
        if sizes || old.sums.iter().any(differs) {
            is_replaced = true;
            files.insert(path.clone(), new.clone());
            continue;
        }
        let mut both = old.clone();
        both.size = both.size.or(new.size);
        both.sums.extend(&new.sums);
        files.insert(path.clone(), both);
    }
    for (path, old) in known.iter().filter(|(path, _)| !stated.contains_key(*path)) {
        match is_whole {
            true => is_replaced = true,
            false => drop(files.insert(path.clone(), old.clone())),
        }
    }
    (files, is_replaced)
}

/// The canonical list, written naively.
fn list(state: &State) -> String {
    let mut lines = String::new();
    for (granule, files) in state {
        lines.push_str(granule);
        for (path, Known { size, sums }) in files {
            let sum = ALGORITHMS.iter().find_map(|name| Some((name, sums.get(name)?)));
            let known = match sum {
                Some((name @ &"x-sum", byte)) => format!("{name}:{byte}"),
                Some((name, byte)) => {
                    let bytes = if *name == "md5" { 16 } else { 32 };
                    format!("{name}:{}", format!("{byte:02x}").repeat(bytes))
                }
                None => format!("size:{}", size.unwrap()),
            };
            lines.push_str(&format!("\t{known}"));
            if path != granule {
                lines.push_str(&format!(":{path}"));
            }
        }
        lines.push('\n');
    }
    lines
}

fn digest(state: &State) -> Digest {
    Digest::from_bytes(Sha256::digest(list(state)).into())
}

#[derive(Default)]
struct Model {
    states: BTreeMap<Timestamp, State>,
    sides: Vec<[u64; 4]>,
    /// The latest record of each granule that was ever held.
    last: State,
    /// The subsets that were cited: the time, the first character, and their digest.
    cited: Vec<(Timestamp, char, Digest)>,
}

impl Model {
    fn held(&self) -> State {
        self.states.values().next_back().cloned().unwrap_or_default()
    }

    fn become_state(&mut self, at: Timestamp, next: State, replaced: &BTreeSet<String>) {
        let held = self.held();
        let mut sides = [0; 4];
        for (granule, files) in &next {
            match held.get(granule) {
                None => sides[0] += 1,
                Some(_) if replaced.contains(granule) => sides[3] += 1,
                Some(known) if known != files => sides[2] += 1,
                Some(_) => {}
            }
            if !files.is_empty() {
                self.last.insert(granule.clone(), files.clone());
            }
        }
        sides[1] = held.keys().filter(|granule| !next.contains_key(*granule)).count() as u64;
        if sides != [0; 4] {
            self.states.insert(at, next);
            self.sides.push(sides);
        }
    }
}

fn most_replaced(most: u64) -> Limits {
    Limits { max_replace: Some(Limit::Granules(most)), ..Limits::NONE }
}

fn options(most: u64) -> ChangeOptions {
    ChangeOptions::new().if_missing(IfMissing::Create).limits(most_replaced(most))
}

fn take(step: &Step, registry: &Registry, model: &mut Model, at: Timestamp) {
    let (held, dataset) = (model.held(), name("D"));
    let options = |most| options(most).at(at);
    let mut next = held.clone();
    let mut replaced = BTreeSet::new();
    match step {
        Step::Toggle(ids, files) => {
            let mut change = Change::new();
            change.options = options(0);
            let mut other = 0;
            for granule in ids.iter().map(|index| POOL[*index].as_str()) {
                if held.contains_key(granule) {
                    change.delete(id(granule)).unwrap();
                    next.remove(granule);
                    continue;
                }
                let files = files_of(granule, files).unwrap_or_default();
                let known = model.last.get(granule).cloned().unwrap_or_default();
                other += u64::from(after(&known, &files, false).1);
                change.ingest(entry(granule, &files)).unwrap();
                next.insert(granule.to_owned(), files);
            }
            let made = registry.change(&dataset, &change);
            if other > 0 {
                refused(made.map(drop), other);
                change.options = options(other);
                registry.change(&dataset, &change).unwrap();
            } else {
                made.unwrap();
            }
        }
        Step::Add(all, most) => {
            let mut stated: BTreeMap<&str, Vec<Stated>> = BTreeMap::new();
            for (index, file) in all {
                stated.entry(&POOL[*index]).or_default().push(*file);
            }
            let mut change = Change::of_some_files();
            change.options = options(*most).skip_missing(true);
            for (granule, files) in stated {
                let Some(files) = files_of(granule, &files) else { continue };
                // Files are added one by one, but a granule counts once.
                for (path, file) in &files {
                    let one = Files::from([(path.clone(), file.clone())]);
                    change.describe(entry(granule, &one)).unwrap();
                }
                let Some(known) = held.get(granule) else { continue };
                let (files, is_replaced) = after(known, &files, false);
                replaced.extend(is_replaced.then(|| granule.to_owned()));
                next.insert(granule.to_owned(), files);
            }
            let made = registry.change(&dataset, &change).map(drop);
            if replaced.len() as u64 > *most {
                return refused(made, replaced.len() as u64);
            }
            if held.is_empty() && model.states.is_empty() {
                return drop(made);
            }
            made.unwrap();
        }
        Step::Sync(all, most) => {
            let mut listing = ListingBuilder::new();
            let stated: BTreeMap<&str, &Vec<Stated>> =
                all.iter().map(|(index, files)| (POOL[*index].as_str(), files)).collect();
            let mut other = 0;
            let wanted = held.keys().map(String::as_str).chain(stated.keys().copied());
            let wanted: BTreeSet<&str> = wanted.collect();
            for granule in wanted {
                let files = stated.get(granule).and_then(|files| files_of(granule, files));
                let files = files.unwrap_or_default();
                listing.add(entry(granule, &files)).unwrap();
                let (files, is_replaced) = match held.get(granule) {
                    Some(known) => after(known, &files, true),
                    None => {
                        let known = model.last.get(granule).cloned().unwrap_or_default();
                        other += u64::from(after(&known, &files, false).1);
                        (files, false)
                    }
                };
                replaced.extend(is_replaced.then(|| granule.to_owned()));
                next.insert(granule.to_owned(), files);
            }
            let listing = listing.finish();
            if listing.is_empty() {
                return;
            }
            let contradicted = other + replaced.len() as u64;
            let made = registry.sync(&dataset, &listing, &options(*most));
            if contradicted > *most {
                return refused(made.map(drop), contradicted);
            }
            made.unwrap();
        }
        Step::Revert(_) if model.states.is_empty() => return,
        Step::Revert(index) => {
            let (then, state) = model.states.iter().nth(index % model.states.len()).unwrap();
            next = state.clone();
            for (granule, files) in &next {
                let Some(known) = held.get(granule).filter(|known| *known != files) else {
                    continue;
                };
                let (both, is_replaced) = after(known, files, true);
                let is_less = both != *files || files.is_empty();
                replaced.extend((is_replaced || is_less).then(|| granule.clone()));
            }
            let to = Selection::Dataset { name: dataset.clone(), at: Some(Moment::Instant(*then)) };
            let mut options = ChangeOptions::default().at(at);
            if next.is_empty() && !held.is_empty() {
                // A revert to an empty set must name the set that it expects.
                let error = registry.revert(&dataset, &to, &options).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TooManyDeletions);
                options = options.expect(error.expect());
            }
            registry.revert(&dataset, &to, &options).unwrap();
        }
        Step::Cite(index) => {
            let first = POOL[*index].chars().next().unwrap();
            let Some((then, _)) = model.states.iter().next_back() else { return };
            let part: State =
                held.into_iter().filter(|(granule, _)| granule.starts_with(first)).collect();
            let Ok(pattern) = format!("{first}*").parse() else { return };
            if !part.is_empty() && part.len() < model.held().len() {
                let members = SubsetMembers::Patterns(vec![pattern]);
                registry.cite_subset(&dataset, None, &members).unwrap();
                model.cited.push((*then, first, digest(&part)));
            }
            return;
        }
    }
    model.become_state(at, next, &replaced);
}

fn refused(made: Result<(), Error>, granules: u64) {
    let error = made.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentContradicts, "{error}");
    let counted =
        if granules == 1 { "1 granule".to_owned() } else { format!("{granules} granules") };
    assert!(error.to_string().contains(&counted), "{error}");
}

/// The files of a set, as a registry lists them.
fn listed(registry: &Registry, set: &Set) -> String {
    let files = registry.files(set);
    let mut lines = Vec::new();
    for granule in files {
        let granule = granule.unwrap();
        granule.content.write_line(granule.granule_id.as_str(), &mut lines);
    }
    String::from_utf8(lines).unwrap()
}

fn assert_agrees(registry: &Registry, dataset: &str, model: &Model, has_times: bool) {
    let dataset = name(dataset);
    let rows = instances(registry, &dataset);
    assert_eq!(rows.len(), if has_times { model.states.len() } else { rows.len() });
    if has_times {
        for (row, ((at, state), sides)) in rows.iter().zip(model.states.iter().zip(&model.sides)) {
            assert_eq!(row.timestamp, *at);
            assert_eq!(row.identifier, naive(state.keys().map(String::as_str)), "{at}");
            assert_eq!(row.digest, digest(state), "{at}\n{}", list(state));
            let counted = [row.ingested, row.deleted, row.described, row.replaced];
            assert_eq!(counted, *sides, "{at}");
            assert_eq!(listed(registry, &Set::Instance(row.clone())), list(state));
        }
        let subsets = registry.snapshot().unwrap().subsets(&dataset).unwrap();
        for (at, first, digest) in &model.cited {
            let found = subsets.iter().any(|subset| subset.digest == *digest);
            assert!(found, "{at} {first}: {digest}");
        }
    }
    let verification = registry.verify(&dataset).unwrap();
    assert_eq!(verification.mismatches, []);
}

/// A section of a history, from one time until another.
type Part<T> = (T, Timestamp, Option<Timestamp>);

/// Asserts that the periods of each identifier, with their digests, are those of the model, and that a citation
/// of each state is confirmed.
fn assert_periods(registry: &Registry, model: &Model) {
    let (dataset, states) = (name("D"), model.states.iter().collect::<Vec<_>>());
    let mut expected: Vec<Part<(Identifier, Vec<Part<Digest>>)>> = Vec::new();
    for (index, (at, state)) in states.iter().enumerate() {
        let until = states.get(index + 1).map(|(at, _)| **at);
        let identifier = naive(state.keys().map(String::as_str));
        let (digest, at) = (digest(state), **at);
        match expected.last_mut() {
            Some(((of, digests), _, ends)) if *of == identifier => {
                *ends = until;
                match digests.last_mut() {
                    Some((of, _, ends)) if *of == digest => *ends = until,
                    _ => digests.push((digest, at, until)),
                }
            }
            _ => expected.push(((identifier, vec![(digest, at, until)]), at, until)),
        }
    }
    let snapshot = registry.snapshot().unwrap();
    for (at, state) in &states {
        let identifier = naive(state.keys().map(String::as_str));
        let (digest, at) = (digest(state), Moment::Instant(**at));
        let rows = snapshot.periods(identifier, Some(&dataset), None).unwrap().rows;
        let rows = rows.iter().filter(|row| row.set.subset().is_none());
        let found = rows.map(|row| {
            let digests = row.digests().into_iter().map(|it| (it.digest, it.from, it.until));
            ((row.set.identifier(), digests.collect()), row.from(), row.until())
        });
        let of_it = expected.iter().filter(|((of, _), ..)| *of == identifier).cloned();
        assert_eq!(found.collect::<Vec<_>>(), of_it.collect::<Vec<_>>());

        let prefix: DigestPrefix = digest.to_string().parse().unwrap();
        let rows = snapshot.periods_of_digest(&prefix, None, Some(at)).unwrap();
        assert!(rows.agreement().is_some());
        assert!(rows.rows.iter().all(|row| row.digests().iter().all(|it| it.digest == digest)));
        let selected = |at| {
            let selection = Selection::Identifier { identifier, dataset: None, at };
            snapshot.select(&selection).unwrap().set.digest()
        };
        assert_eq!(selected(Some(at)), digest);
        let latest = expected.iter().rfind(|((of, _), ..)| *of == identifier).unwrap();
        assert_eq!(selected(None), latest.0.1.last().unwrap().0);
    }
    drop(snapshot);
    let mut checker = Checker::new(registry).unwrap();
    for (at, state) in &states {
        let identifier = naive(state.keys().map(String::as_str));
        let mut problem_with = |digest: Digest| {
            let text = format!("DI:{identifier}, as held at {at}, {digest}");
            checker.check(1, &FoundCitation::find_all(&text)[0]).unwrap().problem
        };
        assert_eq!(problem_with(digest(state)), None);
        let never = problem_with(Digest::from_bytes([7; 32])).unwrap();
        assert!(never.contains("this identifier and this digest"), "{never}");
    }
}

/// Whether a file of some granule has a different size, or a different checksum of the same algorithm, in a
/// later state, or is missing there. Granules without a record in the later state do not count.
fn is_replaced(earlier: &State, later: &State) -> bool {
    earlier.iter().any(|(granule, files)| {
        let then = &later[granule];
        !then.is_empty()
            && files.iter().any(|(path, one)| {
                let Some(two) = then.get(path) else { return true };
                let differs = |name: &&str| {
                    two.sums.contains_key(name) && one.sums.get(name) != two.sums.get(name)
                };
                one.size.zip(two.size).is_some_and(|(one, two)| one != two)
                    || one.sums.keys().any(differs)
            })
    })
}

/// The number of files, sizes and checksums that are recorded.
fn facts(state: &State) -> usize {
    let files = state.values().flat_map(|files| files.values());
    files.map(|file| 1 + usize::from(file.size.is_some()) + file.sums.len()).sum()
}

/// Asserts that each identifier had the contents of the model between two replacements, and that each time
/// selects the contents of that time.
fn assert_contents(registry: &Registry, model: &Model) {
    let states: Vec<(&Timestamp, &State)> = model.states.iter().collect();
    let mut of_identifier: BTreeMap<Identifier, Vec<usize>> = BTreeMap::new();
    for (index, (_, state)) in states.iter().enumerate() {
        let identifier = naive(state.keys().map(String::as_str));
        of_identifier.entry(identifier).or_default().push(index);
    }
    for (identifier, indexes) in of_identifier {
        let mut expected: Vec<Vec<usize>> = Vec::new();
        for index in indexes {
            let replaces = |earlier: &usize| is_replaced(states[*earlier].1, states[index].1);
            match expected.last_mut().filter(|part| !part.iter().any(replaces)) {
                Some(part) => part.push(index),
                None => expected.push(vec![index]),
            }
        }
        let most = |part: &[usize]| {
            let most = part.iter().max_by_key(|index| (facts(states[**index].1), **index));
            states[*most.unwrap()].1
        };
        // If the same contents were restored, only the later period is listed.
        let mut later: Vec<&State> = Vec::new();
        for index in (0..expected.len()).rev() {
            let state = most(&expected[index]);
            if later.contains(&state) {
                expected.remove(index);
            } else {
                later.push(state);
            }
        }
        let contents = |at: Option<Moment>| {
            let spec = match at {
                Some(at) => format!("DI:{identifier}@{at}"),
                None => format!("DI:{identifier}"),
            };
            let spec: SetSpec = spec.parse().unwrap();
            registry.snapshot().unwrap().resolve(&spec).unwrap().candidates().unwrap()
        };
        let found = contents(None);
        assert_eq!(found.len(), expected.len(), "{identifier}: {expected:?} {found:#?}");
        for (found, part) in found.iter().zip(&expected) {
            let (first, last) = (part[0], part[part.len() - 1]);
            assert_eq!(found.from, *states[first].0);
            assert_eq!(found.until, states.get(last + 1).map(|(at, _)| **at));
            assert_eq!(listed(registry, &found.set), list(most(part)));
            for index in part {
                let at = contents(Some(Moment::Instant(*states[*index].0)));
                assert_eq!(at.len(), 1);
                assert_eq!(listed(registry, &at[0].set), list(states[*index].1));
            }
        }
        let selection = Selection::Identifier { identifier, dataset: None, at: None };
        let selected = registry.snapshot().unwrap().select_contents(&selection);
        let kind = selected.err().map(|error| error.kind());
        assert_eq!(kind, (expected.len() > 1).then_some(ErrorKind::Ambiguous));
    }
}

/// The set that a dataset holds.
fn set_of(registry: &Registry, dataset: &str) -> Option<Set> {
    let selection = Selection::Dataset { name: name(dataset), at: None };
    Some(registry.snapshot().unwrap().select(&selection).ok()?.set)
}

/// Asserts that a manifest of the dataset, imported into another registry, has the same history. Returns the
/// manifest.
fn import_elsewhere(registry: &Registry, model: &Model) -> Vec<u8> {
    let file = manifest_of(registry, "D");
    let elsewhere = new_registry();
    import_of(&elsewhere, "D", file.as_slice()).unwrap();
    assert_agrees(&elsewhere, "D", model, true);
    let [once, again] = [file.clone(), manifest_of(&elsewhere, "D")].map(String::from_utf8);
    assert_eq!(once.unwrap(), again.unwrap());
    file
}

fn pull_from(mirror: &Registry, file: Vec<u8>, at: i64) {
    let primary = primary_of(file).unwrap();
    let options = PullOptions::new().if_missing(IfMissing::Create).at(second(at));
    let pulled = mirror.pull(&name("mirror"), &primary, options).unwrap();
    assert!(pulled.is_identical(), "{pulled:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn histories_of_names_and_bytes_agree_with_the_model(steps in steps()) {
        let (registry, mirror, mut model) = (new_registry(), new_registry(), Model::default());
        for (seconds, step) in (0..).zip(&steps) {
            take(step, &registry, &mut model, second(seconds));
            if model.states.is_empty() {
                continue;
            }
            assert_agrees(&registry, "D", &model, true);
            assert_periods(&registry, &model);
            assert_contents(&registry, &model);
            let file = import_elsewhere(&registry, &model);
            // A mirror without records of its own has the same digest, however often it pulls.
            if seconds % 3 == 0 || seconds + 1 == steps.len() as i64 {
                pull_from(&mirror, file, seconds);
                let held = set_of(&registry, "D").unwrap();
                let mirrored = set_of(&mirror, "mirror");
                let digest = mirrored.as_ref().map_or(Digest::EMPTY, Set::digest);
                prop_assert_eq!(digest, held.digest());
                if let Some(mirrored) = mirrored {
                    prop_assert_eq!(listed(&mirror, &mirrored), listed(&registry, &held));
                    assert_agrees(&mirror, "mirror", &model, false);
                }
            }
        }
    }
}
