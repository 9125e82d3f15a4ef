//! For every pair of options of a command: both have an effect, or they are rejected.
//!
//! The options are those of the help, so a new option needs a value here. An option has an effect if the
//! output, the files or the exit status of the command differ. An option with an effect on its own must have
//! one beside every other option, unless the two are rejected together. Options that are rejected on their own,
//! or have no effect on their own, are not tried in pairs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::coverage::options_of;
use crate::documents::{helps, leaf_commands};
use crate::running::console::{Sandbox, masked};
use crate::running::serving::Serving;

/// A command with the options that are tried.
struct Case {
    command: &'static str,
    /// The arguments after the command. There are several, since no single line shows an effect of every
    /// option.
    lines: &'static [&'static str],
    /// The options in groups, each with a value, which is empty for a flag.
    values: &'static [Values],
    /// Options whose effect no line shows.
    hidden: &'static [&'static str],
    /// Whether the history of the first named dataset is read afterwards.
    writes: bool,
    /// Options that have no effect beside the second one, and the reason why that is correct.
    unseen: Unseen,
}

type Values = &'static [(&'static str, &'static str)];

type Unseen = &'static [(&'static [&'static str], &'static str, &'static str)];

/// The fields of a dataset.
const FIELDS: Values = &[
    ("--archive", "Archive"),
    ("--at", "now"),
    ("--creator", "Archive"),
    ("--dataset-version", "2"),
    ("--description", "Granules"),
    ("--doi", "10.9999/other"),
    ("--free-access", "yes"),
    ("--from", "record.json"),
    ("--granule-url", "https://example.org/{granule}"),
    ("--keyword", "clouds"),
    ("--licence", "CC0-1.0"),
    ("--max-add", "3"),
    ("--max-delete", "3"),
    ("--max-replace", "3"),
    ("--publisher", "Publisher"),
    ("--resolver", "https://example.org"),
    ("--shared-doi", ""),
    ("--temporal", "2001-01-01/.."),
    ("--title", "Title"),
    ("--url", "https://example.org/foo"),
    ("--year", "2001"),
];

/// Options for reading a listing.
const READING: Values = &[
    ("--column", "name"),
    ("--comment", "#"),
    ("--granule", "name"),
    ("--no-header", ""),
    ("--only", "name=data/dataset.nc"),
    ("--skip-lines", "1"),
    ("--strip-prefix", "data"),
    ("--strip-suffix", ".nc"),
    ("--total", "7"),
];

const FORMAT: Values = &[("--format", "csv")];

/// Options for the records of files.
const FILES: Values = &[
    ("--algorithm", "sha-1"),
    ("--checksum-column", "sum"),
    ("--etag", ""),
    ("--path-column", "path"),
    ("--size-column", "size"),
    ("--split", ";"),
];

const INVENTORY: Values = &[("--root", "files"), ("--no-files", "")];

/// The options of a change.
const CHANGE: Values =
    &[("--all", ""), ("--at", "2001-02-01"), ("--dry-run", ""), EXPECT, ("--note", "why")];

/// A set that is never the result of a command.
const EXPECT: (&str, &str) = ("--expect", "DI:00000000000000000000000000000000");

/// Options of a listing that name ids.
const IDS: &[&str] = &["--column", "--granule", "--strip-prefix", "--strip-suffix"];

/// Options of changes that have no effect beside others.
const WRITING: Unseen = &[
    (&["--no-files"], "--skip-lines", "without its first line, a manifest is none"),
    (
        &["--path-column", "--size-column"],
        "--only",
        "the row that is left is of no granule that is held",
    ),
    (OF_FILES, "--dry-run", "what would be recorded of files is not printed"),
    (&["--note"], "--dry-run", "what would be recorded is not printed"),
    (&["--all"], "--dry-run", "three granules are printed anyway"),
    (&["--size-column"], "--checksum-column", "the digest covers checksums"),
    (&["--size-column"], "--path-column", "the digest covers checksums"),
];

const OF_FILES: &[&str] =
    &["--checksum-column", "--checksums", "--etag", "--no-files", "--path-column", "--size-column"];

/// Options of reading that have no effect beside others.
const COUNTED: Unseen = &[
    (&["--after", "--limit"], "--only", "no row is left"),
    (IDS, "--count", "the number is the same"),
    (IDS, "--limit", "the ids that differ are not listed"),
    (IDS, "--select", "the ids that differ do not match"),
    (IDS, "--summary", "the numbers are the same"),
    (&["--size-column"], "--checksum-column", "the digest covers checksums"),
    (&["--path-column", "--checksum-column"], "--size-column", "the other side has no files"),
    (&["--path-column"], "--checksum-column", "the other side has no files"),
];

/// Nothing was recorded by the requested time.
const UNKNOWN_THEN: Unseen =
    &[(&["--changes", "--since", "--until"], "--known-at", "nothing was recorded by then")];

const CASES: &[Case] = &[
    Case {
        command: "dataset create",
        lines: &["NEW", "NEW --doi 10.9999/us"],
        values: &[FIELDS],
        // `--at now` has no effect, because the clock is right.
        hidden: &["--at"],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "dataset export",
        lines: &["US"],
        values: &[&[("--output", "new.jsonl"), ("--until", "2001-01-02")]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "ids explain",
        lines: &["000000300", "A_CGgZSM0L --collection A___1"],
        values: &[&[("--collection", "A___1"), ("--epoch", "2020-01-01"), ("--layout", "wide")]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "ids granule",
        lines: &["table.csv --collection A___1", "--collection A___1 --id A"],
        values: &[&[
            ("--column", "file"),
            ("--comment", "#"),
            ("--format", "csv"),
            ("--granule", "name"),
            ("--hash-length", "4"),
            ("--id", "B"),
            ("--no-header", ""),
            ("--only", "file=data/B.nc"),
            ("--skip-lines", "1"),
            ("--strip-prefix", "data"),
            ("--strip-suffix", ".nc"),
            ("--timestamp", ""),
            ("--total", "7"),
        ]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "ids payment",
        lines: &["--worker 1"],
        // The registry has already issued ids with another layout and another epoch, and the table has no such
        // ids.
        values: &[&[
            ("--count", "2"),
            ("--epoch", "2020-01-01"),
            ("--layout", "wide"),
            ("--old-ids", "table.csv"),
        ]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "mirror compare",
        lines: &["THEM us.jsonl"],
        values: &[&[
            ("--all", ""),
            ("--ca-file", "list.txt"),
            ("--checked-within", "1d"),
            ("--files", "data"),
            ("--insecure", ""),
            ("--max-age", "1d"),
            ("--max-bytes", "1"),
            ("--primary-dataset", "NONE"),
            ("--timeout", "1"),
        ]],
        // The manifest is new. The mirror is not identical, whenever its files were checked.
        hidden: &["--all", "--checked-within", "--max-age"],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "mirror pull",
        lines: &["OTHER us.jsonl", "OTHER us.jsonl --expect DI:cfdaf64a9f70fbdc8183afc8b9357ab8"],
        values: &[&[
            ("--all", ""),
            ("--at", "2001-02-01"),
            ("--ca-file", "list.txt"),
            ("--create", ""),
            ("--dry-run", ""),
            EXPECT,
            ("--insecure", ""),
            ("--max-age", "1d"),
            ("--max-bytes", "1"),
            ("--primary-dataset", "NONE"),
            ("--timeout", "1"),
        ]],
        // The warning repeats the command with all its options.
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "proof sign",
        lines: &["--key us.key"],
        values: &[&[("--policy", "policy"), ("--recover", "nowhere"), ("--timeout", "1")]],
        hidden: &["--policy", "--timeout"],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "proof verify",
        lines: &["us.tlog-proof", "us.tlog-proof --policy policy"],
        values: &[&[
            ("--at", "2001-01-02"),
            ("--list", "table.csv"),
            ("--policy", "policy"),
            ("--vkey", "none"),
        ]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "publish",
        lines: &["www"],
        values: &[&[
            ("--contact", "mailto:us@example.org"),
            ("--public-url", "https://example.org"),
            ("--site-name", "Us"),
        ]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "serve",
        lines: &["US", "US --register"],
        values: &[&[
            ("--contact", "mailto:us@example.org"),
            ("--listen", "127.0.0.2:0"),
            ("--max-connections", "1"),
            ("--public-url", "https://example.org"),
            ("--register", ""),
            ("--register-token", "token"),
            ("--site-name", "Us"),
        ]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "status",
        lines: &[""],
        values: &[&[("--checked-within", "0s"), ("--max-age", "0s")]],
        hidden: &[],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "sync",
        lines: &[
            "US paths.csv",
            "NEW sums.md5 --create",
            "NEW fixtures/input/s3-inventory/2024-01-02T01-00Z/manifest.json --create",
            "SUMS files",
        ],
        values: &[
            READING,
            FORMAT,
            FILES,
            INVENTORY,
            CHANGE,
            &[("--checksums", ""), ("--create", "")],
        ],
        hidden: &["--create"],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "ingest",
        lines: &["US new.csv", "NEW sums.md5 --create"],
        values: &[
            READING,
            FORMAT,
            FILES,
            INVENTORY,
            CHANGE,
            &[
                ("--checksums", ""),
                ("--create", ""),
                ("--delete", "some.txt"),
                ("--id", "Z"),
                ("--skip-existing", ""),
                ("--skip-missing", ""),
            ],
        ],
        hidden: &["--create", "--skip-existing"],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "delete",
        lines: &["PATHS gone.csv", "MANY --id C --id D --id E --id F"],
        values: &[READING, FORMAT, CHANGE, &[("--id", "B"), ("--skip-missing", "")]],
        hidden: &["--skip-missing"],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "show",
        lines: &["US", "US@2001-01-02", "paths.csv", "sums.md5"],
        values: &[
            READING,
            FORMAT,
            FILES,
            INVENTORY,
            &[("--known-at", "2001-01-03"), ("--site", "site"), ("--versions", "")],
        ],
        hidden: &[],
        writes: false,
        unseen: COUNTED,
    },
    Case {
        command: "granules",
        lines: &["MANY", "new.csv", "SUMS --format checksums"],
        values: &[
            READING,
            &[
                ("--after", "E"),
                ("--algorithm", "md5"),
                ("--count", ""),
                ("--format", "checksums"),
                ("--known-at", "2001-01-03"),
                ("--limit", "1"),
                ("--producer", "A"),
                ("--select", "'[CEF]'"),
                ("--site", "site"),
            ],
        ],
        hidden: &[],
        writes: false,
        unseen: COUNTED,
    },
    Case {
        command: "compare",
        lines: &["US THEM", "US paths.csv", "US THEM paths.csv", "SUMS sums.md5"],
        values: &[
            READING,
            FORMAT,
            FILES,
            &[
                ("--limit", "0"),
                ("--names-only", ""),
                ("--root", "files"),
                ("--scanned", "2001-01-02/2001-01-05"),
                ("--summary", ""),
            ],
        ],
        hidden: &[],
        writes: false,
        unseen: COUNTED,
    },
    Case {
        command: "cite",
        lines: &["PATHS", "sums.md5 --of 10.9999/us", "US --format ro-crate", "US --select B"],
        values: &[
            READING,
            FILES,
            INVENTORY,
            &[
                ("--digest", ""),
                ("--dry-run", ""),
                ("--format", "bibtex"),
                ("--of", "10.9999/us"),
                ("--output", "crate"),
                ("--select", "A"),
                ("--select-from", "gone.csv"),
                ("--site", "site"),
            ],
        ],
        hidden: &[],
        writes: false,
        unseen: COUNTED,
    },
    Case {
        command: "history",
        lines: &["US", "", "US -n 1"],
        values: &[&[
            ("--changes", ""),
            ("--known-at", "2001-01-03"),
            ("--since", "2001-01-03"),
            ("--until", "2001-01-02"),
        ]],
        hidden: &[],
        writes: false,
        unseen: UNKNOWN_THEN,
    },
    Case {
        command: "annotate",
        lines: &["US@2001-01-02 text"],
        values: &[&[
            ("--at", "now"),
            ("--dry-run", ""),
            ("--questionable", ""),
            ("--until", "2001-01-03"),
        ]],
        hidden: &["--at"],
        writes: true,
        unseen: &[],
    },
    Case {
        command: "revert",
        lines: &["MANY", "MANY MANY@2001-01-02"],
        values: &[CHANGE],
        hidden: &[],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "import",
        lines: &[
            "NEW dated.csv --create",
            "US 2001-02-01.csv 2001-02-02.csv",
            "NEW us.jsonl --create",
        ],
        values: &[
            READING,
            FORMAT,
            FILES,
            INVENTORY,
            &[
                ("--all", ""),
                ("--ca-file", "list.txt"),
                ("--create", ""),
                ("--deleted", "last"),
                ("--dry-run", ""),
                EXPECT,
                ("--ingested", "first"),
                ("--insecure", ""),
                ("--max-age", "0s"),
                ("--max-bytes", "1"),
                ("--note", "why"),
                ("--skip", "2001-02-02.csv"),
                ("--timeout", "1"),
            ],
        ],
        hidden: &["--create"],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "fixity add",
        lines: &[
            "US held.txt",
            "PATHS paths.csv --size-column size",
            "SUMS paths.csv --skip-missing --checksum-column sum",
        ],
        values: &[READING, FORMAT, FILES, CHANGE, &[("--root", "files"), ("--skip-missing", "")]],
        hidden: &[],
        writes: true,
        unseen: WRITING,
    },
    Case {
        command: "fixity check",
        lines: &["SUMS --root files", "SUMS --root fixtures"],
        values: &[&[
            ("--for", "1h"),
            ("--jobs", "1"),
            ("--mounted", ""),
            ("--root-name", "here"),
            ("--size-only", ""),
            ("--unexpected", ""),
        ]],
        hidden: &["--for", "--jobs", "--root-name"],
        writes: true,
        unseen: &[],
    },
    Case {
        command: "fixity compute",
        lines: &["US --root files"],
        values: &[&[
            ("--algorithm", "md5"),
            ("--at", "now"),
            ("--jobs", "1"),
            ("--mounted", ""),
            ("--note", "why"),
        ]],
        hidden: &["--at", "--jobs", "--mounted"],
        writes: true,
        unseen: &[],
    },
    Case {
        command: "dataset edit",
        lines: &["US --title New"],
        values: &[FIELDS],
        hidden: &["--at", "--shared-doi", "--title"],
        writes: false,
        unseen: &[],
    },
    Case {
        command: "dataset correct",
        lines: &["US --after 2001-01-02"],
        values: &[&[("--at", "now"), ("--dry-run", "")]],
        hidden: &["--at"],
        writes: true,
        unseen: &[],
    },
    Case {
        command: "dataset withdraw",
        lines: &["US --note why"],
        values: &[&[("--at", "now")]],
        hidden: &["--at"],
        writes: false,
        unseen: &[],
    },
];

/// A directory with everything that the cases name.
fn world() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(
        "accession ingest US --create --at 2001-01-02 --id A --id B; accession ingest US --at 2001-01-03 --id C",
    );
    sandbox.run("accession dataset edit US --doi 10.9999/us; accession ids payment --worker 1");
    sandbox.run("accession ingest THEM --create --at 2001-01-04 --id A --id B");
    sandbox.run("accession ingest OTHER --create --at 2001-01-04 --id A --id X");
    sandbox.run("accession dataset export US --output us.jsonl");
    sandbox.run("printf 'id,file\\ndata/data.nc,data/B.nc\\n' > table.csv; echo X > list.txt");
    sandbox.run(
        r#"echo '{"DOI":"10.9999/record","title":"Record","publisher":"Records"}' > record.json"#,
    );
    // Each path begins with its own name, so a part of the path has the prefix as well.
    let md5 = "900150983cd24fb0d6963f7d28e17f72";
    let held = format!("{md5}  A\\n{md5}  B\\n");
    let row = |id: &str| format!("{id},{id},3,{md5},p/{id}1,2001-03-01,\\n");
    let path = format!("data/data.nc,data/dataset.nc,3,{md5},p/C,2001-03-03,\\n");
    let rows = |ids: [&str; 3]| ids.map(row).concat() + &path;
    let header = "id,name,size,sum,path,first,last\\n";
    for (name, text) in [
        ("paths.csv", format!("{header}{}{}{path}", row("A"), row("B"))),
        ("2001-02-01.csv", format!("{header}{}{}{path}", row("A"), row("B"))),
        ("2001-02-02.csv", format!("{header}{}", rows(["A", "B", "Z"]))),
        ("new.csv", format!("{header}{}", rows(["D", "E", "F"]))),
        ("gone.csv", "id,name\\ndata/data.nc,data/dataset.nc\\n".to_owned()),
        ("sums.md5", format!("{held}{md5}  data/data.nc\\n")),
        ("held.txt", held),
        ("some.txt", "A\\nX\\n".to_owned()),
        (
            "dated.csv",
            "id,ingested,deleted,first,last,name\\n\
             data/data.nc,2001-03-01,2001-03-05,2001-03-02,,data/dataset.nc\\n\
             B,2001-03-02,,2001-03-03,2001-03-04,B\\n"
                .to_owned(),
        ),
    ] {
        sandbox.run(&format!("printf '{text}' > {name}"));
    }
    sandbox.run("mkdir -p files/data; for f in A B X data/data.nc; do printf abc > files/$f; done");
    let parts = ["data/", "/", ""].map(|before| {
        ["data.nc", "data", "dataset.nc", "dataset"]
            .map(|name| format!("{before}{name}\\n"))
            .concat()
    });
    sandbox.run(&format!(
        "printf '{}.nc\\nA\\nB\\n' | sed 's/^/--id /' | xargs accession ingest PATHS --create --at 2001-01-02",
        parts.concat()
    ));
    sandbox.run("accession ingest MANY --create --at 2001-01-02 --id A --id B");
    sandbox.run("printf 'C\\nD\\nE\\nF\\nG\\n' | accession ingest MANY - --at 2001-01-03");
    sandbox.run("accession ingest SUMS held.txt --algorithm md5 --create --at 2001-01-02");
    sandbox.run("accession ingest SUMS --at 2001-01-03 --id X");
    sandbox.run("accession publish site --public-url https://example.org US THEM");
    // Signed last, because a signature covers everything before it.
    sandbox.run("accession proof keygen us.example.org/statements --output us.key > us.vkey");
    sandbox.run("accession proof sign --key us.key");
    sandbox.run("accession proof create US --output us.tlog-proof");
    sandbox.run("(printf 'log '; cat us.vkey; echo quorum none) > policy");
    sandbox.run("(umask 077; echo a-token-of-24-characters > token)");
    sandbox
}

/// Copies files, and links directories. No command writes to the linked directories.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        } else if kind.is_dir() && entry.file_name() != ".bin" {
            std::os::unix::fs::symlink(entry.path(), target).unwrap();
        }
    }
}

/// The text of all files except registries and compressed files.
fn texts_below(directory: &Path, texts: &mut String) {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_text = !name.contains(".db") && !name.ends_with(".gz");
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() && name != ".bin" {
            texts_below(&path, texts);
        } else if kind.is_file() && is_text {
            let bytes = std::fs::read(&path).unwrap();
            writeln!(texts, "{name}: {}", masked(&String::from_utf8_lossy(&bytes))).unwrap();
        }
    }
}

/// The output of a command, the files that it writes, and its exit status.
fn outcome(world: &Sandbox, line: &str, dataset: Option<&str>) -> String {
    let sandbox = Sandbox::new();
    copy(world.path(), sandbox.path());
    if line.starts_with("serve ") {
        return served(&sandbox, line);
    }
    let read = dataset.map_or_else(String::new, |dataset| {
        format!("; s=$?; [ $s -ge 2 ] && exit $s; accession --json history {dataset}; exit $s")
    });
    let mut outcome = masked(&sandbox.run(&format!("accession {line}{read}")));
    if line.starts_with("ids payment") {
        outcome = without_payment_ids(&outcome);
    }
    texts_below(sandbox.path(), &mut outcome);
    outcome
}

/// The responses of `serve` to clients, one of which keeps a connection open.
fn served(sandbox: &Sandbox, line: &str) -> String {
    let options: Vec<&str> = line.split_whitespace().skip(1).collect();
    let mut command = Serving::command(Path::new("accession.db"), &options);
    let serving = match Serving::of(command.current_dir(sandbox.path())) {
        Ok(serving) => serving,
        Err(status) => return format!("? {}\n", status.unwrap()),
    };
    let (host, port) = serving.address.split_once(':').unwrap();
    let mut outcome = format!("{host}\n");
    let subset =
        "POST /datasets/US/subsets HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-length: 2";
    for request in ["GET / HTTP/1.1", "GET /datasets/US/ HTTP/1.1", subset] {
        let body = if request == subset { "A\n" } else { "" };
        let response = response(&serving.address, request, body).unwrap();
        // The headers contain the time and an ETag, so they are left out.
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        writeln!(outcome, "{}\n{body}", head.lines().next().unwrap()).unwrap();
    }
    let mut open = TcpStream::connect(&serving.address).unwrap();
    open.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    // The server accepts connections in the order of their arrival.
    let second = response(&serving.address, "GET / HTTP/1.1", "");
    writeln!(outcome, "a second connection is served: {}", second.is_some()).unwrap();
    masked(&outcome.replace(port, "PORT"))
}

/// The response of a server on a new connection. `None` if none arrived for some seconds.
fn response(address: &str, request: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    let headers = "host: x\r\nconnection: close";
    stream.write_all(format!("{request}\r\n{headers}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).ok()?;
    Some(String::from_utf8(response).unwrap())
}

/// The outcome with payment ids masked, since they differ in each run.
fn without_payment_ids(outcome: &str) -> String {
    let is_id = |line: &str| {
        let is_of_id = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        line.len() == 9 && line.bytes().all(is_of_id)
    };
    outcome
        .lines()
        .map(|line| if is_id(line) { "ID\n".to_owned() } else { format!("{line}\n") })
        .collect()
}

fn is_refused(outcome: &str) -> bool {
    outcome.lines().any(|line| line == "? 2" || line == "? 3")
}

/// The faults of the options of a case.
fn faults(case: &Case, options: &BTreeSet<String>, world: &Sandbox) -> Vec<String> {
    let Case { command, lines, hidden, writes, unseen, .. } = case;
    let values: Vec<(&str, &str)> = case.values.concat();
    let mut faults = Vec::new();
    let named = |option: &&String| values.iter().any(|(name, _)| name == *option);
    let in_lines = |option: &&String| lines.iter().any(|line| line.contains(option.as_str()));
    let without_value = options.iter().filter(|option| !named(option) && !in_lines(option));
    faults.extend(without_value.map(|option| format!("{command}: {option} has no value")));
    let mut seen = BTreeSet::new();
    for line in *lines {
        let dataset = line.split([' ', '@']).next().filter(|_| *writes);
        let line = format!("{command} {line}");
        let outcome = |line: &str| outcome(world, line, dataset);
        let base = outcome(&line);
        let in_line = |option: &str| line.split(' ').any(|word| word == option);
        let tried = values.iter().filter(|(option, _)| !in_line(option));
        let tried: Vec<(&str, String, String)> = tried
            .map(|(option, value)| {
                let given = format!("{option} {value}");
                let alone = outcome(&format!("{line} {given}"));
                (*option, given, alone)
            })
            .collect();
        let has_effect = |alone: &str| alone != base;
        seen.extend(tried.iter().filter(|(_, _, it)| has_effect(it)).map(|(option, ..)| *option));
        for (index, (left, given, left_alone)) in tried.iter().enumerate() {
            for (right, other, right_alone) in &tried[..index] {
                let is_accepted = |alone: &str| has_effect(alone) && !is_refused(alone);
                if !is_accepted(left_alone) && !is_accepted(right_alone) {
                    continue;
                }
                let both = outcome(&format!("{line} {given} {other}"));
                if is_refused(&both) {
                    continue;
                }
                for (option, alone, without) in
                    [(left, left_alone, right_alone), (right, right_alone, left_alone)]
                {
                    let beside = if option == left { right } else { left };
                    let is_meant = unseen
                        .iter()
                        .any(|(them, other, _)| them.contains(option) && other == beside);
                    if has_effect(alone) && both == *without && !is_meant {
                        faults.push(format!("{line} {given} {other}: {option} has no effect"));
                    }
                }
            }
        }
    }
    for (option, _) in &values {
        if seen.contains(option) == hidden.contains(option) {
            faults.push(format!(
                "{command}: is an effect of {option} seen? {}",
                seen.contains(option)
            ));
        }
    }
    faults
}

#[test]
fn no_pair_of_options_is_accepted_of_which_one_has_no_effect() {
    let (helps, world) = (helps(), world());
    let own = |command: &str| options_of(&helps[command]);
    let commands = leaf_commands(&helps);
    let several = commands.into_iter().filter(|command| own(command).len() > 1);
    for command in several {
        assert!(CASES.iter().any(|case| case.command == command), "{command}");
    }
    let faults: Vec<String> = std::thread::scope(|scope| {
        let world = &world;
        let running: Vec<_> = CASES
            .iter()
            .map(|case| {
                let options = own(case.command);
                scope.spawn(move || faults(case, &options, world))
            })
            .collect();
        running.into_iter().flat_map(|running| running.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{faults:#?}");
}
