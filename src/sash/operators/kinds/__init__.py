"""One class per window kind, for bounded and unbounded input alike. A new one needs an entry in `KINDS`."""

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
