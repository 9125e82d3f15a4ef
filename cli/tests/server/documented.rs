//! The calls in `docs/reference/http.md` work, and each address has one.

use std::process::Command;

use accession::Selection;
use accession::dataset::DatasetMetadata;
use accession::history::NewAnnotation;

use crate::running::program::program;
use crate::site::Served;
use crate::sockets::serve;
use harness::installed::installed;
use harness::values::name;

/// The server of the examples.
const EXAMPLE: &str = "https://registry.archive.example";

/// The placeholders in the table of addresses, and their values in the examples.
const PLACES: [(&str, &str); 9] = [
    ("NAME@TIME", "US.FOOL2.002@2001-01-05"),
    ("NAME", "US.FOOL2.002"),
    ("DI:…", "DI:ed3f3e83fc55215ddc381ba3c3e715fa"),
    ("sha256:…", "sha256:c2d0ee0e34f8"),
    ("LEFT...RIGHT", "US.FOOL2.002@2001-01-05...US.FOOL2.002"),
    ("granule=ID", "granule=FOOL2.v2.10"),
    ("log/…", "log/000000.jsonl"),
    ("tile/…", "tile/entries/000.p/5"),
    ("10.…", "10.9999/US/FOOL2.v2"),
];

#[test]
fn every_documented_address_has_a_call_that_works() {
    let page = harness::repository().join("docs/reference/http.md");
    let page = std::fs::read_to_string(page).unwrap();
    let calls: Vec<&str> = page.lines().filter(|line| line.starts_with("curl ")).collect();
    let table = page.split("| Address | What is there |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    for cell in rows.map(|row| row.split('|').nth(1).unwrap()) {
        for address in cell.split('`').skip(1).step_by(2) {
            let address = PLACES
                .iter()
                .fold(address.to_owned(), |address, (place, is)| address.replace(place, is));
            let address = format!("{EXAMPLE}{address}");
            assert!(calls.iter().any(|call| call.contains(&address)), "no call of {address}");
        }
    }

    if installed("curl").is_none() {
        return;
    }
    let served = Served::seed();
    let at = Some("2001-01-05".parse().unwrap());
    let set = Selection::Dataset { name: name("US.FOOL2.002"), at };
    let note = NewAnnotation::new("incomplete").unwrap();
    served.registry.recorded_by("mallory".parse().unwrap()).annotate(&set, &note).unwrap();
    let edit = |dataset: &mut DatasetMetadata| {
        dataset.granule_url = Some("https://data.archive.example/{granule}".parse().unwrap());
    };
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .edit_dataset(&name("US.FOOL2.002"), edit)
        .unwrap();
    let path = served.directory.path().join("accession.db");
    let add = "printf '%s  %s\n' 2c624232cdd221771294dfbb310aca000a0df6ac8b66b696d90ef06fdefb64a3 \
        FOOL2.v2.12.bdc9dc33-38bd-403c-991e-48dcd4762ca7 \
        | \"$0\" --registry \"$1\" --quiet fixity add US.FOOL2.002 --at now - --algorithm sha-256 \
        && \"$0\" proof keygen us.example/statements --output \"$1.key\" > \"$1.vkey\" \
        && \"$0\" --registry \"$1\" --quiet proof sign --key \"$1.key\"";
    let added = Command::new("sh").args(["-c", add, program()]).arg(&path).status().unwrap();
    assert!(added.success());
    let serving = serve(&path, &[]);
    for call in calls {
        let here = call.replace(EXAMPLE, &format!("http://{}", serving.address)).replacen(
            "curl ",
            "curl --fail --silent --show-error ",
            1,
        );
        let output = Command::new("sh").args(["-c", &here]).output().unwrap();
        // No subset was cited, so this response is empty.
        let has_body = !output.stdout.is_empty() || call.contains("/subsets.jsonl");
        assert!(output.status.success() && has_body, "{call}: {output:?}");
    }
}
