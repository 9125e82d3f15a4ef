//! Statements of an archive: what they contain, how they are signed, and how they are proved.

use harness::values::{AtTime, clock};
use std::path::{Path, PathBuf};
use std::process::Command;

use accession::mirror::PrimaryOptions;
use accession::mirror::PublishedSite;
use accession::proof::{
    LogCheckpoint, Note, Policy, ProofVerdict, SetStatement, SigningKey, StatementProof,
    StatementTree,
};
use accession::proof::{SignedCheckpoint, StatementLog};
use accession::{
    Change, Clock, DatasetFilter, Moment, Pattern, Registry, Selection, SubsetMembers, Timestamp,
};

use crate::stored::Stored;
use harness::history::{change, name, now, plan, second};
use harness::installed::installed;
use harness::seal::seal_rows;
use harness::seed;
use harness::store::{new_registry, new_registry_in};
use harness::web_server::WebServer;
use harness::witness_key::WitnessKey;

const ORIGIN: &str = "us.example.org/statements";

fn key(seed: u8) -> SigningKey {
    SigningKey::of_seed(ORIGIN, [seed; 32]).unwrap()
}

fn witness_key(seed: u8) -> WitnessKey {
    WitnessKey::of_seed(&format!("witness{seed}.example.net"), [seed; 32])
}

/// Signs the present log with a log key and some witnesses.
fn sign(
    registry: &Registry,
    log: &StatementLog,
    key: &SigningKey,
    witnesses: &[&WitnessKey],
    at: Timestamp,
) -> SignedCheckpoint {
    let checkpoint = log.checkpoint(ORIGIN);
    let body = checkpoint.to_string();
    let mut note = Note::new(body.clone());
    note.sign(key);
    witnesses.iter().for_each(|witness| note.add_line(&witness.sign(&body, at)).unwrap());
    let policy = format!("log {}\nquorum none\n", key.verification_key());
    let signed = SignedCheckpoint { checkpoint, note, policy, signed: at };
    registry.save_checkpoint(&log.tree, &signed).unwrap();
    signed
}

fn at(dataset: &str, at: &str) -> Selection {
    Selection::Dataset { name: name(dataset), at: Some(at.parse().unwrap()) }
}

fn prove(registry: &Registry, selection: &Selection) -> accession::Result<StatementProof> {
    Ok(registry.snapshot().unwrap().prove(selection, None)?.proof)
}

/// Two processes sign the same tree, each with the signature of a different witness.
#[test]
fn a_checkpoint_keeps_the_signatures_that_were_stored_before() {
    let registry = new_registry();
    registry
        .with_clock(Clock::fixed(second(1)))
        .change(&name("D"), &change(["A"], []).at(second(1)))
        .unwrap();
    let stated = registry.with_clock(Clock::fixed(second(3))).add_statements(&[]).unwrap();
    for witness in [2, 3].map(witness_key) {
        sign(&registry, &stated, &key(1), &[&witness], second(4));
    }
    let note = registry.snapshot().unwrap().last_signed().unwrap().unwrap().note;
    assert_eq!(
        note.signers().collect::<Vec<_>>(),
        [ORIGIN, "witness2.example.net", "witness3.example.net"]
    );
}

