"""Windowers: from the layout of a bounded input to ranges, for all keys at once. WHICH events, never HOW
they fold.

A bounded input is a stream of one batch: its windows are those of its kinds over all events, with nothing
to remember before them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.operators.columns.layout import Layout
from sash.operators.engine.groups.policy_group import bounded_slides
from sash.operators.kinds import kind_of_window
from sash.operators.kinds.kind_base import GrowingKind, Held, KeyMemory, Moment, Runs, WindowKind
from sash.operators.predicates.row_predicates import truths
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.window import PredicateWindow, Window
from sash.semantics.windows import PolicyWindow


def window_ranges(window: Window, layout: Layout, *, horizon: int, empty: bool = False) -> Ranges:
    """All windows over the layout; those without events only with `empty`."""
    if not len(layout.times):
        return Ranges.none()
    kind = kind_of_window(window, layout.rows.schema)
    if isinstance(kind, GrowingKind):
        return kind.windows(_runs(window, layout))
    policy = bounded_slides(window, layout) if isinstance(window, PolicyWindow) else None
    held = Held.all_of(layout, policy)
    memory = kind.blank(layout.slots)
    if kind.places:  # it remembers what it has seen of the values
        _misfits(kind, layout, memory)
    moment = Moment(-NEVER, horizon, empty)
    found: Ranges = kind.ranges(held, memory, moment)  # type: ignore[attr-defined]
    moved = layout.offsets[found.slot]
    return replace(found, lo=found.lo + moved, hi=found.hi + moved)


def _runs(window: Window, layout: Layout) -> Runs:
    none = np.zeros(len(layout.times), np.bool_)
    marks = truths(window, layout.rows, layout.times) if isinstance(window, PredicateWindow) else none
    return Runs(layout.offsets, layout.times, layout.times, none, marks)


def vectorised(window: Window, schema: pa.Schema) -> bool:
    """Whether this window is found on columns, over events of this schema."""
    return kind_of_window(window, schema).on_columns


def misfits_of(window: Window, layout: Layout) -> dict[int, str]:
    """The positions of the events that this window cannot place, and why not."""
    kind = kind_of_window(window, layout.rows.schema)
    return _misfits(kind, layout, kind.blank(layout.slots))


def _misfits(kind: WindowKind[Any], layout: Layout, memory: KeyMemory) -> dict[int, str]:
    nothing = Layout(layout.rows.slice(0, 0), layout.times[:0], np.zeros_like(layout.offsets), layout.order)
    return kind.misfits(layout.rows, layout.offsets, Held.all_of(nothing), memory)
