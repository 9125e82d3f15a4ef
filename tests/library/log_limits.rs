//! The contents of a log are limited while it is read, and its lines have one form.

use accession::dataset::DatasetMetadata;
use accession::dataset::Withdrawn;
use accession::file::Checksum;
use accession::mirror::{Primary, PrimaryOptions, PullOptions};
use accession::{
    Change, ChangeOptions, Clock, ErrorKind, IfMissing, Import, ListingBuilder, Pattern, Registry,
    SubsetMembers,
};
use harness::values::{AtTime, clock};

use crate::properties::resealed;
use harness::exported::{manifest_of, primary_of};
use harness::history::{name, now, second};
use harness::hostile_log::HostileLog;
use harness::oracle::{naive, naive_digest};
use harness::primary_at_address::{World, quick};
use harness::pulls::FOLLOW;
use harness::values::{stating, with_file};

/// A primary whose log has these lines after its first one.
fn world_of(lines: &[String]) -> World {
    let world = World::new();
    let mut log = HostileLog::below(world.directory.path());
    lines.iter().for_each(|line| log.line(line));
    log.announce(second(0), (naive(["A"]), &naive_digest(["A"]).to_string()), 1);
    log.finish();
    world
}

/// The error for a log with these lines.
fn refused(lines: &[String]) -> String {
    let world = world_of(lines);
    let error = world.pull(0, FOLLOW).unwrap_err();
    assert_eq!(error.kind().as_str(), "primary-invalid", "{error}");
    assert_eq!(world.mirror.snapshot().unwrap().all_datasets(Withdrawn::Listed).unwrap().len(), 0);
    error.to_string()
}

/// The line of a change that ingests A, without its check value.
fn line(ingested: &str, note: &str) -> String {
    let (at, identifier, digest) = (second(0), naive(["A"]), naive_digest(["A"]));
    format!(
        "{{\"timestamp\":\"{at}\",\"ingested\":{ingested},\"deleted\":[],\"described\":[],\"replaced\":[],\"note\":{note},\"identifier\":\"{identifier}\",\"digest\":\"{digest}\""
    )
}

#[test]
fn a_line_that_is_not_in_canonical_form_is_refused() {
    let canonical = line("[\"A\"]", "null");
    let replaced = |from: &str, to: &str| {
        let other = canonical.replacen(from, to, 1);
        assert_ne!(other, canonical);
        other
    };
    let others = [
        // If a member occurs twice, some parsers return the last value, and others the first.
        replaced("\"A\"", "{\"granule\":\"B\",\"granule\":\"A\"}"),
        replaced("\"A\"", "{\"granule\":\"A\"}"),
        replaced("\"A\"", "{\"producer_granule\":\"a\",\"granule\":\"A\"}"),
        replaced("\"A\"", "{\"granule\":\"A\",\"producer_granule\":\"a\",\"size\":1}"),
        replaced("\"A\"", "{\"granule\":\"A\",\"producer_granule\":null}"),
        replaced("\"A\"", "\"\\u0041\""),
        replaced("\"A\"", " \"A\""),
        replaced("[\"A\"]", "[\"A\"\t]"),
        replaced("{\"timestamp\"", "{ \"timestamp\""),
        replaced("{\"timestamp\"", "{\"more\":1,\"timestamp\""),
        replaced(",\"note\":null", ""),
        replaced("null", "\"\\u000a\""),
        replaced("null", "\"\\/\""),
        replaced("2001-01-01T00:00:00Z", "2001-01-01T00:00:00.000Z"),
        replaced("2001-01-01T00:00:00Z", "2001-01-01T00:00:00.500Z"),
        replaced("2001-01-01T00:00:00Z", "2001-01-01T01:00:00+01:00"),
        replaced("\"deleted\":[],\"described\":[]", "\"described\":[],\"deleted\":[]"),
        replaced("\"A\"", "{\"granule\":\"A\",\"files\":[]}"),
        replaced("\"A\"", "{\"granule\":\"A\",\"files\":[{\"path\":\"A\",\"size\":1}]}"),
        replaced("\"A\"", "{\"granule\":\"A\",\"files\":[{\"checksums\":[\"MD5:00\"]}]}"),
        replaced(&naive(["A"]).to_string(), &naive(["A"]).to_string().to_uppercase()),
    ];
    for other in others {
        let error = refused(std::slice::from_ref(&other));
        let said = ["not in canonical form", "is not a change", "is not a valid", "hexadecimal"];
        assert!(error.contains("000000.jsonl:2: "), "{other}: {error}");
        assert!(said.iter().any(|it| error.contains(it)), "{other}: {error}");
    }
    // The same line in its canonical form is read.
    assert!(world_of(&[canonical]).pull(0, FOLLOW).unwrap().is_identical());
}

