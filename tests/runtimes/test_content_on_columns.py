"""Windows that the content of events cuts: what columns find is what the definition finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import PredicateError, SashError
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout, arrange
from sash.operators.kinds import KINDS, kind_of_window
from sash.operators.kinds.delta import DeltaKind
from sash.operators.kinds.delta_by_definition import ExactDeltaKind
from sash.operators.predicates import row_predicates
from sash.operators.windows.windowers import vectorised
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Order
from sash.semantics.predicate import holds
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import (
    ALWAYS_REBUILT,
    Runtime,
    Way,
    expected,
    lates,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.tables import expected_rows, rows_of, table_of

AGGREGATES = {"n": built_in.count(), "held": built_in.collect("e")}

near = st.integers(-3, 3)
small = st.integers(-6, 30)
great = st.builds(lambda base, by: base + by, st.sampled_from([2**53, -(2**53), 2**60]), near)
edges = st.builds(
    lambda base, by: max(-(2**63), min(base + by, 2**63 - 1)),
    st.sampled_from([2**62, -(2**62), 2**63, -(2**63)]),
    near,
)
fractions = st.one_of(
    st.sampled_from([-math.inf, math.inf, -0.0, 0.0, math.nan, 0.1, 5e-324, 1e308, -1e308]),
    small.map(lambda n: n / 4),
    st.floats(width=32),
)
COLUMNS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), small),
    (pa.int64(), st.one_of(small, great)),
    (pa.int64(), st.one_of(great, edges)),
    (pa.int8(), small),
    (pa.float64(), small.map(lambda n: n / 4)),
    (pa.float64(), fractions),
    (pa.float32(), st.one_of(small.map(float), st.floats(width=32))),
    (pa.decimal128(12, 2), small.map(lambda n: Decimal(n) / 4)),
]
lengths = st.one_of(
    st.integers(1, 12),
    st.sampled_from([0.5, 2.5, 3.0, 1e-3, 2.0**53, 1e300, 2**53 + 1, 2**61, 2**62, 2**64, np.float64(2)]),
)
deltas = st.builds(
    lambda size, every, closed: windows.delta("x", size, every, closed=closed),
    lengths, lengths, st.sampled_from(["left", "right"]),
)  # fmt: skip


@st.composite
def measured(draw: st.DrawFn) -> tuple[pa.DataType, list[Arrival]]:
    """A type and events of a few keys whose x mostly grows, with duplicates, steps back and nulls."""
    type_, values = draw(st.sampled_from(COLUMNS))
    xs = draw(st.lists(values, max_size=24))
    if draw(st.booleans()):
        xs.sort(key=lambda x: (x != x, x))
    if draw(st.booleans()):
        xs = [None if draw(st.integers(0, 9)) == 0 else x for x in xs]
    times = sorted(draw(st.lists(st.integers(0, 40), min_size=len(xs), max_size=len(xs))))
    keys = st.sampled_from(["a", "b", "c"])
    arrivals = [
        Arrival(time, draw(keys), {"e": number, "t": time, "x": x})
        for number, (time, x) in enumerate(zip(times, xs, strict=True))
    ]
    # What a column of this type holds of them is what everyone sees: float32 has no 0.1.
    held = pa.array([arrival.values["x"] for arrival in arrivals], type_).to_pylist()
    return type_, [
        Arrival(arrival.time, arrival.key, arrival.values | {"x": x})
        for arrival, x in zip(arrivals, held, strict=True)
    ]


@settings(max_examples=400, deadline=None)
@given(window=deltas, given=measured(), empty=st.booleans(), arrival=st.booleans())
def test_oracle_delta_windows_of_a_bounded_input(
    window: Window, given: tuple[pa.DataType, list[Arrival]], empty: bool, arrival: bool
) -> None:
    type_, stream = given
    table = table_of(stream, {"e": pa.int64(), "x": type_})
    query = (
        sash.stream(table, time="t", key="k", order="arrival" if arrival else "event-time")
        .window(window, empty=empty)
        .agg(**AGGREGATES)
    )
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), AGGREGATES) == expected_rows(oracle.reports, AGGREGATES, named=False)
    late_rows = query.late().collect().to_pylist()
    assert sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in late_rows) == lates(
        oracle.late
    )


def _step_by_step(
    query: Query, type_: pa.DataType, stream: list[Batch], ways: Sequence[Way] = ALWAYS_REBUILT
) -> None:
    types = {"e": pa.int64(), "x": type_}
    bound = BoundQuery(query, table_of([], types).schema, "t", ("k",))
    require_answered_as_the_reference(Runtime(bound, ways=ways, types=types), stream)


@st.composite
def streamed(draw: st.DrawFn) -> tuple[Query, pa.DataType, list[Batch]]:
    window = draw(deltas)
    type_, stream = draw(measured())
    if draw(st.booleans()):
        query = Query((window,), AGGREGATES, order=Order.ARRIVAL, empty=draw(st.booleans()))
    else:
        query = Query(
            (window,), AGGREGATES,
            delay=Duration(draw(st.integers(0, 8)), Unit.TICKS),
            allowed_lateness=Duration(draw(st.sampled_from([0, 0, 5])), Unit.TICKS),
            empty=draw(st.booleans()),
        )  # fmt: skip
    cut = []
    while stream:
        size = draw(st.integers(1, 8))
        cut.append(Batch(tuple(stream[:size])))
        stream = stream[size:]
    return query, type_, cut


@settings(max_examples=400, deadline=None)
@given(given=streamed(), ways=ways, least=leasts)
def test_oracle_delta_windows_batch_after_batch(
    given: tuple[Query, pa.DataType, list[Batch]], ways: list[Way], least: int
) -> None:
    query, type_, stream = given
    with small_journals(least):
        _step_by_step(query, type_, stream, ways)


def test_the_distance_to_a_trigger_that_is_gone_may_need_more_than_64_bits() -> None:
    first = -(2**62) - 1
    values = [[first, first + 2**39], [2**62 - 1]]
    stream = [
        Batch(tuple(Arrival(n, "a", {"e": n, "t": n, "x": x}) for n, x in enumerate(xs, start=10 * at)))
        for at, xs in enumerate(values)
    ]
    query = Query((windows.delta("x", 2, 2**40, closed="right"),), AGGREGATES, order=Order.ARRIVAL)
    assert [report.id for report in evaluate(query, stream).reports] == [0, 1]
    _step_by_step(query, pa.int64(), stream)


@settings(max_examples=150, deadline=None)
@given(given=streamed(), ways=ways)
def test_oracle_the_definition_finds_what_columns_find(
    given: tuple[Query, pa.DataType, list[Batch]], ways: list[Way]
) -> None:
    """Where a kind on columns would do, too."""
    query, type_, stream = given
    with patch.dict(KINDS, {windows.DeltaWindow: ExactDeltaKind}):
        _step_by_step(query, type_, stream, ways)


def test_delta_windows_remember_whole_numbers_as_such() -> None:
    window = windows.delta("x", 2, 1)
    for type_, number in ((pa.int64(), np.int64), (pa.float64(), np.float64)):
        kind = kind_of_window(window, pa.schema([("x", type_)]))
        assert isinstance(kind, DeltaKind)
        memory = kind.blank(2)
        assert {name for name, column in memory.items() if column.dtype == number} >= {"trigger", "floor"}
        assert {memory[name].dtype for name in ("next_id", "scanned", "open")} == {np.dtype(np.int64)}
    assert isinstance(kind_of_window(window, pa.schema([("x", pa.decimal128(9, 2))])), ExactDeltaKind)


# Predicates

ROWS = pa.schema(
    [("a", pa.int64()), ("b", pa.int32()), ("f", pa.float64()), ("g", pa.float32()), ("on", pa.bool_()),
     ("word", pa.string()), ("other", pa.string()), ("d", pa.decimal128(9, 2))]
)  # fmt: skip
VALUES = {
    "a": st.one_of(st.integers(-3, 3), great, edges),
    "b": st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31), 2**30 + 1])),
    "f": fractions,
    "g": st.floats(width=32),
    "on": st.booleans(),
    "word": st.sampled_from(["", "x", "y", "ä"]),
    "other": st.sampled_from(["x", "ä"]),
    "d": st.sampled_from([Decimal("0.25"), Decimal("1.00")]),
}
numbers = st.sampled_from(["row.a", "row.b", "row.f", "row.g", "row.on", "row['a']"])
constants = st.sampled_from(
    ["0", "1", "-2", "2.5", "0.0", "3", "2**53 + 1", "2.0**60", "2**61", "2**64", "1e400", "True"]
).map("({})".format)
comparisons = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


def _arithmetic(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "&", "|", "^"])
    two = st.builds(lambda x, op, y: f"({x} {op} {y})", parts, operators, parts)
    return st.one_of(two, two, parts.map("abs({})".format), parts.map("(-{})".format))


terms = st.recursive(st.one_of(numbers, numbers, constants), _arithmetic, max_leaves=4)
compared = st.one_of(
    st.builds(lambda x, op, y: f"({x} {op} {y})", terms, comparisons, terms),
    st.sampled_from([
        "(row.word == 'x')", "('ä' != row.word)", "(row.word == row.other)", "(row.word == 3)", "row.on",
        "(row.word == '\\ud800')", "(row.word < 'x')", "(row.d > 0)", "row.a", "(row.nothing == 1)",
        "(row.a is None)", "isinstance(row.a, int)", "(str(row.a) == row.word)",
    ]),
)  # fmt: skip
predicates = st.recursive(
    compared,
    lambda parts: st.builds(
        lambda x, op, y: f"({x} {op} {y})", parts, st.sampled_from(["&", "|", "^", "and"]), parts
    ),
    max_leaves=3,
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    count, nulls = draw(st.integers(0, 6)), draw(st.booleans())
    columns = {
        name: [None if nulls and draw(st.integers(0, 5)) == 0 else draw(values) for _ in range(count)]
        for name, values in VALUES.items()
    }
    return pa.table(columns, schema=ROWS)


def layout_of(rows: pa.Table) -> Layout:
    count = np.arange(rows.num_rows)
    return arrange(rows, [], count, count, Order.EVENT_TIME)


def _truths(window: Any, layout: Layout) -> Any:
    return row_predicates.truths(window, layout.rows, layout.times)


@settings(max_examples=1500, deadline=None)
@given(text=predicates, rows=tables())
def test_oracle_a_predicate_says_of_all_rows_what_it_says_of_each(text: str, rows: pa.Table) -> None:
    window, layout = windows.threshold(eval(f"lambda row: {text}")), layout_of(rows)

    def each() -> list[bool]:
        events = [Event(0, values=row) for row in layout.rows.to_pylist()]
        return [holds(window.predicate, event, owner=str(window)) for event in events]

    assert _outcome(lambda: _truths(window, layout).tolist()) == _outcome(each)


def _outcome(answer: Callable[[], list[bool]]) -> list[bool] | tuple[type, str]:
    try:
        return answer()
    except SashError as error:
        return type(error), str(error)


ON_COLUMNS = [
    lambda row: row.a > 3,
    lambda row: (row.a + row.b * 2 <= 7) & (row.f / 2.0 > row.g),
    lambda row: (row.word == "x") | (row.word != row.other) | row.on,
    lambda row: abs(row["a"] - 5) % 3 == 0,
    lambda row: row.a // 4 == row.on,
]
EACH_ROW = [
    lambda row: row.a > 3 and row.b > 3,
    lambda row: not row.on,
    lambda row: True,
    lambda row: None,
    lambda row: row.a,
    lambda row: row.d > 1,
    lambda row: row.f % 2 == 0,
    lambda row: row.f > math.inf,
    lambda row: row.f > np.float32(0.1),
    lambda row: row.f > 2**60 + 1,
    lambda row: (row.on is True) & (row.a > 3),
    lambda row: isinstance(row.a, float) | (row.a > 3),
    lambda row: row.nothing > 3,
    lambda row: row.get("a") == 3,
    lambda row: f"{row.a}" == row.word,
    lambda row: row.word < "x",
]


def _broad(row: Any) -> Any:
    try:
        great = bool(row.a > 3)
    except Exception:
        great = False
    return (row.b > 3) | great


def test_a_predicate_of_operators_between_columns_is_computed_on_columns() -> None:
    for kind in (windows.threshold, windows.punctuated):
        assert [vectorised(kind(predicate), ROWS) for predicate in ON_COLUMNS] == [True] * len(ON_COLUMNS)


@pytest.mark.parametrize("predicate", [*EACH_ROW, _broad])
def test_a_predicate_that_says_more_is_asked_about_each_row(predicate: Any) -> None:
    assert not vectorised(windows.threshold(predicate), ROWS)


@pytest.mark.parametrize(
    ("window", "type_", "on_columns"),
    [
        (windows.delta("x", 5, 2), pa.int16(), True),
        (windows.delta("x", 2.5, 2), pa.int64(), True),
        (windows.delta("x", 5, 0.1), pa.float32(), True),
        (windows.delta("x", 5, 2), pa.uint64(), False),
        (windows.delta("x", 5, 2), pa.float16(), False),
        (windows.delta("x", 5, 2), pa.decimal128(9, 2), False),
        (windows.delta("x", 2**62, 2), pa.int64(), False),
        (windows.delta("x", 5, 2**53 + 1), pa.float64(), False),
        (windows.delta("x", np.float32(5), 2), pa.float64(), False),
    ],
)
def test_delta_windows_are_found_on_columns_of_64_bit_numbers(
    window: Window, type_: pa.DataType, on_columns: bool
) -> None:
    assert vectorised(window, pa.schema([("x", type_)])) is on_columns


def test_only_rows_that_numpy_may_see_differently_are_asked_one_by_one() -> None:
    seen: list[Any] = []

    def steep(row: Any) -> Any:
        seen.append(row)
        return row.a * 3 == 6

    rows = pa.table({"a": [2, 2**62, None, 5]})
    with pytest.raises(PredicateError, match=r"raised TypeError.*called with Row\(a=None\)"):
        _truths(windows.threshold(steep), layout_of(rows))
    assert [row["a"] for row in seen[1:]] == [2**62, None]
    seen.clear()
    assert _truths(windows.threshold(steep), layout_of(rows.slice(0, 2))).tolist() == [1, 0]
    assert len(seen) == 2


def test_a_division_by_zero_is_blamed_on_its_row() -> None:
    window = windows.punctuated(lambda row: row.a % row.b == 0)
    rows = pa.table({"a": [2, 3], "b": [2, 0]})
    with pytest.raises(PredicateError, match=r"ZeroDivisionError.*called with Row\(a=3, b=0\)"):
        _truths(window, layout_of(rows))


QUICK = [
    windows.delta("x", 40, 7),
    windows.delta("x", 40, 7, closed="right"),
    windows.delta("x", 40.5, 6.5),
    windows.delta("f", 40, 7.5),
    windows.threshold(lambda row: (row.x % 10 > 3) & (row.word != "b")),
    windows.punctuated(lambda row: row.x % 10 == 0),
]


@pytest.mark.parametrize("window", QUICK, ids=str)
def test_no_event_becomes_an_object_where_columns_suffice(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, count = np.random.default_rng(1), 2_000
    x = np.cumsum(random.integers(0, 3, count))
    table = pa.table(
        {
            "k": random.integers(0, 50, count).astype(str),
            "t": np.arange(count),
            "e": np.arange(count),
            "x": pa.array([None if n % 97 == 0 and "delta" in str(window) else int(v)
                           for n, v in enumerate(x)]),
            "f": x / 2,
            "word": np.array(["a", "b"])[random.integers(0, 2, count)],
        }
    )  # fmt: skip
    types = {field.name: field.type for field in table.schema if field.name not in "kt"}
    arrivals = [
        Arrival(row["t"], row["k"], {name: row[name] for name in types}) for row in table.to_pylist()
    ]
    batches = [Batch(tuple(arrivals[at : at + 500])) for at in range(0, count, 500)]
    query = Query((window,), AGGREGATES)
    oracle = evaluate(query, [Batch(tuple(arrivals))])

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("an event became an object")

    monkeypatch.setattr(Layout, "events", refuse)
    monkeypatch.setattr(row_predicates, "holds", refuse)
    bounded = sash.stream(table, time="t", key="k").window(window).agg(**AGGREGATES)
    assert rows_of(bounded.collect(), AGGREGATES) == expected_rows(oracle.reports, AGGREGATES, named=False)
    bound = BoundQuery(query, table_of([], types).schema, "t", ("k",))
    runtime = Runtime(bound, ways=ALWAYS_REBUILT, types=types)
    steps = [runtime.step(batch) for batch in batches]
    emitted = sorted((row for reports, _ in [*steps, runtime.flush()] for row in reports), key=repr)
    assert len(emitted) > 100
    assert emitted == expected(bound, oracle.reports)
