"""Who finds the windows of an event on Spark, where workers share the events of a key.

rows        windows that the clock cuts: which of them hold a row follows from its time
an owner    all others: it depends on other events of the key, so that one task has all of these, finds
            windows, and hands them to the workers, whole or in parts
"""

from __future__ import annotations

from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.folding.panes import clock_windows
from sash.operators.patterns.declared import Farm, PaneFarm, Pattern, WinFarm, WinMapReduce, window_workers
from sash.semantics.event import Order


def is_agnostic(pattern: Pattern | None) -> bool:
    return isinstance(pattern, WinFarm) and pattern.model == "agnostic"


def folds_parts(pattern: Pattern | None) -> bool:
    """Whether some workers fold panes, or other parts of windows, for others."""
    inner = pattern.held if isinstance(pattern, Farm) else pattern
    return isinstance(inner, PaneFarm | WinMapReduce)


def owner_finds(
    pattern: Pattern | None, bound: BoundQuery, *, sorted_panes: bool = False, derived: bool = False
) -> bool:
    """Whether an owner of all events of a key finds windows. `sorted_panes`: whether those who fold panes
    have all rows of one, and can sort them. `derived`: over the rows of another stateful step, which are
    judged by what their bucket knew before: buckets that share a key could judge one of them differently.
    """
    if is_agnostic(pattern):
        return True
    if isinstance(bound, BoundRolling):
        return False
    folds, by_row = folds_parts(pattern), clock_windows(bound) and bound.query.order is Order.EVENT_TIME
    if derived or not by_row:
        return folds or window_workers(pattern) > 1
    return folds and not sorted_panes and in_order(bound)


def in_order(bound: BoundQuery) -> bool:
    """Whether an aggregate depends on the order of events."""
    return not all(monoid.commutative for monoid in bound.aggregates.values())
