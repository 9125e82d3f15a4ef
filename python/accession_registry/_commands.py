"""Runs commands of the program in this process."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from accession_registry._errors import warn
from accession_registry._inputs import Inputs, options
from accession_registry._native import Handle, Stream
from accession_registry._table import Table, in_memory, message_of

T = TypeVar("T")


class Commands:
    """Runs commands on a registry, or on the default registry of the program. ``by`` is recorded with changes."""

    def __init__(self, handle: Handle, by: str | None = None) -> None:
        self.handle, self.by = handle, by

    def call(
        self, words: list[str], inputs: Inputs | None = None, *, warns: bool = True
    ) -> tuple[list[Any], tuple[str, ...]]:
        """Runs a command, and returns its output as values, and its warnings. ``warns`` also issues the warnings."""
        printed, messages = self.printed(["--json", *words], inputs, warns)
        return [json.loads(line) for line in printed.split("\n") if line], messages

    def printed(
        self, words: list[str], inputs: Inputs | None = None, warns: bool = True
    ) -> tuple[str, tuple[str, ...]]:
        """Runs a command, and returns its output as text, and its warnings."""
        directory = inputs.directory if inputs else None
        text, warnings = self.handle.call([*options(by=self.by), *words], directory)
        messages = tuple(message_of(warning) for warning in warnings)
        if warns:
            warn(messages)
        return text.decode(), messages

    def rows(self, words: list[str], inputs: Inputs | None = None) -> Stream:
        """Starts a command, and returns its rows, which are read while the command runs."""
        return self.handle.rows([*options(by=self.by), *words], inputs.directory if inputs else None)

    def table(self, title: str, kind: type[T], words: list[str]) -> Table[T]:
        """Runs a command, and returns its rows in memory, without the summary at the end."""
        printed, _ = self.printed(["--json", *words])
        rows = [line for line in printed.split("\n") if line and not line.startswith('{"summary":')]
        return in_memory(title, kind, rows)
