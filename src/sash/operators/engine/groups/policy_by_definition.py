"""Slide policies by definition: a scan from the head, in the monoids' own Python functions.

For tracked aggregates that are no numbers, and for policies that raise for some prefix: it is an error only
if a scan gets there.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from sash.semantics.windows import PolicyWindow


def begins(window: PolicyWindow, rows: Sequence[dict[str, Any]], held: int) -> list[int]:
    """The first `held` of these rows are in the window, the others enter it one after the other: where it
    begins after each of them."""
    scan, begin, found = _Scan(window, rows), 0, []
    for hi in range(held + 1, len(rows) + 1):
        begin = scan.evicted(begin, hi)
        found.append(begin)
    return found


class _Scan:
    def __init__(self, window: PolicyWindow, rows: Sequence[dict[str, Any]]) -> None:
        self._window, self._monoids = window, list(window.track.values())
        self._elements = [
            tuple(monoid.lift(*(row[column] for column in monoid.columns)) for monoid in self._monoids)
            for row in rows
        ]
        self._total: tuple[Any, ...] = ()
        self._folded = 0, 0

    def evicted(self, lo: int, hi: int) -> int:
        total = self._weighed(self._fold(lo, hi))
        prefix: tuple[Any, ...] = ()
        for at in range(lo, hi):
            prefix = self._joined(prefix, at, lo)
            if not self._window.evicts(total, self._weighed(prefix)):
                return at
        return hi

    def _fold(self, lo: int, hi: int) -> tuple[Any, ...]:
        """Continues the last fold, if nothing has left."""
        begin, end = self._folded
        for at in range(end if begin == lo else lo, hi):
            self._total = self._joined(self._total, at, lo)
        self._folded = lo, hi
        return self._total

    def _joined(self, older: tuple[Any, ...], at: int, lo: int) -> tuple[Any, ...]:
        if at == lo:
            return self._elements[at]
        parts = zip(self._monoids, older, self._elements[at], strict=True)
        return tuple(monoid.combine(one, other) for monoid, one, other in parts)

    def _weighed(self, elements: tuple[Any, ...]) -> SimpleNamespace:
        values = (monoid.lower(part) for monoid, part in zip(self._monoids, elements, strict=True))
        return SimpleNamespace(**dict(zip(self._window.track, values, strict=True)))
