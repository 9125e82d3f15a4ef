"""Citations of what was used, without a registry."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pystac
import pytest
from conftest import raises
from recorded import MD5, search_data

import accession_registry as ar

DOI = "10.9999/FOO/L2.002"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a network: a citation needs none."""

    def refuse(*address: object) -> None:
        raise AssertionError(f"{address} was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def entities(directory: Path) -> dict[str, Any]:
    crate = json.loads((directory / "ro-crate-metadata.json").read_text())
    found = {entity["@id"]: entity for entity in crate["@graph"]}
    assert found["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    assert found["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    return found


def test_results_of_a_search_are_cited_by_the_doi_that_is_named(tmp_path: Path) -> None:
    results = search_data("FOOL2")
    with raises("usage", match='no DOI, only the collections C1000-FOO\n.*of={"C1000-FOO": "10'):
        ar.cite(results)
    record = {"type": "dataset", "DOI": DOI, "author": [{"family": "Tilmes"}], "issued": {"date-parts": [[2023]]}}
    used = ar.cite(results, of={"C1000-FOO": DOI}, record=record)
    assert len(used) == 1
    [cited] = used
    listed = ar.identify(results)
    assert (cited.of, cited.identifier, cited.digest, cited.granules) == (DOI, listed.identifier, listed.digest, 2)
    assert "Tilmes" in used.text and DOI in used.text and f"DI:{listed.identifier}" in used.text
    assert str(used) == used.text == cited.text and used.bibtex.startswith("@dataset{") and "2023" in used.bibtex
    assert repr(used) == f"<Citations of {DOI}>" and cited.text in used._repr_html_()
    for _ in range(2):
        used.save(tmp_path / "used")
    assert sorted(path.name for path in (tmp_path / "used").iterdir()) == ["granules.txt", "ro-crate-metadata.json"]
    assert (tmp_path / "used/granules.txt").read_text() == "".join(f"FOOL2.0{n}.nc\tmd5:{MD5}\n" for n in (1, 2))
    assert entities(tmp_path / "used")["./"]["isPartOf"] == {"@id": f"https://doi.org/{DOI}"}


def test_each_dataset_has_its_citation_and_its_crate(tmp_path: Path) -> None:
    named = {"C2000-BAR": "BARL3.002", "C1000-FOO": DOI}
    used = ar.cite([*search_data("BARL3"), *search_data("FOOL2")], of=named)
    assert [cited.of for cited in used] == ["BARL3.002", DOI], "a collection without a DOI is cited by its name"
    assert len(used.text.splitlines()) == 2 and used.bibtex.count("@dataset{") == 2 and used[1].of == DOI
    for _ in range(2):
        used.save(tmp_path / "used")
    parts = [part["@id"] for part in entities(tmp_path / "used")["./"]["hasPart"]]
    assert parts == ["BARL3.002/", "10.9999-FOO-L2.002/"]
    for part in parts:
        assert entities(tmp_path / "used" / part)["granules.txt"]["@type"] == "File"
    assert [cited.of for cited in ar.cite([*search_data("BARL3"), *search_data("FOOL2")], of=DOI)] == [DOI]
    one = ar.cite([*search_data("BARL3"), *search_data("FOOL2")], of={"C2000-BAR": DOI, "C1000-FOO": DOI})
    assert [(cited.of, cited.granules) for cited in one] == [(DOI, 4)]


def test_items_of_stac_are_cited_by_their_doi_or_collection() -> None:
    def item(name: str, collection: str, **properties: str) -> dict[str, Any]:
        whole = {"type": "Feature", "stac_version": "1.0.0", "links": [], "geometry": None, "bbox": None}
        dated = {"datetime": "2021-02-06T00:00:00Z", **properties}
        return {**whole, "id": name, "collection": collection, "properties": dated, "assets": {}}

    items = [item("A", "foo", **{"sci:doi": DOI}), item("B", "foo", **{"sci:doi": DOI}), item("C", "bar-l3")]
    expected = [(DOI, ar.identify(["A", "B"]).identifier), ("bar-l3", ar.identify(["C"]).identifier)]
    page = {"type": "FeatureCollection", "features": items}
    for results in (items, [pystac.Item.from_dict(item) for item in items], page):
        assert [(cited.of, cited.identifier) for cited in ar.cite(results)] == expected
    assert [cited.of for cited in ar.cite(items, of={"bar-l3": "10.9999/BAR"})] == [DOI, "10.9999/BAR"]


def test_paths_ids_and_tables_are_cited_as_what_they_are_of() -> None:
    names = ["B.nc", "A.nc"]
    expected = ar.identify(names).identifier
    table = pd.DataFrame({"file": names, "size": [1, 2]})
    for results, options in (
        (names, {}),
        ([Path("/data/B.nc"), Path("/data/A.nc")], {}),
        (iter(names), {}),
        (table, {"column": "file"}),
    ):
        [cited] = ar.cite(results, of=DOI, **options)  # type: ignore[arg-type]
        assert (cited.identifier, cited.of) == (expected, DOI)
        with raises("usage", match='not known of which dataset.*\n.*of="10'):
            ar.cite(names, **options)  # type: ignore[arg-type]


def test_a_record_of_the_doi_has_the_title(tmp_path: Path) -> None:
    record = {"type": "dataset", "DOI": DOI.lower(), "title": "FOO Level 2", "author": [{"family": "Tilmes"}]}
    (tmp_path / "record.json").write_text(json.dumps(record))
    for given in (record, tmp_path / "record.json", str(tmp_path / "record.json")):
        assert ar.cite(["A"], of=DOI, record=given).text.startswith("Tilmes. FOO Level 2.")
    with raises("usage", match=f"of: the record is that of {DOI.lower()}"):
        ar.cite(["A"], of="10.9999/BAR", record=record)


def test_files_of_esgf_have_the_names_of_its_index() -> None:
    drs = "CMIP6/CMIP/MPI-M/MPI-ESM1-2-LR/historical/r1i1p1f1/Amon/tas/gn/v20190710/tas_1850.nc"
    for found in (Path("/home/me/.esgf", drs), f"https://node.example/thredds/dodsC/css03_data/{drs}"):
        used = ar.cite({"tas": [found]}, of={"tas": "10.22033/ESGF/CMIP6.6595"})
        assert used[0].identifier == ar.identify([drs.replace("/", ".")]).identifier
        assert used[0].of == "10.22033/ESGF/CMIP6.6595"


def test_what_cannot_be_cited_is_refused(tmp_path: Path) -> None:
    def refused(kind: str, match: str, results: Any, **options: Any) -> None:
        with raises(kind, match=match):
            ar.cite(results, **options)

    refused("usage", "not known of which dataset", [{"umm": {"GranuleUR": "A"}, "meta": {}}])
    refused("usage", "two DOIs|neither|of:", ["A"], of="not a name")
    refused("usage", "nothing to cite", pd.DataFrame({"id": pd.Series([], dtype="str")}), of=DOI)
    refused("input", "int is not an id", [1], of=DOI)
    refused("usage", "a string is one id", "A", of=DOI)
    for nothing in ([], {"items": []}, {"tas": []}):
        refused("usage", "nothing to cite", nothing, of=DOI)
    [item] = search_data("FOOL2")[:1]
    for one in (Path("used.txt"), b"A", 7):
        refused("usage", "is not a list of ids|neither is a list of ids", one, of=DOI)
    for mapping in (item, {"type": "Feature", "id": "A"}, {"tas": "/x.nc"}, {"tas": Path("/x.nc")}, {"tas": 7}):
        refused("usage", "the key '.*not a list of paths", mapping, of=DOI)
    refused("input", "int is not an id", {"tas": [7]}, of=DOI)
    link = {"rel": "next", "href": "https://example.org/2"}
    for page in (
        {"hits": 500, "items": [item]},
        {"numberMatched": 2, "features": [{"type": "Feature", "id": "A"}]},
        {"features": [{"type": "Feature", "id": "A"}], "links": [link]},
        {"response": {"numFound": 2, "docs": [{"id": "A"}]}},
    ):
        refused("pages-missing", "missing", page, of=DOI)
    refused("usage", "not known of which dataset", {"feed": {"entry": [{"title": "A"}]}})
    same = ar.cite({"a": ["A.nc"], "b": ["B.nc"]}, of={"a": "10.9999/a-b", "b": "10.9999/a/b"})
    cased = ar.cite({"a": ["A.nc"], "b": ["B.nc"]}, of={"a": "FOO", "b": "foo"})
    for two in (same, cased):
        with raises("usage", match="one directory"):
            two.save(tmp_path / "used")
    assert [cited.of for cited in ar.cite({"tas mon": ["A.nc"]})] == ["tas-mon"]
    elsewhere = search_data("FOOL2")
    for result in elsewhere:
        result["meta"]["collection-concept-id"] = "C9-X"
    refused("usage", "only the collections C9-X\n.*of=", elsewhere)
    assert ar.cite(elsewhere, of={"C9-X": DOI})[0].of == DOI
    (tmp_path / "notes.txt").write_text("mine")
    with raises("already-exists", match="notes.txt"):
        ar.cite(["A"], of=DOI).save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_crates_of_several_datasets_leave_other_files_alone(tmp_path: Path) -> None:
    used, root, elsewhere = ar.cite({"a": ["A.nc"], "b": ["B.nc"]}), tmp_path / "used", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    others = {"notes.txt": "notes.txt", "c/ro-crate-metadata.json": "c", "b/notes.txt": "notes.txt"}
    for other, named in others.items():
        (root / other).parent.mkdir(parents=True, exist_ok=True)
        (root / other).write_text("mine")
        with raises("already-exists", match=f"file of something else: '{named}'"):
            used.save(root)
        assert [path for path in root.rglob("*") if path.is_file()] == [root / other], "nothing was written"
        shutil.rmtree(root)
    root.mkdir()
    for name in (".accession-publish.new", "ro-crate-metadata.json"):
        (root / name).symlink_to(elsewhere)
    used.save(root)
    assert elsewhere.read_text() == "mine" and len(entities(root)["./"]["hasPart"]) == 2
    with raises("io", match="cannot create"):
        used.save(elsewhere)


def test_all_spellings_of_a_doi_give_one_citation() -> None:
    spellings = {"a": "10.9999/FOO", "b": "10.9999/foo", "c": "https://doi.org/10.9999/FOO", "d": "doi:10.9999/Foo"}
    [cited] = ar.cite({key: [f"{key}.nc"] for key in spellings}, of=spellings)
    assert (cited.of, cited.granules) == ("10.9999/FOO", 4)
    items = [
        {"type": "Feature", "id": key, "properties": {"sci:doi": spelling}} for key, spelling in spellings.items()
    ]
    assert [cited.granules for cited in ar.cite(items)] == [4]
    both = {"C2000-BAR": DOI.lower(), "C1000-FOO": DOI}
    assert [cited.granules for cited in ar.cite([*search_data("BARL3"), *search_data("FOOL2")], of=both)] == [4]


def test_a_stream_that_is_read_once_is_cited_and_saved(tmp_path: Path) -> None:
    table = pa.table({"granule": ["A", "B"]})
    for given in (table, table.to_reader(), pl.DataFrame(table), pl.Series(["A", "B"]), pa.array(["A", "B"])):
        used = ar.cite(given, of=DOI)
        used.save(tmp_path / "used")
        assert (tmp_path / "used/granules.txt").read_text() == "A\nB\n" and used[0].granules == 2

    def failing() -> Iterator[Any]:
        yield table.to_batches()[0]
        raise RuntimeError("gone")

    with raises("input", match="the table cannot be read: .*gone") as raised:
        ar.cite(pa.RecordBatchReader.from_batches(table.schema, failing()), of=DOI)
    assert "Traceback" not in raised.value.message


@pytest.mark.parametrize(
    "results, expected",
    [
        ({"response": {"numFound": 1, "docs": [{"id": "A.v1.x.nc|node"}]}}, ["A.v1.x.nc"]),
        ({"feed": {"entry": [{"title": "A"}, {"title": "B"}]}}, ["A", "B"]),
        ([Path("/CMIP6/mine/CMIP6/CMIP/a.nc")], ["CMIP6.CMIP.a.nc"]),
    ],
)
def test_names_are_those_of_the_catalogue(results: Any, expected: list[str]) -> None:
    assert ar.cite(results, of=DOI)[0].identifier == ar.identify(expected).identifier
    reference = {"umm": {"GranuleUR": "A", "CollectionReference": {"ShortName": "FOO"}}, "meta": {}}
    assert ar.cite([reference])[0].of == "FOO"
    with pytest.warns(UserWarning, match="cited once: 2, as /a/x.nc and /b/x.nc"):
        assert ar.cite([Path("/a/x.nc"), Path("/b/x.nc"), Path("/c/x.nc"), Path("/a/x.nc")], of=DOI)[0].granules == 1
