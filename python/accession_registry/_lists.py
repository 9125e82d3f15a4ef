"""Lists that are not of strings: what catalogues returned, as a text that the library reads."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, islice
from operator import index, itemgetter
from os import PathLike
from typing import Any, TypeAlias

from accession_registry._listing import Listing, Row
from accession_registry._native import Rows
from accession_registry._records import Error, FileRecord, error

# The keys that a response has, and its format.
_RESPONSES = {"items": "umm-json", "features": "stac", "feed": "cmr-json", "response": "esgf"}

# The name of a format, a text in it in parts, and whether what cannot be read of files is skipped.
_Text: TypeAlias = tuple[str, Iterable[str], bool]


def whole(given: Any) -> _Text | None:
    """The text of a response of a catalogue, or of what a source lists. None if it is something else."""
    if isinstance(given, str):
        raise error("usage", "a string is one id, and not a list of ids", 'put it into a list: ["…"]')
    if isinstance(given, Mapping):
        formats = [name for key, name in _RESPONSES.items() if key in given]
        if not formats:
            message = "a mapping is read as the response of a catalogue, and this one is not a response"
            raise error("usage", message, "put one record into a list, or hand over its ids")
        return formats[0], [_json("the response", dict(given))], True
    return _of_source(given) if isinstance(given, Listing) else None


def _of_source(listing: Listing) -> _Text:
    """The text of what a source lists. One that is incomplete is refused: what is missing would be deleted."""
    if not listing.complete:
        stated = f"{listing.stated_total} granules are stated, and {listing.granules} were listed"
        raise error("pages-missing", f"{listing.title} is incomplete: {stated}", "nothing was changed; try again later")
    rows = (row for batch in listing.batches() for row in zip(*(column.to_pylist() for column in batch.columns)))
    granules = groupby(rows, itemgetter(0))
    texts = (json.dumps(of_granule(granule, _files(rows))) + "\n" for granule, rows in granules)
    return "ndjson", texts, True


def _files(rows: Iterable[Row]) -> Iterator[tuple[str, int | None, Iterable[tuple[str, str]]]]:
    for _, path, size, checksum in rows:
        if path is not None:
            algorithm, _, value = (checksum or "").partition(":")
            yield path, size, [(algorithm, value)] if checksum else []


def records(number: int, first: Any, rest: Iterable[Any]) -> _Text:
    """The text of the records that a list has, as a response with one record a line."""
    if number > 1:
        raise _not_an_id(number, first)
    record = _as_dict(number, first)
    name, begin, separator, end = "ndjson", "", "\n", ""
    if "umm" in record:
        name, begin, separator, end = "umm-json", '{"items":[', ",\n", "]}"
    elif record.get("type") == "Feature":
        name, begin, separator, end = "stac", '{"features":[', ",\n", "]}"
    others = (_as_dict(number, item) for number, item in enumerate(rest, 2))
    texts = (separator + _json(f"item:{number}", other) for number, other in enumerate(others, 2))
    text = chain([begin + _json(f"item:{number}", record)], texts, [end])
    return name, text, not isinstance(first, FileRecord)


def _json(place: str, value: dict[str, Any]) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        message = f"{place}: cannot be written as JSON: {cause}"
        raise error("input", message, "make it of strings and numbers") from cause


def of_granule(granule: str, files: Iterable[tuple[str, int | None, Iterable[tuple[str, str]]]]) -> dict[str, Any]:
    """A record of a granule with its files, as Cumulus has it: of each its path, its size and its checksums."""
    stated = []
    for path, size, checksums in files:
        stated.append({"fileName": path, "size": size})
        for algorithm, value in checksums:
            stated.append({"fileName": path, "size": size, "checksumType": algorithm, "checksum": value})
    return {"granule_id": granule, "files": stated}


def _as_dict(number: int, item: Any) -> dict[str, Any]:
    """A record of a catalogue: a mapping, or an object that has ``to_dict``; or a ``FileRecord``."""
    # A client may have derived its class from `dict`.
    if isinstance(item, dict):
        return item
    if hasattr(item, "to_dict"):
        return dict(item.to_dict())
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, FileRecord):
        return of_granule(item.granule, [(item.path, item.size, item.checksums.items())])
    raise _not_an_id(number, item)


def _not_an_id(number: int, item: Any) -> Error:
    hint = "a list has strings, or records of a catalogue (UMM-G, STAC), not both"
    if isinstance(item, PathLike):
        hint = "a path is not an id: use its name (p.name), or str(p)"
    return error("input", f"item:{number}: {type(item).__name__} is not an id", hint)


def at(rows: Rows[Any], key: Any) -> Any:
    """A row of a list that was not read yet, or the list of those of a slice."""
    if isinstance(key, slice):
        start, stop, step = key.start, key.stop, key.step
        if all(bound is None or index(bound) >= 0 for bound in (start, stop)) and (step is None or step > 0):
            return list(islice(rows, start, stop, step))
        if start is not None and start < 0 and stop is None and step is None:
            return list(deque(rows, maxlen=-start))
        return list(rows)[key]
    key = index(key)
    found = list(islice(rows, key, key + 1)) if key >= 0 else deque(rows, maxlen=-key)
    if not found or len(found) < -key:
        raise IndexError("there is no such row")
    return found[0]
