"""The errors and warnings of calls."""

from __future__ import annotations

import inspect
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
    """The error of a call, and the base class of all errors of this package.

    ``kind`` is the reason in one word, as in the JSON of the command line. ``hint`` says what to do.
    ``granule``, ``file`` and ``line`` locate the error, if they are known.
    """

    kind: str = ""
    hint: str | None = None
    granule: str | None = None
    file: str | None = None
    line: int | None = None


class NotFound(Error, LookupError):
    """The registry, dataset, set or granule does not exist."""


class Ambiguous(NotFound):
    """A name means several sets. ``candidates`` has an unambiguous name for each set."""

    candidates: tuple[str, ...] = ()


class Refused(Error):
    """A guard refused a change, because it is probably a mistake. The change was not recorded.

    ``change`` is the refused change. To record it, repeat the call with ``expect=error.expect``.
    ``import_history`` has recorded the listings before the refused one; its ``change`` is the whole import.
    An error of ``Registry.run`` has no ``change``.
    """

    expect: str = ""
    change: Change


class Damaged(Error):
    """A registry or a published file is damaged, or the registry contradicts its published log or its statements."""


class RegistryWarning(UserWarning):
    """A warning about a set, or about a change that was recorded."""


_KINDS: dict[type[Error], str] = {
    Ambiguous: "ambiguous",
    Damaged: "damaged published-damaged published-otherwise tree-differs",
    NotFound: "dataset-unknown identifier-unknown no-history not-held primary-dataset-unknown registry-missing "
    "selects-nothing",
}
_CLASSES = {kind: raised for raised, kinds in _KINDS.items() for kind in kinds.split()}


def error(text: str) -> Error:
    """Converts the JSON of an error to an exception. Its message has the hint on a separate line."""
    problem: dict[str, Any] = json.loads(text)
    message, expect = problem["message"], problem.get("expect", "")
    hint = f"if this is right, repeat the call with expect={expect!r}" if expect else in_python(problem.get("hint") or "")
    kind = Refused if expect else _CLASSES.get(problem["kind"], Error)
    raised = kind(f"{message}\nhint: {hint}" if hint else message)
    raised.kind, raised.hint, raised.granule = problem["kind"], hint or None, problem.get("granule")
    raised.file, raised.line = problem.get("file"), problem.get("line")
    if isinstance(raised, Ambiguous):
        raised.candidates = tuple(problem.get("candidates", ()))
    if isinstance(raised, Refused):
        raised.expect = expect
    return raised


def usage(message: str, hint: str | None = None, kind: str = "usage", candidates: Iterable[str] = ()) -> Error:
    """An error that this package detects."""
    return error(json.dumps({"kind": kind, "message": message, "hint": hint, "candidates": list(candidates)}))


# Options without a value.
FLAGS = {"create", "digest", "dry_run", "names_only", "questionable", "skip_existing", "skip_missing", "unexpected"}
# The parameters of the public methods. `Registry.run` accepts the other options of the command line.
PARAMETERS: set[str] = set()


def add_parameters(*classes: type) -> None:
    """Adds the parameters of the methods of these classes, or the keys of a `TypedDict`."""
    for of in classes:
        PARAMETERS.update(getattr(of, "__annotations__", ()))
        for method in filter(inspect.isfunction, vars(of).values()):
            PARAMETERS.update(inspect.signature(method).parameters)


def in_python(hint: str) -> str:
    """Replaces the options in a hint with keywords. Whole commands are for a shell, and stay."""

    def keyword(option: re.Match[str]) -> str:
        name, value = option[1].replace("-", "_"), option[2]
        if name not in PARAMETERS:
            return option[0]
        shown = "True" if name in FLAGS else "…" if value is None else value if value.isdigit() else repr(value)
        return f"{name}={shown}"

    parts = re.split(r"(`[^`]*`)", hint)
    pattern = r"--([a-z][a-z-]+)(?: ((?:DI:|sha256:)\S+|[A-Z][A-Z|%]*\b|\d+%?))?"
    return "".join(part if part.startswith("`accession ") else re.sub(pattern, keyword, part) for part in parts)


def warn(messages: Iterable[str]) -> None:
    """Issues warnings for the line outside this package that made the call."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(PACKAGE):
        depth, frame = depth + 1, frame.f_back
    for message in messages:
        warnings.warn(message, RegistryWarning, stacklevel=depth)
