"""Shortened responses of catalogues: results of `earthaccess.search_data`, and a local STAC API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb

MD5 = "900150983cd24fb0d6963f7d28e17f72"


class DataGranule(dict[str, Any]):
    """Like the class of earthaccess."""


def granule(name: str, collection: str) -> DataGranule:
    checksum = {"Value": MD5, "Algorithm": "MD5"}
    files = [{"Name": name, "SizeInBytes": 3, "Size": 3, "SizeUnit": "NA", "Checksum": checksum}]
    meta = {"concept-type": "granule", "concept-id": "G1-FOO", "revision-id": 1, "collection-concept-id": collection}
    umm = {"GranuleUR": name, "DataGranule": {"ArchiveAndDistributionInformation": files}}
    return DataGranule({"meta": meta, "umm": umm, "size": 0.0})


def search_data(short_name: str, **_: object) -> list[DataGranule]:
    """Like ``earthaccess.search_data``."""
    collection = {"FOOL2": "C1000-FOO", "BARL3": "C2000-BAR"}[short_name]
    return [granule(f"{short_name}.{number:02}.nc", collection) for number in (1, 2)]


class DataGranules:
    """Like ``earthaccess.DataGranules``."""

    def short_name(self, name: str) -> "DataGranules":
        self.name = name
        return self

    def hits(self) -> int:
        return len(search_data(self.name))


def inventory(directory: Path) -> None:
    """Writes an S3 inventory in two Parquet files, with the columns that S3 writes."""
    directory.mkdir()
    rows = [
        "('foo', '2001/', 'v6', true, false, 0), ('foo', '2001/FOOL2.0003.hdf', 'v4', true, false, 11)",
        "('foo', '2001/FOOL2.0001.hdf', 'v2', true, false, 9), ('foo', '2001/FOOL2.0002.hdf', 'v3', true, true, NULL)",
    ]
    for number, values in enumerate(rows):
        table = f"(VALUES {values}) AS it(bucket, key, version_id, is_latest, is_delete_marker, size)"
        duckdb.sql(f"COPY (FROM {table}) TO '{directory}/{number}.parquet'")


@contextmanager
def stac_api() -> Iterator[str]:
    """The address of a STAC API with a recorded catalogue, and a search of three items in two pages."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(catalogue())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.respond(page(int(asked.get("token", 1))))

        def respond(self, value: dict[str, Any]) -> None:
            text = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    def catalogue() -> dict[str, Any]:
        search = {"rel": "search", "href": f"{address}/search", "type": "application/geo+json", "method": "POST"}
        links = [{"rel": "root", "href": address}, {"rel": "self", "href": address}, search]
        conforms = [f"https://api.stacspec.org/v1.0.0/{part}" for part in ("core", "item-search")]
        named = {"type": "Catalog", "id": "recorded", "description": "recorded", "stac_version": "1.0.0"}
        return {**named, "conformsTo": conforms, "links": links}

    def page(number: int) -> dict[str, Any]:
        names = [["A", "B"], ["C"]][number - 1]
        following = {"rel": "next", "href": f"{address}/search", "method": "POST", "body": {"token": 2}, "merge": True}
        of_all = {"type": "Feature", "stac_version": "1.0.0", "geometry": None, "collection": "foo", "assets": {}}
        dated = {"properties": {"datetime": "2024-01-01T00:00:00Z"}, "links": []}
        features = [{**of_all, **dated, "id": name} for name in names]
        links = [following] if number == 1 else []
        return {"type": "FeatureCollection", "numberMatched": 3, "features": features, "links": links}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
