"""Requests of pages that a catalogue sends, with the errors of this package."""

from __future__ import annotations

import time
from email.message import Message
from http.client import HTTPException, IncompleteRead, InvalidURL, responses
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from accession_registry._native import __version__
from accession_registry._records import Error, error

# A page of the largest size that catalogues send has a tenth of it.
_MAX_BYTES = 256 * 1024 * 1024
_TIMEOUT_SECONDS = 60

# What is asked for again after a while, since the server may be busy.
_PAUSES_SECONDS = (2.0, 10.0)


def shown(address: str) -> str:
    """The address as messages have it: without user, password and query, which may be secrets."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _refuse_others(address: str) -> None:
    try:
        parts = urlsplit(address)
        is_of_the_web = parts.scheme in ("http", "https")
    except ValueError:
        is_of_the_web = False
    if not is_of_the_web:
        raise error("usage", f"{shown(address)} is not an address of the web", "an address begins with https://")
    if "@" in parts.netloc:
        raise error("usage", f"the address of {shown(address)} has a user", "leave out the user and the password")


class _Redirects(HTTPRedirectHandler):
    """Follows no server out of the web, which Python's handler does with FTP."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        try:
            _refuse_others(newurl)
        except Error:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def get(address: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> tuple[bytes, Message]:
    """The body of a response, and its headers."""
    _refuse_others(address)
    place = shown(address)
    sent = {"User-Agent": f"accession-registry/{__version__}", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json"
    for pause in (*_PAUSES_SECONDS, None):
        try:
            with build_opener(_Redirects).open(Request(address, body, sent), timeout=_TIMEOUT_SECONDS) as response:
                received = response.read(_MAX_BYTES + 1)
                if len(received) > _MAX_BYTES:
                    raise error("too-many-bytes", f"{place}: the page has more than {_MAX_BYTES} bytes")
                # The limit would not be one of what it is expanded to. `http.client` asks for no encoding.
                encoding = response.headers["Content-Encoding"] or "identity"
                if encoding.lower() != "identity" or received.startswith(b"\x1f\x8b"):
                    message = f"{place}: the page is compressed, which was not asked for"
                    raise error("response", message, "nothing was changed; tell those who run the server")
                # A read of so many bytes at most does not say that the connection was lost before the end.
                if (response.headers["Content-Length"] or str(len(received))) != str(len(received)):
                    raise IncompleteRead(received)
                return received, response.headers
        except HTTPError as refused:
            refused.close()
            status = f"{refused.code} {responses.get(refused.code, '')}".rstrip()
            if pause is None or not (refused.code == 429 or refused.code >= 500):
                message = f"{place}: the server responds {status}"
                raise error("response", message, "check the address, or try again later") from refused
        except (InvalidURL, UnicodeError):
            # Its text has the whole address.
            raise error("usage", f"{place} is not an address of the web", "check its host and its letters") from None
        except (OSError, HTTPException) as failed:
            if pause is None:
                message = f"{place}: no whole response: {failed}"
                raise error("unreachable", message, "nothing was changed; try again later") from failed
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")
