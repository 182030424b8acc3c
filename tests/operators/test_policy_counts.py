"""How many combines a policy window takes: insertion, total and descent together, counted in a query.

On average over where in its blocks a window begins: the last event of a block pays for the block. And how
often Python computes something, where the policy cannot be compiled.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sash.aggregation import built_in
from sash.aggregation.kernels.compiler.numba_compilation import jit_disabled
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.engine.groups.range_group import RangeGroup
from sash.semantics import windows
from sash.semantics.query import Query

Ints = NDArray[np.int64]
SCHEMA = pa.schema([("t", pa.int64()), ("cut", pa.int64())])
TRACK = {"t": built_in.max("t"), "cut": built_in.max("cut")}


class Counted:
    """A query over n events: each new one lets all those leave whose time is at most its `cut`."""

    def __init__(self, n: int, *, compiled: bool) -> None:
        def tree(total: Any, old: Any) -> Any:
            return old.t <= total.cut

        def no_tree(total: Any, old: Any) -> Any:
            return bool(old.t <= total.cut)

        self.policy = tree if compiled else no_tree
        query = Query((windows.policy(self.policy, track=TRACK, every=2**40),), {"n": built_in.count()})
        self.operator = WindowOperator.load(BoundQuery(query, SCHEMA, "t", ()), None, {})
        (group,) = self.operator.groups
        assert isinstance(group, RangeGroup)
        assert group.policy is not None
        self.aggregates = [aggregate.monoid for aggregate in group.policy.aggregates]
        self.lane, self.modes = group.lane, [kernel.mode for kernel, _ in group.policy.ways]
        self.now, self.n, self.random = 0, n, np.random.default_rng(n)
        self.next(n + int(self.random.integers(n)))

    def combines(self, times: Ints, cuts: Ints) -> int:
        """In one batch. All tracked aggregates are combined together: the count of one is that of each."""
        before = self.lane.combines["__track t"]
        self.operator.insert(pa.table({"t": times, "cut": cuts}, schema=SCHEMA), np.arange(len(times)))
        self.now = int(times[-1])
        self.operator.advance(self.now)
        return self.lane.combines["__track t"] - before

    def next(self, count: int) -> int:
        """Events that let what is above n leave."""
        times = np.arange(self.now + 1, self.now + 1 + count)
        made = self.combines(times, times - self.n)
        assert self.held == self.n
        return made

    def staying(self, count: int) -> int:
        """Events that let nothing leave."""
        times = np.arange(self.now + 1, self.now + 1 + count)
        return self.combines(times, np.full(count, self.now - self.n))

    def evicting(self, k: int) -> int:
        """One event that lets k leave."""
        assert self.held == self.n
        made = self.combines(np.array([self.now + 1]), np.array([self.now - self.n + k]))
        assert self.held == self.n - k + 1
        return made

    @property
    def held(self) -> int:
        held = self.lane.held(np.array([0]))
        return int(held.count[0] - held.head[0])


WAYS = [True, False]


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("n", [10**2, 10**4, 10**6])
def test_an_event_takes_at_most_two_log_n_combines(n: int, compiled: bool) -> None:
    if n == 10**6 and (jit_disabled() or not compiled):
        pytest.skip("a million events take Python too long")
    query = Counted(n, compiled=compiled)
    assert len(query.modes) == (2 if compiled and not jit_disabled() else 1)
    assert np.mean([query.next(1) for _ in range(256)]) <= 2 * log2(n)
    assert query.next(1024) / 1024 <= 2 * log2(n)


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("k", [1, 3, 10, 30, 100, 1_000, 3_000, 9_000])
def test_any_number_of_events_leaves_at_once_in_at_most_two_log_n_combines(k: int, compiled: bool) -> None:
    query, counts = Counted(10**4, compiled=compiled), []
    for _ in range(32):
        counts.append(query.evicting(k))
        query.next(k + int(query.random.integers(100)))
    assert np.mean(counts) <= 2 * log2(query.n)


@pytest.mark.skipif(jit_disabled(), reason="a million events take a minute to interpret")
def test_a_million_leaves_as_cheaply_as_one() -> None:
    query = Counted(10**6, compiled=True)
    for k in [1, 10, 100, 10**3, 10**4, 10**5, 10**6]:
        counts = []
        for _ in range(24 if k < 10**6 else 8):
            counts.append(query.evicting(k))
            query.next(k + int(query.random.integers(1000)))
        assert np.mean(counts) <= 2 * log2(query.n), k


@contextmanager
def python_calls() -> Iterator[Counter[Any]]:
    """How often each function of Python was called, by its code."""
    found: Counter[Any] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield found
    finally:
        sys.setprofile(before)


@pytest.mark.skipif(jit_disabled(), reason="nothing is compiled")
def test_python_computes_an_interpreted_policy_and_no_combines() -> None:
    calls = {}
    for n in [10**2, 10**5]:
        query = Counted(n, compiled=False)
        query.next(1)  # loads the kernels
        with python_calls() as found:
            query.next(512)
        assert not any(found[monoid.combine.__code__] for monoid in query.aggregates)
        # One event leaves: two or three prefixes are tested. None leaves: one, its oldest event.
        assert 512 <= found[query.policy.__code__] <= 3 * 512
        calls[n] = found.total()
        with python_calls() as found:
            query.staying(64)
        assert found[query.policy.__code__] == 64
    assert calls[10**5] <= 1.2 * calls[10**2]
