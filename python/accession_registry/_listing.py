"""What a source lists: granules and their files in a temporary file, and whether these are all."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from tempfile import mkstemp
from typing import Any, NamedTuple
from weakref import finalize

from accession_registry._records import error

# A granule, and of one of its files the path, the size, and the checksum after its algorithm and a colon.
Row = tuple[str, str | None, int | None, str | None]


class Page(NamedTuple):
    """A part of a listing.

    ``granules`` counts also those that the source marks as deleted, and which have no row. ``total`` is how many
    the source states for all pages, if it does. ``deleted`` were deleted while the pages were read. A granule
    that ``may_repeat`` counts as often as it is listed.
    """

    rows: list[Row]
    granules: int
    total: int | None = None
    deleted: frozenset[str] = frozenset()
    may_repeat: bool = False


class _Read(NamedTuple):
    """A listing that was read: a file of Arrow, what was counted and stated, and what is left out of it."""

    file: str
    granules: int
    total: int | None
    deleted: set[str]


class Listing:
    """The granules that a source lists: a table ``granule, path, size, checksum`` with a row for each file.

    It is read when it is first used, into a temporary file. ``Dataset.sync`` refuses one that is not ``complete``.
    """

    __module__ = "accession_registry.sources"

    def __init__(self, title: str, pages: Callable[[], Iterator[Page]]) -> None:
        self.title = title
        self._pages = pages
        self._kept: _Read | None = None

    @property
    def granules(self) -> int:
        """How many granules were listed, of which one that was listed again counts once."""
        return self._read().granules

    @property
    def stated_total(self) -> int | None:
        """How many granules the source states that there are, less those that were deleted while it was read.
        None if it does not state it."""
        return self._read().total

    @property
    def complete(self) -> bool:
        """Whether as many granules were listed as the source states."""
        return self.stated_total is None or self.granules >= self.stated_total

    def to_arrow(self) -> Any:
        """The listing as a ``pyarrow.Table``."""
        return pyarrow().table(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        # Arrow would make an error of its own of one that is raised later.
        self._read()
        batches = pyarrow().RecordBatchReader.from_batches(_schema(), self.batches())
        return batches.__arrow_c_stream__(requested_schema)

    def batches(self) -> Iterator[Any]:
        """The parts of the table."""
        read, compute = self._read(), pyarrow("pyarrow.compute")
        deleted = pyarrow().array(sorted(read.deleted), pyarrow().string())
        for batch in _batches(read.file):
            yield batch.filter(compute.invert(compute.is_in(batch["granule"], deleted))) if read.deleted else batch

    def _read(self) -> _Read:
        if self._kept is None:
            descriptor, file = mkstemp(".arrow", "accession-")
            os.close(descriptor)
            finalize(self, os.remove, file)
            granules, totals, deleted, hashes = 0, list[int](), set[str](), array("q")
            with pyarrow("pyarrow.ipc").new_stream(file, _schema()) as stream:
                for page in self._pages():
                    columns = list(zip(*page.rows)) or [()] * 4
                    stream.write_batch(pyarrow().record_batch([list(it) for it in columns], schema=_schema()))
                    granules += page.granules
                    totals += [] if page.total is None else [page.total]
                    # Nothing is missing from what states no total.
                    if totals and not page.may_repeat:
                        hashes.extend(hash(granule) for granule, _ in groupby(page.rows, itemgetter(0)))
                    deleted |= page.deleted
            # The first statement is of the time at which the reading began.
            total = totals[0] if totals else None
            if hashes:
                # One that is listed again takes the place of one that is missing.
                granules -= len(hashes) - _distinct(hashes)
            if deleted:
                listed = {it for batch in _batches(file) for it in batch["granule"].to_pylist() if it in deleted}
                granules -= len(listed)
                if total is not None:
                    # One that was deleted before its page is missed, as a later page has to confirm.
                    total -= len(listed) + min(len(deleted - listed), total - min(totals))
            self._kept = _Read(file, granules, total, deleted)
        return self._kept

    def __repr__(self) -> str:
        return f"<Listing of {self.title}>"


def pyarrow(module: str = "pyarrow") -> Any:
    """The library of tables, which is installed with ``accession-registry[arrow]``."""
    try:
        return import_module(module)
    except ImportError:
        raise error("usage", "sources need pyarrow", "pip install 'accession-registry[arrow]'") from None


def _batches(file: str) -> Iterator[Any]:
    with pyarrow().OSFile(file) as opened:
        yield from pyarrow("pyarrow.ipc").open_stream(opened)


def _distinct(numbers: array[int]) -> int:
    """How many of the numbers differ, for which a set of Python would need five times the memory."""
    buffers = [None, pyarrow().py_buffer(numbers)]
    column = pyarrow().Array.from_buffers(pyarrow().int64(), len(numbers), buffers)
    found: int = pyarrow("pyarrow.compute").count_distinct(column).as_py()
    return found


def _schema() -> Any:
    arrow = pyarrow()
    fields = {"granule": arrow.string(), "path": arrow.string(), "size": arrow.uint64(), "checksum": arrow.string()}
    return arrow.schema(list(fields.items()))
