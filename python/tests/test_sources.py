"""Listings of catalogues and buckets, which a server here replays: whole, cut off, contradictory, or not at all."""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, raises

import accession_registry as ar
from accession_registry import _http, sources

MD5 = "900150983cd24fb0d6963f7d28e17f72"

# What a server sends: the status, the headers and the body, by the path, the query and the headers of a request.
Reply = tuple[int, dict[str, str], Any]
Respond = Callable[[str, dict[str, str], Any], Reply]


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Respond], str]]:
    """Serves what a function responds, and returns the address."""
    monkeypatch.setattr(_http, "_PAUSES_SECONDS", (0.0,))
    servers: list[ThreadingHTTPServer] = []

    def begin(respond: Respond) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
                if self.headers["Content-Length"]:
                    query.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, headers, body = respond(parts.path, query, self.headers)
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(sent))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


def granule(name: str) -> dict[str, Any]:
    checksum = {"Algorithm": "MD5", "Value": MD5}
    files = [{"Name": f"{name}.nc", "SizeInBytes": 3, "Checksum": checksum}, {"Name": f"{name}.xml", "SizeInBytes": 9}]
    umm = {"GranuleUR": name, "DataGranule": {"ArchiveAndDistributionInformation": files}}
    return {"meta": {"concept-type": "granule"}, "umm": umm}


