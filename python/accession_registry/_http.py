"""Requests of pages that a catalogue sends, with the errors of this package."""

from __future__ import annotations

import time
from email.message import Message
from http.client import HTTPException, IncompleteRead
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from accession_registry._native import __version__
from accession_registry._records import error

# A page of the largest size that catalogues send has a tenth of it.
_MAX_BYTES = 256 * 1024 * 1024
_TIMEOUT_SECONDS = 60

# What is asked for again after a while, since the server may be busy.
_PAUSES_SECONDS = (2.0, 10.0)


def get(address: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> tuple[bytes, Message]:
    """The body of a response, and its headers."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise error("usage", f"{address} is not an address of the web", "an address begins with https://")
    sent = {"User-Agent": f"accession-registry/{__version__}", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json"
    for pause in (*_PAUSES_SECONDS, None):
        try:
            with urlopen(Request(address, body, sent), timeout=_TIMEOUT_SECONDS) as response:
                received = response.read(_MAX_BYTES + 1)
                if len(received) > _MAX_BYTES:
                    raise error("too-many-bytes", f"{address}: the page has more than {_MAX_BYTES} bytes")
                # A read of so many bytes at most does not say that the connection was lost before the end.
                if (response.headers["Content-Length"] or str(len(received))) != str(len(received)):
                    raise IncompleteRead(received)
                return received, response.headers
        except HTTPError as refused:
            refused.close()
            if pause is None or not (refused.code == 429 or refused.code >= 500):
                message = f"{address}: the server responds {refused.code} {refused.reason}"
                raise error("response", message, "check the address, or try again later") from refused
        except (OSError, HTTPException) as failed:
            if pause is None:
                message = f"{address}: no whole response: {failed}"
                raise error("no-response", message, "nothing was changed; try again later") from failed
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")
