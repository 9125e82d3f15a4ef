"""Lists from other libraries, and tables for them."""

import ctypes
import json
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pystac
import pytest
from conftest import FIXTURES, not_checked, raises

import accession_registry as ar

IDS = ["B", "A", "C"]
EXPECTED = ar.show(IDS)


@pytest.mark.parametrize(
    "listed",
    [
        tuple(IDS),
        set(IDS),
        dict.fromkeys(IDS).keys(),
        (identifier for identifier in IDS),
        [Path("data") / identifier for identifier in IDS],
        pl.Series(IDS),
        pl.Series(IDS, dtype=pl.Categorical),
        pl.DataFrame({"name": [1, 2, 3], "granule_id": IDS}),
        pd.Series(IDS),
        pd.DataFrame({"id": IDS, "rows": [1, 2, 3]}),
        pa.array(IDS),
        pa.chunked_array([IDS[:1], IDS[1:]]),
        pa.chunked_array([pa.array(IDS, pa.large_string())]),
        pa.chunked_array([pa.array(IDS, pa.string_view())]),
        pa.table({"granule": pa.array(IDS).dictionary_encode()}),
        pa.RecordBatchReader.from_batches(pa.schema([("x", pa.string())]), [pa.record_batch({"x": IDS})]),
        duckdb.sql("SELECT unnest(['B', 'A', 'C']) AS granule"),
        [{"granule_id": identifier} for identifier in IDS],
        [ar.File(identifier, identifier, None, {}) for identifier in IDS],
    ],
    ids=lambda listed: type(listed).__name__,
)
def test_a_list_may_have_any_form(listed: Any, file: ar.Registry) -> None:
    found = ar.show(listed)
    assert found.identifier == EXPECTED.identifier and list(found) == sorted(IDS), "it can be read again"
    assert found.dataset is None and found.since is None and found.periods == ()


STATED = [
    {"granule": "A", "path": "A.nc", "size": 1, "checksum": "md5:" + "a" * 32},
    {"granule": "A", "path": "A.xml", "size": 2, "checksum": "sha-256:" + "b" * 64},
    {"granule": "B", "path": "B.nc", "size": 3, "checksum": None},
    {"granule": "C", "path": None, "size": None, "checksum": None},
]


@pytest.mark.parametrize(
    "table",
    [
        pa.Table.from_pylist(STATED),
        pl.DataFrame(STATED),
        pl.DataFrame(STATED).with_columns(pl.col("granule", "path", "checksum").cast(pl.Categorical)),
        pd.DataFrame(STATED),
        pd.DataFrame(STATED).astype({"granule": "category", "checksum": "category"}),
        duckdb.from_arrow(pa.Table.from_pylist(STATED)),
    ],
    ids=["pyarrow", "polars", "polars categories", "pandas", "pandas categories", "duckdb"],
)
def test_a_table_has_the_sizes_and_checksums_of_files(table: Any, file: ar.Registry) -> None:
    dataset = file.dataset("D")
    change = dataset.sync(table, at="2001-01-02", create=True)
    held = {(it.granule, it.path, it.size): dict(it.checksums) for it in change.set.files}
    assert change.added == 3 and held == {
        ("A", "A.nc", 1): {"md5": "a" * 32},
        ("A", "A.xml", 2): {"sha-256": "b" * 64},
        ("B", "B.nc", 3): {},
    }
    other = file.dataset("E")
    other.ingest(["A", "B", "C"], at="2001-01-02", create=True)
    assert file.compare("D", "E").not_compared == 3
    assert other.add_checksums(table, at="2001-01-03").set == change.set == ar.show(table)
    # Tables of this package, and the same tables of other libraries. C has no record, so it has no file.
    files = change.set.files
    for again in (files, pl.DataFrame(files), pa.table(files), pd.DataFrame.from_arrow(files), duckdb.sql("FROM files")):
        assert list(ar.show(again).files) == list(files)
    with raises("too-many-deletions", ar.Refused) as refused:
        other.delete(table, at="2001-01-04", skip_missing=True)
    assert other.delete(table, at="2001-01-04", skip_missing=True, expect=refused.value.expect).removed == 3


