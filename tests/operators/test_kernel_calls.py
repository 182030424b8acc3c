"""How many kernels a batch calls: a batch of a thousand events costs more in calls than in what they do."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sash.aggregation import built_in
from sash.aggregation.kernels.compiler.numba_compilation import Kernel, build, jit_disabled
from sash.aggregation.kernels.compiler.prefetching import prefetch
from sash.aggregation.monoid import Monoid
from sash.arrays import Ints
from sash.errors import SashWarning
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.aggregate_tree import TOGETHER
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.semantics import windows
from sash.semantics.query import Query

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("x", pa.float64())])
FEW = {"hi": built_in.max("x")}
MANY = {
    "n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x"), "lo": built_in.min("x"),
    "sd": built_in.stddev("x"), "last": built_in.last("x"),
}  # fmt: skip
KINDS: dict[str, Any] = {
    "sliding": windows.time(5_000, 50),
    "rows": windows.rows(50, every=1),
    "slide_by_tuple": windows.slide_by_tuple(5_000, 7),
    "slide_by_time": windows.slide_by_time(50, 100),
    "delta": windows.delta("t", 5_000, 50),
}


def rolling(aggregates: Any, *sizes: int) -> BoundQuery:
    named = tuple(windows.slide_by_tuple(size, 1).named(str(size)) for size in sizes)
    return BoundRolling(Query(named, aggregates, flush=False), SCHEMA, "t", ("k",))


def bound_to(window: Any, aggregates: Any) -> BoundQuery:
    return BoundQuery(Query((window,), aggregates, flush=False), SCHEMA, "t", ("k",))


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Calls of kernels, by what they are."""
    calls: Counter[str] = Counter()
    run = Kernel.__call__

    def call(self: Kernel, *arguments: Any) -> Any:
        calls["kernels"] += 1
        return run(self, *arguments)

    with patch.object(Kernel, "__call__", call):
        yield calls


def operator_of(bound: BoundQuery, *, batches: int) -> WindowOperator:
    operator = WindowOperator.load(bound, None, {})
    for number in range(batches):
        batch(operator, number)
    return operator


def batch(operator: WindowOperator, number: int) -> None:
    """Some events of keys that are known, in the order of time."""
    keys = np.arange(200) % 20
    rows = pa.table({"k": keys, "t": 200 * number + np.arange(200), "x": keys / 7}, schema=SCHEMA)
    operator.insert(rows.select(operator.bound.columns), np.arange(200))
    operator.advance(200 * number + 199)


def calls_of(bound: BoundQuery) -> int:
    """Of a batch in which no kernel is new and no ring becomes larger."""
    operator, found = operator_of(bound, batches=10), []
    for number in range(10, 14):
        with counted() as calls:
            batch(operator, number)
        found.append(calls["kernels"])
    return min(found)


def test_look_backs_and_aggregates_share_their_kernels() -> None:
    one = calls_of(rolling(FEW, 1_000))
    assert calls_of(rolling(MANY, 1_000, 500, 5_000)) == one
    assert one <= 14


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_calls_as_many_kernels_for_many_aggregates_as_for_one(kind: str) -> None:
    # An aggregate that depends on the order, so that neither query folds panes.
    one, many = (
        calls_of(bound_to(KINDS[kind], aggregates)) for aggregates in ({"l": built_in.last("x")}, MANY)
    )
    assert many == one <= 18


def groups_of(aggregates: Any) -> list[list[str]]:
    operator = operator_of(bound_to(windows.rows(50, every=1), aggregates), batches=1)
    (group,) = operator.groups
    assert isinstance(group.lane, RingLane)
    return [[each.name for each in some.aggregates] for some in group.lane.form.groups]


def test_more_than_some_aggregates_are_several_groups() -> None:
    many = {f"m{number}": built_in.max("x") for number in range(TOGETHER + 3)}
    assert [len(some) for some in groups_of(many)] == [TOGETHER, 3]


def nothing() -> float:
    return 0.0


def itself(x: float) -> float:
    return x


def spelled(x: float) -> float:
    return float(f"{x:.3f}")


def plus(a: float, b: float) -> float:
    return a + b


def a_users(lift: Any, name: str = "total") -> Monoid:
    """A sum that no function of this library has made."""
    return Monoid(name, ("x",), nothing, lift, plus, itself, commutative=True)


def test_a_users_aggregate_has_a_kernel_of_its_own() -> None:
    assert groups_of({"a": a_users(itself), "n": built_in.count(), "b": a_users(itself)}) == [
        ["n"],
        ["a"],
        ["b"],
    ]


@pytest.mark.skipif(jit_disabled(), reason="everything is interpreted")
def test_one_that_cannot_be_compiled_leaves_the_others_as_they_are() -> None:
    aggregates = {"n": built_in.count(), "odd": a_users(spelled, "spelled"), "hi": built_in.max("x")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        operator = operator_of(bound_to(windows.rows(50, every=1), aggregates), batches=12)
    (lane_group,) = operator.groups
    assert isinstance(lane_group.lane, RingLane)
    modes = {
        tuple(each.name for each in some.aggregates): some.fold.mode for some in lane_group.lane.form.groups
    }
    assert modes == {("n", "hi"): "cached", ("odd",): "interpreted"}
    names = [str(each.message) for each in caught if isinstance(each.message, SashWarning)]
    assert any("spelled" in name and "lift" in name for name in names)


def look_up(table: Ints, column: Ints) -> int:
    """Cells that are there, and some that are not."""
    for row in range(-5, 1_000):
        prefetch(table, row, 0)
        prefetch(column, row, 0)
    return int(table[0, 0])


def test_a_cell_that_is_asked_for_need_not_exist() -> None:
    table = np.full((3, 2), 7)
    assert build(look_up)(table, table[:, 1]) == 7
