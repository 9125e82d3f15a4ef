//! The form of a log, down to the byte. A fixture pins it, the schema describes it, and the reader in the
//! documentation, which shares no code with ours, reads it.

use harness::values::AtTime;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::{
    Change, Clock, ListingBuilder, ListingEntry, Moment, Registry, Selection, SubsetMembers,
};

use harness::exported::{import_of, manifest_of};
use harness::history::{change, id, instances, name, second, stating, with_file};
use harness::store::new_registry;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A dataset with everything that a manifest can contain: a change of several lines, producers' ids, a note and
/// ids with escaped characters, a deletion and a return, fractions of a second, both kinds of cited subset, a
/// record and a former name.
fn registry() -> Registry {
    let registry = new_registry();
    let us = name("US.FOOL2.002");
    let many: Vec<String> = (0..2_001).map(|n| format!("granule.{n:05}")).collect();
    registry.change(&us, &change(many.iter().map(String::as_str), []).at(second(0))).unwrap();
    let mut second_change = Change::new();
    for (granule_id, producer) in [("A_1", Some("A")), ("say \"ä\" \\", None)] {
        let (granule_id, producer_granule) = (id(granule_id), producer.map(id));
        second_change
            .ingest(ListingEntry { granule_id, producer_granule, content: None, location: None })
            .unwrap();
    }
    second_change.delete(id("granule.00007")).unwrap();
    second_change.ingest(with_file("A_2.nc", "A_2.nc", Some(7), Some(sum(1)))).unwrap();
    second_change.options = second_change.options.note("tab \t, line \n, quote \", ü".to_owned());
    let half = "2001-01-01T00:00:01.500Z".parse().unwrap();
    registry.change(&us, &second_change.at(half)).unwrap();
    registry.change(&us, &change(["granule.00007"], ["A_1"]).at(second(2))).unwrap();

    // Records of files: added later, of several files, with other algorithms, and replaced.
    let described = [
        with_file("granule.00009", "data/9.nc", Some(9), Some(sum(2))),
        with_file("granule.00009", "meta \"9\".xml", Some(1), None),
        with_file(
            "A_2.nc",
            "A_2.nc",
            None,
            Some(Checksum::parse("etag".parse().unwrap(), "x\"1\"").unwrap()),
        ),
    ];
    registry.change(&us, &stating(described).at(second(3))).unwrap();
    let replaced = [with_file("A_2.nc", "A_2.nc", None, Some(sum(3)))];
    registry.change(&us, &stating(replaced).at(second(4))).unwrap();

    let patterns =
        SubsetMembers::Patterns(vec!["granule.0000*".parse().unwrap(), "A*".parse().unwrap()]);
    let at = Some(Moment::Instant(half));
    registry.with_clock(Clock::fixed(second(3))).cite_subset(&us, at, &patterns).unwrap();
    let mut named = ListingBuilder::new();
    many.iter().skip(500).take(1_200).for_each(|text| named.add(id(text)).unwrap());
    let named = named.finish();
    registry
        .with_clock(Clock::fixed(second(4)))
        .cite_subset(&us, None, &SubsetMembers::Listed(named))
        .unwrap();

    let selection = Selection::Dataset { name: us.clone(), at };
    let mut annotation = NewAnnotation::new("\"ä\",\nincomplete").unwrap();
    annotation.questionable = true;
    registry.annotate(&selection, &annotation).unwrap();

    registry
        .edit_dataset(&us, |dataset| {
            dataset.title = Some("FOO \"Level\" 2".to_owned());
            dataset.doi = Some("10.9999/US/FOOL2.v2".parse().unwrap());
            dataset.creators = vec!["Ünder, Standing".parse().unwrap()];
            dataset.year = Some("2001".parse().unwrap());
        })
        .unwrap();
    registry.rename_dataset(&us, &name("US.FOOL2.003")).unwrap();
    registry
}

/// A SHA-256 whose bytes are all the same.
fn sum(byte: u8) -> Checksum {
    Checksum::from_bytes(Algorithm::Sha256, &[byte; 32]).unwrap()
}

fn written(registry: &Registry) -> String {
    String::from_utf8(manifest_of(registry, "US.FOOL2.003")).unwrap()
}

fn fixture() -> PathBuf {
    root().join("fixtures/log/manifest.jsonl")
}

