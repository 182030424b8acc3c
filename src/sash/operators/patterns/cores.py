"""How many workers can be at work on this machine at the same time."""

from __future__ import annotations

import os

from sash.operators.patterns.declared import Pattern, busy_workers


def available_cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processes_of(pattern: Pattern) -> int:
    """In how many processes the workers of a pattern interpret aggregates, which is nothing but computing:
    with more than there are cores each would only be started, and wait."""
    return min(busy_workers(pattern), max(2, available_cores()))