def test_checksums_have_columns_of_their_own_or_a_structure() -> None:
    expected = ar.show([ar.File("A", "A", None, {"md5": "a" * 32, "sha-256": "b" * 64})])
    of_both = {"md5": ["a" * 32], "SHA256": ["b" * 64]}
    assert ar.show(pa.table({"granule": ["A"], **of_both})) == expected
    assert ar.show(pl.DataFrame({"granule": ["A"], "checksums": [{"md5": "a" * 32, "sha-256": "b" * 64}]})) == expected
    algorithm = pa.table({"granule": ["A"], "checksum": ["c" * 128], "algorithm": ["blake2b-512"]})
    [file] = ar.show(algorithm).files
    assert dict(file.checksums) == {"blake2b-512": "c" * 128}
    without = algorithm.drop_columns("algorithm")
    assert [it.checksums for it in ar.show(without, algorithm="blake2b-512").files] == [file.checksums]


def test_a_column_about_files_that_cannot_be_read_is_rejected() -> None:
    wrong = [("checksum", 7), ("checksum", ["a"]), ("checksums", "md5:x"), ("size", True), ("path", 7)]
    for column, value in [*wrong, ("Checksum", "a" * 32), ("file_checksum_value", "a" * 32), ("md5", 5)]:
        table = pa.table({"granule": ["A"], "size": [1], column: [value]})
        with raises("input", match=f'"{column}" describes files, but .*\n.*leave it out'):
            ar.show(table)
    for size in (1.5, -1, "many"):
        with raises("input", match='listing:1: the column "size" has no number of bytes'):
            ar.show(pa.table({"granule": ["A"], "size": [size]}))
    seven = ar.show(pa.table({"granule": ["A"], "size": pa.array([7], pa.uint8())}))
    for size in (7.0, "7", 7):
        assert ar.show(pa.table({"granule": ["A"], "size": [size]})) == seven
    empty = pa.table({"granule": ["A"], "size": pa.nulls(1), "checksum": pa.nulls(1)})
    assert ar.show(empty) == ar.show(["A"]), "a column without a value has no type"


def test_a_column_is_named_or_usual() -> None:
    table = pa.table({"file": IDS, "rows": [1, 2, 3]})
    assert ar.show(table, column="file") == EXPECTED
    with raises("input", match="file, rows\n.*column="):
        ar.show(table)
    with raises("input", match="Int64"):
        ar.show(table, column="rows")
    with raises("input", match="no column"):
        ar.show(table, column="nothing")
    with raises("input", match="listing:2: the id is missing"):
        ar.show(pa.table({"granule": ["A", None]}))
    records = [{"name": name} for name in IDS]
    assert ar.show(records, column="name") == EXPECTED and list(ar.show(records, column="name")) == sorted(IDS)


@pytest.mark.filterwarnings("ignore:.*skipped ")
def test_rows_are_selected_and_counted(file: ar.Registry, tmp_path: Path) -> None:
    rows = {"granule_id": ["A", "B", "C", "D"], "platform": ["AQUA", "TERRA", "AQUA", "NPP"]}
    (tmp_path / "table.csv").write_text("\n".join(",".join(row) for row in [tuple(rows), *zip(*rows.values())]))
    records = [dict(zip(rows, row)) for row in zip(*rows.values())]
    for listing in (tmp_path / "table.csv", pl.DataFrame(rows), pa.table(rows), records):
        assert list(ar.show(listing, only="platform=AQUA")) == ["A", "C"]
        assert list(ar.show(listing, only=["platform=TERRA", "platform=NPP"])) == ["B", "D"]
        with raises("input", match="PLATFORM"):
            ar.show(listing, only="PLATFORM=AQUA")
        with raises("incomplete", match="states 5 granules, and the listing has 4"):
            ar.show(listing, total=5)
        with raises("incomplete"):
            ar.cite(listing, of="10.9999/FOO", total=3)
    dataset = file.dataset("D")
    with raises("incomplete", ar.Refused):
        dataset.sync(iter(rows["granule_id"]), total=5, create=True)
    assert dataset.sync(iter(rows["granule_id"]), total=4, create=True).added == 4
    assert file.compare(dataset, tmp_path / "table.csv", only="platform=AQUA").only_left
    assert dataset.ingest(pl.DataFrame({"granule_id": ["E"]}), total=1).added == 1
    assert dataset.delete(pl.DataFrame(rows), only="platform=NPP").removed == 1


def test_a_part_of_each_path_is_the_id(tmp_path: Path) -> None:
    paths = [Path("2001/a.nc"), Path("2002/b.nc")]
    assert list(ar.show(paths)) == ["a.nc", "b.nc"], "the name, unless it is said otherwise"
    assert list(ar.show(paths, granule="path")) == ["2001/a.nc", "2002/b.nc"]
    assert list(ar.show(paths, granule="stem")) == ["a", "b"]
    texts = [str(path) for path in paths]
    assert list(ar.show(texts)) == texts and list(ar.show(texts, granule="name")) == ["a.nc", "b.nc"]
    listing = tmp_path / "list.txt"
    listing.write_text("\n".join(texts))
    for given in (listing, str(listing)):
        assert ar.show(given) == ar.show(texts)
    with raises("registry-missing", ar.NotFound, match='no file "a.nc"'):
        ar.show("a.nc")


