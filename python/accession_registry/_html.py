"""What a notebook shows: HTML that is complete without a style sheet or a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from accession_registry._native import Registry, Rows, plot
from accession_registry._records import DatasetRecord, FileRecord, Instance

# How many rows of a table are shown, and how many ids of a list.
MAX_ROWS = 50
MAX_IDS = 10


def table(title: str, headings: Iterable[str], rows: Sequence[Sequence[object]], more: str) -> str:
    """A table below its title. ``more`` is the call that has all rows, if there are further ones."""

    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows[:MAX_ROWS])
    html = f"<p>{escape(title)}</p><table><thead>{row('th', headings)}</thead><tbody>{body}</tbody></table>"
    return f"{html}<p>and more: <code>{more}</code> has all</p>" if len(rows) > MAX_ROWS else html


def rows(title: str, all_rows: Rows[Any]) -> str:
    """The first rows of a long list, or the latest of a history, one more than are shown."""
    first = list(all_rows[: MAX_ROWS + 1])
    headings: tuple[str, ...] = ("granule",)
    if any(isinstance(row, Instance) for row in first):
        headings = ("from", "until", "granules", "+", "-", "identifier", "note")
        if first[0].timestamp < first[-1].timestamp:
            first = all_rows[-MAX_ROWS - 1 :][::-1]
        return plot(sorted((row.timestamp, row.granules) for row in all_rows)) + table(title, headings, [_cells(row) for row in first], "to_arrow()")
    elif any(isinstance(row, FileRecord) for row in first):
        headings = ("granule", "path", "size", "checksums")
    return table(title, headings, [_cells(row) for row in first], "to_arrow()")


def _cells(row: Any) -> tuple[object, ...]:
    if isinstance(row, Instance):
        held = (row.timestamp, row.until or "now", row.granules, row.ingested, row.deleted)
        return (*held, f"DI:{row.identifier}", "; ".join(([row.note] if row.note else []) + _notes(row)))
    if isinstance(row, FileRecord):
        checksums = " ".join(f"{algorithm}:{value}" for algorithm, value in row.checksums.items())
        return (row.granule, row.path, "" if row.size is None else row.size, checksums)
    return row if isinstance(row, tuple) else (row,)


def _notes(instance: Instance) -> list[str]:
    """What was noted of an instance afterwards, with a mark where it is questionable."""
    return [f"{'⚠ questionable: ' * note.questionable}{note.note}" for note in instance.annotations]


def registry(shown: Registry) -> str:
    """The first datasets of a registry."""
    headings = ("dataset", "granules", "since", "identifier")

    def cells(record: DatasetRecord) -> tuple[object, ...]:
        latest = record.latest
        return (record.name, latest.granules, latest.timestamp, f"DI:{latest.identifier}") if latest else (record.name,)

    return table(f"Registry {shown.address}", headings, [cells(it) for it in shown.datasets()], "Registry.datasets()")


def lists(summary: str, lists: Mapping[str, Rows[str]]) -> str:
    """Lists of ids, of which the first are shown."""
    html = f"<p>{escape(summary)}</p>"
    for what, ids in lists.items():
        if ids:
            more = "<li>…</li>" if len(ids) > MAX_IDS else ""
            items = "".join(f"<li><code>{escape(granule)}</code></li>" for granule in islice(ids, MAX_IDS))
            html += f"<p>{len(ids)} {what}:</p><ul>{items}{more}</ul>"
    return html


def cited(held: str, identifier: str, citation: str, instance: Instance) -> str:
    """A set: its identifier, how many granules it has and when it was held, what was noted of it, and what to
    paste into a paper."""
    notes = "".join(f"<p><strong>{escape(note)}</strong></p>" for note in _notes(instance))
    paper = f"<p>Copy this into your paper:</p><pre>{escape(citation.rstrip())}</pre>"
    return f"<p><code>DI:{identifier}</code><br>{escape(held)}</p>{notes}{paper}"
