"""What calls return, and raise: plain values, with the fields of the command line's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

__all__ = [
    "Annotated",
    "Annotation",
    "Applied",
    "Confirmation",
    "DatasetRecord",
    "Error",
    "FileFinding",
    "FileRecord",
    "FilesChecked",
    "Finding",
    "FixityCheck",
    "Identified",
    "Instance",
    "Interval",
    "LastChange",
    "Mirrored",
    "OpenFinding",
    "Period",
    "Pulled",
    "RefusedListing",
    "RootState",
    "Skipped",
    "Status",
    "Verification",
]


class Error(Exception):
    """What the registry refuses, or cannot do.

    ``kind`` says why in one word, which is that of the command line's JSON, and ``hint`` what to do.
    ``granule``, ``file`` and ``line`` say where, if that is known.
    """

    __module__ = "accession_registry"

    kind: str = ""
    message: str = ""
    hint: str | None = None
    granule: str | None = None
    file: str | None = None
    line: int | None = None


def error(
    kind: str,
    message: str,
    hint: str | None = None,
    granule: str | None = None,
    file: str | None = None,
    line: int | None = None,
) -> Error:
    """An error of this kind, whose text has the hint in a line of its own."""
    raised = Error(f"{message}\nhint: {hint}" if hint else message)
    raised.kind, raised.message, raised.hint = kind, message, hint
    raised.granule, raised.file, raised.line = granule, file, line
    return raised


@dataclass(frozen=True)
class Annotation:
    """A note about an instance, added after its change was recorded."""

    note: str
    questionable: bool
    recorded: datetime
    recorded_by: str | None


@dataclass(frozen=True)
class Annotated:
    """An instance that was annotated, and how."""

    dataset: str
    timestamp: datetime
    identifier: str
    note: str
    questionable: bool
    recorded: datetime
    recorded_by: str | None


@dataclass(frozen=True)
class Instance:
    """A dataset between one change and the next: one row of its history.

    ``until`` is None while it is in force.
    """

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
    recorded: datetime
    recorded_by: str | None
    note: str | None
    annotations: list[Annotation]


@dataclass(frozen=True)
class Skipped:
    """How many granules a change skipped, and why."""

    held: int
    repeated: int
    missing: int


@dataclass(frozen=True)
class Applied:
    """What a change did.

    ``instance`` is the one in force afterwards; None means that the dataset has no history.
    ``added`` and ``removed`` count what this change did, or in a dry run would do.
    """

    changed: bool
    added: int
    removed: int
    dry_run: bool
    instance: Instance | None
    skipped: Skipped
    created_dataset: bool

    @property
    def identifier(self) -> str | None:
        """The identifier in force afterwards."""
        return self.instance.identifier if self.instance else None


@dataclass(frozen=True)
class Pulled:
    """What a pull did: ``status`` is that of the mirror before it."""

    status: str
    identical: bool
    digest_equal: bool
    changed: bool
    added: int
    removed: int
    dry_run: bool
    instance: Instance | None
    primary: Instance


@dataclass(frozen=True)
class Confirmation:
    """That a listing was compared with a dataset, and was the same."""

    timestamp: datetime
    recorded_by: str | None
    granules: int


class _Withdrawal(TypedDict):
    timestamp: datetime
    note: str | None


@dataclass(frozen=True)
class DatasetRecord:
    """The record of a dataset, with its latest instance."""

    name: str
    doi: str | None
    title: str | None
    description: str | None
    creators: list[Any]
    publisher: str | None
    version: str | None
    year: Any
    url: str | None
    licence: str | None
    archive: str | None
    granule_url: str | None
    keywords: list[str]
    free_access: bool | None
    temporal: Any
    withdrawn: _Withdrawal | None
    former_names: list[str]
    max_delete: Any
    max_add: Any
    max_replace: Any
    latest: Instance | None
    confirmed: Confirmation | None
    resolver: str | None = None


# `from` is a word of Python, which no class can have as a name.
_DigestPeriod = TypedDict("_DigestPeriod", {"digest": str, "from": datetime, "until": datetime | None})


class _Subset(TypedDict):
    identifier: str
    digest: str
    dataset: str
    timestamp: datetime
    patterns: list[str] | None
    granules: int
    cited: datetime


@dataclass(frozen=True)
class Interval:
    """A period in which an identifier was in force, as that of instances or of a cited subset.

    ``instance`` is the latest one. ``digests`` lists what was known of the files in the meantime: each has a
    ``digest``, and the times ``from`` and ``until`` which the set had it.
    """

    kind: str
    dataset: str
    from_: datetime
    until: datetime | None
    identifier: str
    granules: int
    digests: list[_DigestPeriod]
    instance: Instance | None
    subset: _Subset | None
    annotations: list[Annotation]
    withdrawn: _Withdrawal | None


@dataclass(frozen=True)
class Period:
    """A period in which a granule was held. ``deleted`` is None while it is."""

    dataset: str
    granule: str
    ingested: datetime
    deleted: datetime | None
    withdrawn: _Withdrawal | None
    url: str | None


@dataclass(frozen=True)
class Identified:
    """The identifier and the digest of a list. ``repeated`` counts ids that were listed before."""

    identifier: str
    digest: str
    granules: int
    repeated: int


@dataclass(frozen=True)
class FileRecord:
    """What is known of a file of a granule. ``checksums`` has a value by algorithm."""

    granule: str
    path: str
    size: int | None
    checksums: dict[str, str]


@dataclass(frozen=True)
class FileFinding:
    """A file that is not as it is recorded.

    ``status`` is ``missing``, ``size``, ``checksum``, ``unreadable``, ``changing``, ``no-record``,
    ``cannot-compute``, or ``unexpected``, where no granule has the file.
    """

    granule: str | None
    path: str
    status: str
    expected: str | None
    found: str | None


@dataclass(frozen=True)
class FixityCheck:
    """What a check of files, or the computation of their checksums, read and found.

    ``complete`` tells whether it came to the end of the set.
    """

    files: int
    bytes: int
    complete: bool
    findings: list[FileFinding]

    @property
    def ok(self) -> bool:
        """Whether everything that was read is as it is recorded."""
        return not self.findings


@dataclass(frozen=True)
class RootState:
    """A directory in which files were checked.

    ``since``: every file that was held then was checked since. ``started``: when the check of all files
    began that has not come to the end yet; ``files`` and ``bytes`` are what it, or else the last one, has
    read.
    """

    root: str
    since: datetime | None
    started: datetime | None
    files: int
    bytes: int


@dataclass(frozen=True)
class OpenFinding:
    """A file that is not as it is recorded: what the last check of it in a directory has found."""

    root: str
    granule: str | None
    path: str
    status: str
    expected: str | None
    found: str | None
    first_seen: datetime


@dataclass(frozen=True)
class LastChange:
    """When the last change of a dataset took effect, and when it was recorded."""

    timestamp: datetime
    recorded: datetime


@dataclass(frozen=True)
class Mirrored:
    """A primary of a mirror, and what was read of it.

    ``verdict`` is ``failed``, ``old``, ``behind``, ``damaged`` or ``identical``. ``default`` is whether it is the
    primary of the latest pull. ``changes``, ``timestamp`` and ``identifier`` are those of the part of its log that
    was read.
    """

    source: str
    verdict: str
    default: bool
    changes: int
    timestamp: datetime | None
    identifier: str | None
    read: datetime
    identical: datetime | None
    pulled: datetime | None
    failed: datetime | None
    failure: str | None


@dataclass(frozen=True)
class FilesChecked:
    """What checks of the files of a dataset found.

    ``open`` counts the files that are not as recorded; ``first`` are the first ten of them.
    """

    open: int
    first: list[OpenFinding]
    roots: list[RootState]


@dataclass(frozen=True)
class RefusedListing:
    """That a listing was refused, and none was accepted since."""

    at: datetime
    reason: str


@dataclass(frozen=True)
class Status:
    """When a dataset was last changed and confirmed, and what is wrong, in sentences.

    ``refused`` is the last listing that was refused; None if one was accepted since, or none was refused.
    ``identical`` is when the dataset was last identical to the primary of its last pull.
    """

    dataset: str
    changed: LastChange | None
    confirmed: Confirmation | None
    mirrors: list[Mirrored]
    fixity: FilesChecked | None
    problems: list[str]
    refused: RefusedListing | None = None
    identical: datetime | None = None


@dataclass(frozen=True)
class Finding:
    """Something that does not agree."""

    code: str
    timestamp: datetime | None
    granule: str | None
    text: str


@dataclass(frozen=True)
class Verification:
    """The result of verifying a dataset; ``dataset`` is None for the registry file."""

    dataset: str | None
    identifiers: int
    mismatches: list[Finding]
    ok: bool


def made(name: str, text: str) -> Any:
    """Makes an object of the class with this name from its JSON, as the types of its fields say."""
    return _value(globals()[name], json.loads(text))


_hints = cache(get_type_hints)


def _value(hint: Any, value: Any) -> Any:
    if isinstance(hint, UnionType):
        return None if value is None else _value(get_args(hint)[0], value)
    if get_origin(hint) is list:
        return [_value(get_args(hint)[0], element) for element in value]
    if hint is datetime:
        # Python 3.10 reads neither Z nor a part of a second with another number of digits.
        seconds, _, part = value.removesuffix("Z").partition(".")
        return datetime.fromisoformat(f"{seconds}.{part:0<6}+00:00")
    if is_dataclass(hint) or is_typeddict(hint):
        hints = _hints(hint)
        # A word of Python cannot be the name of a field.
        names = {name: "from_" if name == "from" and is_dataclass(hint) else name for name in value}
        return hint(**{names[name]: _value(hints.get(names[name]), value[name]) for name in value})
    return value