def test_an_error_of_a_producer_is_an_error() -> None:
    def batches() -> Any:
        yield pa.record_batch({"granule": ["A"]})
        raise ValueError("the catalogue went away")

    with raises("input", match="the catalogue went away"):
        ar.show(pa.RecordBatchReader.from_batches(pa.schema([("granule", pa.string())]), batches()))

    def ids() -> Iterator[str]:
        yield "A"
        raise ValueError("the catalogue went away")

    with pytest.raises(ValueError, match="went away"):
        ar.show(ids())


def test_what_is_no_list_of_ids_is_refused(file: ar.Registry) -> None:
    for listed, number in (([1], 1), (["A", {"id": "B"}], 2), ([{"id": "B"}, "A"], 2), (["A", Path("B")], 2)):
        with raises("input", match=f"item:{number}: .* is not an id"):
            ar.show(listed)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ar.show(5)  # type: ignore[arg-type]
    for value in (float("nan"), datetime(2001, 1, 2)):
        with raises("input", match="item:2 cannot be written as JSON"):
            ar.show([{"id": "A"}, {"id": "B", "value": value}])
    for listed in ([{"colour": "red"}], {"hits": 1, "took": 2}):
        with raises("input"):
            ar.show(listed)  # type: ignore[arg-type]
    dataset = file.dataset("US")
    for own in (["A.nc", "registry.db-wal"], pa.table({"id": ["registry.db"]}), [{"id": "x/registry.db-shm"}]):
        with raises("input", match="of the registry itself"):
            dataset.sync(own, create=True)  # type: ignore[arg-type]
    assert not file.datasets()


def response(name: str) -> Any:
    return json.loads((FIXTURES / "input" / name).read_text())


def test_a_mapping_is_a_response_whose_pages_are_counted(file: ar.Registry) -> None:
    dataset = file.dataset("US")
    stac, umm = response("stac.json"), response("umm.json")
    assert set(dataset.sync(stac, create=True).set) == {item["id"] for item in stac["features"]}
    with raises("incomplete", ar.Refused, match="found 4 granules, but the files contain only 3") as refused:
        dataset.ingest(umm)
    assert refused.value.change.added == 2
    umm["hits"] = 3
    with pytest.warns(ar.RegistryWarning, match="deleted"):
        assert dataset.ingest(umm).added == 2
    linked = {"features": stac["features"], "links": [{"rel": "next", "href": "https://example.org/2"}]}
    with raises("incomplete", match="next page"):
        dataset.sync(linked)
    assert len(file.history("US")) == 2, "what is refused changes nothing"


def test_results_of_catalogues_are_taken_as_they_are(file: ar.Registry) -> None:
    umm, stac = response("umm.json")["items"], response("stac.json")["features"]

    class DataGranule(dict[str, Any]):
        """Like the class of earthaccess."""

    with pytest.warns(ar.RegistryWarning, match="skipped 1 granule that the file marks as deleted"):
        of_umm = file.dataset("UMM").sync([DataGranule(item) for item in umm], create=True)
    assert of_umm.added == len([item for item in umm if not item["meta"].get("deleted")])
    assert umm[0]["umm"]["GranuleUR"] in of_umm.set
    whole: dict[str, Any] = {"stac_version": "1.0.0", "links": [], "geometry": None, "bbox": None}
    whole["properties"] = {"datetime": "2021-02-06T00:00:00Z"}
    items = [pystac.Item.from_dict({**item, **whole}) for item in stac]
    assert set(file.dataset("STAC").sync(items, create=True).set) == {item["id"] for item in stac}


@pytest.fixture
def dataset(file: ar.Registry) -> ar.Dataset:
    dataset = file.dataset("US")
    dataset.sync(IDS, at="2001-01-02", create=True, note="first")
    dataset.delete(["A"], at="2001-01-03")
    return dataset


