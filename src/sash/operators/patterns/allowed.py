"""Which pattern may compute which query. What the algebra or the window's class forbids is refused by name.

WinSeq                   any query
KeyFarm                  any query; the latest row of each key with no other, and with nothing inside
WinFarm, active          windows whose ends are known in time to send events ahead: CF and FCF
WinFarm, agnostic        any query
PaneFarm                 aggregates; windows that equal panes tile: count, time, cumulate; and look-backs
WinMapReduce             aggregates that commute; any window
"""

from __future__ import annotations

from sash.errors import SashError, Unsupported
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling, BoundWhole
from sash.operators.patterns.declared import Farm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.semantics.window import Context, ContextFreeWindow, Window


def require_allowed(pattern: Pattern, bound: BoundQuery) -> None:
    reason = refusal(pattern, bound)
    if reason is not None:
        raise reason


def refusal(pattern: Pattern, bound: BoundQuery) -> SashError | None:
    """Why this pattern cannot compute this query; None when it can."""
    if isinstance(bound, BoundLatest):
        return _not_by_key(pattern)
    if isinstance(pattern, WinFarm) and pattern.model == "active":
        for window in bound.query.windows:
            if window.context is Context.FCA:
                return _not_ahead(window)
    inner = pattern.held if isinstance(pattern, Farm) else pattern
    if isinstance(inner, PaneFarm | WinMapReduce):
        return _not_split(inner, bound)
    return None


def _not_by_key(pattern: Pattern) -> SashError | None:
    """Of the latest row of each key."""
    inner = pattern.held if isinstance(pattern, Farm) else pattern
    if isinstance(inner, PaneFarm | WinMapReduce):
        return Unsupported(
            "parallel", str(pattern), "a KeyFarm of a number of workers for latest(…)",
            hint="The one fold of a key and look-back is not cut into parts.",
        )  # fmt: skip
    if isinstance(pattern, WinFarm):
        return Unsupported(
            "parallel", str(pattern), "a KeyFarm of a number of workers for latest(…)",
            hint="A key has one row, which is one window for each look-back: there are none to share.",
        )  # fmt: skip
    return None


def _not_ahead(window: Window) -> SashError:
    return Unsupported(
        "model", "active", f"'agnostic' for {window.label}, which is {window.context.value}",
        hint="Where such a window begins is only known when a later event has been seen, so its events "
        "cannot be sent ahead to the worker that will compute it.",
    )  # fmt: skip


def _not_split(inner: PaneFarm | WinMapReduce | WinSeq, bound: BoundQuery) -> SashError | None:
    name = type(inner).__name__
    if isinstance(bound, BoundWhole):
        called = type(bound.computation).__name__.lower()
        return Unsupported(
            "parallel", str(inner), f"WinFarm, KeyFarm or WinSeq for .{called}(…)",
            hint=f"{name} folds parts of a window apart and combines them; .{called} has no combine. "
            "Write it as a monoid (@sash.monoid), or farm whole windows out.",
        )  # fmt: skip
    if isinstance(inner, PaneFarm):
        looks_back = isinstance(bound, BoundRolling)  # in process over panes of one event
        for window in bound.query.windows:
            if not looks_back and not isinstance(window, ContextFreeWindow):
                return Unsupported(
                    "parallel", str(inner), f"WinFarm or KeyFarm for {window.label}",
                    hint="Only count, time and cumulate windows are tiled by panes of one length.",
                )  # fmt: skip
    else:
        for monoid in bound.aggregates.values():
            try:
                monoid.require_commutative("WinMapReduce, which deals events out round-robin,")
            except SashError as error:
                return error
    return None
