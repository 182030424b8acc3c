"""The window buffer against a plain list: whatever is done to both, they answer alike."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sash.aggregation import monoids
from sash.aggregation.buffer import WindowBuffer
from sash.aggregation.buffer.folding import Interpreted
from sash.aggregation.monoid import Monoid
from sash.semantics import monoid as reference
from sash.stores import LMDB, Memory, Redis, Store

PRIME = 10_007
_numbers = itertools.count()

# Order-revealing, as objects: any element that is lost, doubled or out of place shows.
collect = Monoid(
    "collect",
    ("x",),
    identity=list,
    lift=lambda x: [x],
    combine=lambda a, b: a + b,
    lower=lambda a: a,
    encode=lambda a: json.dumps(a).encode(),
    decode=json.loads,
)

# Order-revealing, in columns: composition of the maps y -> a·y + b does not commute.
affine = Monoid(
    "affine",
    ("x",),
    identity=lambda: (1, 0),
    lift=lambda x: (x + 2, x),
    combine=lambda f, g: (f[0] * g[0] % PRIME, (g[0] * f[1] + g[1]) % PRIME),
    lower=lambda f: f,
)


def plain(monoid: Monoid) -> Interpreted:
    return Interpreted(
        monoid, [np.dtype(object if monoid is collect else np.int64)] * (1 + (monoid is affine))
    )


def fold(monoid: Monoid, values: list[int]) -> Any:
    total = monoid.identity()
    for value in values:
        total = monoid.combine(total, monoid.lift(value))
    return total


class Model:
    """A buffer as a list of (value, time) with a head: each method is the definition of the buffer's."""

    def __init__(self) -> None:
        self.events: list[tuple[int, int]] = []
        self.head = 0

    def copy(self) -> Model:
        twin = Model()
        twin.events, twin.head = list(self.events), self.head
        return twin

    def values(self, lo: int, hi: int) -> list[int]:
        return [value for value, _ in self.events[lo:hi]]

    def evict_before(self, time: int) -> int:
        before = self.head
        while self.head < len(self.events) and self.events[self.head][1] < time:
            self.head += 1
        return self.head - before

    def evict_to_length(self, length: int) -> int:
        before = self.head
        self.head = max(self.head, len(self.events) - length)
        return self.head - before

    def between(self, start: int, stop: int) -> tuple[int, int]:
        inside = [i for i in range(self.head, len(self.events)) if start <= self.events[i][1] < stop]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)


SHAPES = st.fixed_dictionaries(
    {
        "chunk": st.sampled_from([1, 2, 3, 8, 9, 20]),
        "fanout": st.sampled_from([2, 3, 64]),
        "pane": st.sampled_from([None, 1, 5]),
    }
)
FRACTION = st.floats(0, 1)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(
            st.just("extend"), st.lists(st.tuples(st.integers(0, 999), st.integers(0, 3)), max_size=60)
        ),
        st.tuples(st.just("append"), st.integers(0, 999), st.integers(0, 3)),
        st.tuples(st.just("evict"), FRACTION),
        st.tuples(st.just("evict_before"), FRACTION),
        st.tuples(st.just("evict_while"), FRACTION),
        st.tuples(st.just("fold_ranges"), st.lists(st.tuples(FRACTION, FRACTION), max_size=8)),
        st.tuples(st.just("between"), FRACTION, FRACTION),
        st.tuples(st.just("commit")),
        st.tuples(st.just("rollback"), st.booleans()),
    ),
    min_size=8,
    max_size=40,
)