#[test]
fn a_change_is_divided_after_1_000_granules_only() {
    let part = |ids: std::ops::Range<usize>| {
        let ids: Vec<String> = ids.map(|n| format!("\"{n:05}\"")).collect();
        format!(
            "{{\"timestamp\":\"{}\",\"ingested\":[{}],\"deleted\":[],\"described\":[],\"replaced\":[]",
            second(0),
            ids.join(",")
        )
    };
    let error = refused(&[part(0..999), line("[\"A\"]", "null")]);
    assert!(error.contains("divided elsewhere"), "{error}");
    let error = refused(&[part(0..1_000), line("[]", "null")]);
    assert!(error.contains("000000.jsonl:3: "), "{error}");
    assert!(error.contains("changes nothing"), "{error}");
}

#[test]
fn control_characters_in_notes_and_metadata_are_refused() {
    for (character, code) in [("u0000", "U+0000"), ("r", "U+000D"), ("u0007", "U+0007")] {
        let error = refused(&[line("[\"A\"]", &format!("\"a\\{character}b\""))]);
        let expected =
            format!("character 2 of the note is the control character {code}: remove it");
        assert!(error.contains(&expected), "{error}");
    }
    // A change with such a note is rejected as well. Otherwise, the note would be in the log for ever.
    let mut change = Change::new();
    change.ingest("A".parse::<accession::GranuleId>().unwrap()).unwrap();
    change.options = change.options.if_missing(IfMissing::Create).note("a\u{1b}b".to_owned());
    let registry = Registry::temporary(clock()).unwrap();
    let error = registry.change(&name("us"), &change).unwrap_err();
    assert_eq!(error.kind().as_str(), "input");

    let us = Registry::temporary(clock()).unwrap();
    change.options = change.options.note("lines\n\tand tabs".to_owned());
    us.change(&name("us"), &change).unwrap();
    let title = |text: &str| {
        us.edit_dataset(&name("us"), |dataset| {
            dataset.title = Some(text.to_owned());
        })
    };
    for refused in ["a\0b", "a\nb"] {
        let error = title(refused).unwrap_err();
        assert!(error.to_string().contains("character 2 of the title"), "{error}");
    }
    let dataset = DatasetMetadata {
        publisher: Some("a\tb".to_owned()),
        ..DatasetMetadata::named(name("them"))
    };
    assert_eq!(us.add_dataset(&dataset).unwrap_err().kind().as_str(), "input");
    title("a+b").unwrap();
    let text = String::from_utf8(manifest_of(&us, "us")).unwrap();
    let primary = primary_of(resealed(&text, |body| body.replace("a+b", "a\\u0007b"))).unwrap();
    let options = PullOptions::new().if_missing(IfMissing::Create);
    let error = registry.pull(&name("mirror"), &primary, options).unwrap_err();
    assert!(error.to_string().contains("character 2 of the title"), "{error}");
}

