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

from accession_registry._http import get
from accession_registry._inventory import s3_inventory
from accession_registry._listing import Listing, Page
from accession_registry._native import read_page
from accession_registry._records import error

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
        read, body = _Pages(address), None
        following = f"{address.rstrip('/')}/search?{urlencode({'collections': collection, 'limit': '250', **search})}"
        while following:
            received, _ = get(following, body=body)
            page = read.read(received, "stac")
            yield page
            following, body = _next_of(received, following, body) if page.granules else ("", None)

    return Listing(f"STAC {collection} of {address}", pages)


def _next_of(page: bytes, address: str, body: bytes | None) -> tuple[str, bytes | None]:
    """The address of the next page, and what is sent there; an empty address after the last page."""
    links = json.loads(page).get("links")
    for link in links if isinstance(links, list) else []:
        if isinstance(link, dict) and link.get("rel") == "next" and isinstance(link.get("href"), str):
            posted = link.get("body") if str(link.get("method")).upper() == "POST" else None
            if link.get("merge") and body is not None and isinstance(posted, dict):
                posted = {**json.loads(body), **posted}
            return urljoin(address, link["href"]), None if posted is None else json.dumps(posted).encode()
    return "", None


def esgf(
    *, address: str = "https://esgf-data.dkrz.de/esg-search/search", **facets: str | list[str]
) -> Listing:
    """The files that an index of ESGF finds with facets, such as ``source_id``; those that are retracted, or replaced
    by a newer version, are left out. Replicas are not asked for, unless ``replica`` says so.
    """

    def pages() -> Iterator[Page]:
        search = {"replica": "false", "limit": "1000", **facets, "type": "File", "format": "application/solr+json"}
        read, offset = _Pages(address), 0
        while True:
            body, _ = get(f"{address}?{urlencode({**search, 'offset': offset}, doseq=True)}")
            page = read.read(body, "esgf")
            if page.total is None:
                raise error("response", f"{address}: the index does not state numFound", "check the address")
            yield page
            offset += page.granules
            if page.granules == 0 or offset >= page.total:
                return

    return Listing(f"ESGF {urlencode(facets, doseq=True)}", pages)


class _Pages:
    """Reads the pages of a search. One that was read already would be read for ever."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._begun: set[str] = set()

    def read(self, body: bytes, format: str) -> Page:
        page = Page(*read_page(body, self._address, format))
        for first in page.rows[:1]:
            if first[0] in self._begun:
                message = f"{self._address}: a page begins with {first[0]}, as an earlier one did"
                raise error("response", message, "nothing was changed; tell those who run the server")
            self._begun.add(first[0])
        return page