/// The test vectors: the first three changes of the seed, in the statements of two nights, with keys from fixed
/// seeds. `UPDATE_TRANSCRIPTS=1` rewrites them.
#[test]
fn the_proof_of_the_seed_is_the_one_that_is_kept() {
    let registry = new_registry();
    let dataset = name("US.FOOL2.002");
    let first = change(seed::ids("us-2001-01-02.txt").iter().map(String::as_str), []);
    let change_at = |change: Change, at: &str| {
        let at = at.parse().unwrap();
        registry.with_clock(Clock::fixed(at)).change(&dataset, &change.at(at)).unwrap();
    };
    change_at(first, "2001-01-02T00:00:00Z");
    let (log, one, two) = (key(1), witness_key(2), witness_key(3));
    let nights = ["2001-01-02T02:00:00.5Z", "2001-01-06T02:00:00Z"].map(|it| it.parse().unwrap());
    let stated = registry.with_clock(Clock::fixed(nights[0])).add_statements(&[]).unwrap();
    assert_eq!((stated.added, stated.tree.size()), (1, 1));
    let before = sign(&registry, &stated, &log, &[], nights[0]);
    let second = change(seed::ids("us-2001-01-03.txt").iter().map(String::as_str), []);
    change_at(second, "2001-01-03T00:00:00Z");
    let stated =
        registry.with_clock(Clock::fixed(nights[1])).add_statements(&[before.checkpoint]).unwrap();
    assert_eq!((stated.added, stated.tree.size()), (2, 3));
    sign(&registry, &stated, &log, &[&one, &two], nights[1]);
    let proof = prove(&registry, &at("US.FOOL2.002", "2001-01-05")).unwrap();
    let (log, one, two) = (log.verification_key(), one.verification_key(), two.verification_key());
    let policy = format!(
        "# The keys of the examples, which anybody can make.\nlog {log}\nwitness one {one}\nwitness two {two}\ngroup seen any one two\nquorum seen\n"
    );
    let list = {
        let mut ids = seed::ids("us-2001-01-02.txt");
        ids.extend(seed::ids("us-2001-01-03.txt"));
        ids.sort();
        ids.join("\n") + "\n"
    };
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/proof");
    for (file, text) in [
        ("paper.tlog-proof", proof.to_string()),
        ("policy.txt", policy.clone()),
        ("list.txt", list.clone()),
    ] {
        let path = directory.join(file);
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text, "{file}");
    }
    let policy: Policy = policy.parse().unwrap();
    let at = Some("2001-01-05".parse().unwrap());
    let verdict = ProofVerdict::of(&proof, &policy, Some(&mut list.as_bytes()), at, now()).unwrap();
    assert_eq!(verdict.problems, []);
    assert_eq!(verdict.statement.granules, 12);
    let json = serde_json::to_value(&verdict).unwrap();
    assert_eq!(json["witnesses"].as_array().unwrap().len(), 2);
}

