"""Random pairs of streams and predicates over them, and their answer by definition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sash.operators.joins.bound_join import BoundJoin, BoundSide
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Side
from sash.semantics.join import How, IntervalJoin, JoinBatch, JoinOutcome, Where, evaluate
from sash.semantics.reference import Arrival

LEFT = pa.schema(
    {
        "k": pa.string(),
        "t": pa.int64(),
        "e": pa.int64(),
        "x": pa.int32(),
        "y": pa.float64(),
        "w": pa.string(),
    }
)
RIGHT = pa.schema(
    {
        "key": pa.string(),
        "t": pa.int64(),
        "e": pa.int64(),
        "a": pa.int64(),
        "b": pa.float32(),
        "w": pa.string(),
    }
)
SCHEMAS = {Side.LEFT: LEFT, Side.RIGHT: RIGHT}

TRACED: dict[str, Where | None] = {
    "no condition": None,
    "always": lambda p, q: True,
    "never": lambda p, q: False,
    "a band": lambda p, q: abs(p.x - q.a) <= 2,
    "a strict band": lambda p, q: abs(q.a - p.x) < 2,
    "a band of width zero": lambda p, q: np.int64(0) >= abs(p.x - q.a),
    "a band of fractions": lambda p, q: abs(p.y - q.b) <= 0.7,
    "a band of both kinds": lambda p, q: abs(p.x - q.b) <= 1.5,
    "two bands": lambda p, q: (abs(p.x - q.a) <= 2) & (abs(p.y - q.b) <= 3),
    "three bands": lambda p, q: (abs(p.x - q.a) <= 3) & (abs(p.y - q.b) <= 3) & (abs(p.e - q.e) <= 9),
    "an equality": lambda p, q: p.x == q.a,
    "an equality of fractions": lambda p, q: q.b == p.y,
    "an equality and a band": lambda p, q: (p.x == q.a) & (abs(p.y - q.b) <= 1),
    "an equality of words": lambda p, q: (p.w == q.w) & (p.x >= q.a),
    "theta": lambda p, q: p.x * 2 < q.a + 1,
    "either": lambda p, q: (p.x == q.a) | (p.y > q.b),
    "remainders": lambda p, q: (p.x + q.a) % 3 == 0,
}
FUNCTIONS: dict[str, Where] = {
    "and": lambda p, q: p.x > 2 and q.a > 2,
    "or": lambda p, q: p.x == q.a or p.y > 3,
    "a chain": lambda p, q: 1 <= p.x - q.a <= 3,
}
INTERPRETED: dict[str, Where] = {
    "words": lambda p, q: p.w < q.w,
    "words or numbers": lambda p, q: (p.w == q.w) | (p.x == q.a),
    "a row as a whole": lambda p, q: len(dict(p)) == 6 and p.x == q["a"],
}


def bound(
    where: Where | None, *, within: int, keys: bool, delays: tuple[int, int] = (0, 0), how: How = "inner"
) -> BoundJoin:
    ticks = [Duration(length, Unit.TICKS) for length in (within, *delays)]
    left, right = ("k",) if keys else (), ("key",) if keys else ()
    join = IntervalJoin(ticks[0], where, how, left_delay=ticks[1], right_delay=ticks[2])
    return BoundJoin(join, BoundSide(Side.LEFT, LEFT, "t", left), BoundSide(Side.RIGHT, RIGHT, "t", right))


@st.composite
def arrivals(draw: st.DrawFn, side: Side, *, keys: bool, nulls: bool, max_size: int = 25) -> list[Arrival]:
    """Rows of one side, with ties; with null keys, times and values where `nulls`."""
    names = SCHEMAS[side].names
    missing: st.SearchStrategy[Any] = st.none() if nulls else st.nothing()
    rows = []
    for number in range(draw(st.integers(0, max_size))):
        key = draw(st.sampled_from(["a", "b", None]))
        time = draw(st.one_of(st.integers(-10, 20), st.integers(-10, 20), missing))
        whole = draw(st.one_of(st.integers(-4, 6), st.integers(-4, 6), missing))
        fraction = draw(st.one_of(st.integers(-8, 12).map(lambda n: n / 2), missing))
        word = draw(st.one_of(st.sampled_from(["u", "v"]), missing))
        values = dict(zip(names, (key, time, number, whole, fraction, word), strict=True))
        rows.append(Arrival(time, key if keys else None, values))
    return rows


@st.composite
def batches(draw: st.DrawFn, *, keys: bool, nulls: bool) -> list[JoinBatch]:
    """Both sides, cut into up to four batches."""
    left, right = (draw(arrivals(side, keys=keys, nulls=nulls)) for side in Side)
    cuts = draw(st.integers(1, 4))
    edges = [(len(left) * n // cuts, len(right) * n // cuts) for n in range(cuts + 1)]
    return [JoinBatch(left[a:c], right[b:d]) for (a, b), (c, d) in pairwise(edges)]


def table_of(side: Side, rows: Sequence[Arrival]) -> pa.Table:
    return pa.Table.from_pylist([dict(row.values) for row in rows], schema=SCHEMAS[side])


def expected(bound: BoundJoin, batches: list[JoinBatch], *, flush: bool = True) -> JoinOutcome:
    return evaluate(bound.join, batches, flush=flush)


Numbers: TypeAlias = tuple[int, int | None, int | None]
"""Time, left row, right row of a pair."""


def numbers_of(outcome: JoinOutcome) -> list[Numbers]:
    """The pairs of the definition."""
    return [(pair.time, *(e and e.values["e"] for e in (pair.left, pair.right))) for pair in outcome.pairs]


def numbers_in(table: pa.Table) -> list[Numbers]:
    """The same of an answer."""
    return [(row["time"], row["e_left"], row["e_right"]) for row in table.to_pylist()]
