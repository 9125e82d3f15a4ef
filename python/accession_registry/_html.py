"""HTML for notebooks, without a style sheet or a script. Errors are shown, and never raised."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

# The maximum number of rows of a table that are shown.
MAX_ROWS = 50


def shown(html: Callable[[], str], instead: object) -> str:
    """Returns the HTML, or the object and the error as text if it fails. Suppresses warnings, unlike a call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return html()
    except Exception as error:
        return f"<pre>{escape(repr(instead))}\n{escape(str(error))}</pre>"


def table(title: str, rows: Sequence[Any]) -> str:
    """A table below its title. If ``rows`` has more than ``MAX_ROWS`` rows, the rest is shown as an ellipsis."""

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
    """The properties of an object, and a citation to paste into a paper."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>" for name, value in rows if value not in (None, ())
    )
    paper = f"<p>Copy this into your paper:</p><pre>{escape(paste.rstrip())}</pre>" if paste else ""
    return f"<p><code>{escape(heading)}</code></p><table><tbody>{body}</tbody></table>{paper}"
