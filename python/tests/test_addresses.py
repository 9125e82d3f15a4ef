"""Sets at somebody's server: what is read is verified, and a broken connection goes on."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pytest
from conftest import raises

import accession_registry as ar

IDS = [f"granule {number:05} ä" for number in range(10_000)]
IDENTIFIER = ar.identify(IDS).identifier


class Archive(BaseHTTPRequestHandler):
    """Sends the list of a set, as `accession serve` does, with a fault."""

    fault = ""
    requests: list[str] = []

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.requests.append(unquote(parts.path))
        after = parse_qs(parts.query).get("after", [""])[0]
        ids = [identifier for identifier in IDS if identifier > after]
        if self.fault == "changed":
            ids = [identifier for identifier in ids if identifier != IDS[8]]
        if self.fault == "disordered":
            ids.reverse()
        if self.fault == "missing":
            self.send_error(404)
            return
        body = "".join(f"{identifier}\n" for identifier in ids).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        is_cut = self.fault == "cut" and len(self.requests) < 3
        self.wfile.write(body[: len(body) // 2] if is_cut else body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def archive() -> Iterator[str]:
    Archive.fault, Archive.requests = "", []
    with ThreadingHTTPServer(("127.0.0.1", 0), Archive) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("ending", ["", "/", "/granules"])
def test_a_set_is_read_from_its_address(archive: str, ending: str) -> None:
    read = ar.read(f"{archive}/registry/DI:{IDENTIFIER}{ending}")
    assert Archive.requests == []
    assert list(read) == IDS
    assert Archive.requests == [f"/registry/DI:{IDENTIFIER}/granules"]
    assert pa.table(read)["granule"].to_pylist() == IDS


def test_a_broken_connection_goes_on_after_the_last_id(archive: str) -> None:
    Archive.fault = "cut"
    assert list(ar.read(f"{archive}/DI:{IDENTIFIER}")) == IDS
    assert len(Archive.requests) == 3


def test_another_list_is_refused(archive: str) -> None:
    Archive.fault = "changed"
    with raises("not-as-expected", match=IDENTIFIER):
        list(ar.read(f"{archive}/DI:{IDENTIFIER}"))
    with raises("not-as-expected"):
        ar.read(f"{archive}/DI:{IDENTIFIER}").to_arrow()
    Archive.fault = "disordered"
    with raises("response", match="order"):
        list(ar.read(f"{archive}/DI:{IDENTIFIER}"))
    Archive.fault = "missing"
    with raises("response", match="404"):
        list(ar.read(f"{archive}/DI:{IDENTIFIER}"))


def test_a_set_is_read_from_accession_serve(serve: Callable[[Path], str], tmp_path: Path) -> None:
    with ar.open(tmp_path / "registry.db", create=True) as registry:
        dataset = registry.dataset("US")
        dataset.sync(IDS, at="2001-01-02", create=True)
        dataset.delete(IDS[:1], at="2001-01-03")
        address = serve(tmp_path / "registry.db")
        for at in ("2001-01-02", "2001-01-03"):
            held = dataset.set(at=at)
            read = ar.read(f"{address}/DI:{held.identifier}")
            assert list(read) == list(held) and read.to_arrow() == held.to_arrow()
    with raises("response", match="404"):
        list(ar.read(f"{address}/DI:{'d' * 32}"))


def test_an_address_that_is_not_one_of_a_set_is_refused(archive: str) -> None:
    for address in [archive, f"{archive}/datasets/US/", f"{archive}/DI:123", "ftp://archive.example/"]:
        with raises("address"):
            ar.read(address)
    with raises("not-encrypted", match="insecure=True"):
        ar.read(f"http://archive.example/DI:{IDENTIFIER}")
