"""Arguments as the words of a command. Listings in memory become temporary files, which messages call `listing`."""

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
Only: TypeAlias = str | Mapping[str, str | Sequence[str]]


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

# The string of JSON, without the options of `json.dumps`.
_quoted: Callable[[str], str] = json.JSONEncoder().encode

# How many items are written at a time.
BATCH = 8_192


def _remove(directory: str, process: int) -> None:
    # A forked process leaves the files of its parent.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


class Inputs:
    """The listings of a command, and how they are read."""

    def __init__(
        self,
        column: str | None = None,
        only: Only | None = None,
        total: int | None = None,
        granule: str | None = None,
        format: str | None = None,
    ) -> None:
        self.column, self.granule = column, granule
        self._words = options(only=selected(only), total=total, format=format)
        self._column_used = self._granule_used = False
        self.directory: str | None = None
        self.kept: list[Inputs] = []

    def words(self) -> list[str]:
        """The options of reading, once all listings were added."""
        column = None if self._column_used else self.column
        return options(column=column, granule=None if self._granule_used else self.granule) + self._words

    def keep(self, other: Inputs | None) -> None:
        """Uses a listing that was read before, in the same way."""
        if other is not None:
            self.kept.append(other)
            self._words += [word for word in other.words() if word not in self._words]

    def add(self, given: Listing, name: str = "listing") -> str:
        """The word for a listing: a string as it is, a path, or a temporary file of this name."""
        if isinstance(given, str):
            return given
        if isinstance(given, PathLike):
            # Such a word is a file for every command.
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
                file.write(_json("the response", dict(given)))
                return
            # A `pyarrow.Array` is iterated over as values of its own.
            items: Iterator[Any] = iter(given.to_pylist() if hasattr(given, "to_pylist") else given)
            first = next(items, None)
            if first is None:
                return
            lines = _records(chain([first], items))
            if isinstance(first, (str, PathLike)):
                lines, self._column_used = _ids(chain([first], items), type(first), self.granule), True
                self._granule_used = isinstance(first, PathLike)
            while batch := "".join(islice(lines, BATCH)):
                file.write(batch)


def _ids(items: Iterable[Any], first: type, granule: str | None) -> Iterator[str]:
    """Ids, or paths, of which a part is the id: the name, unless another one is named."""
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
    """Records of a catalogue, one a line; of CMR and STAC as a response, which has all of them."""
    numbered = ((number, _record(number, item)) for number, item in enumerate(items, 1))
    _, first = number, record = next(numbered)
    before, between, after = "", "\n", "\n"
    if "umm" in first:
        before, between, after = '{"items":[', ",\n", "]}\n"
    elif first.get("type") == "Feature":
        before, between, after = '{"features":[', ",\n", "]}\n"
    elif isinstance(first, _OfFile):
        groups = groupby(chain([(number, record)], numbered), lambda it: it[1].get("granule_id"))
        numbered = iter((number, _joined(records)) for number, (_, records) in enumerate(groups, 1))
        number, record = next(numbered)
    yield before + _json(f"item:{number}", record)
    for number, record in numbered:
        yield between + _json(f"item:{number}", record)
    yield after


class _OfFile(dict[str, Any]):
    """The record of a `File`."""


def _joined(records: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    """The record of a granule, of the records of its files."""
    files = [record for _, record in records]
    return {"granule_id": files[0]["granule_id"], "files": [it for record in files for it in record["files"]]}


def _record(number: int, item: Any) -> dict[str, Any]:
    # A client may have derived its class from `dict`.
    if isinstance(item, dict):
        return item
    if isinstance(item, File):
        named = {"fileName": item.path, "size": item.size}
        files = [{**named, "checksumType": algorithm, "checksum": value} for algorithm, value in item.checksums.items()]
        return _OfFile(granule_id=item.granule, files=[named, *files])
    if isinstance(item, ToDict):
        return dict(item.to_dict())
    if isinstance(item, Mapping):
        return dict(item)
    raise _not_an_id(number, item)


def _json(place: str, value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise usage(f"{place} cannot be written as JSON: {cause}", "make it of strings and numbers", "input") from cause


def _not_an_id(number: int, item: Any) -> Exception:
    hint = "a list has only strings, only paths, or only records of a catalogue"
    return usage(f"item:{number}: {type(item).__name__} is not an id like those before it", hint, "input")


def selected(only: Only | None) -> list[str] | None:
    """The values of `--only`."""
    if only is None or isinstance(only, str):
        return None if only is None else [only]
    pairs = ((column, [value] if isinstance(value, str) else value) for column, value in only.items())
    return [f"{column}={value}" for column, values in pairs for value in values]


def options(**given: Any) -> list[str]:
    """Keywords as options: a list repeats its option, and None and False leave it out."""
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
    """A value as a word."""
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