def catalogue(
    names: list[str],
    *,
    size: int = 2,
    totals: list[int] | None = None,
    deleted: list[str] | None = None,
    hits_deleted: int = 0,
    **replaced: Reply,
) -> Respond:
    """CMR, with a search in pages. ``p2=…`` is sent in place of page 2."""

    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        if path.endswith("/deleted-granules.json"):
            # Others are refused by CMR, as is a range of dates.
            assert set(query) == {"parent_collection_id", "revision_date"}
            assert query["parent_collection_id"] == "C1-X" and query["revision_date"].endswith("Z")
            return 200, {"CMR-Hits": str(hits_deleted)}, [{"granule-ur": name} for name in deleted or []]
        assert query["collection_concept_id"] == "C1-X"
        begin = int(headers["CMR-Search-After"] or 0)
        if f"p{begin // size + 1}" in replaced:
            return replaced[f"p{begin // size + 1}"]
        items = names[begin : begin + size]
        after = {"CMR-Search-After": str(begin + size)} if items else {}
        hits = len(names) if totals is None else totals[min(begin // size, len(totals) - 1)]
        return 200, after, {"hits": hits, "took": 5, "items": [granule(name) for name in items]}

    return respond


NAMES = ["A", "B", "C", "D", "E"]
REPEATED = {"hits": 5, "took": 1, "items": [granule("C"), granule("B")]}
HTML = b"<!DOCTYPE html><html><title>Maintenance</title></html>"


def test_a_collection_is_read_to_its_end_and_synced_with_its_files(
    file: ar.Registry, replay: Callable[[Respond], str]
) -> None:
    listing = sources.cmr("C1-X", address=replay(catalogue(NAMES)))
    assert listing.complete and (listing.granules, listing.stated_total) == (5, 5)
    table = pl.DataFrame(listing)
    assert table.columns == ["granule", "path", "size", "checksum"] and table.height == 10
    assert table.row(0) == ("A", "A.nc", 3, f"md5:{MD5}") and table.row(1) == ("A", "A.xml", 9, None)
    assert listing.to_arrow().num_rows == 10, "it can be read again"
    dataset = file.dataset("US")
    assert dataset.sync(listing, create=True).added == 5
    assert len(list(dataset.set().files())) == 10
    assert ar.identify(listing).digest == dataset.set().digest
    assert not dataset.sync(sources.cmr("C1-X", address=replay(catalogue(NAMES, size=5)))).changed


def test_what_is_deleted_while_pages_are_read_is_left_out(replay: Callable[[Respond], str]) -> None:
    # A was listed and is deleted; F was deleted before its page, and counted by the first one.
    responds = catalogue(NAMES, totals=[6, 5, 4], deleted=["A", "F"])
    listing = sources.cmr("C1-X", address=replay(responds))
    assert listing.complete and (listing.granules, listing.stated_total) == (4, 4)
    assert ar.identify(listing) == ar.identify(sources.cmr("C1-X", address=replay(catalogue(NAMES[1:]))))


@pytest.mark.parametrize(
    "kind, match, responds",
    [
        ("pages-missing", "C1-X is incomplete: 9 granules are stated, and 5 were listed", {"totals": [9]}),
        ("pages-missing", "5 granules are stated, and 2 were", {"p2": (200, {}, {"hits": 5, "took": 1, "items": []})}),
        ("pages-missing", "6 granules are stated, and 5 were", {"totals": [6], "deleted": ["of another search"]}),
        ("pages-missing", "5 granules are stated, and 4 were", {"totals": [6], "deleted": ["A", "other"]}),
        ("pages-missing", "9 granules are stated, and 5 were", {"totals": [9, 5]}),
        ("pages-missing", "3 granules of C1-X were deleted since 20.*Z, and 0 are named", {"hits_deleted": 3}),
        ("response", "the server responds 500", {"p2": (500, {}, b"oops")}),
        ("response", "the server responds 404", {"p1": (404, {}, b"")}),
        ("input", "HTML", {"p3": (200, {}, HTML)}),
        ("unreachable", "no whole response", {"p2": (200, {"Content-Length": "900"}, b'{"hits":5,"items":[')}),
        ("input", "1: ", {"p2": (200, {}, b'{"hits":5,"items":[{"umm":')}),
        ("input", "1: ", {"p2": (200, {}, {"errors": ["too many requests"]})}),
        ("response", "begins with A, as an earlier", {"p2": (200, {"CMR-Search-After": "0"}, {"items": []})}),
        ("pages-missing", "5 granules are stated, and 4 were", {"p2": (200, {"CMR-Search-After": "4"}, REPEATED)}),
        ("response", "page is compressed", {"p2": (200, {"Content-Encoding": "gzip"}, gzip.compress(b"{}"))}),
        ("response", "page is compressed", {"p2": (200, {}, gzip.compress(b"{}"))}),
        ("usage", "ftp://x.example/p is not an address of", {"p1": (302, {"Location": "ftp://x.example/p?t=1"}, b"")}),
    ],
)
def test_a_search_that_is_not_whole_changes_nothing(
    file: ar.Registry, replay: Callable[[Respond], str], kind: str, match: str, responds: dict[str, Any]
) -> None:
    if match.startswith("begins with"):
        page = {"hits": 5, "took": 1, "items": [granule("A")]}
        responds = {"p2": (200, {"CMR-Search-After": "2"}, page)}
    dataset = file.dataset("US")
    dataset.sync(["A", "OLD"], create=True)
    listing = sources.cmr("C1-X", address=replay(catalogue(NAMES, **responds)))
    for _ in range(2):
        with raises(kind, match=match):
            dataset.sync(listing, max_delete="100%")
    if kind != "pages-missing" or "named" in match:
        for read in (pl.DataFrame, pa.table, sources.Listing.to_arrow):
            with raises(kind, match=match):
                read(listing)
    assert list(dataset.set()) == ["A", "OLD"] and len(dataset.history()) == 1


def test_a_server_that_was_busy_is_asked_again(replay: Callable[[Respond], str]) -> None:
    whole, asked = catalogue(NAMES), []

    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        asked.append(path)
        return (503, {}, b"") if len(asked) == 2 else whole(path, query, headers)

    assert sources.cmr("C1-X", address=replay(respond)).granules == 5


def items(names: list[str], **more: Any) -> dict[str, Any]:
    multihash = "1220" + hashlib.sha256(b"abc").hexdigest()
    asset = {"href": "https://x.example/a.tif?sig=1", "file:size": 3, "file:checksum": multihash}
    features = [{"type": "Feature", "id": name, "properties": {}, "assets": {"data": asset}} for name in names]
    return {"type": "FeatureCollection", "features": features, **more}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_items_are_read_by_their_next_links(replay: Callable[[Respond], str], method: str) -> None:
    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        assert path == "/search" and query["collections"] == "S2" and query["datetime"] == "2020/2021"
        token = int(query.get("token", 0))
        body = {"collections": "S2", "datetime": "2020/2021", "token": str(token + 1)}
        link = {"rel": "next", "href": f"?collections=S2&datetime=2020/2021&token={token + 1}"}
        if method == "POST":
            link = {"rel": "next", "href": "/search", "method": "POST", "body": body}  # type: ignore[dict-item]
        return 200, {}, items([f"I{token}"], links=[{"rel": "self"}, link] if token < 3 else [])

    listing = sources.stac(replay(respond), "S2", datetime="2020/2021")
    assert listing.complete and listing.granules == 4 and listing.stated_total is None
    digest = hashlib.sha256(b"abc").hexdigest()
    assert pl.DataFrame(listing).row(0) == ("I0", "a.tif", 3, f"sha-256:{digest}")


def test_an_empty_page_is_not_the_last_one_if_another_follows(replay: Callable[[Respond], str]) -> None:
    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        page = int(query.get("page", 0))
        links = [{"rel": "next", "href": f"/search?page={page + 1}"}] if page < last else []
        return 200, {}, items(["A"] if page == 0 else ["B"] if page == 2 else [], links=links, **stated)

    stated, last = dict[str, Any](), 2
    assert sources.stac(replay(respond), "S2").granules == 2
    stated, last = {"numberMatched": 2}, 10**6
    assert sources.stac(replay(respond), "S2").granules == 2, "some servers always name a next page"
    stated = {}
    with raises("response", match="the next pages are empty"):
        _ = sources.stac(replay(respond), "S2").granules


def test_no_message_has_a_secret(replay: Callable[[Respond], str], tmp_path: Path) -> None:
    secret, base = "s3cr3t", replay(lambda *_: (404, {}, b""))
    with_token = [f"{base}?token={secret}#", f"{base}/a b?token={secret}"]
    for address in (*with_token, f"http://me:{secret}@127.0.0.1/", f"http://[{secret}"):
        elsewhere = replay(lambda *_, to=address: (200, {}, items(["A"], links=[{"rel": "next", "href": to}])))
        for listing in (
            sources.stac(address, "S2"),
            sources.stac(elsewhere, "S2"),
            sources.cmr("C1-X", address=address),
            sources.esgf(address=address),
        ):
            with pytest.raises(ar.Error) as raised:
                _ = listing.complete
            assert secret not in f"{raised.value} {listing.title} {listing!r}"
    listing = sources.s3_inventory(f"https://x.example/manifest.json?X-Amz-Signature={secret}")
    assert secret not in listing.title


@pytest.mark.parametrize(
    "kind, match, page",
    [
        ("response", "next one, whose address", items(["A"], links=[{"rel": "next"}])),
        ("response", "next one, whose address", items(["A"], links=[{"rel": "next", "href": "http://[::1"}])),
        ("response", "begins with A, as an earlier one did", items(["A"], links=[{"rel": "next", "href": "/search"}])),
        ("pages-missing", "3 granules are stated, and 1 were", items(["A"], numberMatched=3)),
        ("usage", "not an address of the web", items(["A"], links=[{"rel": "next", "href": "file:///etc/passwd"}])),
        ("input", "features", {"type": "FeatureCollection", "description": "no list"}),
    ],
)
def test_items_that_are_not_all_are_refused(
    file: ar.Registry, replay: Callable[[Respond], str], kind: str, match: str, page: Any
) -> None:
    with raises(kind, match=match):
        file.dataset("S2").sync(sources.stac(replay(lambda *_: (200, {}, page)), "S2"), create=True)
    assert file.datasets() == []


def test_files_of_an_index_are_read_by_their_offset(file: ar.Registry, replay: Callable[[Respond], str]) -> None:
    documents = json.loads((FIXTURES / "input/esgf.json").read_text())["response"]["docs"]
    total = 3

    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        assert query["type"] == "File" and query["source_id"] == "FOOL2" and query["replica"] == "false"
        begin = int(query["offset"])
        found = {"numFound": total, "start": begin, "docs": documents[begin : begin + 2]}
        return 200, {}, {"responseHeader": {"status": 0}, "response": found}

    listing = sources.esgf(address=replay(respond), source_id="FOOL2")
    assert listing.complete and listing.granules == 3, "the one that is retracted is counted"
    file.dataset("ESGF").sync(listing, create=True)
    assert list(file.set("ESGF")) == ["FOOL2.v2.tas_2001.nc", "FOOL2.v2.tas_2002.nc"]
    total = 4
    with raises("pages-missing", match="4 granules are stated, and 3 were"):
        file.dataset("ESGF").sync(sources.esgf(address=replay(respond), source_id="FOOL2"))


def test_a_file_counts_once_unless_replicas_are_asked_for(replay: Callable[[Respond], str]) -> None:
    def respond(path: str, query: dict[str, str], headers: Any) -> Reply:
        begin = int(query["offset"])
        documents = [{"id": f"{name}.nc|node", "instance_id": f"{name}.nc"} for name in order[begin : begin + 2]]
        return 200, {}, {"response": {"numFound": 4, "start": begin, "docs": documents}}

    for order, replica, granules in (("ABCA", "false", 3), ("ABAC", "true", 4), ("ABCD", "false", 4)):
        listing = sources.esgf(address=replay(respond), replica=replica)
        assert (listing.granules, listing.complete) == (granules, granules == 4)


MANIFEST = next((FIXTURES / "input/s3-inventory").glob("*/manifest.json"))


def data_file(key: str, content: bytes) -> dict[str, Any]:
    return {"key": key, "size": len(content), "MD5checksum": hashlib.md5(content).hexdigest()}


def as_parquet(directory: Path) -> Path:
    """The same inventory in Parquet, where keys are not encoded."""
    rows = {
        "bucket": ["foo"] * 4,
        "key": ["2001/FOOL2 0001.hdf", "2001/FOOL2.0002.hdf", "2001/", "2001/FOOL2 0003+1.hdf"],
        "is_latest": [True] * 4,
        "is_delete_marker": [False, True, False, False],
        "size": [9, None, 0, 11],
        "e_tag": ["8b04d5e3775d298e78455efc5ca404d5", None, MD5, f"{MD5}-2"],
    }
    (directory / "data").mkdir(parents=True)
    data = directory / "data/1.parquet"
    pq.write_table(pa.table(rows), data)
    of_parquet = {"fileFormat": "Parquet", "fileSchema": "message s3 {}"}
    files = [data_file("inventories/data/1.parquet", data.read_bytes())]
    manifest = {**json.loads(MANIFEST.read_text()), **of_parquet, "files": files}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory / "manifest.json"


def test_an_inventory_is_read_from_csv_and_parquet(file: ar.Registry, tmp_path: Path) -> None:
    expected = [
        ("2001/FOOL2 0001.hdf", "2001/FOOL2 0001.hdf", 9, "md5:8b04d5e3775d298e78455efc5ca404d5"),
        ("2001/FOOL2 0003+1.hdf", "2001/FOOL2 0003+1.hdf", 11, None),
    ]
    for manifest in (MANIFEST, as_parquet(tmp_path)):
        listing = sources.s3_inventory(manifest, etag_md5=True)
        assert listing.complete and listing.granules == 2 and listing.stated_total is None
        assert sorted(tuple(row.values()) for row in listing.to_arrow().to_pylist()) == expected
    without = sources.s3_inventory(str(MANIFEST)).to_arrow()["checksum"].to_pylist()
    assert without == [None, None], "an ETag is not a checksum unless one says so"
    assert file.dataset("S3").sync(listing, create=True).added == 2


def test_an_inventory_that_is_not_whole_is_refused(file: ar.Registry, tmp_path: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with raises("input", match=match):
            file.dataset("S3").sync(sources.s3_inventory(manifest, **options), create=True)
        assert file.datasets() == []

    manifest = as_parquet(tmp_path)
    data, text = tmp_path / "data/1.parquet", manifest.read_text()
    content = data.read_bytes()
    refused("'inventories/data/1.parquet' of the inventory is missing", root=tmp_path)
    data.write_bytes(content[:-1])
    refused("bytes and the MD5 checksum .* but the manifest states")
    data.unlink()
    refused("of the inventory is missing")
    for replaced, match in (("Parquet", "is ORC"), ("inventories/data", "leads elsewhere"), ("{", "not the manifest")):
        other = {"Parquet": "ORC", "inventories/data": "../../etc", "{": "["}[replaced]
        manifest.write_text(text.replace(replaced, other, 1))
        refused(match)
    for broken in (b'"foo","A"\n', b'"foo","%ff","","true","false","1",""\n'):
        (tmp_path / "data/2.csv.gz").write_bytes(packed := gzip.compress(broken))
        files = [data_file("data/2.csv.gz", packed)]
        manifest.write_text(json.dumps({**json.loads(MANIFEST.read_text()), "files": files}))
        refused("cannot be read")


def test_an_inventory_is_refused_in_one_sentence(file: ar.Registry, tmp_path: Path) -> None:
    def parquet(**columns: list[Any]) -> bytes:
        pq.write_table(pa.table(columns), tmp_path / "written")
        return (tmp_path / "written").read_bytes()

    row = b'"foo","A","","true","false","9",""\n'
    data: list[tuple[str, bytes, dict[str, Any], str]] = [
        ("1.csv", row, {"MD5checksum": None}, "not the manifest"),
        ("1.csv", row, {"key": None}, "not the manifest"),
        ("1.csv", row, {"size": "9"}, "not the manifest"),
        ("1.csv.gz", row, {}, "'1.csv.gz' of the inventory cannot be read: Not a gzip"),
        ("1.csv.gz", gzip.compress(row)[:-9], {}, "'1.csv.gz' of the inventory cannot be read"),
        ("1.csv", row.replace(b'"9"', b'"-9"'), {}, "the size of 'A' is -9"),
        ("1.parquet", parquet(key=["A", None]), {}, "an object has no key"),
        ("1.parquet", b"PAR1", {}, "'1.parquet' of the inventory cannot be read"),
    ]
    manifest = tmp_path / "manifest.json"
    described = json.loads(MANIFEST.read_text())
    listing = sources.s3_inventory(manifest)
    with raises("io", match="manifest.json cannot be read"):
        file.dataset("S3").sync(listing, create=True)
    for name, content, stated, match in data:
        (tmp_path / name).write_bytes(content)
        kind = "Parquet" if name.endswith("parquet") else "CSV"
        files = [{**data_file(name, content), **stated}]
        manifest.write_text(json.dumps({**described, "fileFormat": kind, "files": files}))
        with raises("input", match=match):
            file.dataset("S3").sync(listing, create=True)
    for name, content in (("1.csv", b""), ("1.csv.gz", gzip.compress(b""))):
        (tmp_path / name).write_bytes(content)
        (tmp_path / "2.csv").write_bytes(row)
        files = [data_file(name, content), data_file("2.csv", row)]
        manifest.write_text(json.dumps({**described, "fileFormat": "CSV", "files": files}))
        assert sources.s3_inventory(manifest).to_arrow()["granule"].to_pylist() == ["A"], "one of an empty bucket"


def test_a_bucket_needs_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with raises("usage", match="needs fsspec"):
        _ = sources.s3_inventory("s3://inventories/foo/manifest.json").complete


def test_without_pyarrow_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.ipc", None)
    with raises("usage", match=r"need pyarrow\nhint: pip install"):
        _ = sources.s3_inventory(MANIFEST).complete


def test_the_recipe_for_the_tables_of_cumulus_is_one(file: ar.Registry, cluster: str) -> None:
    guide = (Path(__file__).parents[2] / "docs/guide/python.md").read_text()
    query = guide.split('cumulus = """')[1].split('"""')[0]
    program = shutil.which("psql") or sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]
    tables = f"""
        CREATE TEMPORARY TABLE collections (cumulus_id int, name text, version text);
        CREATE TEMPORARY TABLE granules (cumulus_id int, granule_id text, collection_cumulus_id int, status text);
        CREATE TEMPORARY TABLE files (granule_cumulus_id int, file_name text, file_size bigint, checksum_type text,
            checksum_value text);
        INSERT INTO collections VALUES (1, 'MOD09GQ', '061'), (2, 'MOD09GQ', '006');
        INSERT INTO granules VALUES (1, 'A', 1, 'completed'), (2, 'B', 1, 'completed'), (3, 'C', 1, 'failed'),
            (4, 'D', 2, 'completed');
        INSERT INTO files VALUES (1, 'A.hdf', 3, 'md5', '{MD5}'), (1, 'A.hdf.met', 9, NULL, NULL);
        {query};"""
    command = [program, "-XAtq", f"{cluster}/postgres", "-c", tables]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    dataset = file.dataset("MOD09GQ.061")
    dataset.sync((json.loads(line) for line in printed.splitlines()), create=True)
    assert list(dataset.set()) == ["A", "B"]
    assert list(dataset.set().files()) == [
        ar.FileRecord("A", "A.hdf", 3, {"md5": MD5}),
        ar.FileRecord("A", "A.hdf.met", 9, {}),
    ]