#[test]
fn the_bytes_of_a_manifest_are_those_of_the_fixture() {
    let written = written(&registry());
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(fixture(), &written).unwrap();
    }
    let pinned = std::fs::read_to_string(fixture()).unwrap();
    for (number, (written, pinned)) in written.lines().zip(pinned.lines()).enumerate() {
        assert_eq!(written, pinned, "line {}", number + 1);
    }
    assert_eq!(written.len(), pinned.len());
}

#[test]
fn an_imported_manifest_is_written_as_the_same_bytes_again() {
    let text = written(&registry());
    let copy = new_registry();
    let imported = import_of(&copy, "US.FOOL2.003", text.clone()).unwrap();
    assert_eq!((imported.instances.len(), imported.subsets), (5, 2));
    // The former name belongs to another registry; everything else is the same.
    let again = written(&copy);
    let head = |text: &str| text.lines().last().unwrap().to_owned();
    let former = "\"former_names\":[\"US.FOOL2.002\"]";
    let body = |text: &str| head(text).split(",\"sha256\":\"").next().unwrap().to_owned();
    let expected = body(&text).replace(former, "\"former_names\":[]");
    assert_eq!(body(&again), expected);
    assert!(text.contains(former));
    assert_eq!(
        again.strip_suffix(&(head(&again) + "\n")),
        text.strip_suffix(&(head(&text) + "\n"))
    );

    // A second import has nothing to do.
    let imported = import_of(&copy, "US.FOOL2.003", text).unwrap();
    assert_eq!((imported.instances.len(), imported.subsets), (0, 0));
}

#[test]
fn the_json_schema_describes_every_member_and_no_others() {
    let schema = std::fs::read_to_string(root().join("src/mirror/log/schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for line in written(&registry()).lines() {
        let kind = match line.split('"').nth(1).unwrap() {
            "accession_log" => "first",
            "accession_head" => "head",
            "subset" => "subset",
            "annotation" => "annotation",
            _ => "change",
        };
        let described = &schema["$defs"][kind];
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for (member, value) in line.as_object().unwrap() {
            assert!(described["properties"][member].is_object(), "{kind} {member}");
            seen.insert(format!("{kind} {member}"));
            let nested = &described["properties"][member]["properties"];
            for member in value.as_object().into_iter().flat_map(|object| object.keys()) {
                assert!(nested[member].is_object(), "{kind} {member}");
            }
        }
        for required in described["required"].as_array().unwrap() {
            assert!(line.get(required.as_str().unwrap()).is_some(), "{kind} {required}");
        }
    }
    for kind in ["first", "change", "subset", "annotation", "head"] {
        for member in schema["$defs"][kind]["properties"].as_object().unwrap().keys() {
            let is_written = seen.contains(&format!("{kind} {member}"));
            assert!(is_written || member == "moved_to", "{kind} {member} is never written");
        }
    }
}

/// Runs the reader in the documentation on a manifest. Returns whether it accepts the manifest, and its output.
fn read_by_python(manifest: &str) -> (bool, String) {
    let page = std::fs::read_to_string(root().join("docs/reference/manifest.md")).unwrap();
    let program = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(program.lines().count() < 110);
    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A reader that rejects a line does not read the rest.
    let _ = child.stdin.take().unwrap().write_all(manifest.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn the_reader_in_the_documentation_rebuilds_every_identifier_and_refuses_damage() {
    let registry = registry();
    let text = written(&registry);
    let (is_accepted, printed) = read_by_python(&text);
    let expected = instances(&registry, &name("US.FOOL2.003"))
        .into_iter()
        .map(|it| format!("{} {} {}\n", it.timestamp, it.identifier, it.digest));
    assert!(is_accepted, "{printed}");
    assert_eq!(printed, expected.collect::<String>());

    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        let (is_accepted, printed) = read_by_python(&joined(&without));
        assert!(!is_accepted, "without line {}: {printed}", at + 1);
        let middle = lines[at].len() / 2;
        let mut altered = lines.clone();
        let other = if lines[at].as_bytes()[middle] == b'0' { "1" } else { "0" };
        let mut line = lines[at].as_bytes().to_vec();
        line[middle] = other.as_bytes()[0];
        let line = String::from_utf8_lossy(&line).into_owned();
        altered[at] = &line;
        let (is_accepted, printed) = read_by_python(&joined(&altered));
        assert!(!is_accepted, "line {} altered: {printed}", at + 1);
    }
    assert!(!read_by_python(&text[..text.len() - 1]).0);
}
