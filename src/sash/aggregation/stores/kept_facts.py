"""Facts that were read from JSON, before anything is computed with them: numbers that such state can have.

A header under a good seal may hold anything. A text in a number's place, or 10³⁰⁰, would be found far from
here, by whatever computes with it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sash.errors import CorruptValue

MOST = 2**62
"""Of counts: there is room to go on counting."""
NEVER = 2**63 - 1
"""The last instant; the first one is as far before zero."""


def require_counts(facts: Mapping[str, Any], *names: str) -> None:
    """
    >>> require_counts({"rows": 3}, "rows")
    >>> require_counts({"rows": -3}, "rows")
    Traceback (most recent call last):
        ...
    sash.errors.CorruptValue: state has -3 as 'rows', which cannot be
    """
    _require({name: facts[name] for name in names}, 0, MOST)


def require_times(facts: Mapping[str, Any], *names: str) -> None:
    """Instants, or None for no time yet."""
    _require({name: facts[name] for name in names if facts[name] is not None}, -NEVER, NEVER)


def _require(facts: Mapping[str, Any], least: int, most: int) -> None:
    for name, value in facts.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise CorruptValue(f"state has {str(value)[:40]} as {name!r}, which cannot be")
