"""Operators that share gates: in a row, in a diamond, reconfigured while they run, and when one fails."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError
from sash.operators import (
    Aggregate,
    ElasticOperator,
    Input,
    InputEvent,
    Join,
    Stateful,
    WindowSet,
    setup,
)

EVENTS = Input(pa.schema([("t", pa.int64()), ("k", pa.int64()), ("x", pa.int64())]), time="t")


def totals() -> Aggregate:
    """Per key, every 10."""
    return Aggregate(advance=10, size=10, inputs=EVENTS, keys="k", shares=8, total=sash.sum("x"))


def highest(below: Stateful) -> Aggregate:
    """The highest total of the last 30, every 10."""
    read = Input(below.schema, time="time")
    return Aggregate(advance=10, size=30, inputs=read, shares=4, high=sash.max("total"), n=sash.count())


def parity(below: Stateful, rest: int) -> Stateful:
    """Passes on the totals of the keys with this remainder, at the end of their tick."""

    def forward(windows: WindowSet, arrival: InputEvent) -> Any:
        row = arrival.row
        return {"key": row.key, "total": row.total} if row.key % 2 == rest else None

    return Stateful(
        advance=1, size=1, inputs=Input(below.schema, time="time"), shares=4, update=forward,
        schema=pa.schema([("key", pa.int64()), ("total", pa.int64())]),
    )  # fmt: skip


def meeting(*below: Stateful) -> Join:
    """Totals of even and odd keys of the same size, at most 10 apart."""
    inputs = [Input(each.schema, time="time") for each in below]
    return Join(within=10, inputs=inputs, shares=4, where=lambda even, odd: even.total == odd.total)


def events(count: int, seed: int = 3) -> dict[str, list[int]]:
    draw = random.Random(seed)
    times = sorted(draw.randrange(3 * count) for _ in range(count))
    return {
        "t": times,
        "k": [draw.randrange(6) for _ in times],
        "x": [draw.randrange(3) for _ in times],
    }


def part(rows: dict[str, list[int]], lo: int, hi: int) -> dict[str, list[int]]:
    return {name: values[lo:hi] for name, values in rows.items()}


def everything(operator: ElasticOperator) -> list[dict[str, Any]]:
    return [row for table in iter(lambda: operator.get("reader"), None) for row in table.to_pylist()]


def comparable(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows)


def in_a_row() -> tuple[list[ElasticOperator], list[dict[str, Any]], dict[str, list[int]]]:
    rows, first = events(800), totals()
    second = highest(first)
    a = setup(first, 1, 3, readers=())
    b = setup(second, 2, 3, entry=a.exit, name="b")
    return [a, b], second.over(first.over(rows)).to_pylist(), rows


def diamond() -> tuple[list[ElasticOperator], list[dict[str, Any]], dict[str, list[int]]]:
    #            ┌ left (even) ┐
    #   totals ──┤             ├── join
    #            └ right (odd) ┘
    rows, first = events(800), totals()
    even, odd = parity(first, 0), parity(first, 1)
    joined = meeting(even, odd)
    emitted = first.over(rows)
    expected = joined.over(even.over(emitted), odd.over(emitted)).to_pylist()
    join = setup(joined, 2, 3, sources=())
    a = setup(first, 2, 3, readers=())
    left = setup(even, 1, 2, entry=a.exit, exit=join.entry, feeds=0, name="left")
    right = setup(odd, 1, 2, entry=a.exit, exit=join.entry, feeds=1, name="right")
    return [a, left, right, join], expected, rows


@pytest.mark.parametrize("graph", [in_a_row, diamond])
def test_a_graph_says_what_its_operators_say_one_after_the_other(graph: Any) -> None:
    operators, expected, rows = graph()
    assert len(expected) > 50
    for lo in range(0, 800, 50):
        operators[0].add("source", part(rows, lo, lo + 50))
    for operator in operators:
        operator.stop()
    found = everything(operators[-1])
    assert comparable(found) == comparable(expected)
    assert [row["time"] for row in found] == sorted(row["time"] for row in found)


@pytest.mark.parametrize("graph", [in_a_row, diamond])
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_oracle_every_operator_of_a_graph_can_be_reconfigured_while_it_runs(graph: Any, seed: int) -> None:
    draw = random.Random(seed)
    operators, expected, rows = graph()
    changes = []
    for lo in range(0, 800, 40):
        operators[0].add("source", part(rows, lo, lo + 40))
        chosen = draw.choice(operators)
        changes.append((chosen, chosen.reconfigure(draw.randrange(1, chosen.limit + 1))))
    for operator in operators:
        operator.stop()
    assert comparable(everything(operators[-1])) == comparable(expected)
    # Operators that read one gate meet each other's messages, and leave them alone.
    for operator in operators:
        own = [change for owner, change in changes if owner is operator]
        assert operator.epochs.history == own


def test_to_stop_the_first_operator_ends_the_graph() -> None:
    operators, expected, rows = diamond()
    operators[0].add("source", rows)
    operators[0].stop()
    assert comparable(everything(operators[-1])) == comparable(expected)
    assert all(operator.entry.closed and operator.exit.closed for operator in operators)


def test_leaving_the_context_of_a_graph_ends_its_threads() -> None:
    first = totals()
    with setup(first, 1, 2, readers=()) as a, setup(highest(first), 1, 2, entry=a.exit, name="b") as b:
        a.add("source", events(100))
    for operator in (a, b):
        assert not any(thread.is_alive() for thread in operator._threads)


@pytest.mark.parametrize("where", ["the first", "the middle", "the last"])
def test_a_failure_ends_the_whole_graph_and_is_raised_wherever_it_is_used(where: str) -> None:
    def failing(windows: WindowSet, arrival: InputEvent) -> None:
        raise ZeroDivisionError("no")

    def stage(name: str, inputs: Input) -> Stateful:
        passes = None if name == where else (lambda windows, arrival: {"x": arrival.row.x})
        return Stateful(
            advance=1, size=1, inputs=inputs, shares=2, update=passes or failing,
            schema=pa.schema([("x", pa.int64())]),
        )  # fmt: skip

    first = stage("the first", EVENTS)
    middle = stage("the middle", Input(first.schema, time="time"))
    last = stage("the last", Input(middle.schema, time="time"))
    a = setup(first, 1, 2, readers=())
    b = setup(middle, 1, 2, entry=a.exit, readers=(), name="b")
    c = setup(last, 1, 2, entry=b.exit, name="c")
    # As long as nobody comes to the tuple that fails, there is nothing to raise.
    feed = (a.add("source", {"t": [time], "k": [0], "x": [1]}) for time in range(100_000))
    with pytest.raises(sash.errors.PredicateError, match="ZeroDivisionError"):
        all(feed)
    for operator in (a, b, c):
        with pytest.raises(sash.errors.PredicateError, match="ZeroDivisionError"):
            operator.stop()
    with pytest.raises(sash.errors.PredicateError):
        everything(c)


def test_gates_that_do_not_fit_are_refused() -> None:
    first = totals()
    with setup(first, 1, 1, readers=()) as a:
        with pytest.raises(ArgumentError, match="entry"):
            setup(first, 1, 1, entry=a.exit, name="again")
        with pytest.raises(ArgumentError, match="exit"):
            setup(highest(first), 1, 1, entry=a.exit, exit=a.entry, name="back")
        wide = sash.ScaleGate(Input(first.schema, time="time"), sources=(), readers=())
        with pytest.raises(ArgumentError, match="exit"):
            setup(first, 1, 1, exit=wide, feeds=1)
        setup(highest(first), 1, 1, entry=a.exit, name="b")
        with pytest.raises(ArgumentError, match="name"):
            setup(highest(first), 1, 1, entry=a.exit, name="b")
