"""What calls raise, and warn of."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterable
from os import path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accession_registry._results import Change

PACKAGE = path.dirname(__file__)


class Error(Exception):
    """What a command refuses, or cannot do.

    ``kind`` says why in one word, which is that of the command line's JSON, and ``hint`` what to do.
    ``granule``, ``file`` and ``line`` say where, if that is known.
    """

    __module__ = "accession_registry"

    kind: str = ""
    hint: str | None = None
    granule: str | None = None
    file: str | None = None
    line: int | None = None


class NotFound(Error, LookupError):
    """There is no such registry, dataset, set or granule."""

    __module__ = "accession_registry"


class Ambiguous(NotFound):
    """A name means several sets. ``candidates`` name each of them."""

    __module__ = "accession_registry"

    candidates: tuple[str, ...] = ()


class Refused(Error):
    """A guard refused a change, which is probably a mistake. Nothing was recorded.

    ``change`` is what it would have done, and ``expect=error.expect`` records exactly that.
    """

    __module__ = "accession_registry"

    expect: str = ""
    change: Change


class Damaged(Error):
    """A registry, or what was published, contradicts itself."""

    __module__ = "accession_registry"


class RegistryWarning(UserWarning):
    """What a reader should know of a set, or of a change that was recorded."""

    __module__ = "accession_registry"


_CLASSES: dict[str, type[Error]] = {
    "ambiguous": Ambiguous,
    **dict.fromkeys(["damaged", "published-damaged", "published-otherwise", "tree-differs"], Damaged),
    **dict.fromkeys(
        ["dataset-unknown", "identifier-unknown", "no-history", "not-held", "primary-dataset-unknown"], NotFound
    ),
    **dict.fromkeys(["registry-missing", "selects-nothing"], NotFound),
    **dict.fromkeys(["content-contradicts", "too-many-additions", "too-many-deletions"], Refused),
}


def error(text: str, is_refused: bool = False) -> Error:
    """The exception for the JSON of an error. Its text has the hint in a line of its own."""
    problem: dict[str, Any] = json.loads(text)
    kind, message, hint = problem["kind"], problem["message"], problem.get("hint") or None
    hint = in_python(hint) if hint else None
    refused = is_refused or "expect" in problem
    if "expect" in problem:
        hint = f"if this is right, repeat the call with expect={problem['expect']!r}"
    raised = (Refused if refused else _CLASSES.get(kind, Error))(f"{message}\nhint: {hint}" if hint else message)
    raised.kind, raised.hint, raised.granule = kind, hint, problem.get("granule")
    raised.file, raised.line = problem.get("file"), problem.get("line")
    if isinstance(raised, Ambiguous):
        raised.candidates = tuple(_candidates(message))
    if isinstance(raised, Refused):
        raised.expect = problem.get("expect", "")
    return raised


def usage(message: str, hint: str | None = None, kind: str = "usage") -> Error:
    """An error that this package detects."""
    return error(json.dumps({"kind": kind, "message": message, "hint": hint}))


# Options without a value.
FLAGS = {"create", "digest", "dry_run", "names_only", "questionable", "skip_existing", "skip_missing", "unexpected"}


def _candidates(message: str) -> Iterable[str]:
    found = re.findall(r"(?:DI:[0-9a-f]{32}@\S+|sha256:[0-9a-f]{12,64})(?= in )", message)
    found = found or re.findall(r"(?:write|or) (\S+) for the ", message)
    _, _, listed = message.rpartition(": ")
    return found or [word for word in re.split(r", (?:and )?| and ", listed) if " " not in word]


def in_python(hint: str) -> str:
    """A hint with keywords in the place of options, but for whole commands, which are typed in a shell."""

    def keyword(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        shown = "True" if name in FLAGS else "…" if value is None else value if value.isdigit() else repr(value)
        return f"{name}={shown}"

    parts = re.split(r"(`[^`]*`)", hint)
    pattern = r"--([a-z][a-z-]+)(?: ((?:DI:|sha256:)\S+|[A-Z][A-Z|%]*\b|\d+%?))?"
    return "".join(part if part.startswith("`accession ") else re.sub(pattern, keyword, part) for part in parts)


def warn(messages: Iterable[str]) -> None:
    """Warns at the line outside of this package that called it."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    for message in messages:
        warnings.warn(message, RegistryWarning, stacklevel=depth)
