"""One class per window kind, for bounded and unbounded input alike. A new one needs an entry in `KINDS`.

as_engine.py            the progress of windows that are reported as an engine does
as_engine_ranges.py     engines as windowers: what a profile reports of all keys at once
by_predicate.py         kinds whose windows a user's predicate cuts: `Runs.marks` has where it holds
clock_windows.py        time windows, and cumulating ones, which grow by steps
delta.py                delta windows: at every trigger r, { δ_r − W ≤ δ < δ_r }
delta_by_definition.py  the progress of delta windows: the triggers so far
kind_base.py            the base class of window kinds: what the operator knows of them
kinds_over_all_held.py  kinds that look at all held events of the keys at hand
latest.py               look-backs of `.latest`: at an instant, the events of a key with now − W < τ ≤ now
lifetime.py             a look-back without end, of `.rolling`
look_back.py            look-backs of `.rolling`: at every event, { τ − W < τ' ≤ τ }
policy.py               policy windows: what a slide policy has not evicted, reported every S
punctuated.py           punctuated windows: from one punctuation up to the next
rows.py                 windows of rows: { i : w·S ≤ i < w·S + W }
session.py              sessions: maximal chains of events whose neighbours are at most `gap` apart
slide_by_time.py        the last W events, every S of time
slide_by_tuple.py       windows of time that slide by events
threshold.py            threshold windows: maximal runs of events that satisfy the predicate
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash.operators.kinds.as_engine import engine_kind
from sash.operators.kinds.clock_windows import ClockKind
from sash.operators.kinds.delta import DeltaKind, on_columns
from sash.operators.kinds.delta_by_definition import ExactDeltaKind
from sash.operators.kinds.kind_base import WindowKind
from sash.operators.kinds.policy import PolicyKind
from sash.operators.kinds.punctuated import PunctuatedKind
from sash.operators.kinds.rows import RowsKind
from sash.operators.kinds.session import SessionKind
from sash.operators.kinds.slide_by_time import SlideByTimeKind
from sash.operators.kinds.slide_by_tuple import SlideByTupleKind
from sash.operators.kinds.threshold import ThresholdKind
from sash.semantics.run_as_engine import EngineSession, EngineWindow
from sash.semantics.window import Window
from sash.semantics.windows import (
    CumulateWindow,
    DeltaWindow,
    PolicyWindow,
    PunctuatedWindow,
    RowsWindow,
    SessionWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    ThresholdWindow,
    TimeWindow,
)


def _delta(window: DeltaWindow, schema: pa.Schema) -> WindowKind[Any]:
    exact = not on_columns(window, schema.field(window.attribute).type)
    return ExactDeltaKind(window, schema) if exact else DeltaKind(window, schema)


KINDS: dict[type[Window], Callable[[Any, pa.Schema], WindowKind[Any]]] = {
    RowsWindow: RowsKind,
    CumulateWindow: ClockKind,
    DeltaWindow: _delta,
    EngineSession: SessionKind,
    EngineWindow: engine_kind,
    PolicyWindow: PolicyKind,
    PunctuatedWindow: PunctuatedKind,
    SessionWindow: SessionKind,
    SlideByTimeWindow: SlideByTimeKind,
    SlideByTupleWindow: SlideByTupleKind,
    ThresholdWindow: ThresholdKind,
    TimeWindow: ClockKind,
}


def kind_of_window(window: Window, schema: pa.Schema) -> WindowKind[Any]:
    """What computes this window over events with these columns."""
    return KINDS[type(window)](window, schema)


__all__ = ["KINDS", "WindowKind", "kind_of_window"]