#[test]
fn notes_ids_and_patterns_are_limited_while_they_are_read() {
    let most = "n".repeat(64 * 1_024);
    let error = refused(&[line("[\"A\"]", &format!("\"{most}n\""))]);
    assert!(error.contains("its note has more than 64 KiB"), "{error}");
    let ids = |count: usize| vec!["\"\""; count].join(",");
    for count in [1_001, 2_000_000] {
        let error = refused(&[line(&format!("[{}]", ids(count)), "null")]);
        assert!(error.contains("more than 1,000 granules"), "{error}");
    }
    let sums = |count: usize| {
        let sums: Vec<String> = (0..count).map(|n| format!("\"x{n:06}:1\"")).collect();
        format!("[{{\"granule\":\"A\",\"files\":[{{\"checksums\":[{}]}}]}}]", sums.join(","))
    };
    for count in [65, 100_000] {
        let error = refused(&[line(&sums(count), "null")]);
        assert!(error.contains("\"A\" has more than 64 checksums"), "{error}");
    }
    // 64 checksums are accepted. The line then fails only because its digest is that of a granule without
    // files.
    let read = world_of(&[line(&sums(64), "null")]).pull(0, FOLLOW);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::NotAsExpected);
    // Values at the limit are read.
    let world = World::new();
    let mut log = HostileLog::below(world.directory.path());
    log.change(second(0), ["[\"A\"]", "[]"], &most, &["A"]);
    log.subset(&format!(
        "{{\"subset\":\"{}\",\"digest\":\"{}\",\"timestamp\":\"{}\",\"patterns\":[{}],\"count\":1,\"cited\":\"{}\"}}\n",
        naive(["A"]), naive_digest(["A"]), second(0), vec!["\"*\""; 21].join(","), second(0)
    ));
    log.finish();
    assert!(world.pull(0, FOLLOW).unwrap().is_identical());
    let mut import = accession::Import::new();
    let primary: Primary = world.server.dataset("us").parse().unwrap();
    let read = primary.read_replica(None, &name("us"), &mut import, now());
    let error = read.err().unwrap().to_string();
    assert!(
        error.contains("subsets.jsonl:1: ") && error.contains("more than 20 patterns"),
        "{error}"
    );
}

#[test]
fn what_no_mirror_could_read_is_not_recorded() {
    let registry = Registry::temporary(clock()).unwrap();
    let mut noted = Change::new();
    noted.ingest("A".parse::<accession::GranuleId>().unwrap()).unwrap();
    noted.options =
        noted.options.note("ü".repeat(4_097)).if_missing(IfMissing::Create).at(second(0));
    let error = registry.change(&name("us"), &noted).unwrap_err();
    assert_eq!(error.kind().as_str(), "too-long", "{error}");
    assert!(error.to_string().contains("4097 characters"), "{error}");
    noted.options = noted.options.note("ü".repeat(4_096));
    registry.change(&name("us"), &noted).unwrap();
    // Notes of a log may be longer.
    let mut import = Import::new();
    let error = import.note(second(1), Some(&"n".repeat(64 * 1_024 + 1))).unwrap_err();
    assert_eq!(error.kind().as_str(), "too-long", "{error}");
    import.note(second(1), Some(&"n".repeat(64 * 1_024))).unwrap();
    let why = "w".repeat(4_097);
    let error = registry.withdraw_dataset(&name("us"), &why).unwrap_err();
    assert_eq!(error.kind().as_str(), "too-long", "{error}");
    let patterns: Vec<Pattern> = (0..20_000).map(|n| format!("{n:05}*").parse().unwrap()).collect();
    let wanted = SubsetMembers::Patterns(patterns);
    let error = registry.cite_subset(&name("us"), None, &wanted).unwrap_err();
    assert_eq!(error.kind().as_str(), "too-long", "{error}");
}

#[test]
fn the_limit_of_bytes_counts_what_was_decompressed() {
    let world = World::new();
    let mut log = HostileLog::below(world.directory.path());
    let mut held = Vec::new();
    for at in 0..80 {
        held.push(format!("{at:03}"));
        let ingested = format!("[\"{at:03}\"]");
        log.change(second(at), [&ingested, "[]"], &"n".repeat(64 * 1_024), &held);
    }
    let sent = log.finish();
    let max_bytes = 2_000_000;
    assert!(sent < max_bytes, "{sent}");
    let compare_with = |max_bytes| {
        let max_bytes = Some(max_bytes);
        let options = PrimaryOptions { max_bytes, ..PrimaryOptions::default() };
        world.compare_with(&quick(&world.server.dataset("us"), options)).map(drop)
    };
    let error = compare_with(max_bytes).unwrap_err();
    assert_eq!(error.kind().as_str(), "too-many-bytes", "{error}");
    compare_with(6_000_000).unwrap();
}

#[test]
fn a_renamed_dataset_is_looked_for_under_a_name_and_not_at_a_path() {
    let world = World::small();
    world.pull(0, FOLLOW).unwrap();
    for moved_to in ["a/../../../../secret", "../secret", "/secret", "a/b", "..", "a%2fb", ""] {
        let log = HostileLog::below(world.directory.path());
        log.head(&format!("{{\"accession_head\":3,\"moved_to\":\"{moved_to}\""));
        world.server.served();
        let error = world.pull(1, FOLLOW).unwrap_err();
        assert!(error.to_string().contains("is not a valid dataset name"), "{moved_to}: {error}");
        assert_eq!(world.server.served().len(), 1, "{moved_to}");
    }
}

