"""Reads the citations of fixtures/citation with other software.

    pip install rispy pybtex datacite citeproc-py rdflib
    pip install --no-deps commonmeta-py    # for the JSON schema of CSL that it includes
    python3 tests/citation_peers.py

Each program must accept its file, and find the contents of the record in it.
"""

import importlib.metadata
import json
import pathlib
import warnings
from urllib.parse import unquote

import jsonschema
import rispy
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from datacite import schema45
from pybtex.database import parse_string
from rdflib import Graph, Namespace, URIRef

DIRECTORY = pathlib.Path(__file__).parent.parent / "fixtures" / "citation"
KINDS = ["whole", "part", "bare"]
TITLE = 'FOO & Level_2: {100 %} of $x^2$ ~ #1 "quoted" \\TeX ER - - é 値'
DESCRIPTION = "Retrievals of the quantity foo </script>, one granule an orbit; see doi:10.1234/other, as held at 1999-01-01."
DOI = "10.9999/US/FOO_L2.v2<1::A%ID>#x"
SCHEMA = Namespace("https://schema.org/")
SPDX = Namespace("http://spdx.org/rdf/terms#")
PROV = Namespace("http://www.w3.org/ns/prov#")
CSL_FILE = "commonmeta/resources/csl-data.json"
(CSL,) = [file for file in importlib.metadata.files("commonmeta-py") if str(file) == CSL_FILE]


def fixture(kind, format):
    # As bytes, so that RIS keeps its line ends.
    return (DIRECTORY / f"{kind}.{format}").read_bytes().decode()


def check_ris(kind, read, date):
    text = read(kind, "ris")
    assert text.count("\r\n") == text.count("\n")
    (entry,) = rispy.loads(text)
    assert entry["type_of_reference"] == "DATA"
    assert entry["accession_number"].startswith("DI:")
    assert f"as held at {date}" in entry["notes"][0], (kind, entry["notes"])
    if kind != "bare":
        assert entry["title"].startswith(f"{TITLE} [DI:") and entry["title"].endswith(f", {date}]")
        assert entry["doi"] == DOI and entry["year"] == "2001"
        assert entry["authors"][1:3] == ["山田, 太郎", "Ministry of Sea, Air and Land"]


def check_bibtex(kind, read, date):
    (entry,) = parse_string(read(kind, "bibtex"), "bibtex").entries.values()
    assert f"as held at {date}" in entry.fields["note"]
    if kind != "bare":
        authors = entry.persons["author"]
        assert len(authors) == 6
        assert (authors[1].last_names, authors[1].first_names) == (["山田"], ["太郎"])
        assert authors[2].last_names == ["{Ministry of Sea, Air and Land}"]


def check_datacite(kind, read, date):
    fields = json.loads(read(kind, "datacite-json"))
    assert fields["alternateIdentifiers"][0]["alternateIdentifier"].startswith("DI:")
    problems = {error.message for error in schema45.validator.iter_errors(fields)}
    missing = {f"'{name}' is a required property" for name in ["creators", "publisher", "publicationYear"]}
    assert problems == (missing if kind == "bare" else set()), problems
    relations = [related["relationType"] for related in fields.get("relatedIdentifiers", [])]
    versions = ["IsNewVersionOf", "IsPreviousVersionOf"]
    expected = {"whole": versions, "served": versions, "part": ["IsPartOf"], "bare": []}
    assert relations == expected[kind]
    abstracts = [each["description"] for each in fields["descriptions"] if each["descriptionType"] == "Abstract"]
    assert abstracts == ([] if kind == "bare" else [DESCRIPTION])


def check_csl(kind, read, date):
    items = json.loads(read(kind, "csl-json"))
    schema = json.loads(CSL.read_text())
    assert schema["$id"].startswith("https://resource.citationstyles.org/"), schema["$id"]
    jsonschema.Draft7Validator(schema).validate(items)
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    bibliography = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    bibliography.register(Citation([CitationItem(items[0]["id"])]))
    (entry,) = [str(entry) for entry in bibliography.bibliography()]
    if kind != "bare":
        # The style in the package names only the first author.
        assert entry.startswith("Tilmes, C. et al. (2001)") and TITLE in entry and DOI in entry, entry
        authors = items[0]["author"]
        assert authors[1:3] == [{"family": "山田", "given": "太郎"}, {"literal": "Ministry of Sea, Air and Land"}]


def check_json_ld(kind, read, date):
    graph = Graph().parse(data=read(kind, "json-ld"), format="json-ld")
    (dataset,) = graph.subjects(predicate=SPDX.checksum)
    values = {str(value) for each in graph.objects(dataset, SCHEMA.identifier) for value in graph.objects(each, SCHEMA.value)}
    (checksum,) = [str(value) for each in graph.objects(dataset, SPDX.checksum) for value in graph.objects(each, SPDX.checksumValue)]
    assert f"DI:{checksum}" in values
    descriptions = [str(value) for value in graph.objects(dataset, SCHEMA.description)]
    assert descriptions == ([] if kind == "bare" else [DESCRIPTION])
    if kind == "bare":
        return
    assert isinstance(dataset, URIRef) and str(dataset).endswith(f"#DI:{checksum}")
    names = {str(graph.value(creator, SCHEMA.name)) for creator in graph.objects(dataset, SCHEMA.creator)}
    in_order = [creator["name"] for creator in json.loads(read(kind, "json-ld"))["creator"]]
    assert in_order[:3] == ["Curt Tilmes", "太郎 山田", "Ministry of Sea, Air and Land"], in_order
    assert names == set(in_order), names
    assert bool(list(graph.objects(dataset, PROV.wasRevisionOf))) == (kind in ("whole", "served"))
    # The DOI belongs to the dataset, and the set is a part of it.
    assert f"doi:{DOI}" not in values
    wholes = [unquote(str(each)) for each in graph.transitive_objects(dataset, SCHEMA.isPartOf)]
    assert f"https://doi.org/{DOI}" in wholes, wholes


CHECKS = [check_ris, check_bibtex, check_datacite, check_csl, check_json_ld]


def check(kind, read, date="2001-01-05"):
    """Reads a citation of a kind in every format: `whole`, `part` or `bare` as in the fixtures, or `served`,
    which names no mirror. `read` returns the text of a kind in a format, and `date` is the date in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in CHECKS:
            each(kind, read, date)


if __name__ == "__main__":
    for kind in KINDS:
        check(kind, fixture)
    print(f"{len(KINDS)} citations in {len(CHECKS)} formats read by other software")
