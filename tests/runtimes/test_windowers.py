"""Every windower against the definition of its window kind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from sash.operators.columns.layout import arrange
from sash.operators.windows.ranges import MISSING, NEVER
from sash.operators.windows.windowers import vectorised, window_ranges
from sash.semantics import windows
from sash.semantics.event import Event, Order
from sash.semantics.window import Window
from sash.semantics.windows.time import TimeWindow
from tests.runtimes.strategies import any_window, arrivals


@settings(max_examples=400, deadline=None)
@given(window=any_window, stream=arrivals(), data=...)
def test_oracle_windower_finds_the_extents_of_the_definition(
    window: Window, stream: list, data: bool
) -> None:
    stream = [arrival for arrival in stream if arrival.time is not None and arrival.values["x"] is not None]
    rows = pa.table(
        {
            "k": pa.array([arrival.key for arrival in stream], pa.string()),
            "x": pa.array(np.sort([arrival.values["x"] for arrival in stream]).astype(np.int64)),
        }
    )
    times = np.sort(np.array([arrival.time for arrival in stream], np.int64))
    layout = arrange(rows, ["k"], times, np.arange(len(stream)), Order.EVENT_TIME)
    horizon = int(times.max()) if len(times) else 0
    found = window_ranges(window, layout, horizon=horizon, empty=data)
    expected = [
        (slot, e.id, base + e.lo, base + e.hi, MISSING if e.start is None else e.start,
         MISSING if e.end is None else e.end, NEVER if e.closes_at is None else e.closes_at)
        for slot, (base, events) in enumerate(layout.events())
        for e in window.extents(events, horizon=horizon, empty=data)
    ]  # fmt: skip
    assert (
        list(zip(*(getattr(found, name).tolist() for name in found.__dataclass_fields__), strict=True))
        == expected
    )


def test_a_range_costs_nothing_for_the_empty_windows_before_it() -> None:
    layout = arrange(pa.table({"x": [1, 2]}), [], np.array([0, 10**15]), np.arange(2), Order.EVENT_TIME)
    assert len(window_ranges(windows.tumbling(1), layout, horizon=10**15)) == 2


@pytest.mark.parametrize("kind", [windows.rows(3), windows.tumbling(3), windows.session(3)], ids=str)
def test_common_kinds_work_on_columns(kind: Window) -> None:
    assert vectorised(kind, pa.schema([]))


def test_events_of_a_slot_stand_in_time_order_and_ties_in_arrival_order() -> None:
    rows = pa.table({"k": ["b", "a", "b", "a"], "e": [0, 1, 2, 3]})
    layout = arrange(rows, ["k"], np.array([5, 7, 5, 1]), np.arange(4), Order.EVENT_TIME)
    assert [[event.values["e"] for event in events] for _, events in layout.events()] == [[3, 1], [0, 2]]
    assert isinstance(next(layout.events())[1][0], Event)


def test_minus_zero_nan_and_null_are_grouped_as_in_spark() -> None:
    keys = pa.array([0.0, -0.0, float("nan"), float("nan"), None, None])
    layout = arrange(pa.table({"k": keys}), ["k"], np.arange(6), np.arange(6), Order.EVENT_TIME)
    assert np.diff(layout.offsets).tolist() == [2, 2, 2]


def test_time_window_is_frozen() -> None:
    assert hash(windows.tumbling(3)) == hash(windows.tumbling(3))
    assert isinstance(windows.tumbling(3), TimeWindow)