/// The verifier in the documentation accepts the proof of the seed, and rejects every alteration of it.
#[test]
fn the_verifier_in_the_documentation_verifies_the_proof_of_the_seed() {
    if installed("openssl").is_none() {
        return;
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/reference/statements.md")).unwrap();
    let program = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(program.lines().count() < 40);
    let read =
        |file: &str| std::fs::read_to_string(root.join("fixtures/proof").join(file)).unwrap();
    let (proof, list) = (read("paper.tlog-proof"), read("list.txt"));
    let vkey = key(1).verification_key().to_string();
    let other = key(9).verification_key().to_string();
    let directory = harness::directory();
    let verify = |proof: &str, list: &str, vkey: &str| {
        let files = ["p", "l"].map(|file| directory.path().join(file));
        std::fs::write(&files[0], proof).unwrap();
        std::fs::write(&files[1], list).unwrap();
        let mut command = Command::new("python3");
        let output = command.args(["-c", program]).args(&files).arg(vkey).output().unwrap();
        let is_verified = output.status.success();
        let text = if is_verified { output.stdout } else { output.stderr };
        (is_verified, String::from_utf8(text).unwrap())
    };
    let (is_verified, printed) = verify(&proof, &list, &vkey);
    assert!(is_verified, "{printed}");
    assert!(printed.contains("\"dataset\":\"US.FOOL2.002\""), "{printed}");
    for (proof, list, vkey) in [
        (proof.replace("index 2", "index 1"), list.clone(), &vkey),
        (proof.clone(), list.replacen("FOOL2", "FOOL3", 1), &vkey),
        (proof.replacen("\n3\n", "\n4\n", 1), list.clone(), &vkey),
        (proof.replacen("us.example.org", "us.example.com", 1), list.clone(), &vkey),
        (proof.clone(), list.clone(), &other),
    ] {
        assert!(!verify(&proof, &list, vkey).0, "{proof}");
    }
}

fn statements(
    log: &StatementLog,
    registry: &Registry,
    sets: &[Selection],
) -> Vec<(u64, SetStatement)> {
    sign(registry, log, &key(1), &[], now());
    let proofs = sets.iter().map(|set| prove(registry, set).unwrap());
    proofs.map(|proof| (proof.index, proof.statement)).collect()
}

#[test]
fn a_set_is_stated_when_it_is_new_and_once_more_when_it_has_ended() {
    let registry = new_registry();
    let (d, t) = (name("D"), |n: i64| second(n * 86_400));
    let step = |registry: &Registry, at: i64, ids: &[&str]| {
        let change = change(ids.iter().copied(), []);
        registry.with_clock(Clock::fixed(t(at))).change(&d, &change.at(t(at))).unwrap();
    };
    let added =
        |at: i64| registry.with_clock(Clock::fixed(t(at))).add_statements(&[]).unwrap().added;
    assert_eq!(added(0), 0);
    step(&registry, 1, &["A", "B"]);
    assert_eq!([added(1), added(1), added(2)], [1, 0, 0]);
    // Two changes later, the first set has ended, the second has begun and ended, and the third is in force.
    step(&registry, 3, &["C"]);
    step(&registry, 4, &["D"]);
    let log = registry.with_clock(Clock::fixed(t(4))).add_statements(&[]).unwrap();
    assert_eq!((log.added, log.tree.size()), (3, 4));
    let day = |n: u32| at("D", &format!("2001-01-{:02}", n + 1));
    let stated = statements(&log, &registry, &[day(1), day(3), day(4)]);
    let summary = |(index, it): &(u64, SetStatement)| (*index, it.changes, it.from, it.until);
    assert_eq!(
        stated.iter().map(summary).collect::<Vec<_>>(),
        [(1, 1, t(1), Some(t(3))), (2, 2, t(3), Some(t(4))), (3, 3, t(4), None)]
    );
    let text: Moment = "2001-01-02".parse().unwrap();
    assert!(stated[0].1.covers(text));
    // A subset is stated once, under the present name of the dataset.
    let patterns: Vec<Pattern> = vec!["A*".parse().unwrap()];
    let members = SubsetMembers::Patterns(patterns);
    let cited = registry
        .with_clock(Clock::fixed(t(6)))
        .cite_subset(&d, Some("2001-01-02".parse().unwrap()), &members)
        .unwrap();
    registry.with_clock(Clock::fixed(t(6))).rename_dataset(&d, &name("E")).unwrap();
    assert_eq!([added(7), added(7)], [1, 0]);
    let log = registry.with_clock(Clock::fixed(t(7))).add_statements(&[]).unwrap();
    let identifier = cited.period.set.identifier();
    let subset = Selection::Identifier { identifier, dataset: None, at: None };
    let stated = statements(&log, &registry, &[subset, day(1)]);
    let SetStatement { dataset, part, from, stated: when, changes, .. } = &stated[0].1;
    assert_eq!((dataset.as_str(), *part, *from, *when, *changes), ("E", true, t(1), t(7), 1));
    assert_eq!(stated[1].1.dataset.as_str(), "D");
    // The statement about the first set still has the same number.
    assert_eq!(stated[1].0, 1);
}

#[test]
fn what_changes_in_the_second_of_a_statement_waits_and_what_stays_is_stated_each_week() {
    let registry = new_registry();
    let make = |ids: [&str; 1], at: &str| {
        let change = change(ids, []);
        let at = format!("2001-01-02T00:00:{at}Z").parse().unwrap();
        registry.with_clock(Clock::fixed(at)).change(&name("A"), &change.at(at)).unwrap();
    };
    let state = |at: &str| {
        let log =
            registry.with_clock(Clock::fixed(at.parse().unwrap())).add_statements(&[]).unwrap();
        (log.added, log.is_behind)
    };
    make(["A"], "00.5");
    assert_eq!(state("2001-01-02T00:00:00.7Z"), (0, true));
    assert_eq!(state("2001-01-02T00:00:01Z"), (1, false));
    // Neither the new set nor the end of the previous one is stated.
    make(["B"], "02.5");
    assert_eq!(state("2001-01-02T00:00:02.7Z"), (0, true));
    assert_eq!(state("2001-01-02T00:00:03.2Z"), (2, false));
    assert_eq!(state("2001-01-09T00:00:02Z"), (0, false));
    assert_eq!(state("2001-01-09T00:00:03Z"), (1, false));
    assert_eq!(state("2001-01-09T00:00:04Z"), (0, false));
    assert!(
        registry
            .verify_all(&DatasetFilter::All)
            .unwrap()
            .all(|it| it.unwrap().mismatches.is_empty())
    );
}

#[test]
fn nothing_is_stated_after_a_statement_in_the_future_and_a_clock_that_is_far_ahead_is_reported() {
    let registry = new_registry();
    let t = |days: i64| second(days * 86_400);
    registry
        .with_clock(Clock::fixed(t(0)))
        .change(&name("D"), &change(["A"], []).at(t(0)))
        .unwrap();
    let ahead_of = |days| {
        registry.with_clock(Clock::fixed(t(days))).add_statements(&[]).unwrap().clock_ahead_of
    };
    assert_eq!(ahead_of(31), None);
    // The times of statements count as recorded times.
    assert_eq!(ahead_of(62), None);
    assert_eq!(ahead_of(94), Some(t(62)));
    let refuse = |at| {
        let error = registry.with_clock(Clock::fixed(at)).add_statements(&[]).unwrap_err();
        assert_eq!(error.kind().as_str(), "future", "{error}");
        error.to_string()
    };
    let stored = registry.snapshot().unwrap().statement_log().unwrap().tree.size();
    registry
        .with_clock(Clock::fixed(t(1)))
        .change(&name("D"), &change(["B"], []).at(t(1)))
        .unwrap();
    assert_eq!(
        refuse(t(3)),
        format!("the last statement was made at {}, and the clock is at {}", t(94), t(3))
    );
    // This also applies if the clock is behind by less than a second, and if nothing is new.
    refuse(Timestamp::from_micros(t(94).as_micros() - 1).unwrap());
    assert_eq!(registry.snapshot().unwrap().statement_log().unwrap().tree.size(), stored);
    assert_eq!(registry.with_clock(Clock::fixed(t(94))).add_statements(&[]).unwrap().added, 2);
    refuse(t(93));
}

#[test]
fn what_was_not_signed_has_no_proof_yet() {
    let stored = Stored::with(3);
    let not_stated = |registry: &Registry| {
        let error = prove(registry, &at("dataset", "2001-01-01")).unwrap_err();
        assert_eq!(error.kind().as_str(), "not-stated", "{error}");
    };
    not_stated(&stored.registry);
    let log = stored.registry.add_statements(&[]).unwrap();
    not_stated(&stored.registry);
    sign(&stored.registry, &log, &key(1), &[], now());
    assert_eq!(prove(&stored.registry, &at("dataset", "2001-01-01")).unwrap().index, 0);
    let of = |text: &str| {
        let at: Option<Moment> = Some(text.parse().unwrap());
        let latest = Selection::Dataset { name: name("dataset"), at: None };
        stored.registry.snapshot().unwrap().prove(&latest, at).map(|proved| proved.proof.index)
    };
    assert_eq!(of("2001-01-01").unwrap(), 0);
    let why = of("2999-01-01").unwrap_err();
    assert!(why.to_string().contains("2999-01-01 is outside of what was signed"), "{why}");
}

#[test]
fn a_registry_that_does_not_have_what_was_signed_states_nothing() {
    let directory = harness::directory();
    let (_, registry) = new_registry_in(directory.path());
    registry.with_clock(Clock::fixed(second(0))).change(&name("D"), &change(["A"], [])).unwrap();
    let older = directory.path().join("older.db");
    registry.copy_to(&older).unwrap();
    let other = directory.path().join("other.db");
    registry.copy_to(&other).unwrap();
    let log = registry.with_clock(Clock::fixed(second(1))).add_statements(&[]).unwrap();
    let signed = log.checkpoint(ORIGIN);
    let differs = |registry: &Registry, signed: &LogCheckpoint| {
        let error = registry
            .with_clock(Clock::fixed(second(9)))
            .add_statements(std::slice::from_ref(signed))
            .unwrap_err();
        assert_eq!(error.kind().as_str(), "tree-differs", "{error}");
        error.to_string()
    };
    let older = Registry::open(&older, clock()).unwrap();
    assert!(differs(&older, &signed).ends_with("the registry has 0 statements, but 1 were signed"));
    assert_eq!(
        older.with_clock(Clock::fixed(second(1))).add_statements(&[]).unwrap().tree.root(1),
        Some(signed.root)
    );
    // The same dataset with a different history, under the same key: a fork.
    let other = Registry::open(&other, clock()).unwrap();
    other
        .with_clock(Clock::fixed(second(1)))
        .change(&name("D"), &change(["B"], []).at(second(1)))
        .unwrap();
    other.with_clock(Clock::fixed(second(2))).add_statements(&[]).unwrap();
    assert!(
        differs(&other, &signed).ends_with("the first 1 statements are not those that were signed")
    );
    let forged = SignedCheckpoint {
        checkpoint: signed.clone(),
        note: Note::new(signed.to_string()),
        policy: String::new(),
        signed: second(2),
    };
    let tree = other.snapshot().unwrap().statement_log().unwrap().tree;
    assert_eq!(other.save_checkpoint(&tree, &forged).unwrap_err().kind().as_str(), "tree-differs");
    // A copy has the statements, and continues them.
    sign(&registry, &log, &key(1), &[], second(2));
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy).unwrap();
    let copy = Registry::open(&copy, clock()).unwrap();
    let again = copy.with_clock(Clock::fixed(second(3))).add_statements(&[signed]).unwrap();
    assert_eq!((again.added, again.tree.size()), (0, 1));
    assert_eq!(again.signed, copy.snapshot().unwrap().statement_log().unwrap().signed);
    assert!(again.signed.is_some());
}

