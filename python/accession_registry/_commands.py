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
    """Commands on a registry, or on the one that the program would use. ``by`` makes the changes."""

    def __init__(self, handle: Handle, by: str | None = None) -> None:
        self.handle, self.by = handle, by

    def call(
        self, words: list[str], inputs: Inputs | None = None, *, warns: bool = True
    ) -> tuple[list[Any], tuple[str, ...]]:
        """Runs a command, and returns the values that it prints, and its warnings, which Python warns of."""
        printed, messages = self.printed(["--json", *words], inputs, warns)
        return [json.loads(line) for line in printed.split("\n") if line], messages

    def printed(
        self, words: list[str], inputs: Inputs | None = None, warns: bool = True
    ) -> tuple[str, tuple[str, ...]]:
        """Runs a command, and returns what it prints, and its warnings."""
        directory = inputs.directory if inputs else None
        text, warnings = self.handle.call([*options(by=self.by), *words], directory)
        messages = tuple(message_of(warning) for warning in warnings)
        if warns:
            warn(messages)
        return text.decode(), messages

    def rows(self, words: list[str], inputs: Inputs | None = None) -> Stream:
        """Runs a command whose rows are read while it works."""
        return self.handle.rows([*options(by=self.by), *words], inputs.directory if inputs else None)

    def table(self, title: str, kind: type[T], words: list[str]) -> Table[T]:
        """The rows of a command, which are in memory, without a summary at the end."""
        printed, _ = self.printed(["--json", *words])
        rows = [line for line in printed.split("\n") if line and not line.startswith('{"summary":')]
        return in_memory(title, kind, rows)
