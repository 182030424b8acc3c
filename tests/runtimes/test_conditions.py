"""`where=`: on columns as by definition, and the same in every place where rows are lifted."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import PredicateError, UnknownColumn, Unsupported
from sash.operators.order.interleaved import Input
from sash.operators.predicates import row_predicates
from sash.operators.stateful.aggregate import Aggregate
from sash.semantics.condition import Condition, condition
from sash.semantics.expression import Column, Constant, ExpressionNode, Operation, Side, columns_of
from sash.semantics.monoid import fold
from sash.semantics.reference import Batch, evaluate
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sash.semantics.window import Window

SCHEMA = pa.schema(
    [("i", pa.int64()), ("j", pa.int32()), ("f", pa.float64()), ("b", pa.bool_()), ("s", pa.string())]
)
INTS = st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, 2**53 + 1, 2**62, -(2**63), 2**63 - 1]))
VALUES = {
    "i": INTS,
    "j": st.integers(-3, 3),
    "f": st.one_of(st.integers(-6, 6).map(lambda n: n / 2), st.sampled_from([float("nan"), float("inf")])),
    "b": st.booleans(),
    "s": st.sampled_from(["", "a", "b"]),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), values) for name, values in VALUES.items()}),
    max_size=12,
)


def column(name: str) -> ExpressionNode:
    return Column(Side.LEFT, name)


def pairs(
    operators: list[str], inner: st.SearchStrategy[ExpressionNode]
) -> st.SearchStrategy[ExpressionNode]:
    return st.builds(lambda o, one, two: Operation(o, (one, two)), st.sampled_from(operators), inner, inner)


def equality(name: str, values: st.SearchStrategy) -> st.SearchStrategy[ExpressionNode]:
    constants = values.map(Constant)
    return st.builds(lambda o, c: Operation(o, (column(name), c)), st.sampled_from(["==", "!="]), constants)


NUMBERS: st.SearchStrategy[ExpressionNode] = st.recursive(
    st.one_of(
        st.sampled_from(["i", "j", "f"]).map(column),
        st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 2.0])).map(Constant),
    ),
    lambda inner: st.one_of(
        pairs(["+", "-", "*", "/", "//", "%"], inner),
        st.builds(lambda o, one: Operation(o, (one,)), st.sampled_from(["abs", "-"]), inner),
    ),
    max_leaves=3,
)
TRUTHS: st.SearchStrategy[ExpressionNode] = st.recursive(
    st.one_of(
        pairs(["<", "<=", ">", ">=", "==", "!="], NUMBERS),
        equality("s", VALUES["s"]),
        st.sampled_from(list(VALUES)).flatmap(lambda name: equality(name, st.none())),
        st.just(column("b")),
    ),
    lambda inner: pairs(["&", "|", "^"], inner),
    max_leaves=4,
)


@settings(max_examples=500, deadline=None)
@given(tree=TRUTHS.filter(columns_of), rows=ROWS)
def test_oracle_a_condition_on_columns_is_the_condition_of_each_row(
    tree: ExpressionNode, rows: list
) -> None:
    condition = Condition(tree)
    table = pa.Table.from_pylist(rows, SCHEMA)
    assert _outcome(lambda: row_predicates.condition_truths(condition, table).tolist()) == _outcome(
        lambda: [condition.holds(row) for row in rows]
    )


def _outcome(compute: Callable[[], list[bool]]) -> list[bool] | str:
    try:
        return compute()
    except PredicateError as error:
        return str(error)


def test_nulls_do_not_send_a_condition_to_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"x": pa.array([1, None, 3]), "k": pa.array(["a", "a", None])})
    expected = [condition("x > 0 or k == 'a'").holds(row) for row in table.to_pylist()]
    monkeypatch.setattr(Condition, "holds", None)
    for text in ("x > 0 or k == 'a'", "x is None", "k is not None and x < 2"):
        row_predicates.condition_truths(condition(text), table)
    assert row_predicates.condition_truths(condition("x > 0 or k == 'a'"), table).tolist() == expected


def test_values_that_have_no_kernel_are_compared_as_python_does() -> None:
    table = pa.table(
        {
            "d": pa.array([Decimal("1.5"), None, Decimal("2.5")]),
            "t": pa.array([dt.datetime(2026, 1, day) for day in (1, 2, 3)]),
            "s": ["a", "b", "c"],
        }
    )
    new_year = dt.datetime(2026, 1, 2)
    assert row_predicates.condition_truths(condition("d > 2"), table).tolist() == [False, False, True]
    assert row_predicates.condition_truths(condition("s < 'b'"), table).tolist() == [True, False, False]
    later = condition(lambda row: row.t >= new_year)
    assert row_predicates.condition_truths(later, table).tolist() == [False, True, True]


AGGREGATES = {
    "n": built_in.count(where="x > 4"),
    "nx": built_in.count("x", where=lambda row: row.e % 2 == 0),
    "s": built_in.sum("x", where=lambda row: (row.x < 7) | (row.e > 20)),
    "mean": built_in.avg("x", where="x is not None and x != 3"),
    "latest": built_in.last("e", where="x > 4"),
    "held": built_in.collect("e", where="x > 4"),
    "three": built_in.last("e", 3, where="x < 6"),
    "different": built_in.first("x", 2, distinct=True, where="e > 1"),
    "none": built_in.max("x", where="x > 100"),
}


@settings(max_examples=150, deadline=None)
@given(window_list=st.lists(any_window, min_size=1, max_size=2), stream=arrivals())
def test_oracle_conditional_aggregates_are_those_of_the_reference(window_list: list, stream: list) -> None:
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    table = table_of(stream, {"e": pa.int64(), "x": pa.int64()})
    query = sash.stream(table, time="t", key="k").window(*named).agg(**AGGREGATES)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), AGGREGATES) == expected_rows(
        oracle.reports, AGGREGATES, named=len(named) > 1
    )


def trades() -> pa.Table:
    return pa.table(
        {
            "t": [0, 1, 2, 3, 4, 5],
            "k": ["a", "b", "a", "b", "a", "a"],
            "side": ["buy", "sell", "sell", None, "buy", "buy"],
            "size": [10, 20, None, 40, 50, 60],
        }
    )


@pytest.mark.parametrize(
    "pattern",
    [sash.WinSeq(), sash.KeyFarm(2), sash.WinFarm(2), sash.PaneFarm(2, 2), sash.WinMapReduce(2, 1)],
    ids=str,
)
def test_every_pattern_gives_the_same_answer_under_a_condition(pattern) -> None:
    query = (
        sash.stream(trades(), time="t", key="k")
        .window(sash.sliding(4, every=2))
        .agg(
            n=sash.count(where=lambda row: row.side == "buy"),
            total=sash.sum("size", where=lambda row: (row.side == "buy") | (row.size >= 40)),
        )
    )
    assert query.parallel(pattern).collect().equals(query.collect())


def test_only_the_columns_that_are_lifted_or_asked_about_are_read() -> None:
    table = trades().append_column("other", [range(6)])
    query = (
        sash.stream(table, time="t").window(sash.tumbling(3)).agg(s=sash.sum("size", where="side == 'buy'"))
    )
    assert query.bound.columns == ["t", "side", "size"]
    assert query.collect()["s"].to_pylist() == [10, 110]


def test_a_users_monoid_takes_a_condition_too() -> None:
    @sash.monoid(commutative=True)
    class Total:
        def identity():
            return 0

        def combine(a, b):  # noqa: N805
            return a + b

    query = sash.stream(trades(), time="t").window(sash.tumbling(3)).agg(s=Total("size", where="t != 1"))
    assert query.collect()["s"].to_pylist() == [10, 150]


def test_the_operator_a_plus_honours_conditions_compiled_and_interpreted() -> None:
    source = Input(trades().schema, time="t")
    for held in (sash.max("size", where="side == 'buy'"), sash.max("side", where="size > 15")):
        operator = Aggregate(advance=3, size=3, inputs=source, keys="k", held=held)
        rows = {(row["time"], row["key"]): row["held"] for row in operator.over(trades()).to_pylist()}
        for (end, key), value in rows.items():
            inside = [r for r in trades().to_pylist() if r["k"] == key and end - 3 <= r["t"] < end]
            assert value == fold(held, inside)


@pytest.mark.spark
@pytest.mark.parametrize("window", [sash.sliding(4, every=2), sash.lifetime()], ids=str)
def test_spark_gives_the_same_answer_under_a_condition(spark: SparkSession, window: Window) -> None:
    def query_over(data: Any) -> Any:
        return (
            sash.stream(data, time="t", key="k")
            .window(window)
            .agg(
                n=sash.count(where=lambda row: (row.side == "buy") | (row.size == 40)),
                total=sash.sum("size", where="side is not None"),
                smooth=sash.ewm("size", half_life=2, by="time", where="size > 10"),
                latest=sash.last("size", 2, where="size > 10"),
            )
        )

    found = query_over(spark.createDataFrame(trades())).collect()
    assert found.to_pylist() == query_over(trades()).collect().to_pylist()


def test_explain_and_repr_show_the_condition() -> None:
    query = (
        sash.stream(trades(), time="t")
        .window(sash.tumbling(3))
        .agg(n=sash.count(where=lambda row: (row.side == "buy") & (row.size > 15)))
    )
    shown = "count(where=(side == 'buy') & (size > 15))"
    assert shown in query.explain("plan")
    assert f"n = {shown}" in repr(query)
    assert json.loads(query.explain("json"))["aggregates"][0]["where"] == "(side == 'buy') & (size > 15)"
    assert "count(where=" in query.plan()._repr_html_()


def test_conditions_that_cannot_work_are_refused() -> None:
    stream = sash.stream(trades(), time="t").window(sash.tumbling(3))
    with pytest.raises(UnknownColumn, match="Did you mean 'side'"):
        stream.agg(n=sash.count(where="sde == 'buy'"))
    with pytest.raises(Unsupported, match="each event is weighed"):
        sash.policy(lambda total, old: True, track={"n": sash.count(where="size > 1")})
    with pytest.raises(Unsupported, match="Insert only the values that count"):
        sash.aggregators.TwoStacks(sash.sum("x", where="y > 1")).insert(1)