/// Each alteration, with the finding of `verify`. Adding statements fails as well.
#[test]
fn statements_that_are_lost_or_altered_are_found() {
    for (sql, found) in [
        ("DELETE FROM statement WHERE number = 0", "the statement 0 is missing"),
        (
            "DELETE FROM statement WHERE number = 1",
            "the first 2 statements are not those that were signed",
        ),
        ("UPDATE statement SET text = replace(text, '3', '4')", "differs from its checksum"),
        ("UPDATE tree_head SET note = replace(note, '2', '3')", "differs from its checksum"),
        (
            "UPDATE instance SET timestamp = timestamp - 1",
            "the statement 0 is of a set that the history does not have",
        ),
    ] {
        let stored = Stored::with(3);
        stored.change(1, &plan(["x"], []));
        let log = stored.registry.add_statements(&[]).unwrap();
        assert_eq!(log.added, 2);
        sign(&stored.registry, &log, &key(1), &[], now());
        assert!(
            stored.registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings
                == 0
        );
        let connection = stored.connection();
        assert!(connection.execute(sql, []).unwrap() > 0);
        let is_of_history = sql.contains("instance");
        if is_of_history {
            seal_rows(&connection);
        }
        drop(connection);
        let texts: Vec<String> = stored
            .registry
            .verify_all(&DatasetFilter::All)
            .unwrap()
            .flat_map(|verification| verification.unwrap().mismatches)
            .map(|finding| finding.text)
            .collect();
        assert!(texts.iter().any(|text| text.contains(found)), "{sql}: {texts:?}");
        let error = stored.registry.add_statements(&[]).unwrap_err();
        let kind = if is_of_history { "tree-differs" } else { "damaged" };
        assert_eq!(error.kind().as_str(), kind, "{sql}: {error}");
    }
}