class Pair:
    """A buffer over a store and its model, moved in step; commits keep the hot part with the epoch."""

    def __init__(self, monoid: Monoid, store: Store, shape: dict[str, Any]) -> None:
        self.monoid, self.store, self.shape = monoid, store, shape
        self.buffer, self.model, self.now = self.fresh(), Model(), 0
        hot = self.buffer.snapshot()
        self.past: list[tuple[int, bytes, Model, int]] = [(store.epoch, hot, Model(), 0)]

    def fresh(self) -> WindowBuffer:
        folding = plain(self.monoid)
        return WindowBuffer(self.monoid, store=self.store, timed=True, folding=folding, **self.shape)

    def position(self, fraction: float) -> int:
        return self.model.head + round(fraction * (len(self.model.events) - self.model.head))

    def time(self, fraction: float) -> int:
        return round(fraction * (self.now + 2))

    def do(self, action: tuple) -> None:
        getattr(self, action[0])(*action[1:])
        self.check()

    def extend(self, steps: list[tuple[int, int]]) -> None:
        times = []
        for _, step in steps:
            self.now += step
            times.append(self.now)
        self.buffer.extend([value for value, _ in steps], times=times)
        self.model.events += [(value, time) for (value, _), time in zip(steps, times, strict=True)]

    def append(self, value: int, step: int) -> None:
        self.now += step
        self.buffer.append(value, time=self.now)
        self.model.events.append((value, self.now))

    def evict(self, fraction: float) -> None:
        count = self.position(fraction) - self.model.head
        assert self.buffer.evict(count) == count
        self.model.head += count

    def evict_before(self, fraction: float) -> None:
        time = self.time(fraction)
        assert self.buffer.evict_before(time) == self.model.evict_before(time)

    def evict_while(self, fraction: float) -> None:
        if self.monoid is collect:
            keep = self.position(fraction) - self.model.head
            evicted = self.buffer.evict_while(lambda total, old: len(total) - len(old) >= keep)
            assert evicted == self.model.evict_to_length(keep)

    def fold_ranges(self, fractions: list[tuple[float, float]]) -> None:
        lo = np.sort(np.array([self.position(a) for a, _ in fractions], np.int64))
        hi = np.maximum(lo, np.sort(np.array([self.position(b) for _, b in fractions], np.int64)))
        folds = self.buffer.fold_ranges(lo, hi)
        expected = [fold(self.monoid, self.model.values(a, b)) for a, b in zip(lo, hi, strict=True)]
        assert [self.buffer.folding.load(folds, i) for i in range(len(lo))] == expected

    def between(self, one: float, two: float) -> None:
        start, stop = sorted((self.time(one), self.time(two)))
        lo, hi = self.buffer.between(start, stop)
        assert self.model.values(lo, hi) == self.model.values(*self.model.between(start, stop))

    def commit(self) -> None:
        hot = self.buffer.snapshot()
        self.store.commit(self.store.epoch + 1)
        self.past = [*self.past[-1:], (self.store.epoch, hot, self.model.copy(), self.now)]

    def rollback(self, further: bool) -> None:
        if further and len(self.past) == 2:
            self.past.pop()
        epoch, hot, model, self.now = self.past[-1]
        self.store.rollback(epoch)
        self.buffer, self.model = self.fresh(), model.copy()
        self.buffer.restore(hot)

    def check(self) -> None:
        head, end = self.model.head, len(self.model.events)
        assert (self.buffer.head, self.buffer.end, len(self.buffer)) == (head, end, end - head)
        assert self.buffer.fold(head, end) == fold(self.monoid, self.model.values(head, end))
        third = head + (end - head) // 3
        assert self.buffer.fold(third, end - (end - third) // 3) == fold(
            self.monoid, self.model.values(third, end - (end - third) // 3)
        )


@pytest.mark.parametrize("monoid", [collect, affine], ids=lambda monoid: monoid.name)
@settings(max_examples=100, deadline=None)
@given(shape=SHAPES, actions=ACTIONS)
def test_oracle_a_buffer_in_memory_answers_as_a_list_does(
    monoid: Monoid, shape: dict[str, Any], actions: list[tuple]
) -> None:
    pair = Pair(monoid, Memory(), shape)
    for action in actions:
        pair.do(action)


@pytest.mark.parametrize("monoid", [collect, affine], ids=lambda monoid: monoid.name)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=SHAPES, actions=ACTIONS)
def test_oracle_a_buffer_in_lmdb_answers_as_a_list_does(
    tmp_path: Path, monoid: Monoid, shape: dict[str, Any], actions: list[tuple]
) -> None:
    with LMDB(tmp_path, namespace=f"n{next(_numbers)}", durable=False) as store:
        pair = Pair(monoid, store, shape)
        for action in actions:
            pair.do(action)


@pytest.mark.redis
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=SHAPES, actions=ACTIONS)
def test_oracle_a_buffer_in_redis_answers_as_a_list_does(
    redis_server, shape: dict[str, Any], actions: list[tuple]
) -> None:
    with Redis(redis_server.url, namespace=f"buffer{next(_numbers)}") as store:
        pair = Pair(collect, store, shape)
        for action in actions:
            pair.do(action)


@settings(max_examples=25, deadline=None)
@given(shape=SHAPES, actions=ACTIONS)
def test_differential_compiled_folds_answer_as_interpreted_ones_do(
    shape: dict[str, Any], actions: list[tuple]
) -> None:
    class Compiled(Pair):
        def fresh(self) -> WindowBuffer:
            return WindowBuffer(self.monoid, store=self.store, timed=True, kinds=("int",), **self.shape)

    pair = Compiled(affine, Memory(), shape)
    for action in actions:
        pair.do(action)


@pytest.mark.parametrize(
    "monoid",
    [monoids.sum("x"), monoids.max("x"), monoids.argmax("x", "x"), monoids.collect("x")],
    ids=lambda m: m.name,
)
def test_oracle_built_in_monoids_over_lmdb_give_what_their_definition_gives(
    tmp_path: Path, monoid: Monoid
) -> None:
    values = np.random.default_rng(3).integers(-(10**6), 10**6, 1000)
    with LMDB(tmp_path, durable=False) as store:
        buffer = WindowBuffer(monoid, kinds=("int",) * len(monoid.columns), store=store, chunk=30, fanout=4)
        for epoch, part in enumerate(np.split(values, 10)):
            buffer.extend(*[part] * len(monoid.columns))
            buffer.evict(max(0, len(buffer) - 333))
            buffer.snapshot()
            store.commit(epoch)
            rows = [{"x": int(x)} for x in values[buffer.head : buffer.end]]
            assert buffer.query() == reference.fold(monoid, rows)


@given(
    values=st.lists(st.integers(0, 9), min_size=1, max_size=200),
    limit=st.integers(0, 60),
    shape=SHAPES.filter(lambda shape: shape["pane"] is None),
)
@settings(max_examples=60, deadline=None)
def test_oracle_a_policy_evicts_what_a_scan_from_the_head_would(
    values: list[int], limit: int, shape: dict[str, Any]
) -> None:
    """Keep the longest suffix whose sum is at most `limit`, after every insertion."""
    buffer = WindowBuffer(collect, **shape)
    window: list[int] = []
    for value in values:
        buffer.append(value)
        window.append(value)
        while window and sum(window) > limit:
            window.pop(0)
        # True for a prefix: what stays without its last element is still too much.
        buffer.evict_while(lambda total, old: sum(total) - sum(old[:-1]) > limit)
        assert (buffer.query() or []) == window
