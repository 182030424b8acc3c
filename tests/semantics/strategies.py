"""What hypothesis draws for the tests of the semantics: one strategy a window kind, and small streams.

A stream's rows are given in event-time order. Every row has the columns

    e     its number, from 0: how tests tell events apart
    t     its time
    x     a small integer, for predicates and sums; sometimes null where a test asks for it
    d     a number that mostly grows, for delta windows; now and then null or too small
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sash.semantics import windows
from sash.semantics.condition import Condition
from sash.semantics.event import Event
from sash.semantics.reference import Arrival, Batch
from sash.semantics.window import Window

Stream = list[dict[str, Any]]
TIMES = st.integers(-40, 40)
COUNTS = st.integers(1, 5)
LENGTHS = st.integers(1, 15)
ORIGINS = st.integers(-20, 20)


@dataclass(frozen=True)
class Fold:
    """A monoid in its simplest form: enough for the reference, and independent of the aggregation room."""

    columns: tuple[str, ...]
    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    nothing: Any = None
    where: Condition | None = None

    def lower(self, element: Any) -> Any:
        return element


COLLECT = Fold(("e",), lambda e: (e,), operator.add, nothing=())
NUMBER = Fold((), lambda: 1, operator.add, nothing=0)
LATEST = Fold(("t",), lambda t: t, max)
SUM = Fold(("x",), lambda x: x, operator.add)
LAST = Fold(("x",), lambda x: x, lambda older, newer: newer)
MOST = Fold(("x",), lambda x: x, max)

POLICIES: dict[str, tuple[Callable[[Any, Any, int], bool], dict[str, Fold]]] = {
    "the last n": (lambda total, old, n: total.n - old.n >= n, {"n": NUMBER}),
    "the last n of time": (lambda total, old, n: total.t - old.t >= n, {"t": LATEST}),
    "a sum of at most n": (lambda total, old, n: total.s - old.s + old.last > n, {"s": SUM, "last": LAST}),
    "nothing after more than n": (lambda total, old, n: total.m > n, {"m": MOST}),
}
"""Monotone slide policies: what is kept, the rule, and what the rule tracks."""


def policy_of(kept: str, n: int, every: int) -> windows.PolicyWindow:
    rule, track = POLICIES[kept]
    return windows.policy(lambda total, old: rule(total, old, n), track=track, every=every)


KINDS: dict[type[Window], SearchStrategy[Any]] = {
    windows.RowsWindow: st.builds(windows.rows, COUNTS, every=COUNTS),
    windows.TimeWindow: st.one_of(
        st.builds(windows.time, LENGTHS, LENGTHS, origin=ORIGINS),
        st.builds(windows.tumbling, LENGTHS, origin=ORIGINS),
        st.builds(lambda size, gap: windows.sliding(size, every=size + gap), LENGTHS, LENGTHS),
    ),
    windows.CumulateWindow: st.builds(
        lambda n, step, origin: windows.cumulate(n * step, step, origin=origin), COUNTS, COUNTS, ORIGINS
    ),
    windows.SlideByTupleWindow: st.one_of(
        st.builds(windows.slide_by_tuple, LENGTHS, COUNTS),
        st.builds(lambda every: windows.lifetime(every=every), COUNTS),
    ),
    windows.SlideByTimeWindow: st.builds(windows.slide_by_time, COUNTS, LENGTHS, origin=ORIGINS),
    windows.DeltaWindow: st.builds(
        windows.delta, st.just("d"), LENGTHS, LENGTHS, closed=st.sampled_from(["left", "right"])
    ),
    windows.SessionWindow: st.builds(windows.session, LENGTHS),
    windows.PolicyWindow: st.builds(
        policy_of, st.sampled_from(sorted(POLICIES)), st.integers(1, 12), COUNTS
    ),
    windows.ThresholdWindow: st.builds(
        lambda least: windows.threshold(lambda row: row.x is not None and row.x > least), st.integers(0, 9)
    ),
    windows.PunctuatedWindow: st.builds(
        lambda mark: windows.punctuated(lambda row: row.x == mark), st.integers(0, 9)
    ),
}
ANY_WINDOW = st.one_of(*KINDS.values())


@st.composite
def streams(draw: st.DrawFn, *, max_size: int = 10, distinct: bool = False, nulls: bool = False) -> Stream:
    """Rows in event-time order."""
    stamps = sorted(draw(st.lists(TIMES, max_size=max_size, unique=distinct)))
    values = st.one_of(st.none(), st.integers(0, 9)) if nulls else st.integers(0, 9)
    # Mostly growing: the last three choices put an event out of place.
    steps = [draw(st.sampled_from([0, 1, 2, 3, 5, 8, -4, None, float("nan")])) for _ in stamps]
    grown = accumulate(max(step or 0, 0) if step == step else 0 for step in steps)
    out_of_place = {-4: lambda d: d - 4, None: lambda d: None}
    return [
        {
            "e": number,
            "t": time,
            "x": draw(values),
            "d": step if step != step else out_of_place.get(step, lambda d: d)(d),
        }
        for number, (time, step, d) in enumerate(zip(stamps, steps, grown, strict=True))
    ]


def events_of(rows: Iterable[dict[str, Any]], *, first_ordinal: int = 0) -> list[Event]:
    return [Event(row["t"], ordinal, None, row) for ordinal, row in enumerate(rows, start=first_ordinal)]


def arrivals_of(rows: Iterable[dict[str, Any]]) -> list[Arrival]:
    """Every event of an even number has key a, every other one key b."""
    return [Arrival(row["t"], "ab"[row["e"] % 2], row) for row in rows]


@st.composite
def delayed(draw: st.DrawFn, rows: Stream, delay: int) -> Stream:
    """The rows in an order of arrival in which none comes more than `delay` behind an earlier one.

    Every time gets an arrival between itself and itself + delay; events of one time stay in order.
    """
    stamps = sorted({row["t"] for row in rows})
    arrives = {stamp: stamp + draw(st.integers(0, delay)) for stamp in stamps}
    return sorted(rows, key=lambda row: (arrives[row["t"]], row["t"]))


@st.composite
def cut(draw: st.DrawFn, arrivals: Sequence[Arrival]) -> list[Batch]:
    """The same arrivals, in batches."""
    ends = [i + 1 for i in range(len(arrivals)) if draw(st.booleans())] + [len(arrivals)]
    starts = [0, *ends[:-1]]
    return [Batch(tuple(arrivals[lo:hi])) for lo, hi in zip(starts, ends, strict=True)]
