"""How many processes can be at work on this machine at the same time."""

from __future__ import annotations

from sash.operators.patterns.declared import Pattern, busy_workers
from sash.operators.threads import available_cores


def processes_of(pattern: Pattern) -> int:
    """In how many processes the workers of a pattern interpret aggregates, which is nothing but computing:
    with more than there are cores each would only be started, and wait."""
    return min(busy_workers(pattern), max(2, available_cores()))
