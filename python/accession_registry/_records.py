"""The results of calls: plain values with the fields of the command line's JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")


@dataclass(frozen=True)
class Annotation:
    """A note about an instance, added after its change was recorded."""

    note: str
    questionable: bool
    recorded: datetime
    recorded_by: str | None


@dataclass(frozen=True)
class Instance:
    """The set that a dataset held from one change to the next: a row of its history. ``until`` is None if in force."""

    dataset: str
    timestamp: datetime
    until: datetime | None
    identifier: str
    digest: str
    granules: int
    ingested: int
    deleted: int
    described: int
    replaced: int
    recorded: datetime | None
    recorded_by: str | None
    note: str | None
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True)
class Record:
    """The metadata of a dataset, and its instance in force."""

    name: str
    doi: str | None
    title: str | None
    description: str | None
    creators: tuple[str, ...]
    publisher: str | None
    version: str | None
    year: int | None
    url: str | None
    licence: str | None
    archive: str | None
    granule_url: str | None
    resolver: str | None
    keywords: tuple[str, ...]
    free_access: bool | None
    temporal: str | None
    withdrawn: Mapping[str, Any] | None
    former_names: tuple[str, ...]
    max_delete: str | None
    max_add: str | None
    max_replace: str | None
    latest: Instance | None
    confirmed: Mapping[str, Any] | None


@dataclass(frozen=True)
class Period:
    """A period in which a granule was held. ``deleted`` is None if the granule is still held."""

    dataset: str
    granule: str
    ingested: datetime
    deleted: datetime | None
    withdrawn: Mapping[str, Any] | None
    url: str | None


@dataclass(frozen=True)
class File:
    """The metadata of a file of a granule: its path, size in bytes, and checksums by algorithm."""

    granule: str
    path: str
    size: int | None
    checksums: Mapping[str, str]


@dataclass(frozen=True)
class FileFinding:
    """A problem with a file. ``status`` is, for example, ``missing``, ``size`` or ``checksum``."""

    granule: str | None
    path: str
    status: str
    expected: str | None
    found: str | None


@dataclass(frozen=True)
class FileCheck:
    """The result of checking files, or of computing their checksums.

    ``complete`` is whether the end of the set was reached. ``Mirror.compare`` returns at most 1,000 ``findings``, and
    none of files that belong to no granule.
    """

    files: int
    bytes: int
    complete: bool
    findings: tuple[FileFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


@dataclass(frozen=True)
class Status:
    """When a dataset was last changed and confirmed, and its problems, in sentences."""

    dataset: str
    changed: Mapping[str, Any] | None
    confirmed: Mapping[str, Any] | None
    refused: Mapping[str, Any] | None
    mirrors: tuple[Mapping[str, Any], ...]
    fixity: Mapping[str, Any] | None
    identical: datetime | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A disagreement that verification found."""

    code: str
    timestamp: datetime | None
    granule: str | None
    text: str


@dataclass(frozen=True)
class Verification:
    """The result of verifying a dataset; ``dataset`` is None for the registry file."""

    dataset: str | None
    identifiers: int
    mismatches: tuple[Finding, ...]
    ok: bool


@dataclass(frozen=True)
class Checked:
    """The result of checking a citation. ``problem`` names the part that disagrees."""

    citation: int
    identifier: str | None
    digest: str | None
    doi: str | None
    date: str | None
    known: bool
    agrees: bool | None
    ok: bool
    problem: str | None
    note: str | None
    key: str | None
    line: int | None


# The fields of a class, with their types.
_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def time(text: str) -> datetime:
    """Parses a time of the JSON."""
    return datetime.fromisoformat(text)


def made(kind: type[R], value: Mapping[str, Any]) -> R:
    """Converts JSON to an object of this class. Ignores members for which the class has no field."""
    return kind(**{name: _value(hint, value.get(name)) for name, hint in _hints(kind).items()})


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return () if get_origin(hint) is tuple else None
    if isinstance(hint, UnionType):
        return _value(get_args(hint)[0], value)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], element) for element in value)
    if hint is datetime:
        return time(value)
    return made(hint, value) if is_dataclass(hint) and isinstance(hint, type) else value


def columns(kind: Any) -> list[list[Any]]:
    """The columns of a table of these objects, in the form that the native module reads."""
    return [[name, _column(hint)] for name, hint in _hints(kind).items()]


def _column(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        return _column(get_args(hint)[0])
    if get_origin(hint) is tuple:
        return ["list", _column(get_args(hint)[0])]
    if is_dataclass(hint) and isinstance(hint, type):
        return ["struct", columns(hint)]
    if hint == Mapping[str, str]:
        return "map"
    return {str: "text", bool: "bool", int: "int", datetime: "time"}.get(hint, "json")
