"""What is counted: bytes that are kept, combines that are made."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from benchmarks.flat import queries
from benchmarks.harness import Table
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.ring_lane import RingLane


def durable(kinds: list[str], *, held: int) -> list[Table]:
    """Bytes in the store, against those of the elements that are alive; and after all keys are dead."""
    alive = Table(f"durable bytes with {held:,} elements alive (ms: kB)", "the elements' own")
    dead = Table("durable bytes after all keys are dead (ms: kB)", "a new query's")
    alive.start()
    sizes = {}
    # Not sliding: when all keys die at once, all of their windows are reported in one batch.
    for kind in [kind for kind in ("rolling", "tumbling", "session") if kind in kinds]:
        size, own, late, fresh = _sizes(kind, held)
        alive.add(f"{kind} ({own / 1e3:,.0f} kB)", size / 1e6, size / own, limit=2.5)
        sizes[kind] = late, fresh
    dead.start()
    for kind, (late, fresh) in sizes.items():
        dead.add(kind, late / 1e6, late / fresh, limit=2.0)
    return [alive, dead]


def _sizes(kind: str, held: int) -> tuple[int, int, int, int]:
    bound = queries.query(kind, queries.held(10), held).bound
    store = _Store(bound)
    rows = queries.held(held, keys=held // 10)
    for at in range(0, held, 50_000):
        store.take(rows.slice(at, 50_000))
    size, own = store.size, store.own
    day = 24 * queries.HOUR
    fresh, largest = _Store(bound), [0, 0]
    for number in range(60):  # a few other keys, long after
        rows = queries.rows(1_000, since=(3 + number) * day, step=1_000, first=held, keys=10, seed=number)
        for which, one in enumerate((store, fresh)):
            one.take(rows)
            if number >= 30:  # journals grow and are cut: the largest counts
                largest[which] = max(largest[which], one.size)
    return size, own, *largest


class _Store:
    """An operator and what a store keeps of it."""

    def __init__(self, bound: Any) -> None:
        self.operator, self.chunks = WindowOperator.load(bound, None, {}), dict[int, bytes]()

    def take(self, rows: Any) -> None:
        operator = self.operator
        operator.insert(rows.select(operator.bound.columns), np.arange(rows.num_rows))
        operator.advance(int(rows["t"][-1].value))
        saved = operator.save()
        self.chunks |= saved.written
        for number in saved.dropped:
            del self.chunks[number]
        operator.resume(saved.header, self.chunks)

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks.values()))

    @property
    def own(self) -> int:
        """Bytes of the elements: the key, the time or times, and the inputs or partial aggregates."""
        operator, total = self.operator, 0
        live = operator.slots.live()
        for group in operator.groups:
            lane = group.lane
            if isinstance(lane, RingLane):
                held = lane.held(live)
                total += int((held.count - held.head).sum()) * 8 * lane.form.width
            else:
                total += int((~lane.is_empty(live)).sum()) * 8 * lane.words(lane.form)
        return total


def policy(*, sizes: list[int]) -> list[Table]:
    """Combines of a policy window per event, and for evicting many at once, in a query."""
    table = Table("policy: combines per event (ms: combines / 1000)", "2·log₂ n")
    table.start()
    for held in sizes:
        store = _policy_store(held)
        lane = store.operator.groups[0].lane
        before = lane.combines["__track s"]
        store.take(_one_key(100, first=held))
        per_event = (lane.combines["__track s"] - before) / 100
        table.add(
            f"{held:,} held, one leaves with each", per_event / 1e3, per_event / (2 * log2(held)), limit=1.0
        )
    evicting = Table("policy: combines for one event that evicts k (ms: combines / 1000)", "2·log₂ n")
    evicting.start()
    largest = max(sizes)
    for leaving in [10**power for power in range(len(str(largest)))]:
        store = _policy_store(largest, limit=largest + 1, jump=True)
        lane = store.operator.groups[0].lane
        before = lane.combines["__track s"]
        store.take(_one_key(1, first=largest, weight=leaving))
        made = lane.combines["__track s"] - before
        evicting.add(f"k = {leaving:,} of {largest:,}", made / 1e3, made / (2 * log2(largest)), limit=1.0)
    return [table, evicting]


def _policy_store(held: int, *, limit: int | None = None, jump: bool = False) -> _Store:
    """A window of one key: the last `held` by count, or by the sum of their weights."""
    import sash

    most = held if limit is None else limit
    stream = sash.stream(_one_key(10, first=0), time="t", key="k")
    window = sash.policy(
        lambda total, old: total.s - old.s >= most, track={"s": sash.sum("v")}, every=1_000_000
    )
    store = _Store(stream.window(window).agg(n=sash.count()).bound)
    for at in range(0, held, 100_000):
        store.take(_one_key(min(100_000, held - at), first=at))
    return store


def _one_key(count: int, *, first: int, weight: int = 1) -> Any:
    table = queries.rows(count, since=first * 1_000, step=1_000, first=0, keys=1, seed=1)
    weights = np.full(count, weight)
    return table.set_column(3, "v", [weights]).cast(queries.SCHEMA)