/// The files below a directory, with their lengths.
fn files_below(directory: &Path, prefix: &str, files: &mut Vec<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(directory).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        match entry.path().is_dir() {
            true => files_below(&entry.path(), &format!("{name}/"), files),
            false => files.push(format!("{name} {}", entry.metadata().unwrap().len())),
        }
    }
}

#[test]
fn what_was_signed_is_published_as_tiles_of_which_the_checkpoint_is_the_root() {
    let (registry, directory) = (new_registry(), harness::directory());
    let site = directory.path().join("statements");
    let change_to = |n: i64| {
        let step = change([format!("G{n}").as_str()], []);
        registry
            .with_clock(Clock::fixed(second(n)))
            .change(&name("D"), &step.at(second(n)))
            .unwrap();
    };
    let publish = |registry: &Registry| registry.publish_statements(directory.path());
    assert_eq!(publish(&registry).unwrap(), 0);
    assert!(!site.exists());
    let mut listed = Vec::new();
    for (changes, size) in [(0..200, 200), (200..320, 321), (320..320, 321)] {
        changes.for_each(change_to);
        let log = registry.with_clock(Clock::fixed(second(400))).add_statements(&[]).unwrap();
        sign(&registry, &log, &key(1), &[], second(400));
        assert_eq!(publish(&registry).unwrap(), size);
        listed.clear();
        files_below(&site, "", &mut listed);
        listed.retain(|file| !file.starts_with("tile/entries") && !file.starts_with("policy"));
        assert_eq!(listed[0].split(' ').next(), Some("checkpoint"));
        match size {
            200 => assert_eq!(listed[1..], ["tile/0/000.p/200 6400"]),
            _ => assert_eq!(
                listed[1..],
                ["tile/0/000 8192", "tile/0/001.p/65 2080", "tile/1/000.p/1 32"]
            ),
        }
    }
    let mut tree = StatementTree::default();
    for file in ["000", "001.p/65"] {
        let bundle = std::fs::read(site.join("tile/entries").join(file)).unwrap();
        let mut rest = &bundle[..];
        while let Some((length, after)) = rest.split_first_chunk() {
            let (statement, after) = after.split_at(u16::from_be_bytes(*length).into());
            SetStatement::read(statement).unwrap();
            tree.push(statement);
            rest = after;
        }
    }
    let note: Note = std::fs::read_to_string(site.join("checkpoint")).unwrap().parse().unwrap();
    let checkpoint: LogCheckpoint = note.body.parse().unwrap();
    assert_eq!((checkpoint.size, Some(checkpoint.root)), (321, tree.root(321)));
    // Each damaged or missing file is named. A directory with an older checkpoint is not current.
    let verify = |registry: &Registry| {
        let found = registry.verify_published_statements(directory.path()).unwrap().unwrap();
        assert_eq!(found.ok, found.differences.is_empty());
        let files = found.differences.into_iter().map(|difference| difference.file);
        (found.statements, found.current, files.collect::<Vec<_>>())
    };
    assert_eq!(verify(&registry), (321, true, Vec::new()));
    let mut all = Vec::new();
    files_below(&site, "", &mut all);
    assert_eq!(all.len(), 7);
    for file in all.iter().map(|file| file.split(' ').next().unwrap()) {
        let (path, named) = (site.join(file), [format!("statements/{file}")]);
        let whole = std::fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        for bytes in [&damaged[..], &whole[..whole.len() / 2], &[]] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(verify(&registry).2, named, "{file}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(verify(&registry).2, named, "{file}");
        std::fs::write(&path, whole).unwrap();
    }
    let before = std::fs::read(site.join("checkpoint")).unwrap();
    let log = registry.snapshot().unwrap().statement_log().unwrap();
    sign(&registry, &log, &key(2), &[], second(400));
    assert_eq!(verify(&registry), (321, false, vec!["statements/checkpoint".to_owned()]));
    sign(&registry, &log, &key(1), &[], second(400));
    change_to(321);
    let log = registry.with_clock(Clock::fixed(second(401))).add_statements(&[]).unwrap();
    sign(&registry, &log, &key(1), &[], second(401));
    assert_eq!(verify(&registry), (321, false, Vec::new()));
    assert_eq!(std::fs::read(site.join("checkpoint")).unwrap(), before);
    // Another registry, or one restored from an older backup, contradicts the published statements.
    let other = new_registry();
    other.with_clock(Clock::fixed(second(0))).change(&name("D"), &change(["X"], [])).unwrap();
    let log = other.with_clock(Clock::fixed(second(1))).add_statements(&[]).unwrap();
    sign(&other, &log, &key(1), &[], second(1));
    assert_eq!(publish(&other).unwrap_err().kind().as_str(), "tree-differs");
    assert_eq!(verify(&other).2, ["statements/checkpoint"]);
    let mut after = Vec::new();
    files_below(&site, "", &mut after);
    after.retain(|file| !file.starts_with("tile/entries") && !file.starts_with("policy"));
    assert_eq!(after, listed);
}

const CHECKPOINT: &str = "statements/checkpoint";
const BUNDLE: &str = "statements/tile/entries/000.p/3";

/// A site with three statements, signed by a log and cosigned by a witness.
fn signed_site() -> tempfile::TempDir {
    let (registry, directory) = (new_registry(), harness::directory());
    for (at, granule) in [(0, "A"), (1, "B")] {
        registry
            .with_clock(Clock::fixed(second(at)))
            .change(&name("D"), &change([granule], []))
            .unwrap();
        let log = registry.with_clock(Clock::fixed(second(at))).add_statements(&[]).unwrap();
        sign(&registry, &log, &key(1), &[&witness_key(2)], second(at));
    }
    registry.publish_statements(directory.path()).unwrap();
    directory
}

/// Reads the signed statements of a site, with the keys of its log and its witness.
fn read_site(place: &str) -> accession::Result<(Vec<String>, u64)> {
    let (key, witness) = (key(1), witness_key(2));
    let (key, witness) = (key.verification_key(), witness.verification_key());
    let policy = format!("log {key}\nwitness near {witness}\nquorum none\n").parse().unwrap();
    let site = PublishedSite::named(place)?;
    let options = PrimaryOptions::default();
    let published = site.statements(ORIGIN, &policy, (&options, now()))?;
    let names = published.note.signers().map(str::to_owned).collect();
    Ok((names, published.checkpoint.size))
}

#[test]
fn a_site_is_read_with_one_signature_of_each_key_however_many_lines_it_shows() {
    let site = signed_site();
    let place = site.path().to_str().unwrap();
    let both = vec![ORIGIN.to_owned(), "witness2.example.net".to_owned()];
    assert_eq!(read_site(place).unwrap(), (both.clone(), 3));
    let file = site.path().join(CHECKPOINT);
    let text = std::fs::read_to_string(&file).unwrap();
    let (body, signatures) = text.split_once("\n\n").unwrap();
    let [log, witness] = signatures.lines().collect::<Vec<_>>().try_into().unwrap();
    let repeated = format!("{witness}\n").repeat(Note::MAX_SIGNATURES - 1);
    std::fs::write(&file, format!("{body}\n\n{repeated}{log}\n")).unwrap();
    assert_eq!(read_site(place).unwrap(), (both, 3));
    std::fs::write(&file, format!("{body}\n\n{repeated}")).unwrap();
    let error = read_site(place).unwrap_err().to_string();
    assert!(
        error.contains("it is not signed by a key of \"us.example.org/statements\""),
        "{error}"
    );
}

#[test]
fn a_site_with_any_bit_of_its_statements_flipped_is_rejected_by_name() {
    let site = signed_site();
    let place = site.path().to_str().unwrap();
    for (file, step) in [(CHECKPOINT, 1), (BUNDLE, 13)] {
        let whole = std::fs::read(site.path().join(file)).unwrap();
        for at in (0..whole.len()).step_by(step) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(site.path().join(file), flipped).unwrap();
            match read_site(place) {
                Err(error) => assert!(error.to_string().contains("/statements/"), "{error}"),
                // With this bit flipped, the line of the witness has an unknown key.
                Ok((names, _)) => assert!(file == CHECKPOINT && names == [ORIGIN], "{file} {at}"),
            }
        }
        std::fs::write(site.path().join(file), whole).unwrap();
    }
}

#[test]
fn a_site_whose_server_breaks_off_once_is_read_again() {
    let site = signed_site();
    let server = WebServer::over(site.path());
    let mut is_first = true;
    server.misbehave(move |request, reply| {
        if request.path == BUNDLE && std::mem::take(&mut is_first) {
            reply.cut = Some(100);
        }
    });
    assert_eq!(read_site(&server.dataset("D")).unwrap().1, 3);
    server.misbehave(|request, reply| {
        if request.path == BUNDLE {
            reply.cut = Some(100);
        }
    });
    let error = read_site(&server.dataset("D")).unwrap_err();
    assert!(
        error.kind().as_str() == "unreachable" && error.to_string().contains(BUNDLE),
        "{error}"
    );
}