#[test]
fn a_head_is_limited_too() {
    let world = World::small();
    let log = HostileLog::below(world.directory.path());
    let names = vec!["\"a\""; 20_000].join(",");
    for (creators, former, said) in
        [(names.as_str(), "", "10000 creators"), ("", names.as_str(), "10000 former names")]
    {
        log.head(&format!(
            "{{\"accession_head\":3,\"rule\":\"md5-chain\",\"dataset\":{{\"name\":\"us\",\"creators\":[{creators}]}},\"former_names\":[{former}],\"withdrawn\":null,\"changes\":0,\"timestamp\":null,\"identifier\":null,\"digest\":null,\"granules\":0,\"check\":\"{0}\",\"segments\":[{{\"bytes\":1,\"timestamp\":null,\"check\":\"{0}\"}}],\"subsets\":{{\"count\":0,\"bytes\":0,\"sha256\":\"{1}\"}}",
            "0".repeat(64),
            "0".repeat(64)
        ));
        let error = world.pull(1, FOLLOW).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    log.head(&format!("{{\"accession_head\":3,\"more\":\"{}\"", "m".repeat(4 << 20)));
    let error = world.pull(1, FOLLOW).unwrap_err().to_string();
    assert!(error.contains("more than 4 MiB"), "{error}");
}

#[test]
fn a_registry_keeps_at_most_64_checksums_of_a_file() {
    let registry = Registry::temporary(clock()).unwrap();
    harness::history::step(&registry, "us", 0, ["A"], []);
    let sum = |n: usize| {
        let algorithm = format!("x{n}").parse().unwrap();
        with_file("A", "A", None, Some(Checksum::parse(algorithm, "1").unwrap()))
    };
    let state = |entries: Vec<accession::ListingEntry>, at: i64| {
        registry.change(&name("us"), &stating(entries).at(second(at)))
    };
    for n in 0..64 {
        state(vec![sum(n)], n as i64 + 1).unwrap();
    }
    let refused = state(vec![sum(64)], 65).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLong);
    assert!(refused.to_string().contains("65 checksums"), "{refused}");
    // The granule is listed 65 times, each time with one of the checksums.
    let other = Registry::temporary(clock()).unwrap();
    let mut listing = ListingBuilder::new();
    (0..65).for_each(|n| listing.add(sum(n)).unwrap());
    let listing = listing.finish();
    let options = ChangeOptions::new().if_missing(IfMissing::Create).at(second(0));
    let synced = other.sync(&name("us"), &listing, &options);
    let refused = synced.unwrap_err().to_string();
    assert!(refused.contains("\"A\" has more than 64 checksums"), "{refused}");
    // The mirror has 64 checksums of its own, and the primary has another one.
    let manifest = {
        let us = Registry::temporary(clock()).unwrap();
        harness::history::step(&us, "us", 0, ["A"], []);
        let stated = stating([sum(64)]);
        us.change(&name("us"), &stated.at(second(1))).unwrap();
        manifest_of(&us, "us")
    };
    let primary = primary_of(manifest).unwrap();
    let options = PullOptions::default();
    let pulled = registry.pull(&name("us"), &primary, options.at(second(99)));
    assert_eq!(pulled.unwrap_err().kind(), ErrorKind::TooLong);
}

#[test]
fn a_subset_is_selected_by_at_most_20_patterns() {
    let registry = Registry::temporary(clock()).unwrap();
    harness::history::step(&registry, "us", 0, ["A", "B"], []);
    let members = |count: usize| {
        let patterns = (0..count).map(|n| format!("A*{}", "?".repeat(n)).parse().unwrap());
        SubsetMembers::Patterns(patterns.collect())
    };
    registry
        .with_clock(Clock::fixed(second(1)))
        .cite_subset(&name("us"), None, &members(20))
        .unwrap();
    let refused = registry
        .with_clock(Clock::fixed(second(2)))
        .cite_subset(&name("us"), None, &members(21))
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLong);
    let expected = "a selection has 21 patterns, but at most 20 are allowed";
    assert_eq!(refused.to_string(), expected);
}
