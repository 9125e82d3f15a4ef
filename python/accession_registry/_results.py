"""Sets, changes, comparisons and citations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from accession_registry import _html
from accession_registry._commands import Commands
from accession_registry._errors import usage
from accession_registry._inputs import AnyPath, Inputs, Time, options, record_of
from accession_registry._native import Stream
from accession_registry._records import File, FileCheck, Instance, made, time
from accession_registry._table import Table, files_of, in_memory

EMPTY = "d41d8cd98f00b204e9800998ecf8427e"


class Set:
    """A set of granules, from a registry or a listing. Iterate over the ids, or pass the set to a table library.

    Sets are equal if they have the same identifier and the same digest: the same names, and the same contents
    as far as checksums are recorded.
    """

    def __init__(
        self, commands: Commands, spec: str, value: dict[str, Any], inputs: Inputs | None, known_at: Time | None = None
    ) -> None:
        self._commands, self._inputs, self._known_at = commands, inputs, known_at
        self.identifier: str = value["identifier"]
        self._digest: str | None = value["digest"]
        self._count: int = value["granules"]
        self._candidates = tuple(contents["set"] for contents in value.get("contents", ()))
        periods = value.get("periods", ())
        datasets = {period["dataset"] for period in periods}
        self.dataset: str | None = datasets.pop() if len(datasets) == 1 else None
        held = _held(periods, self._digest)
        self.since: datetime | None = time(held["from"]) if held else None
        self.until: datetime | None = time(held["until"]) if held and held["until"] else None
        self.periods = tuple(made(Instance, period["instance"]) for period in periods if period["instance"])
        self._is_listing = value["kind"] == "listing"
        self._spec = spec

    @property
    def digest(self) -> str:
        """The digest of the granules and the recorded metadata of their files."""
        if self._digest is None:
            message = f"DI:{self.identifier} had different contents"
            raise usage(message, "name one of the candidates", "ambiguous", self._candidates)
        return self._digest

    def _word(self) -> str:
        """The argument for the set, also for commands that do not accept ``known_at``."""
        return self._spec if self._known_at is None else self._digest or f"DI:{self.identifier}"

    def _reading(self) -> list[str]:
        """The options for reading a listing again. ``--format`` means the output there."""
        reading = self._inputs.words() if self._inputs and self._is_listing else []
        return [word for word in reading if "--format" not in word]

    @property
    def _granules(self) -> Table[str]:
        return Table(self._title(), str, lambda: self._rows(), self._count)

    def _rows(self, *words: str) -> Stream:
        return self._commands.rows([*words, "granules", self._spec, *options(known_at=self._known_at), *self._reading()], self._inputs)

    @property
    def files(self) -> Table[File]:
        """The recorded metadata of the files."""
        return Table(f"files of {self._title()}", File, lambda: self._rows("--json"))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self._granules)

    def __contains__(self, granule: object) -> bool:
        return any(granule == held for held in self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._granules.__arrow_c_stream__(requested_schema)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        return (self.identifier, self._digest) == (other.identifier, other._digest)

    def __hash__(self) -> int:
        return hash((self.identifier, self._digest))

    def check_files(
        self, root: AnyPath, *, sizes_only: bool = False, unexpected: bool = False, within: str | None = None
    ) -> FileCheck:
        """Compares the files in a directory with their recorded sizes and checksums. ``within="2h"`` continues where
        the last check ended, and begins no file after two hours."""
        given = options(root=root, size_only=sizes_only, unexpected=unexpected, for_=within)
        return file_check(self._commands.call(["fixity", "check", self._word(), *given])[0])

    def cite(self, *, of: AnyPath | None = None, digest: bool = False) -> Citation:
        """Cites the set. A listing needs ``of``: the DOI or name of its dataset, or a file with the metadata of the
        dataset."""
        given = [*self._reading(), *options(of=of, digest=digest)]
        return cited(self._commands, [self._word(), *given], self._inputs)

    def _records(self) -> Iterator[dict[str, Any]]:
        """The granules with the metadata of their files, as records of a catalogue."""
        for part in self._rows("--json"):
            for granule in map(json.loads, part.splitlines()):
                yield record_of(granule["granule"], files_of(granule))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._is_listing:
            raise TypeError("a listing cannot be pickled: pickle the list of its ids")
        from accession_registry._registry import Registry

        return partial(Registry.show, known_at=self._known_at), (Registry(self._commands), self._spec)

    def _title(self) -> str:
        held = f", {self.dataset}" if self.dataset else ""
        return f"DI:{self.identifier}, {self._count} granules{held}"

    def __repr__(self) -> str:
        return f"<Set {self._title()}>"

    def _repr_html_(self) -> str:
        def html() -> str:
            notes = [note for period in self.periods for note in period.annotations]
            warned = [f"{'⚠ questionable: ' * note.questionable}{note.note}" for note in notes]
            facts: list[tuple[str, object]] = [("digest", self._digest), ("granules", self._count)]
            facts += [("dataset", self.dataset)]
            facts += [("since", self.since), ("until", self.until), ("notes", "; ".join(warned) or None)]
            paste = "" if self._is_listing else self.cite().text
            return _html.facts(f"DI:{self.identifier}", facts, paste)

        return _html.shown(html, self)


def _held(periods: Sequence[dict[str, Any]], digest: str | None) -> dict[str, Any] | None:
    """The first period of a set, if possible one with this digest."""
    digests = [part for period in periods for part in period.get("digests", ()) if part["digest"] == digest]
    return next(iter([*digests, *periods]), None)


def file_check(values: list[Any]) -> FileCheck:
    """Converts the JSON of a check of files: its findings, and then the summary."""
    *findings, last = values
    return made(FileCheck, {**last["summary"], "findings": findings})


@dataclass(frozen=True)
class Change:
    """The result of a change, or of its dry run. ``set`` is the set that the dataset holds after the change.

    Pass ``expect`` as ``expect=`` to accept exactly this result.
    """

    dataset: str
    changed: bool
    added: int
    removed: int
    replaced: int
    skipped: int
    set: Set
    expect: str
    warnings: tuple[str, ...]


def changed(commands: Commands, value: dict[str, Any], warnings: tuple[str, ...]) -> Change:
    """Converts the JSON of a change."""
    instance = None if value["timestamp"] is None else {**value, "kind": "instance"}
    period = {"dataset": value["dataset"], "from": value["timestamp"], "until": value["until"], "instance": instance}
    shown = {**value, "kind": "set", "periods": [period] if instance else []}
    spec = f"{value['dataset']}@{value['timestamp']}" if instance else f"DI:{EMPTY}"
    counts, skipped = value["counts"], sum(value["skipped"].values())
    expect = value.get("expect") or (value["digest"] if counts["replaced"] else f"DI:{value['identifier']}")
    result = Set(commands, spec, shown, None)
    did = (value["changed"], value["added"], value["removed"], counts["replaced"], skipped)
    return Change(value["dataset"], *did, result, expect, warnings)


@dataclass(frozen=True)
class Comparison:
    """How two sides differ.

    ``checksums_identical`` is None if no sizes or checksums could be compared. It is True if the digests are equal,
    even if nothing is recorded on either side. ``not_compared`` is the number of granules on both sides that could
    not be compared. ``different`` lists the granules with different content. ``behind`` is the number of changes
    that a mirror lacks.
    """

    identical: bool
    names_identical: bool
    checksums_identical: bool | None
    files: FileCheck | None
    matched: int
    not_compared: int
    behind: int | None
    only_left: Table[str] = field(repr=False)
    only_right: Table[str] = field(repr=False)
    different: Table[str] = field(repr=False)

    def __bool__(self) -> bool:
        raise TypeError("ask .identical, .names_identical or .checksums_identical")

    def _repr_html_(self) -> str:
        def html() -> str:
            lists = [("only left", self.only_left), ("only right", self.only_right), ("different", self.different)]
            facts: list[tuple[str, object]] = [("identical", self.identical), ("in both", self.matched)]
            facts += [("checksums identical", self.checksums_identical), ("not compared", self.not_compared)]
            tables = [_html.table(f"{len(ids)} {what}", list(ids)[:11]) for what, ids in lists if ids]
            return _html.facts("comparison", facts) + "".join(tables)

        return _html.shown(html, self)


def compared(value: dict[str, Any]) -> Comparison:
    """Converts the JSON of a comparison of two sides or of a mirror."""
    if "expected" in value:
        # One side is an identifier or a digest whose granules are unknown.
        names = same = value["identical"]
        sides: list[list[str]] = [[], [], []]
        matched, compared_files, behind = (value["granules"] if same else 0), 0, None
    else:
        is_mirror = "facts" in value
        members = ["unexpected", "missing"] if is_mirror else ["only_left", "only_right"]
        sides = [value[member] for member in [*members, "other_content"]]
        same = value["status"] == "identical" if is_mirror else value["identical"]
        names = not sides[0] and not sides[1]
        matched, behind = value["matched"], value.get("behind_by")
        compared_files = matched if value["digest_equal"] else value["compared"]
        if is_mirror and value["facts"]["checksums"]["verdict"] == "not-recorded":
            compared_files = 0
    titles = zip(["only left", "only right", "different"], sides)
    left, right, other = (in_memory(title, str, ids) for title, ids in titles)
    checksums = None if compared_files == 0 else not sides[2]
    check = value.get("check")
    # A file of no granule does not make the copy bad.
    findings = [finding for finding in check["first"] if finding["status"] != "unexpected"] if check else []
    files = made(FileCheck, {**check, "findings": findings}) if check else None
    not_compared = matched - compared_files
    return Comparison(same, names, checksums, files, matched, not_compared, behind, left, right, other)


class Citation:
    """A citation. ``str`` returns its sentence."""

    def __init__(self, commands: Commands, words: list[str], inputs: Inputs | None, value: dict[str, Any]) -> None:
        self._commands, self._words, self._inputs = commands, words, inputs
        self.text: str = value["citation"].rstrip("\n")
        self.identifier: str = value["identifier"]
        self.digest: str = value["digest"]
        self.granules: int = value["granules"]

    @property
    def bibtex(self) -> str:
        """The citation as BibTeX, for a bibliography."""
        return self.format("bibtex")

    def format(self, name: str) -> str:
        """The citation in another format: ``bibtex``, ``ris``, ``csl-json``, ``datacite-json``, ``json-ld`` …"""
        return self._again(f"--format={name}")

    def save(self, path: AnyPath) -> None:
        """Writes a ``.bib``, ``.ris``, ``.json`` (CSL-JSON) or ``.txt`` file. A path with another suffix becomes a
        directory: an RO-Crate with the list of the granules and their checksums."""
        path = Path(path)
        formats = {".bib": "bibtex", ".ris": "ris", ".json": "csl-json", ".txt": "text"}
        if path.suffix in formats:
            path.write_text(self.format(formats[path.suffix]), encoding="utf-8")
        else:
            self._again("--format=ro-crate", f"--output={path}")

    def _again(self, *words: str) -> str:
        [value], _ = self._commands.call(["cite", *self._words, *words], self._inputs)
        if value["digest"] != self.digest:
            raise usage("the set has changed since it was cited", "cite it again", "conflict")
        citation: str = value["citation"]
        return citation

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Citation {self.text}>"

    def _repr_html_(self) -> str:
        facts = [("digest", self.digest), ("granules", self.granules)]
        return _html.shown(lambda: _html.facts(f"DI:{self.identifier}", facts, self.text), self)


def cited(commands: Commands, words: list[str], inputs: Inputs | None) -> Citation:
    """Cites a set."""
    [value], _ = commands.call(["cite", *words], inputs)
    return Citation(commands, words, inputs, value)

