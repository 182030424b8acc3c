"""What is understood of a predicate: its tree, the strategy that follows, and what is refused."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, PredicateError, SashWarning, UnitError, UnknownColumn, Unsupported
from sash.operators.joins.state.side_shares import JoinStore
from sash.semantics.expression import Column, Constant, Operation, Side, Untraceable, trace
from tests.joins.streams import FUNCTIONS, INTERPRETED, TRACED, bound

HERE = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
BIG = 2**62


def table(**columns: Any) -> pa.Table:
    count = len(next(iter(columns.values())))
    return pa.table({"t": pa.array(np.arange(count)), **columns})


def joined(left: pa.Table, right: pa.Table, where: Any, **options: Any) -> Any:
    streams = [sash.stream(data, time="t") for data in (left, right)]
    return streams[0].join(streams[1], within=100, where=where, **options)


def test_operators_between_columns_become_a_tree() -> None:
    tree = trace(lambda a, b: np.int64(10) >= abs(a.x - b["y"]), ["x"], ["y"])
    distance = Operation("-", (Column(Side.LEFT, "x"), Column(Side.RIGHT, "y")))
    assert tree == Operation("<=", (Operation("abs", (distance,)), Constant(10)))


@pytest.mark.parametrize(
    "where",
    [
        lambda a, b: a.x > 1 and b.y > 1,
        lambda a, b: 1 < a.x < 3,
        lambda a, b: b.y if a.x else a.x,
        lambda a, b: a.x in (1, 2),
        lambda a, b: float(a.x) > 1,
        lambda a, b: len(list(a)) == 1,
        lambda a, b: not a.x,
    ],
)
def test_what_asks_a_symbol_for_its_truth_or_value_is_not_traceable(where: Any) -> None:
    with pytest.raises(Untraceable):
        trace(where, ["x"], ["y"])


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(side: str) -> None:
    where = (lambda a, b: a.pric == 1) if side == "left" else (lambda a, b: b.pric == 1)
    with pytest.raises(
        UnknownColumn, match=rf"in the {side} row: there is no column 'pric'\. Did you mean 'price'"
    ):
        joined(table(price=[1]), table(price=[1]), where)


@pytest.mark.parametrize(
    "where", [lambda a, b: a.x - b.x, lambda a, b: (a.x == 1) & b.x, lambda a, b: "yes"]
)
def test_a_predicate_that_does_not_answer_with_a_bool_is_refused_before_anything_runs(where: Any) -> None:
    with pytest.raises(PredicateError, match=r"must return True or False.*\['t', 'x'\]"):
        joined(table(x=[1]), table(x=[1]), where)


def test_a_function_that_does_not_answer_with_a_bool_is_refused_when_it_is_asked() -> None:
    with (
        pytest.warns(SashWarning, match="returns int64, not a bool"),
        pytest.raises(PredicateError, match=r"it returned 1 for left Row\(t=0, x=1\)"),
    ):
        joined(table(x=[1]), table(x=[1]), lambda a, b: a.x if a.x else b.x).collect()


@pytest.mark.parametrize("where", [lambda a, b: a.x // b.x == 1, lambda a, b: a.x // b.x == 1 and a.x > 0])
def test_an_error_in_machine_code_is_told_with_the_rows(where: Any) -> None:
    with pytest.raises(PredicateError, match=r"ZeroDivisionError.*left Row\(t=0, x=1\) and right Row\(t=0"):
        joined(table(x=[1]), table(x=[0]), where).collect()


@pytest.mark.parametrize(
    ("name", "keys", "how"),
    [
        ("a band", False, "band cells"), ("a band", True, "hash"), ("an equality", False, "hash"),
        ("an equality of words", False, "hash"), ("two bands", False, "band cells"),
        ("theta", False, "join matrix"), ("either", False, "join matrix"),
        ("no condition", True, "hash"),
    ],
)  # fmt: skip
def test_the_strategy_follows_from_keys_and_predicate(name: str, keys: bool, how: str) -> None:
    assert bound(TRACED[name], within=5, keys=keys).strategy.how == how


@pytest.mark.parametrize("name", [*TRACED, *FUNCTIONS])
def test_predicates_over_numbers_run_as_machine_code(name: str) -> None:
    where = (TRACED | FUNCTIONS)[name]
    assert JoinStore(bound(where, within=5, keys=False)).why_interpreted == ""


@pytest.mark.parametrize("name", INTERPRETED)
def test_what_cannot_be_compiled_is_interpreted_and_said_so(name: str) -> None:
    with pytest.warns(SashWarning, match="predicate of the join cannot be compiled and is interpreted"):
        JoinStore(bound(INTERPRETED[name], within=5, keys=False))


@pytest.mark.parametrize(
    "where",
    [
        lambda a, b: abs(a.x - b.x) <= 3,
        lambda a, b: a.x * b.x < 0,
        lambda a, b: (a.x + b.x + a.x) > 2**61,
        lambda a, b: a.x + b.x > 0 and a.x != b.x,
    ],
)
def test_oracle_integers_that_could_leave_64_bits_are_compared_exactly(where: Any) -> None:
    values = [-BIG * 2, 1 - BIG * 2, -BIG, -3, 0, 2, BIG, BIG * 2 - 1]
    x = table(x=pa.array(values, pa.int64()))
    found = [(row["x_left"], row["x_right"]) for row in joined(x, x, where).collect().to_pylist()]
    rows = [sash.semantics.event.Row({"x": value}) for value in values]
    assert sorted(found) == sorted((a.x, b.x) for a in rows for b in rows if where(a, b))


def test_times_are_compared_with_each_other_and_with_lengths_of_time() -> None:
    at = pa.array([HERE + dt.timedelta(seconds=n) for n in range(5)], pa.timestamp("us", "UTC"))
    sent = table(at=at)
    where = lambda a, b: (a.at < b.at) & (b.at - a.at <= dt.timedelta(seconds=2))  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = joined(sent, sent, where).collect()
    pairs = zip(found["t_left"].to_pylist(), found["t_right"].to_pylist(), strict=True)
    assert sorted(pairs) == [(a, b) for a in range(5) for b in range(5) if a < b <= a + 2]


def test_not_a_number_matches_nothing_and_zero_has_no_sign() -> None:
    x = table(x=[float("nan"), 0.0, -0.0, float("inf")])
    for where in (lambda a, b: a.x == b.x, lambda a, b: abs(a.x - b.x) <= 0.5):
        found = joined(x, x, where).collect()
        pairs = set(zip(found["t_left"].to_pylist(), found["t_right"].to_pylist(), strict=True))
        zeros = {(a, b) for a in (1, 2) for b in (1, 2)}
        assert pairs == zeros | ({(3, 3)} if where(_Row(float("inf")), _Row(float("inf"))) else set())


class _Row:
    def __init__(self, x: float) -> None:
        self.x = x


def test_columns_of_one_name_get_the_suffix_of_their_side() -> None:
    left = pa.table({"k": ["a"], "t": [1], "x": [1], "time": [5]})
    right = pa.table({"key": ["a"], "t": [2], "x": [2], "k": [7]})
    streams = sash.stream(left, time="t", key="k"), sash.stream(right, time="t", key="key")
    assert streams[0].join(streams[1], within=5).collect().to_pylist() == [
        {
            "k": "a",
            "time": 2,
            "t_left": 1,
            "x_left": 1,
            "time_left": 5,
            "t_right": 2,
            "x_right": 2,
            "k_right": 7,
        }
    ]
    with pytest.raises(ArgumentError, match="such that 'k' names one column only"):
        streams[0].join(streams[1], within=5, suffixes=("", ""))


def test_streams_that_do_not_fit_together_are_refused() -> None:
    ticks, stamps = (
        pa.table({"t": [1], "k": [1]}),
        pa.table({"t": pa.array([1], pa.timestamp("us")), "k": ["a"]}),
    )
    one = sash.stream(ticks, time="t")
    with pytest.raises(ArgumentError, match="of one kind on both sides"):
        one.join(sash.stream(stamps, time="t"), within=5)
    with pytest.raises(UnitError, match="write integers, for `within` and for delays"):
        one.join(one, within="5 seconds")
    with pytest.raises(ArgumentError, match="as many columns on the left as on the right"):
        one.join(sash.stream(ticks, time="t", key="k"), within=5)
    words = pa.table({"t": [1], "k": ["a"]})
    with pytest.raises(ArgumentError, match="columns of one type for k = k"):
        sash.stream(ticks, time="t", key="k").join(sash.stream(words, time="t", key="k"), within=5)
    with pytest.raises(Unsupported, match="left out for a join"):
        one.join(sash.stream(ticks, time="t", allowed_lateness=5), within=5)
    with pytest.raises(Unsupported, match="'event-time' for a join"):
        sash.stream(ticks, time="t", order="arrival").join(one, within=5)
    with pytest.raises(ArgumentError, match="other must be a stream"):
        one.join(ticks, within=5)
    with pytest.raises(ArgumentError, match="'left' or 'right'"):
        one.join(one, within=5).late("middle")
    with pytest.raises(ArgumentError, match="a positive number of workers"):
        one.join(one, within=5).parallel(0)
    with pytest.raises(Unsupported, match="a number of workers, 'auto' or WinSeq"):
        one.join(one, within=5).parallel(sash.WinFarm(2))


def test_parallel_takes_what_it_takes_on_windows() -> None:
    query = joined(table(x=[1]), table(a=[1]), None)
    for workers, shares in ((3, 3), (sash.Auto(cores=2), 2), (sash.WinSeq(), 1)):
        assert query.parallel(workers).runtime.shares == shares
    assert query.parallel("auto").collect().equals(query.collect())


def test_answers_have_the_form_of_the_left_input_and_rows_without_a_time_are_late() -> None:
    import pandas as pd

    frame = pd.DataFrame({"t": pd.array([1, None], "Int64"), "x": [1, 2]})
    query = sash.stream(frame, time="t").join(sash.stream(frame, time="t"), within=5)
    assert isinstance(query.dataframe(), pd.DataFrame)
    assert query.late("left").dataframe()["late_reason"].tolist() == ["time is null"]
    assert query.late("right").collect()["x"].to_pylist() == [2]


def test_explain_says_what_is_meant_and_how_candidates_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = joined(table(x=[1]), table(a=[1]), lambda l, r: abs(l.x - r.a) <= 10).parallel(2).explain()  # noqa: E741
    assert "|τ_l − τ_r| ≤ 100, and (abs((left.x - right.a)) <= 10)" in text
    assert (
        "band cells: |left.x - right.a| ≤ 10 puts all rows that can match into neighbouring cells" in text
    )
    assert "\nruns     in this process, 2 shares in threads\n" in text
    assert text in capsys.readouterr().out
    explained = joined(table(x=[1]), table(a=[1]), lambda a, b: a.x > 1 and b.a > 1).explain()
    assert "evaluated row by row: it uses `and`" in explained


@pytest.mark.parametrize(
    ("where", "left", "right"),
    [
        # The product is one above the constant; as a float it would be equal to it.
        (lambda a, b: a.x * b.x > 2.0**60 + 2.0**31, 2**30 + 1, 2**30 + 1),
        # Bits that are joined make numbers greater than either: the product needs 64 of them.
        (lambda a, b: (a.x | 2**31 - 1) * (b.x | 2**31 - 1) > 0, 2**31, 2**31),
        (lambda a, b: a.x * b.x + (2**62 - 1) > 0, 2**31, 2**31),
    ],
)
def test_integers_that_64_bits_or_a_float_would_change_are_compared_by_python(
    where: Any, left: int, right: int
) -> None:
    assert joined(table(x=[left]), table(x=[right]), where).collect().num_rows == 1


def test_a_constant_that_is_no_float_is_compared_with_fractions_by_python() -> None:
    query = joined(table(x=[2.0**60]), table(x=[1]), lambda a, b: (a.x < 2**60 + 1) & (b.x > 0))
    with pytest.warns(SashWarning, match="too large for 64 bits"):
        pairs = query.collect()
    assert pairs.num_rows == 1


def test_a_predicate_that_handles_every_exception_of_its_own_is_not_half_traced() -> None:
    def broad(a: Any, b: Any) -> Any:
        try:
            great = bool(a.x > 1)
        except Exception:
            great = False
        return (b.x > 1) & great

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SashWarning)
        assert joined(table(x=[2]), table(x=[2]), broad).collect().num_rows == 1
    with pytest.raises(Untraceable, match="the text of a value"):
        trace(lambda a, b: f"{a.x}" == b.y, ["x"], ["y"])
