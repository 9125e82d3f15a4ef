//! The help page of the program, with its commands under headings.

/// The commands under one heading of the page.
pub struct Heading {
    /// The heading.
    pub title: &'static str,
    /// The commands, each with the first line of its help.
    pub commands: &'static [(&'static str, &'static str)],
}

/// All commands on the page. They are listed here because clap cannot list subcommands under headings.
pub const HEADINGS: &[Heading] = &[
    Heading {
        title: "Record changes",
        commands: &[
            ("sync", "Make a dataset hold exactly what a listing or directory has"),
            ("ingest", "Add granules"),
            ("delete", "Mark granules as deleted"),
            ("revert", "Undo the last change, or return to an earlier set"),
            ("import", "Build a history from dated listings, or a table of dates"),
            ("annotate", "Add a note to a set"),
        ],
    },
    Heading {
        title: "Look up",
        commands: &[
            ("status", "Show the latest changes, and what needs attention"),
            ("show", "Describe a dataset, identifier, citation, listing or directory"),
            ("granules", "List the granules of a set"),
            ("history", "List the changes of datasets"),
            ("find", "Show where and when a granule was held"),
            ("compare", "Show how sets, listings or directories differ"),
        ],
    },
    Heading {
        title: "Cite",
        commands: &[
            ("cite", "Print a citation"),
            ("check", "Check the citations in a text or file"),
        ],
    },
    Heading {
        title: "Datasets and files",
        commands: &[
            ("dataset", "Create, edit, list, export, correct or withdraw datasets"),
            ("fixity", "Record and check sizes and checksums"),
        ],
    },
    Heading {
        title: "Share",
        commands: &[
            ("mirror", "Follow another archive's dataset"),
            ("publish", "Write a website for any web server"),
            ("serve", "Run the website and its HTTP API"),
        ],
    },
    Heading {
        title: "Protect",
        commands: &[
            ("verify", "Recompute every identifier"),
            ("proof", "Sign the history, and prove what it said"),
            ("registry", "Back up, restore and copy the registry"),
        ],
    },
    Heading {
        title: "Ids",
        commands: &[("ids", "Make NASA Cumulus granule ids, and payment ids")],
    },
];

/// The text before the commands.
const BEGINNING: &str = "\
Record which files a dataset holds, and cite the exact set

Usage: accession [OPTIONS] COMMAND
";

/// The line before the list of what a SET can be. The commands end above it.
pub const SETS: &str = "A SET is one of";

/// The text after [`SETS`].
const END: &str = "
  FOO, FOO@2024-03-05    a dataset (or its DOI): now, or at the end of a day
  FOO~1                  before its last change
  DI:7fb1e8ba            an identifier, 8 digits or more; or a quoted citation
  https://HOST/#DI:…     a set on a website; needs no registry
  list.txt, ./dir/, -    a listing, a directory, standard input

Options:
      --registry PATH  Registry file or PostgreSQL address [default: accession.db]
      --json           Print JSON
  -q, --quiet          Print nothing unless something changed
  -v, --verbose        Print the work done and the time taken
      --by NAME        Who makes the change [default: your user name]

Start with: accession sync FOO ./data/ --create
";

/// The page that `accession --help` prints.
pub fn page() -> String {
    let mut page = format!("{BEGINNING}\n");
    for Heading { title, commands } in HEADINGS {
        page.push_str(&format!("{title}\n"));
        for (name, about) in *commands {
            page.push_str(&format!("  {name:<8}  {about}\n"));
        }
    }
    page.push_str(&format!("\n{SETS}{END}"));
    page
}
