"""Registries, their datasets and mirrors, and functions that need no registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias, TypedDict, Unpack

from accession_registry import _html
from accession_registry._commands import Commands
from accession_registry._errors import NotFound, Refused, usage
from accession_registry._inputs import AnyPath, Inputs, Listing, Only, Time, options, text
from accession_registry._native import Handle
from accession_registry._records import Checked, FileCheck, Instance, Period, Record, Status, Verification, made
from accession_registry._results import Change, Citation, Comparison, Set, changed, cited, compared, file_check
from accession_registry._table import Table, in_memory

class Fields(TypedDict, total=False):
    """The metadata of a dataset, and its limits: the options of ``accession dataset edit``."""

    doi: str
    title: str
    description: str
    creator: str | Sequence[str]
    publisher: str
    dataset_version: str
    year: int | str
    url: str
    archive: str
    licence: str
    granule_url: str
    resolver: str
    keyword: str | Sequence[str]
    free_access: bool
    temporal: str
    max_delete: int | str
    max_add: int | str
    max_replace: int | str


def open(registry: AnyPath = "accession.db", *, create: bool = False, by: str | None = None) -> Registry:
    """Opens a registry: a file, or an address of PostgreSQL. ``by`` is the name that is recorded with changes."""
    return Registry(Commands(Handle(registry, create), by))


def show(
    set: SetLike, /, *, column: str | None = None, only: Only | None = None, total: int | None = None,
    granule: str | None = None, format: str | None = None, algorithm: str | None = None,
) -> Set:
    """The set that an argument names, as on the command line, or the set of a listing. A listing needs no registry."""
    return _show(_here(), set, Inputs(column, only, total, granule, format, algorithm))


def compare(
    left: SetLike, right: SetLike, /, *, names_only: bool = False, column: str | None = None,
    only: Only | None = None, total: int | None = None, granule: str | None = None, format: str | None = None,
    algorithm: str | None = None,
) -> Comparison:
    """Compares two sets, listings or directories."""
    inputs = Inputs(column, only, total, granule, format, algorithm)
    return _compare(_here(), left, right, inputs, names_only=names_only)


def cite(
    set: SetLike, /, *, of: AnyPath, column: str | None = None, only: Only | None = None, total: int | None = None,
    granule: str | None = None, algorithm: str | None = None,
) -> Citation:
    """Cites a listing. ``of`` is the DOI or name of its dataset, or a file with the metadata of the dataset."""
    inputs = Inputs(column, only, total, granule, algorithm=algorithm)
    return _cite(_here(), set, inputs, of=of)


def _here() -> Commands:
    return Commands(Handle(None, False))


def _word(commands: Commands, given: SetLike, inputs: Inputs, name: str = "listing") -> str:
    """The argument for a set. A set of another registry is passed as a listing."""
    if isinstance(given, Dataset):
        if given._commands.handle.address == commands.handle.address:
            # A file may have the name of the dataset.
            return f"{given.name}@now"
        given = given._set()
    if not isinstance(given, Set):
        return inputs.add(given, name)
    if given._is_listing or given._commands.handle.address == commands.handle.address:
        inputs.keep(given._inputs)
        return given._word()
    return inputs.add(given._records(), name)


def _show(commands: Commands, given: SetLike, inputs: Inputs, known_at: Time | None = None) -> Set:
    spec = _word(commands, given, inputs)
    [value, *others], _ = commands.call(["show", spec, *inputs.words(), *options(known_at=known_at)], inputs)
    if others:
        raise usage("several sets are named", "show one at a time")
    if value["kind"] == "dataset":
        if value["latest"] is None:
            raise usage(f"{value['name']} has no history yet", None, "no-history")
        spec = f"{value['name']}@{value['latest']['timestamp']}"
        [value], _ = commands.call(["show", spec], warns=False)
    found = Set(commands, spec, value, inputs, known_at)
    is_of_time = ("~" in spec or "@" in spec) and not spec.lower().startswith(("di:", "sha256:", "http"))
    if is_of_time and known_at is None and found.dataset and found.periods:
        # After a later change, `~1` and `@now` would name another set.
        found._spec = f"{found.dataset}@{text(found.since)}"
    return found


def _compare(commands: Commands, left: SetLike, right: SetLike, inputs: Inputs, **given: Any) -> Comparison:
    words = [_word(commands, left, inputs, "left"), _word(commands, right, inputs, "right")]
    [value], _ = commands.call(["compare", *words, *inputs.words(), *options(**given)], inputs)
    return compared(value)


def _cite(commands: Commands, set: SetLike, inputs: Inputs, **given: Any) -> Citation:
    return cited(commands, [_word(commands, set, inputs), *inputs.words(), *options(**given)], inputs)


class Registry:
    """An open registry. Threads can share it, and it can be pickled. A forked process must open it again."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    @property
    def address(self) -> str:
        """The absolute path, or the address without its password."""
        return self._commands.handle.name

    def dataset(self, name: str) -> Dataset:
        """A dataset, which need not exist yet."""
        return Dataset(self._commands, name)

    def datasets(self, *, all: bool = False) -> Table[Record]:
        """The datasets. ``all`` includes withdrawn datasets."""
        return self._commands.table("datasets", Record, ["dataset", "list", *options(all=all)])

    def show(self, set: SetLike, /, *, known_at: Time | None = None) -> Set:
        """The set that an argument names, as on the command line: ``FOO``, ``FOO@2024-03-05``, ``DI:7fb1e8ba``, a
        citation or a DOI; or the set of a listing."""
        return _show(self._commands, set, Inputs(), known_at)

    def granules(self, set: SetLike, /, *, known_at: Time | None = None) -> Table[str]:
        """The ids of a set."""
        return self.show(set, known_at=known_at)._granules

    def history(self, *names: str, n: int | None = None, known_at: Time | None = None) -> Table[Instance]:
        """The latest ``n`` changes of each dataset, oldest first (default: all). Without names, the latest ``n`` of all
        datasets together, in the order in which they were recorded (default: 100)."""
        words = ["--json", "history", *names, *(["-n", str(n)] if n is not None else []), *options(known_at=known_at)]
        # If a dataset does not exist, raise the error now, and not when the rows are read.
        self._commands.call(["history", *names, "-n", "1", *options(known_at=known_at)])
        title = f"history of {', '.join(names) or 'all datasets'}"
        return Table(title, Instance, lambda: self._commands.rows(words))

    def find(self, *granules: str, prefix: bool = False) -> Table[Period]:
        """The periods in which granules were held. ``prefix`` finds all ids that begin with one of ``granules``."""
        return self._commands.table("periods", Period, ["find", *options(prefix=prefix), "--", *granules])

    def compare(
        self, left: SetLike, right: SetLike, /, *, names_only: bool = False, scanned: str | None = None,
        column: str | None = None, only: Only | None = None, total: int | None = None, granule: str | None = None,
        format: str | None = None, algorithm: str | None = None,
    ) -> Comparison:
        """Compares two sets, listings or directories. ``scanned="START/END"`` says when a listing was made."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        return _compare(self._commands, left, right, inputs, names_only=names_only, scanned=scanned)

    def cite(
        self, set: SetLike, /, *, of: AnyPath | None = None, select: str | Sequence[str] | None = None,
        select_from: Listing | None = None, digest: bool = False, dry_run: bool = False,
    ) -> Citation:
        """Cites a set, or the granules that ``select`` or ``select_from`` name. Saves these granules as a subset."""
        inputs = Inputs()
        chosen = None if select_from is None else inputs.add(select_from, "select_from")
        given = {"of": of, "select": select, "select_from": chosen, "digest": digest, "dry_run": dry_run}
        return _cite(self._commands, set, inputs, **given)

    def check(self, text: AnyPath, /) -> Table[Checked]:
        """Checks the citations in a text, or in a file."""
        return self._commands.table("citations", Checked, ["check", "--", Inputs().add(text)])

    def annotate(
        self, set: SetLike, text: str, /, *, until: Time | None = None, questionable: bool = False
    ) -> Table[Instance]:
        """Adds a note to a set, and returns its instances. ``questionable`` warns anyone who cites the set."""
        inputs = Inputs()
        spec = _word(self._commands, set, inputs)
        given = options(until=until, questionable=questionable)
        rows, _ = self._commands.call(["annotate", *given, "--", spec, text], inputs)
        noted = {(row["dataset"], row["timestamp"]) for row in rows}
        names = sorted({dataset for dataset, _ in noted})
        history, _ = self._commands.call(["history", *names])
        instances = [json.dumps(it) for it in history if (it["dataset"], it["timestamp"]) in noted]
        return in_memory("annotated instances", Instance, instances)

    def status(self, *names: str, max_age: str | None = None, checked_within: str | None = None) -> Table[Status]:
        """When datasets were last changed and confirmed, and their problems."""
        given = options(max_age=max_age, checked_within=checked_within)
        return self._commands.table("status", Status, ["status", *names, *given])

    def verify(self, *names: str) -> Table[Verification]:
        """Recomputes every identifier of these datasets, or of all datasets."""
        return self._commands.table("verified datasets", Verification, ["verify", *names])

    def run(self, *words: str, **options_: Any) -> Any:
        """Runs any other command except ``serve``: ``reg.run("publish", "www")``. Returns the value that it prints with
        ``--json``, or a list of several values. A manifest, a proof or a page of help is returned as text."""
        if not words or words[0] == "serve":
            raise usage("serve runs until it is stopped", "type `accession serve` in a shell")
        printed, _ = self._commands.printed(["--json", *words, *options(**options_)])
        if words[:2] in (("dataset", "export"), ("proof", "create")):
            return printed
        try:
            values = [json.loads(line) for line in printed.split("\n") if line]
        except json.JSONDecodeError:
            return printed
        return values[0] if len(values) == 1 else values

    def close(self) -> None:
        """Closes the registry. Later calls on it, its datasets and its sets raise an error of kind ``closed``."""
        self._commands.handle.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Registry], tuple[Any, ...]]:
        return partial(open, by=self._commands.by), (self._commands.handle.address,)

    def __repr__(self) -> str:
        return f"<Registry {self.address}>"

    def _repr_html_(self) -> str:
        return _html.shown(lambda: _html.table(repr(self), _summaries(self.datasets())), self)


def _summaries(records: Table[Record]) -> list[str]:
    return [f"{it.name}: {it.latest.granules} granules, DI:{it.latest.identifier}" if it.latest else it.name for it in records]


class Dataset:
    """A dataset of a registry."""

    def __init__(self, commands: Commands, name: str) -> None:
        self._commands, self.name = commands, name

    @property
    def record(self) -> Record:
        """The metadata of the dataset."""
        rows, _ = self._commands.call(["dataset", "list", "--all"])
        for row in rows:
            if self.name in (row["name"], *row["former_names"]):
                return made(Record, row)
        raise usage(f"the registry has no dataset {self.name}", None, "dataset-unknown")

    @property
    def mirror(self) -> Mirror:
        """The dataset as a mirror of a dataset of another archive."""
        return Mirror(self)

    def _set(self) -> Set:
        return _show(self._commands, self, Inputs())

    def create(self, **fields: Unpack[Fields]) -> Record:
        """Creates the dataset with its metadata."""
        return self._edit("create", fields)

    def edit(self, **fields: Unpack[Fields]) -> Record:
        """Changes the metadata of the dataset, or the limits of its changes."""
        return self._edit("edit", fields)

    def _edit(self, command: str, fields: Mapping[str, Any]) -> Record:
        free = fields.get("free_access")
        given = {**fields, "free_access": {True: "yes", False: "no"}.get(free) if isinstance(free, bool) else free}
        [value], _ = self._commands.call(["dataset", command, self.name, *options(**given)])
        return made(Record, value)

    def sync(
        self, listing: Listing, *, create: bool = False, checksums: bool = False, column: str | None = None,
        only: Only | None = None, total: int | None = None, granule: str | None = None, format: str | None = None,
        algorithm: str | None = None, at: Time | None = None, note: str | None = None, expect: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Makes the dataset hold exactly the granules of a listing or a directory. ``checksums`` computes the
        SHA-256 checksums of the files of a directory."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._change(["sync"], inputs, [listing], create=create, checksums=checksums, **change)

    def ingest(
        self, listing: Listing, *, delete: Listing | None = None, create: bool = False, skip_existing: bool = False,
        column: str | None = None, only: Only | None = None, total: int | None = None, granule: str | None = None,
        format: str | None = None, algorithm: str | None = None, at: Time | None = None, note: str | None = None,
        expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Adds granules. Marks the granules of ``delete`` as deleted in the same change."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        given = {"delete": None if delete is None else inputs.add(delete, "delete"), "skip_existing": skip_existing}
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._change(["ingest"], inputs, [listing], create=create, **given, **change)

    def delete(
        self, listing: Listing, *, skip_missing: bool = False, column: str | None = None, only: Only | None = None,
        total: int | None = None, granule: str | None = None, format: str | None = None, algorithm: str | None = None,
        at: Time | None = None, note: str | None = None, expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Marks granules as deleted. Earlier sets still have them."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._change(["delete"], inputs, [listing], skip_missing=skip_missing, **change)

    def revert(
        self, set: Set | str | None = None, *, at: Time | None = None, note: str | None = None,
        expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Undoes the latest change, or returns to an earlier set, with a new change."""
        inputs = Inputs()
        words = [] if set is None else [_word(self._commands, set, inputs)]
        return self._change(["revert"], inputs, words, at=at, note=note, expect=expect, dry_run=dry_run)

    def import_history(
        self, *sources: AnyPath, create: bool = False, skip: str | Sequence[str] | None = None,
        column: str | None = None, only: Only | None = None, total: int | None = None, granule: str | None = None,
        format: str | None = None, algorithm: str | None = None, at: Time | None = None, note: str | None = None,
        expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Builds a history from dated listings, a table with dates, a manifest or a published log."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._change(["import"], inputs, sources, create=create, skip=skip, **change)

    def add_checksums(
        self, files: Listing, *, column: str | None = None, only: Only | None = None, total: int | None = None,
        granule: str | None = None, format: str | None = None, algorithm: str | None = None, at: Time | None = None,
        note: str | None = None, expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Records sizes and checksums of files, from the output of ``sha256sum``, a table, or ``File`` objects."""
        inputs = Inputs(column, only, total, granule, format, algorithm)
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._change(["fixity", "add"], inputs, [files], **change)

    def compute_checksums(self, root: AnyPath, *, algorithm: str = "sha-256", note: str | None = None) -> FileCheck:
        """Computes and records the checksums of files in a directory that have no recorded checksum."""
        given = options(root=root, algorithm=algorithm, note=note)
        return file_check(self._commands.call(["fixity", "compute", *given, "--", self.name])[0])

    def _change(self, command: list[str], inputs: Inputs, listings: Sequence[Listing], **given: Any) -> Change:
        names = [self.name, *map(inputs.add, listings)]

        def run(given: dict[str, Any], warns: bool) -> Change:
            words = [*command, *options(**given), *inputs.words(), "--", *names]
            [value, *_], warnings = self._commands.call(words, inputs, warns=warns)
            return changed(self._commands, value, warnings)

        try:
            return run(given, True)
        except Refused as refused:
            if refused.expect:
                refused.change = run({**given, "dry_run": True, "expect": refused.expect}, False)
            raise

    def __reduce__(self) -> tuple[Callable[..., Dataset], tuple[Any, ...]]:
        return Registry.dataset, (Registry(self._commands), self.name)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}>"

    def _repr_html_(self) -> str:
        def html() -> str:
            try:
                return self._set()._repr_html_()
            except NotFound:
                return _html.facts(f"{self.name}: no history yet", [])

        return _html.shown(html, self)


# The values that name a set.
SetLike: TypeAlias = Listing | Set | Dataset


class Mirror:
    """A dataset that follows a dataset of another archive, its primary."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self._commands = dataset, dataset._commands

    @property
    def source(self) -> str | None:
        """The primary of the latest pull. None if there is none, or if the dataset is withdrawn."""
        rows, _ = self._commands.call(["status", self._dataset.name])
        return next((mirror["source"] for row in rows for mirror in row["mirrors"] if mirror["default"]), None)

    def pull(
        self, primary: AnyPath | None = None, *, create: bool = False, at: Time | None = None,
        note: str | None = None, expect: str | None = None, dry_run: bool = False,
    ) -> Change:
        """Makes the mirror hold the set of its primary: an address, a published directory, a manifest or a registry."""
        change = {"at": at, "note": note, "expect": expect, "dry_run": dry_run}
        return self._dataset._change(["mirror", "pull"], Inputs(), self._primary(primary), create=create, **change)

    def compare(
        self, primary: AnyPath | None = None, *, files: AnyPath | None = None, checked_within: str | None = None
    ) -> Comparison:
        """Compares the mirror with its primary. First checks the files of the mirror in the directory ``files``."""
        given = options(all=True, files=files, checked_within=checked_within)
        words = ["mirror", "compare", *given, "--", self._dataset.name, *map(text, self._primary(primary))]
        [value], _ = self._commands.call(words)
        return compared(value)

    def _primary(self, primary: AnyPath | None) -> list[AnyPath]:
        return [] if primary is None else [primary]

    def __repr__(self) -> str:
        return f"<Mirror {self._dataset.name}>"
