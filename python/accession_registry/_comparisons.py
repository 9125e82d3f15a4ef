"""Comparisons of sets, of a set and a list, and of a mirror and its primary."""

from __future__ import annotations

from typing import Any

from accession_registry import _html
from accession_registry._native import Rows, Sides


class _Compared:
    """What both sides have, and what only one of them has."""

    _names: tuple[str, str]

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    @property
    def matched(self) -> int:
        """How many granules both have."""
        return self._sides.matched

    def to_arrow(self) -> Any:
        """What only one of them has, as a ``pyarrow.Table`` with the columns ``side`` and ``granule``."""
        return self._sides.table(*self._names).to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._sides.table(*self._names).__arrow_c_stream__(requested_schema)


class Comparison(_Compared):
    """The result of a comparison: true if both have the same granules, and no file is known to differ."""

    __module__ = "accession_registry"
    _names = ("left", "right")

    def __init__(self, left: str, right: str, sides: Sides) -> None:
        super().__init__(sides)
        self._left, self._right = left, right

    @property
    def identical(self) -> bool:
        """Whether both sides have the same granules, and no size or checksum of a file differs."""
        return not self.only_left and not self.only_right and not self.different

    @property
    def left(self) -> str:
        """The identifier of the left set."""
        return self._left

    @property
    def right(self) -> str:
        """The identifier of the right set, or of the list."""
        return self._right

    @property
    def only_left(self) -> Rows[str]:
        """The ids that only the left set has."""
        return self._sides.ids(0, "that only the left set has")

    @property
    def only_right(self) -> Rows[str]:
        """The ids that only the right set, or the list, has."""
        return self._sides.ids(1, "that only the right set or list has")

    @property
    def different(self) -> Rows[str]:
        """The ids on both sides with a file whose size or checksum differs."""
        return self._sides.ids(2, "whose files differ")

    def __bool__(self) -> bool:
        return self.identical

    def _repr_html_(self) -> str:
        status = "identical" if self.identical else "NOT identical"
        lists = {"only left": self.only_left, "only right": self.only_right, "different files": self.different}
        return _html.lists(f"{status}: {self.matched} granules in both", lists)

    def __repr__(self) -> str:
        if self.identical:
            return f"<Comparison: identical, {self.matched} granules>"
        left, right, different = len(self.only_left), len(self.only_right), len(self.different)
        only = f"{left} only left, {right} only right"
        return f"<Comparison: {self.matched} in both, {only}, {different} with different files>"


class MirrorComparison(_Compared):
    """How a mirror compares with its primary: true if they are identical, and no check found files of the mirror
    that are not as recorded."""

    __module__ = "accession_registry"
    _names = ("unexpected", "missing")

    def __init__(self, status: str, behind_by: int | None, open_findings: int, sides: Sides) -> None:
        super().__init__(sides)
        self._status, self._behind_by, self._open_findings = status, behind_by, open_findings

    @property
    def status(self) -> str:
        """``identical``, ``other-content``, ``behind``, ``ahead``, ``diverged``, ``stale`` or ``rewritten``."""
        return self._status

    @property
    def behind_by(self) -> int | None:
        """By how many changes the mirror is behind; None unless it is."""
        return self._behind_by

    @property
    def open_findings(self) -> int:
        """How many files of the mirror are not as recorded, according to their last checks; ``status`` lists
        them."""
        return self._open_findings

    @property
    def unexpected(self) -> Rows[str]:
        """The ids that the mirror has and the primary has not."""
        return self._sides.ids(0, "that only the mirror has")

    @property
    def missing(self) -> Rows[str]:
        """The ids that the primary has and the mirror has not."""
        return self._sides.ids(1, "that only the primary has")

    @property
    def other_content(self) -> Rows[str]:
        """The ids that both have, of which the primary states other bytes than are known here."""
        return self._sides.ids(2, "of which the primary states other bytes")

    def __bool__(self) -> bool:
        return self.status == "identical" and self.open_findings == 0

    def _of_files(self) -> str:
        """How many files of the mirror a check found damaged or missing, after a comma."""
        return f", {self.open_findings} files not as recorded" if self.open_findings else ""

    def _repr_html_(self) -> str:
        mirror, primary = self.unexpected, self.missing
        lists = {"only in the mirror": mirror, "missing": primary, "other bytes": self.other_content}
        return _html.lists(f"{self.status}{self._of_files()}: {self.matched} granules in both", lists)

    def __repr__(self) -> str:
        missing, unexpected = len(self.missing), len(self.unexpected)
        both = f"{self.matched} in both"
        status = f"{self.status}{self._of_files()}"
        return f"<MirrorComparison: {status}, {both}, {missing} missing, {unexpected} unexpected>"
