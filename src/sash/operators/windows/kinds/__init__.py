"""One class per window kind, for bounded and unbounded input alike. A new one needs an entry in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash.operators.windows.kinds.clock import ClockKind
from sash.operators.windows.kinds.count import CountKind
from sash.operators.windows.kinds.delta import DeltaKind, on_columns
from sash.operators.windows.kinds.delta_by_definition import ExactDeltaKind
from sash.operators.windows.kinds.engine import engine_kind
from sash.operators.windows.kinds.kind import Kind
from sash.operators.windows.kinds.policy import PolicyKind
from sash.operators.windows.kinds.punctuated import PunctuatedKind
from sash.operators.windows.kinds.session import SessionKind
from sash.operators.windows.kinds.slide_by_time import SlideByTimeKind
from sash.operators.windows.kinds.slide_by_tuple import SlideByTupleKind
from sash.operators.windows.kinds.threshold import ThresholdKind
from sash.semantics.run_as import EngineWindow
from sash.semantics.window import Window
from sash.semantics.windows import (
    CountWindow,
    CumulateWindow,
    DeltaWindow,
    PolicyWindow,
    PunctuatedWindow,
    SessionWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    ThresholdWindow,
    TimeWindow,
)


def _delta(window: DeltaWindow, schema: pa.Schema) -> Kind[Any]:
    exact = not on_columns(window, schema.field(window.attribute).type)
    return ExactDeltaKind(window, schema) if exact else DeltaKind(window, schema)


KINDS: dict[type[Window], Callable[[Any, pa.Schema], Kind[Any]]] = {
    CountWindow: CountKind,
    CumulateWindow: ClockKind,
    DeltaWindow: _delta,
    EngineWindow: engine_kind,
    PolicyWindow: PolicyKind,
    PunctuatedWindow: PunctuatedKind,
    SessionWindow: SessionKind,
    SlideByTimeWindow: SlideByTimeKind,
    SlideByTupleWindow: SlideByTupleKind,
    ThresholdWindow: ThresholdKind,
    TimeWindow: ClockKind,
}


def kind_of(window: Window, schema: pa.Schema) -> Kind[Any]:
    """What computes this window over events with these columns."""
    return KINDS[type(window)](window, schema)


__all__ = ["KINDS", "Kind", "kind_of"]
