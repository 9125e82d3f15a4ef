"""Lists from, and tables for, the libraries that people use."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pystac
import pytest
from conftest import FIXTURES, raises

import accession_registry as ar

IDS = ["B", "A", "C"]
EXPECTED = ar.identify(IDS)


@pytest.mark.parametrize(
    "listed",
    [
        IDS,
        tuple(IDS),
        (identifier for identifier in IDS),
        pl.Series(IDS),
        pl.DataFrame({"name": [1, 2, 3], "granule_id": IDS}),
        pd.Series(IDS),
        pd.DataFrame({"id": IDS, "rows": [1, 2, 3]}),
        pa.array(IDS),
        pa.chunked_array([IDS[:1], IDS[1:]]),
        pa.chunked_array([pa.array(IDS, pa.large_string())]),
        pa.chunked_array([pa.array(IDS, pa.string_view())]),
        pa.table({"granule": IDS}),
        pa.RecordBatchReader.from_batches(pa.schema([("x", pa.string())]), [pa.record_batch({"x": IDS})]),
        duckdb.sql("SELECT unnest(['B', 'A', 'C']) AS granule"),
        [{"granule_id": identifier} for identifier in IDS],
    ],
    ids=lambda listed: type(listed).__name__,
)
def test_a_list_may_have_any_form(listed: Any) -> None:
    assert ar.identify(listed) == EXPECTED


STATED = [
    {"granule": "A", "path": "A.nc", "size": 1, "checksum": "md5:" + "a" * 32},
    {"granule": "A", "path": "A.xml", "size": 2, "checksum": "b" * 64},
    {"granule": "B", "path": "B.nc", "size": 3, "checksum": None},
    {"granule": "C", "path": None, "size": None, "checksum": None},
]


@pytest.mark.parametrize(
    "table",
    [
        pa.Table.from_pylist(STATED),
        pl.DataFrame(STATED),
        pl.DataFrame(STATED).with_columns(pl.col("granule", "checksum").cast(pl.Categorical)),
        pd.DataFrame(STATED),
        duckdb.from_arrow(pa.Table.from_pylist(STATED)),
    ],
    ids=["pyarrow", "polars", "categories", "pandas", "duckdb"],
)
def test_a_table_has_the_sizes_and_checksums_of_files(table: Any, file: ar.Registry) -> None:
    dataset = file.dataset("D")
    applied = dataset.sync(table, at="2001-01-02", create=True)
    assert applied.added == 3
    held = {(it.granule, it.path, it.size): dict(it.checksums) for it in dataset.set().files()}
    assert held == {
        ("A", "A.nc", 1): {"md5": "a" * 32},
        ("A", "A.xml", 2): {"sha-256": "b" * 64},
        ("B", "B.nc", 3): {},
    }
    other = file.dataset("E")
    other.ingest(["A", "B", "C"], at="2001-01-02", create=True)
    assert not file.compare("D", "E").different
    other.fixity_add(table, at="2001-01-03")
    assert other.set() == dataset.set() and dataset.set().digest == ar.identify(table).digest
    # Tables of this package, and the same tables from other libraries.
    for again in (dataset.set().files(), pl.DataFrame(dataset.set().files()), dataset.set().files().to_arrow()):
        third = file.dataset("F")
        third.sync(again, at="now", create=True)
        assert [(it.path, it.size) for it in third.set().files()] == [("A.nc", 1), ("A.xml", 2), ("B.nc", 3)]
        assert third.set().digest == ar.identify(dataset.set().files()).digest
    assert other.delete(table, at="2001-01-04", skip_missing=True).removed == 3


def test_a_column_about_files_that_cannot_be_read_is_rejected() -> None:
    for column, value in (("checksum", 7), ("checksum", ["a"]), ("checksums", "md5:x"), ("size", True), ("path", 7)):
        table = pa.table({"granule": ["A"], "size": [1], column: [value]})
        with raises("input", match=f'"{column}" describes files, but .*\n.*another name'):
            ar.identify(table)
    for size in (1.5, -1, "many"):
        with raises("input", match='item:1: the column "size" has no number of bytes'):
            ar.identify(pa.table({"granule": ["A"], "size": [size]}))
    for size in (7.0, "7", 7):
        assert ar.identify(pa.table({"granule": ["A"], "size": [size]})) == ar.identify(
            pa.table({"granule": ["A"], "size": pa.array([7], pa.uint8())})
        )
    with raises("input", match="algorithm of the checksum"):
        ar.identify(pa.table({"granule": ["A"], "checksum": ["x"]}))


def test_rows_are_true_if_there_are_any(file: ar.Registry) -> None:
    dataset = file.dataset("D")
    dataset.sync(["A"], at="2001-01-02", create=True)
    assert dataset.set().granules() and file.history("D") and not dataset.set().files()
    assert not file.history("D", since="2001-01-03")
    dataset.fixity_add([ar.FileRecord("A", "A", 1, {})], at="2001-01-03")
    files = dataset.set().files()
    assert files and list(files) and files


def test_a_column_is_named_or_usual() -> None:
    table = pa.table({"file": IDS, "rows": [1, 2, 3]})
    assert ar.identify(table, column="file") == EXPECTED
    with raises("input", match="column=") as refused:
        ar.identify(table)
    assert "file, rows" in refused.value.message
    with raises("input", match="UInt8|Int64"):
        ar.identify(table, column="rows")
    with raises("input", match="no column"):
        ar.identify(table, column="nothing")
    with raises("input", match="item:2: the id is missing"):
        ar.identify(pa.table({"granule": ["A", None]}))


def test_an_error_of_a_producer_is_an_error() -> None:
    def batches() -> Any:
        yield pa.record_batch({"granule": ["A"]})
        raise ValueError("the catalogue went away")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("granule", pa.string())]), batches())
    with raises("input", match="the catalogue went away"):
        ar.identify(reader)


def test_what_is_no_list_of_ids_is_refused() -> None:
    with raises("input", match="item:1: int is not an id"):
        ar.identify([1])  # type: ignore[list-item]
    with raises("input", match="item:2: dict is not an id"):
        ar.identify(["A", {"id": "B"}])  # type: ignore[list-item]
    with raises("input", match=r"item:1: PosixPath is not an id\nhint: .*p\.name"):
        ar.identify([Path("a.nc")])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        ar.identify(5)  # type: ignore[arg-type]
    with raises("input"):
        ar.identify([{"colour": "red"}])


def response(name: str) -> Any:
    return json.loads((FIXTURES / "input" / name).read_text())


def test_a_mapping_is_a_response_and_never_its_keys(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    stac = response("stac.json")
    dataset.sync(stac, create=True)
    assert set(dataset.set()) == {item["id"] for item in stac["features"]}
    umm, esgf = response("umm.json"), response("esgf.json")
    with raises("pages-missing", match="found 4 granules, but the files contain only 3.*\n.*for all pages"):
        dataset.sync(umm, max_delete="100%")
    with raises("pages-missing"):
        dataset.ingest(umm)
    with pytest.warns(UserWarning, match="other pages are missing"):
        assert dataset.delete(umm, skip_missing=True).skipped.missing == 2
    with raises("pages-missing"):
        dataset.import_(FIXTURES / "input/umm.json")
    umm["hits"] = 3
    with pytest.warns(UserWarning, match="skipped granules that the list marks as deleted or replaced: 1"):
        assert dataset.ingest(umm).added == 2
    with pytest.warns(UserWarning, match="skipped "):
        assert ar.identify(esgf).granules == 2
    linked = {"features": stac["features"], "links": [{"rel": "next", "href": "https://example.org/2"}]}
    with raises("pages-missing", match="next page"):
        dataset.sync(linked)
    for mapping in ({"hits": 1, "took": 2}, {"A": "a.nc", "B": "b.nc"}, {"umm": {"GranuleUR": "A"}, "meta": {}}):
        with raises("usage", match="not a response"):
            dataset.sync(mapping)
    with raises("input"):
        dataset.sync({"items": {"A": 1}})
    for value in (float("nan"), datetime(2001, 1, 2)):
        record = {"umm": {"GranuleUR": "A"}, "meta": {"revision-date": value}}
        for given in ([record], {"items": [record]}, [{"umm": {"GranuleUR": "B"}}, record]):
            with raises("input", match="cannot be written as JSON"):
                dataset.sync(given)
    assert len(dataset.history()) == 2, "what is refused changes nothing"


def test_a_file_that_is_named_is_read_where_it_is(file: ar.Registry) -> None:
    manifest = next((FIXTURES / "input/s3-inventory").glob("*/manifest.json"))
    dataset = file.dataset("US")
    dataset.sync(["2001/FOOL2 0001.hdf", "2001/FOOL2 0003+1.hdf"], create=True)
    assert dataset.fixity_add(manifest).changed


def test_a_listing_of_its_directory_does_not_record_the_registry(file: ar.Registry, tmp_path: Path) -> None:
    (tmp_path / "A.nc").touch()
    dataset = file.dataset("US")
    names = sorted(path.name for path in tmp_path.iterdir())
    with raises("input", match='item:2: "registry.db" is a file of the registry itself: leave it out'):
        dataset.sync(names, create=True)
    for listed in (["A.nc", "registry.db-wal"], pa.table({"id": ["registry.db"]}), [{"id": "x/registry.db-shm"}]):
        with raises("input", match="of the registry itself"):
            dataset.ingest(listed, create=True)  # type: ignore[arg-type]
    assert file.datasets() == [] and ar.identify(names).granules >= 2
    dataset.sync(["A.nc", "registry.dbx"], create=True)


def test_what_is_found_by_a_beginning(file: ar.Registry) -> None:
    file.dataset("US").sync(["A1", "A2", "B"], create=True)
    assert [row.granule for row in file.find("A*")] == ["A1", "A2"]
    assert [row.granule for row in file.find("B")] == ["B"] and file.find("C*") == []
    with raises("usage", match="granule"):
        file.find("*")


def test_results_of_catalogues_are_taken_as_they_are(file: ar.Registry) -> None:
    umm = json.loads((FIXTURES / "input/umm.json").read_text())["items"]
    stac = json.loads((FIXTURES / "input/stac.json").read_text())["features"]

    class DataGranule(dict[str, Any]):
        """As earthaccess has them."""

    of_umm = file.dataset("UMM").sync([DataGranule(item) for item in umm], create=True)
    assert of_umm.added == len([item for item in umm if not item["meta"].get("deleted")])
    assert umm[0]["umm"]["GranuleUR"] in file.set("UMM")
    whole: dict[str, Any] = {"stac_version": "1.0.0", "links": [], "geometry": None, "bbox": None}
    whole["properties"] = {"datetime": "2021-02-06T00:00:00Z"}
    items = [pystac.Item.from_dict({**item, **whole}) for item in stac]
    file.dataset("STAC").sync(items, create=True)
    assert set(file.set("STAC")) == {item["id"] for item in stac}
    found = [{"umm": {"GranuleUR": "A"}, "meta": {}}, {"umm": {}, "meta": {}}]
    with raises("input", match="item:2"):
        file.dataset("UMM").sync(found)


def test_sizes_and_checksums_of_files_become_a_table(file: ar.Registry) -> None:
    checksum = {"Value": "d41d8cd98f00b204e9800998ecf8427e", "Algorithm": "MD5"}
    of_file = {"Name": "a.nc", "SizeInBytes": 0, "Checksum": checksum}
    granule = {"ArchiveAndDistributionInformation": [of_file]}
    results = [{"meta": {}, "umm": {"GranuleUR": "A", "DataGranule": granule}}]
    file.dataset("US").sync(results, create=True)
    expected = ar.FileRecord("A", "a.nc", 0, {"md5": checksum["Value"]})
    files = file.set("US").files()
    for _ in range(2):
        [row] = files.to_arrow().to_pylist()
        assert ar.FileRecord(**{**row, "checksums": dict(row["checksums"])}) == expected
        assert pl.DataFrame(files)["size"].to_list() == [0]
    assert list(files) == [expected]


@pytest.fixture
def dataset(file: ar.Registry) -> ar.Dataset:
    dataset = file.dataset("US")
    dataset.sync(IDS, at="2001-01-02", create=True, note="first")
    dataset.delete(["A"], at="2001-01-03")
    return dataset


def test_ids_become_tables_again_and_again(dataset: ar.Dataset) -> None:
    granules = dataset.set().granules()
    assert next(granules) == "B"
    for _ in range(2):
        assert pl.DataFrame(granules)["granule"].to_list() == ["B", "C"]
        assert pa.table(granules).schema.field("granule").type == pa.string()
        assert duckdb.sql("SELECT count(*) FROM granules").fetchall() == [(2,)]
        assert pd.DataFrame.from_arrow(granules)["granule"].tolist() == ["B", "C"]
        assert granules.to_arrow().num_rows == 2
    assert list(granules) == ["C"]
    assert dataset.set().to_arrow() == granules.to_arrow()


def test_a_history_becomes_a_table(dataset: ar.Dataset) -> None:
    table = dataset.history().to_arrow()
    assert table.schema.field("timestamp").type == pa.timestamp("us", "UTC")
    assert table["timestamp"].to_pylist() == [datetime(2001, 1, day, tzinfo=timezone.utc) for day in (2, 3)]
    assert table["until"].to_pylist() == [datetime(2001, 1, 3, tzinfo=timezone.utc), None]
    assert table["granules"].to_pylist() == [3, 2] and table["note"].to_pylist() == ["first", None]
    newest = pl.DataFrame(dataset.history(reverse=True, since="2001-01-03"))
    assert newest["identifier"].to_list() == [dataset.set().identifier]
    assert [row.granules for row in dataset.history(until="2001-01-02")] == [3]


def test_a_comparison_becomes_a_table(file: ar.Registry, dataset: ar.Dataset) -> None:
    compared = pl.DataFrame(file.compare(dataset, ["B", "X"]))
    assert compared.rows() == [("left", "C"), ("right", "X")]
    only = file.compare(dataset, ["B", "X"]).only_right
    assert pa.table(only)["granule"].to_pylist() == ["X"] and repr(only).endswith("set or list has (1)>")
    assert len(only) == 1 and bool(only) and "<td>X</td>" in only._repr_html_()  # type: ignore[attr-defined]
    assert list(only) == ["X"] and list(only) == [] and not file.compare(dataset, ["B", "C"]).only_right


def test_a_history_has_a_length_and_rows_by_their_number(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    for day in range(1, 29):
        dataset.ingest([f"{day:02}-{number}" for number in range(day)], at=f"2001-02-{day:02}", create=True)
    history = dataset.history()
    assert next(history).granules == 1 and len(history) == len(list(dataset.history())) == 28
    ingested = [row.ingested for row in dataset.history()]
    for key in (0, 5, 27, -1, -28):
        assert history[key].ingested == ingested[key]
    for part in (slice(3), slice(2, 9, 3), slice(-4, None), slice(None, None, -1), slice(-5, -2), slice(30, 40)):
        assert [row.ingested for row in history[part]] == ingested[part]
    for key in (28, -29):
        with pytest.raises(IndexError):
            history[key]
    assert next(history).granules == 3, "an index leaves an iteration where it is"
    assert dataset.set().granules()[-1] == "28-9" and len(dataset.set().files()) == 0


@pytest.mark.filterwarnings("ignore:50 granules that were deleted")
def test_the_plot_of_a_history_loses_no_notch(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    ids = [f"{number:02}" for number in range(100)]
    for at, held in (("1990-01-01", ids), ("2010-06-01", ids[:50]), ("2010-06-03", ids)):
        dataset.sync(held, at=at, max_delete="100%", create=True)
    file.annotate("US@2010-06-01", "half a listing", questionable=True)
    for history in (dataset.history(), dataset.history(reverse=True)):
        html = history._repr_html_()  # type: ignore[attr-defined]
        assert "Smallest 50 on 1 Jun 2010. Largest 100 on 1 Jan 1990." in html
        assert "V95V0" in html, "half of the height, for less than a pixel"
        assert "⚠ questionable: half a listing" in html and "-->" not in html
    empty = dataset.history(since="2030-01-01", until="2030-01-02")._repr_html_()  # type: ignore[attr-defined]
    assert "svg" not in empty


def test_a_notebook_shows_the_newest_changes_first_and_marks_what_is_questionable(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    for number in range(60):
        dataset.ingest([f"{number:02}"], at=f"2001-01-02T00:00:{number:02}Z", create=True)
    html = dataset.history()._repr_html_()  # type: ignore[attr-defined]
    assert html.index("00:00:59") < html.index("00:00:58") and "00:00:02" not in html and "and more" in html
    assert html == dataset.history(reverse=True)._repr_html_()  # type: ignore[attr-defined]
    file.annotate(dataset, "the listing was <cut>", questionable=True)
    with pytest.warns(UserWarning, match="questionable"):
        shown = dataset.set()._repr_html_()  # type: ignore[attr-defined]
    assert shown.index("⚠ questionable: the listing was &lt;cut&gt;") < shown.index("Copy this")
    assert "⚠ questionable: the listing was" in dataset.history()._repr_html_()  # type: ignore[attr-defined]


def test_a_long_list_has_many_pages(file: ar.Registry) -> None:
    ids = [f"granule-{number:06}" for number in range(20_000)]
    dataset = file.dataset("LONG")
    dataset.sync(pl.Series(ids), create=True)
    assert list(dataset.set()) == ids
    assert dataset.set().to_arrow()["granule"].to_pylist() == ids
    granules = dataset.set().granules()
    begun = [next(granules) for _ in range(5_000)]
    assert begun + list(granules) == ids
    assert list(file.compare(dataset, ids[1:]).only_left) == ids[:1]


def test_damage_is_the_last_error(file: ar.Registry) -> None:
    import sqlite3

    ids = [f"granule-{number:05}" for number in range(9_000)]
    dataset = file.dataset("US")
    dataset.sync(ids, create=True)
    path = file.address
    file.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM granule WHERE granule_id = 'granule-08000'")
    connection.close()
    with ar.open(path) as damaged:
        granules = damaged.set("US").granules()
        with raises("damaged", match="US"):
            list(granules)
        with raises("damaged"):
            granules.to_arrow()
        with pytest.raises(Exception, match="US"):
            pa.table(damaged.set("US"))
        assert not all(row.ok for row in damaged.verify())