def test_ids_become_tables_again_and_again(file: ar.Registry, dataset: ar.Dataset) -> None:
    held = file.show(dataset)
    granules = file.granules(dataset)
    for rows in (held, granules):
        for _ in range(2):
            assert list(rows) == ["B", "C"] and len(rows) == 2 and rows
            assert pl.DataFrame(rows)["granule"].to_list() == ["B", "C"]
            assert pa.table(rows).schema.field("granule").type == pa.string()
            assert duckdb.sql("SELECT count(*) FROM rows").fetchall() == [(2,)]
            assert pd.DataFrame.from_arrow(rows)["granule"].tolist() == ["B", "C"]
    assert not held.files and len(held.files) == 0 and pa.table(held.files).num_rows == 0


def test_every_table_goes_to_arrow(file: ar.Registry, dataset: ar.Dataset) -> None:
    file.annotate(dataset, "a test")
    dataset.edit(title="T", creator=["A, B", "C, D"])
    table = pa.table(file.history("US"))
    assert table.schema.field("timestamp").type == pa.timestamp("us", "UTC")
    assert table["timestamp"].to_pylist() == [datetime(2001, 1, day, tzinfo=timezone.utc) for day in (2, 3)]
    assert table["until"].to_pylist() == [datetime(2001, 1, 3, tzinfo=timezone.utc), None]
    assert table["granules"].to_pylist() == [3, 2] and table["note"].to_pylist() == ["first", None]
    assert [[note["note"] for note in notes] for notes in table["annotations"].to_pylist()] == [[], ["a test"]]
    assert pa.table(file.datasets())["creators"].to_pylist() == [["A, B", "C, D"]]
    assert pl.DataFrame(file.find("A"))["deleted"].to_list() == [datetime(2001, 1, 3, tzinfo=timezone.utc)]
    assert [row.granule for row in file.find("B", "C")] == ["B", "C"]
    for rows in (file.status(), file.verify(), file.check(str(file.cite("US")))):
        assert pl.DataFrame(rows).height == len(rows) == 1
    compared = file.compare(dataset, ["B", "X"])
    assert pl.DataFrame(compared.only_right)["granule"].to_list() == ["X"] and list(compared.only_left) == ["C"]


def test_many_rows_need_hardly_any_memory(tmp_path: Path) -> None:
    # A development build takes minutes for a million rows. All of these bounds also hold for a million.
    count, batch = int(os.environ.get("ACCESSION_TEST_ROWS", "100_000")), 10_000
    of_arrow: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, count, batch):
            of_arrow.append(pa.total_allocated_bytes())
            ids = [f"granule-{number:07}" for number in range(start, start + batch)]
            yield pa.record_batch({"granule": ids, "size": range(batch), "checksum": ["md5:" + "a" * 32] * batch})

    schema = pa.schema([("granule", pa.string()), ("size", pa.int64()), ("checksum", pa.string())])
    with ar.open(tmp_path / "registry.db", create=True) as registry:
        table = pa.RecordBatchReader.from_batches(schema, batches())
        held = registry.dataset("US").sync(table, create=True).set
        # A row of a batch has more than 60 bytes.
        assert max(of_arrow) - of_arrow[0] < 60 * batch, "a batch is freed when the next one is read"
        of_python: list[int] = []

        def counted(rows: Iterable[Any]) -> Iterator[Any]:
            for number, row in enumerate(rows):
                if number % 1_000 == 0:
                    of_python.append(sys.getallocatedblocks())
                yield row

        for read in (
            lambda: sum(1 for _ in counted(held)),
            lambda: sum(1 for _ in counted(held.files)),
            lambda: len(ar.show(counted(f"granule-{number:07}" for number in range(count)))),
        ):
            of_python.clear()
            assert read() == count
            assert max(of_python) - of_python[0] < 20_000, "objects of some rows, and not of all"
        held_bytes: list[int] = []
        for _ in range(3):
            before = allocated()
            reader, rows, table_bytes = pa.RecordBatchReader.from_stream(held.files), 0, 0
            for part in reader:
                rows, table_bytes = rows + part.num_rows, table_bytes + part.nbytes
                held_bytes.append(allocated() - before)
            del reader, part
            assert rows == len(held) == count
            assert allocated() - before < table_bytes // 10, "a table is freed after it was read"
        print(f"{count} rows: {max(held_bytes) >> 10} of {table_bytes >> 10} KiB at once")
        assert max(held_bytes) < 8 << 20, "batches are freed one by one"


class Mallinfo(ctypes.Structure):
    """The memory statistics of glibc, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def allocated() -> int:
    """Bytes in use. The size of the process would include freed memory that the allocator keeps, which
    differs from run to run."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        not_checked("the memory of tables, because this C library does not count it")
    mallinfo.restype = Mallinfo
    counted = mallinfo()
    return int(counted.uordblks + counted.hblkhd)
