"""A new window kind: its definition, one class, an entry in `KINDS`; then it runs everywhere.

primes    the last n events, at every event whose ordinal is a prime
blocks    events whose time lies in the same block of the clock, until one of another block comes
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.operators.bound import BoundQuery
from sash.operators.kinds import KINDS
from sash.operators.kinds.kind import GrowingKind, Held, Ints, Memory, Moment, RangeKind, Runs
from sash.operators.windows.numbering import numbered_by_key
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Order
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import BOTH_ORDERS, Context, ContextAwareWindow, Extent, Window, spanned
from tests.runtimes.elastic_batches import DryElastic
from tests.runtimes.micro_batches import DryStream
from tests.runtimes.operator_runtime import (
    TYPES,
    Runtime,
    Way,
    elements_of,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of
from tests.runtimes.test_spark_streaming_dry import AGGREGATES, cut, expected, observed
from tests.runtimes.test_streaming_operator import COMMUTATIVE, batches


def primes_below(number: int) -> list[int]:
    return [n for n in range(2, number) if all(n % divisor for divisor in range(2, n))]


@dataclass(frozen=True, slots=True, repr=False)
class PrimeWindow(ContextAwareWindow):
    """{ r − n < i ≤ r } for the w-th prime r."""

    size: int

    context: ClassVar[Context] = Context.FCA
    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS

    def __str__(self) -> str:
        return f"primes({self.size})"

    @property
    def time_unit(self) -> Unit:
        return Unit.EVENTS

    @property
    def formula(self) -> str:
        return f"E(w) = {{ i : r − {self.size} < i ≤ r }}, r the w-th prime"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        for w, r in enumerate(primes_below(len(events))):
            lo = max(0, r + 1 - self.size)
            yield spanned(w, events, lo, r + 1, closes_at=events[r].time)


class PrimeKind(RangeKind[PrimeWindow]):
    """`next_id` windows are complete."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def ranges(self, held: Held, memory: Memory, moment: Moment) -> Ranges:
        primes = np.array(primes_below(int(held.count.max(initial=0))), np.int64)
        found = np.searchsorted(primes, held.count)
        slot = np.repeat(np.arange(len(held)), found - memory["next_id"])
        begin = np.cumsum(found - memory["next_id"]) - (found - memory["next_id"])
        w = memory["next_id"][slot] + np.arange(len(slot)) - begin[slot]
        hi = primes[w] + 1
        lo = np.maximum(0, hi - self.window.size)
        start, end = held.bounds(slot, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, closes_at=end)

    def advance(self, held: Held, memory: Memory, settled: int) -> Ints:
        primes = np.array(primes_below(int(held.count.max(initial=0))), np.int64)
        memory["next_id"][:] = np.searchsorted(primes, held.count)
        return np.maximum(held.head, held.count + 1 - self.window.size)

    def wakes(self, times: Ints) -> Ints:
        return times


