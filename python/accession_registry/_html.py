"""What a notebook shows: HTML that is complete without a style sheet or a script, and never an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

# How many rows of a table are shown.
MAX_ROWS = 50


def shown(html: Callable[[], str], instead: object) -> str:
    """The HTML, or the object as text if it cannot be read. Warnings are for calls, and not for what is shown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return html()
    except Exception as error:
        return f"<pre>{escape(repr(instead))}\n{escape(str(error))}</pre>"


def table(title: str, rows: Sequence[Any]) -> str:
    """A table below its title. There is one row more than are shown if there are more."""

    def line(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_text(cell))}</{tag}>" for cell in cells) + "</tr>"

    names: Sequence[str] = ["granule"]
    cells: list[Sequence[object]] = [[row] for row in rows[:MAX_ROWS]]
    if rows and is_dataclass(rows[0]):
        names = [field.name for field in fields(rows[0])]
        cells = [[getattr(row, name) for name in names] for row in rows[:MAX_ROWS]]
        used = [index for index in range(len(names)) if any(row[index] not in (None, (), {}) for row in cells)]
        names, cells = [names[index] for index in used], [[row[index] for index in used] for row in cells]
    body = "".join(line("td", row) for row in cells)
    more = "<p>…</p>" if len(rows) > MAX_ROWS else ""
    return f"<p>{escape(title)}</p><table><thead>{line('th', names)}</thead><tbody>{body}</tbody></table>{more}"


def _text(cell: object) -> str:
    if isinstance(cell, tuple):
        return "; ".join(getattr(value, "note", None) or str(value) for value in cell)
    return "" if cell is None else str(cell)


def facts(heading: str, rows: Iterable[tuple[str, object]], paste: str = "") -> str:
    """What is known of an object, and what to paste into a paper."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in rows if value not in (None, ())
    )
    paper = f"<p>Copy this into your paper:</p><pre>{escape(paste.rstrip())}</pre>" if paste else ""
    return f"<p><code>{escape(heading)}</code></p><table><tbody>{body}</tbody></table>{paper}"
