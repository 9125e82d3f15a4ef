"""Converts Python values to arguments of a command. Listings in memory become files, which messages call `listing`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import chain, groupby, islice
from os import PathLike
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias, runtime_checkable

from accession_registry._errors import usage
from accession_registry._native import write_table
from accession_registry._records import File

AnyPath: TypeAlias = str | PathLike[str]
Time: TypeAlias = str | date | datetime
# Values of `--only`: `COLUMN=VALUE`.
Only: TypeAlias = str | Sequence[str]


@runtime_checkable
class ArrowStream(Protocol):
    """A table or a column of polars, pandas, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


@runtime_checkable
class ToDict(Protocol):
    """A record of a catalogue, such as an item of pystac."""

    def to_dict(self) -> Mapping[str, Any]: ...


Item: TypeAlias = str | PathLike[str] | Mapping[str, Any] | ToDict | File
Listing: TypeAlias = AnyPath | ArrowStream | Mapping[str, Any] | Iterable[Item]

# Encodes a string as JSON, without the overhead of the options of `json.dumps`.
_quoted: Callable[[str], str] = json.JSONEncoder().encode

# The number of items that are written at a time.
BATCH = 8_192


def _remove(directory: str, process: int) -> None:
    # A forked process must not delete the files of its parent.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


class Inputs:
    """The listings of a command, and the options for reading them."""

    def __init__(
        self, column: str | None = None, only: Only | None = None, total: int | None = None,
        granule: str | None = None, format: str | None = None, algorithm: str | None = None,
    ) -> None:
        self.column, self.granule = column, granule
        self._words = options(only=only, total=total, format=format, algorithm=algorithm)
        self._column_used = self._granule_used = False
        self.directory: str | None = None
        self.kept: list[Inputs] = []

    def words(self) -> list[str]:
        """The options for reading the listings. Call this after adding all listings."""
        column = None if self._column_used else self.column
        return options(column=column, granule=None if self._granule_used else self.granule) + self._words

    def keep(self, other: Inputs | None) -> None:
        """Keeps the temporary files of an earlier listing, and reads it with the same options."""
        if other is not None:
            self.kept.append(other)
            self._words += [word for word in other.words() if word not in self._words]

    def add(self, given: Listing, name: str = "listing") -> str:
        """The argument for a listing: the string itself, a path, or a temporary file with this name."""
        if isinstance(given, str):
            return given
        if isinstance(given, PathLike):
            # Every command reads an absolute path, or one that begins with `./`, as a file.
            path = os.fspath(given)
            return path if os.path.isabs(path) else os.path.join(".", path)
        if self.directory is None:
            self.directory = tempfile.mkdtemp(prefix="accession-")
            weakref.finalize(self, _remove, self.directory, os.getpid())
        path = os.path.join(self.directory, name)
        if isinstance(given, ArrowStream):
            write_table(given, path, self.column)
            self._column_used = True
        else:
            self._write(given, path)
        return path

    def _write(self, given: Mapping[str, Any] | Iterable[Item], path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            if isinstance(given, Mapping):
                file.write(_json("the response", given))
                return
            # Iterating over a `pyarrow.Array` gives scalars of pyarrow instead of Python values.
            items: Iterator[Any] = iter(given.to_pylist() if hasattr(given, "to_pylist") else given)
            first = next(items, None)
            if first is None:
                return
            items = chain([first], items)
            if isinstance(first, (str, PathLike)):
                lines, self._column_used = _ids(items, type(first), self.granule), True
                self._granule_used = isinstance(first, PathLike)
            else:
                lines = _records(_of_files(items) if isinstance(first, File) else items)
            while batch := "".join(islice(lines, BATCH)):
                file.write(batch)


def _ids(items: Iterable[Any], first: type, granule: str | None) -> Iterator[str]:
    """Lines with ids. The id of a path is the file name, unless ``granule`` selects another part."""
    kind = str if issubclass(first, str) else PathLike
    for number, item in enumerate(items, 1):
        if not isinstance(item, kind):
            raise _not_an_id(number, item)
        yield f'{{"granule_id":{_quoted(item if isinstance(item, str) else _part(PurePath(item), granule))}}}\n'


def _part(path: PurePath, granule: str | None) -> str:
    if granule == "path":
        return path.as_posix()
    return path.stem if granule == "stem" else path.name


def _records(items: Iterable[Any]) -> Iterator[str]:
    """Lines with records of a catalogue. Records of CMR and STAC become one response that contains all of them."""
    before, between, after = "", "\n", "\n"
    for number, item in enumerate(items, 1):
        # Some clients derive the class of their records from `dict`.
        record = item if isinstance(item, dict) or not isinstance(item, ToDict) else item.to_dict()
        if not isinstance(record, Mapping):
            raise _not_an_id(number, item)
        if number == 1 and "umm" in record:
            before, between, after = '{"items":[', ",\n", "]}\n"
        elif number == 1 and record.get("type") == "Feature":
            before, between, after = '{"features":[', ",\n", "]}\n"
        yield (before if number == 1 else between) + _json(f"item:{number}", record)
    yield after


def _of_files(items: Iterable[Any]) -> Iterator[Any]:
    """Combines consecutive files of a granule into its record. Passes on all other items."""
    for granule, files in groupby(items, lambda item: item.granule if isinstance(item, File) else None):
        if granule is None:
            yield from files
        else:
            yield record_of(granule, files)


def record_of(granule: str, files: Iterable[File]) -> dict[str, Any]:
    """A granule with the metadata of its files, as a record of a catalogue."""
    described: list[dict[str, Any]] = []
    for file in files:
        named = {"fileName": file.path, "size": file.size}
        described.append(named)
        described += ({**named, "checksumType": kind, "checksum": value} for kind, value in file.checksums.items())
    return {"granule_id": granule, "files": described}


def _json(place: str, value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise usage(f"{place} cannot be written as JSON: {cause}", "make it of strings and numbers", "input") from cause


def _not_an_id(number: int, item: Any) -> Exception:
    hint = "a list has only strings, only paths, or only records of a catalogue"
    return usage(f"item:{number}: {type(item).__name__} is not an id like those before it", hint, "input")


def options(**given: Any) -> list[str]:
    """Converts keywords to options. A list repeats its option; None and False omit it."""
    words: list[str] = []
    for name, value in given.items():
        option = "--" + name.strip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={text(one, name)}")
    return words


def text(value: Any, name: str = "a value") -> str:
    """Converts a value to an argument of a command."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError(f"{name}: a datetime needs a time zone: datetime(…, tzinfo=timezone.utc)")
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, PathLike):
        path: str = os.fspath(value)
        return path
    raise TypeError(f"{name}: {type(value).__name__} is not a string, a number, a path or a time")
