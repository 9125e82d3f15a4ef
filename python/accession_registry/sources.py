"""Listings of catalogues and buckets: all granules that they have, for ``Dataset.sync``.

Each is a table ``granule, path, size, checksum`` with the Arrow C stream interface, and is read when it is first
used. One of which pages are missing is not ``complete``, and is refused by ``Dataset.sync``:

>>> import accession_registry as ar
>>> from accession_registry import sources
>>> listing = sources.cmr("C1000-PROV")                                    # doctest: +SKIP
>>> listing.complete, listing.granules, listing.stated_total              # doctest: +SKIP
(True, 8123, 8123)
>>> ar.open("nightly.db").dataset("FOOL2").sync(listing)                   # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode, urljoin

from accession_registry._http import get, shown
from accession_registry._inventory import s3_inventory
from accession_registry._listing import Listing, Page
from accession_registry._native import read_page
from accession_registry._records import error

# More empty pages in a row are not the end of a search, but one that has none.
_MAX_EMPTY_PAGES = 100

__all__ = ["Listing", "cmr", "esgf", "s3_inventory", "stac"]


def cmr(
    concept_id: str,
    *,
    address: str = "https://cmr.earthdata.nasa.gov/search",
    page_size: int = 2000,
    **search: str | list[str],
) -> Listing:
    """The granules of a collection in NASA's CMR, such as ``C1711961296-LPCLOUD``.

    Granules that are deleted while the pages are read are left out. ``search`` has further parameters of the search.
    """

    def pages() -> Iterator[Page]:
        query = urlencode({"collection_concept_id": concept_id, "page_size": page_size, **search}, doseq=True)
        read, began, after = _Pages(address), "", dict[str, str]()
        while True:
            body, received = get(f"{address}/granules.umm_json?{query}", after)
            page = read.read(body, "umm-json")
            began = began or f"{_time_of(received['Date']).astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
            yield page
            if received["CMR-Search-After"] is None or page.granules == 0:
                break
            after = {"CMR-Search-After": received["CMR-Search-After"]}
        # It takes no other parameters, and has no pages.
        since = urlencode({"parent_collection_id": concept_id, "revision_date": began})
        body, received = get(f"{address}/deleted-granules.json?{since}")
        page, hits = _Pages(address).read(body, "cmr-deleted"), received["CMR-Hits"] or ""
        if hits.isdigit() and page.granules < int(hits):
            message = f"{hits} granules of {concept_id} were deleted since {began}, and {page.granules} are named"
            raise error("pages-missing", message, "nothing was changed; try again later")
        yield Page([], 0, deleted=frozenset(row[0] for row in page.rows))

    return Listing(f"CMR {concept_id}", pages)


def _time_of(date: str | None) -> datetime:
    """When a server responded by its own clock, or else by the one here."""
    try:
        return parsedate_to_datetime(date or "")
    except (TypeError, ValueError):
        return datetime.now(timezone.utc)


def stac(address: str, collection: str, **search: str) -> Listing:
    """The items of a collection of a STAC API, with the sizes and checksums of their assets.

    ``search`` has further parameters, such as ``datetime``, ``bbox`` or ``limit``.
    """

    def pages() -> Iterator[Page]:
        read, body, listed, empty = _Pages(address), None, 0, 0
        asked = set[tuple[str, bytes | None]]()
        following = f"{address.rstrip('/')}/search?{urlencode({'collections': collection, 'limit': '250', **search})}"
        while following:
            if (following, body) in asked or empty > _MAX_EMPTY_PAGES:
                message = f"{shown(address)}: the next pages are empty, or were read already"
                raise error("response", message, "nothing was changed; tell those who run the server")
            asked.add((following, body))
            received, _ = get(following, body=body)
            page = read.read(received, "stac")
            yield page
            listed, empty = listed + page.granules, 0 if page.granules else empty + 1
            # An empty page is the last one if nothing is missing; else those after it may have more.
            ends = empty > 0 and page.total is not None and listed >= page.total
            following, body = ("", None) if ends else _next_of(received, following, body)

    return Listing(f"STAC {collection} of {shown(address)}", pages)


def _next_of(page: bytes, address: str, body: bytes | None) -> tuple[str, bytes | None]:
    """The address of the next page, and what is sent there; an empty address after the last page."""
    try:
        links = json.loads(page).get("links")
        for link in links if isinstance(links, list) else []:
            if isinstance(link, dict) and link.get("rel") == "next":
                posted = link.get("body") if str(link.get("method")).upper() == "POST" else None
                if link.get("merge") and body is not None and isinstance(posted, dict):
                    posted = {**json.loads(body), **posted}
                return urljoin(address, str(link["href"])), None if posted is None else json.dumps(posted).encode()
    except (ValueError, KeyError, RecursionError) as cause:
        message = f"{shown(address)}: the page has a next one, whose address cannot be read"
        raise error("response", message, "nothing was changed; tell those who run the server") from cause
    return "", None


def esgf(
    *, address: str = "https://esgf-data.dkrz.de/esg-search/search", **facets: str | list[str]
) -> Listing:
    """The files that an index of ESGF finds with facets, such as ``source_id``; those that are retracted, or replaced
    by a newer version, are left out. Replicas are not asked for, unless ``replica`` says so. A file that is listed
    twice counts once, so that the listing is not complete, except where replicas are asked for.
    """

    def pages() -> Iterator[Page]:
        search = {"replica": "false", "limit": "1000", **facets, "type": "File", "format": "application/solr+json"}
        # Those of several nodes have one name.
        read, offset = _Pages(address, may_repeat=search["replica"] != "false"), 0
        while True:
            body, _ = get(f"{address}?{urlencode({**search, 'offset': offset}, doseq=True)}")
            page = read.read(body, "esgf")
            if page.total is None:
                raise error("response", f"{shown(address)}: the index does not state numFound", "check the address")
            yield page
            offset += page.granules
            if page.granules == 0 or offset >= page.total:
                return

    return Listing(f"ESGF {urlencode(facets, doseq=True)}", pages)


class _Pages:
    """Reads the pages of a search. One that was read already would be read for ever, unless granules may repeat."""

    def __init__(self, address: str, *, may_repeat: bool = False) -> None:
        self._may_repeat = may_repeat
        self._address = shown(address)
        self._begun: set[str] = set()

    def read(self, body: bytes, format: str) -> Page:
        page = Page(*read_page(body, self._address, format), may_repeat=self._may_repeat)
        for first in page.rows[:1]:
            if first[0] in self._begun and not self._may_repeat:
                message = f"{self._address}: a page begins with {first[0]}, as an earlier one did"
                raise error("response", message, "nothing was changed; tell those who run the server")
            self._begun.add(first[0])
        return page
