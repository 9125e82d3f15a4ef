"""Lists of rows that can be read repeatedly, and that polars, pandas, pyarrow and DuckDB read as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from accession_registry import _html
from accession_registry._errors import warn
from accession_registry._native import Stream, lines
from accession_registry._records import File, columns, made

T = TypeVar("T")


class Table(Generic[T]):
    """Rows that are read when they are needed. Iterate over them as often as you like, or pass the table to
    ``pl.DataFrame``, ``pa.table``, ``pandas.DataFrame.from_arrow`` or DuckDB."""

    def __init__(self, title: str, kind: type[T], read: Callable[[], Stream], count: int | None = None) -> None:
        self._title, self._kind, self._read, self._count = title, kind, read, count

    def __iter__(self) -> Iterator[T]:
        stream = self._read()
        for part in stream:
            yield from self._parsed(part)
        warn(message_of(warning) for warning in stream.warnings)

    def _parsed(self, part: bytes) -> Iterable[Any]:
        if self._kind is str:
            return part.decode().removesuffix("\n").split("\n")
        values = map(json.loads, part.splitlines())
        if self._kind is File:
            return chain.from_iterable(map(files_of, values))
        return (made(self._kind, value) for value in values)

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self)
        return self._count

    def __bool__(self) -> bool:
        return self._count > 0 if self._count is not None else any(True for _ in self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        rows = "ids" if self._kind is str else "files" if self._kind is File else "objects"
        described = [["granule", "text"]] if self._kind is str else columns(self._kind)
        return self._read().table(json.dumps({"rows": rows, "columns": described}))

    def __repr__(self) -> str:
        count = "" if self._count is None else f" ({self._count})"
        return f"<Table: {self._title}{count}>"

    def _repr_html_(self) -> str:
        return _html.shown(lambda: _html.table(self._title, list(islice(self, _html.MAX_ROWS + 1))), self)


def in_memory(title: str, kind: type[T], rows: list[str]) -> Table[T]:
    """A table of rows in memory: ids, or objects as JSON."""
    text = "".join(f"{row}\n" for row in rows).encode()
    return Table(title, kind, lambda: lines(text), len(rows))


def files_of(granule: dict[str, Any]) -> Iterator[File]:
    """The files in the JSON of a granule."""
    for file in granule.get("files") or ():
        checksums = dict(checksum.split(":", 1) for checksum in file.get("checksums") or ())
        yield File(granule["granule"], file.get("path") or granule["granule"], file.get("size"), checksums)


def message_of(warning: str) -> str:
    """The message in the JSON of a warning."""
    message: str = json.loads(warning)["message"]
    return message