@dataclass(frozen=True, slots=True, repr=False)
class BlockWindow(ContextAwareWindow):
    """Maximal runs of events with the same ⌊τ / length⌋."""

    length: int

    context: ClassVar[Context] = Context.FCF

    def __str__(self) -> str:
        return f"blocks({self.length})"

    @property
    def time_unit(self) -> Unit:
        return Unit.TICKS

    @property
    def formula(self) -> str:
        return f"E(w) = the w-th maximal run of events with the same ⌊τ / {self.length}⌋"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        lo = 0
        for w, (_, run) in enumerate(groupby(events, lambda event: event.time // self.length)):
            hi = lo + len(list(run))
            yield spanned(w, events, lo, hi, closes_at=events[hi].time if hi < len(events) else None)
            lo = hi


class BlockKind(GrowingKind[BlockWindow]):
    """`next_id` is the number of the windows that are over."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def runs(self, runs: Runs) -> Ranges:
        block, begins = runs.first // self.window.length, runs.begins
        begins[1:] |= block[1:] != block[:-1]
        lo = np.flatnonzero(begins)
        hi = np.append(lo[1:], len(begins))
        key, w = numbered_by_key(runs, lo)
        after = np.append(runs.first, NEVER)[hi]
        closes_at = np.where(hi < runs.offsets[key + 1], after, NEVER)
        return Ranges(key, w, lo, hi, runs.first[lo], runs.last[hi - 1], closes_at)

    def wakes(self, times: Ints) -> Ints:
        return times


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    KINDS[PrimeWindow], KINDS[BlockWindow] = PrimeKind, BlockKind
    yield
    del KINDS[PrimeWindow], KINDS[BlockWindow]


toys: st.SearchStrategy[Window] = st.one_of(
    st.builds(PrimeWindow, st.integers(1, 9)), st.builds(BlockWindow, st.integers(1, 20))
)


def test_the_definition_of_the_toys() -> None:
    events = [Event(time, ordinal) for ordinal, time in enumerate([0, 3, 4, 11, 12, 30])]
    assert [(e.lo, e.hi) for e in PrimeWindow(2).extents(events)] == [(1, 3), (2, 4), (4, 6)]
    assert [(e.lo, e.hi) for e in BlockWindow(10).extents(events)] == [(0, 3), (3, 5), (5, 6)]


@settings(max_examples=100, deadline=None)
@given(window=toys, stream=arrivals(), aggregates=st.sampled_from([AGGREGATES, COMMUTATIVE]))
def test_oracle_a_toy_over_a_bounded_input(window: Window, stream: list[Any], aggregates: Any) -> None:
    query = sash.stream(table_of(stream, TYPES), time="t", key="k").window(window).agg(**aggregates)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), aggregates) == expected_rows(oracle.reports, aggregates, named=False)


@settings(max_examples=150, deadline=None)
@given(
    window_list=st.lists(toys, min_size=1, max_size=2),
    stream=batches(),
    ways=ways,
    least=leasts,
    lateness=st.sampled_from([0, 0, 9]),
    aggregates=st.sampled_from([AGGREGATES, COMMUTATIVE]),
)
def test_oracle_a_toy_on_a_stream(
    window_list: list[Window],
    stream: list[Batch],
    ways: list[Way],
    least: int,
    lateness: int,
    aggregates: Any,
) -> None:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    query = Query(named, aggregates, allowed_lateness=Duration(lateness, Unit.TICKS))
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound, ways=ways), stream)


@settings(max_examples=30, deadline=None)
@given(window=toys, batches=cut(), forgetful=st.booleans())
def test_oracle_a_toy_in_the_runtimes_of_spark(window: Window, batches: Any, forgetful: bool) -> None:
    query = Query((window,), AGGREGATES, flush=False)
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    tables = [table_of(batch, TYPES) for batch in batches]
    outcome = expected(evaluate(query, [Batch(tuple(batch)) for batch in batches]), query)
    assert observed(DryStream(bound, forgetful=forgetful).run(tables), query) == outcome
    with tempfile.TemporaryDirectory() as folder:
        elastic = DryElastic(bound, Path(folder), degrees=lambda epoch: 1 + epoch % 3, forgetful=forgetful)
        assert observed(elastic.run(tables), query) == outcome


@pytest.mark.parametrize(("window", "most"), [(PrimeWindow(3), 2), (BlockWindow(10), 0)], ids=str)
def test_a_toy_keeps_what_its_class_needs(window: Window, most: int) -> None:
    bound = BoundQuery(Query((window,), COMMUTATIVE), table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound)
    for time in range(100):
        runtime.step(Batch((Arrival(time, "a", {"e": time, "x": 1}),)))
        assert elements_of(runtime.operator) <= most


def test_a_toy_is_explained() -> None:
    table = table_of([], TYPES)
    query = sash.stream(table, time="t", key="k").window(PrimeWindow(3)).agg(n=sash.count())
    assert "r the w-th prime" in query.explain("plan")
