//! Every command on a file and on a server has the same output, messages and exit status.

use harness::values::clock;
use std::path::{Path, PathBuf};

use accession::Registry;

use crate::scene::{Scene, command};

/// Commands in an order in which each has something to do, including rejected ones.
const COMMANDS: &[&str] = &[
    "show US",
    "dataset create US --doi 10.9999/US --title FOO --creator NASA --year 2001 --publisher Archive",
    "dataset create US",
    "dataset list",
    "show US",
    "granules US",
    "ingest US --at 2001-01-02 --id A --id B --note first",
    "ingest US --at 2001-01-03 --id A",
    "ingest US --at 2001-01-03 --skip-existing --id A --id C",
    "ingest US --at 2001-01-01 --id D",
    "ingest US --at noon --id D",
    "ingest NONE --id D",
    "ingest THEM --create --at 2001-01-04 --id A --id B --dry-run",
    "ingest THEM --create --at 2001-01-04 --id A --id B --by archivist",
    "delete US --at 2001-01-05 --id B",
    "delete US --at 2001-01-06 --id B",
    "delete US --at 2001-01-06 --skip-missing --id B",
    "ingest US --at 2001-01-06 ids.txt --delete gone.txt",
    "sync US --at 2001-01-07 ids.txt",
    "sync US --at 2001-01-08 ids.txt",
    "sync US --at 2001-01-08 other.txt",
    "revert US US@2001-01-02 --at 2001-01-09",
    "import LOG table.csv --create",
    "import LOG table.csv",
    "import LOG wrong.csv",
    "history US",
    "history US -n 2",
    "history US -n 2 --changes",
    "show US@2001-01-05",
    "show US@2000-01-05",
    "show US@2001-01-05 --known-at 2001-01-05",
    "show US~1",
    "granules US",
    "granules US --count",
    "granules US --select B* --after A",
    "granules US@2001-01-02 --limit 1",
    "find B",
    "find NEVER",
    "show 8f714d3efb0e51ed23fb7eeecca3009b",
    "show 8f714d3efb0e51ed23fb7eeecca3009b@2001-01-02",
    "show 00000000000000000000000000000000",
    "compare US THEM",
    "compare US@2001-01-02 US@2001-01-05",
    "compare US ids.txt",
    "cite US@2001-01-05",
    "cite US@2001-01-05 --format bibtex",
    "check DI:8f714d3efb0e51ed23fb7eeecca3009b",
    "check {doi:10.9999/US,2001-01-02,DI:8f714d3efb0e51ed23fb7eeecca3009b}",
    "check DI:00000000000000000000000000000000",
    "dataset export US",
    "dataset export US --output us.jsonl",
    "mirror compare THEM us.jsonl",
    "mirror pull THEM us.jsonl --at 2001-02-03",
    "mirror pull THEM us.jsonl --at 2001-02-03 --expect DI:8f714d3efb0e51ed23fb7eeecca3009b",
    "mirror compare THEM us.jsonl",
    "status THEM",
    "mirror pull COPY us.jsonl --create --at 2001-02-03",
    "import REPLICA us.jsonl --create",
    "publish www",
    "publish www",
    // The head of a manifest contains the time at which a subset was cited.
    "cite US@2001-01-02 --select B*",
    "show US",
    "dataset edit US --title BAR",
    "dataset edit US --licence CC-BY-4.0",
    "show US",
    "show US --versions",
    "dataset rename LOG RENAMED",
    "show LOG",
    "dataset rename US THEM",
    "dataset withdraw COPY --note wrong",
    "ingest COPY --id X",
    "show COPY",
    "dataset reinstate COPY",
    "dataset list --all",
    "ids payment --worker 3",
    "ids payment --worker 1000",
    "verify",
    "verify NONE",
];

fn commands_on(registry: &str, directory: &Path) -> Vec<String> {
    let file = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    file("ids.txt", "A\nE\né\n値\n");
    file("gone.txt", "C\n");
    file("other.txt", "Z\n");
    file("table.csv", "granule_id,ingested,deleted\nA,2001-01-02,\nB,2001-01-03,2001-02-03\n");
    file("wrong.csv", "granule_id,ingested,deleted\nA,2001-01-05,2001-01-04\n");
    let shown = accession::Location::from(registry).full_name().to_str().unwrap().to_owned();
    let directory_name = directory.canonicalize().unwrap().to_str().unwrap().to_owned();
    let mut outputs = Vec::new();
    for arguments in COMMANDS {
        for json in [&[][..], &["--json"]] {
            // Commands that change something are run only once.
            let reads = ["show", "granules", "history", "find", "compare", "check"];
            let is_read = reads.iter().any(|name| arguments.starts_with(name));
            if !json.is_empty() && !is_read {
                continue;
            }
            let words: Vec<&str> = arguments.split(' ').chain(json.iter().copied()).collect();
            let output = command(registry, &words).current_dir(directory).output().unwrap();
            let status = output.status.code();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            let text = text.replace(&shown, "REGISTRY").replace(registry, "REGISTRY");
            let text = text.replace(&directory_name, "DIRECTORY");
            outputs.push(format!("$ accession {}\n{}{status:?}", words.join(" "), masked(&text)));
        }
    }
    outputs
}

/// The text with `NOW` for the present time, and `ID` for payment ids, which contain the time.
fn masked(text: &str) -> String {
    let is_of_time = |c: char| c.is_ascii_digit() || "-:.TZ".contains(c);
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("202") {
        let (before, time) = rest.split_at(at);
        let length = time.find(|c| !is_of_time(c)).unwrap_or(time.len());
        masked.push_str(before);
        masked.push_str(if length >= 10 { "NOW" } else { &time[..length] });
        rest = &time[length..];
    }
    masked.push_str(rest);
    let is_payment_id = |line: &str| {
        line.len() == 9 && line.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
    };
    masked
        .lines()
        .map(|line| if is_payment_id(line) { "ID\n".into() } else { format!("{line}\n") })
        .collect()
}

#[test]
fn every_command_says_the_same_on_a_server_as_on_a_file() {
    let Some(scene) = Scene::new() else { return };
    let [of_file, of_server] = [(); 2].map(|()| harness::directory());
    let file: PathBuf = of_file.path().join("accession.db");
    drop(Registry::create(&file, clock()).unwrap());
    let on_file = commands_on(file.to_str().unwrap(), of_file.path());
    let on_server = commands_on(&scene.url, of_server.path());
    assert!(on_file.len() > 90, "{}", on_file.len());
    for (file, server) in on_file.iter().zip(&on_server) {
        assert_eq!(file, server);
    }
    // The written files are identical to the byte.
    let manifest = |directory: &Path| std::fs::read(directory.join("us.jsonl")).unwrap();
    assert_eq!(manifest(of_file.path()), manifest(of_server.path()));
}
