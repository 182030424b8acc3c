"""A user's functions: called with rows, and named in the error when they fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sash.errors import DataError, PredicateError, UnknownColumn
from sash.semantics.event import sequence
from sash.semantics.monoid import fold
from sash.semantics.windows import delta, policy, punctuated, threshold
from tests.semantics.strategies import COLLECT, LAST, NUMBER, SUM

BOTH = pytest.mark.parametrize("kind", [threshold, punctuated])
NOT_BOOLS = [1, 0, "yes", [], [True], np.array([True]), float("nan")]


@BOTH
def test_a_predicate_that_raises_is_blamed_with_the_row_that_it_could_not_answer_for(kind: Any) -> None:
    window = kind(lambda row: row.x > 3)
    with pytest.raises(PredicateError) as blamed:
        list(window.extents(sequence([1, 2], x=[7, None])))
    message = str(blamed.value)
    assert f"the predicate of {window} raised TypeError" in message
    assert "Row(x=None)" in message
    assert isinstance(blamed.value.__cause__, TypeError)


@BOTH
@pytest.mark.parametrize("answer", NOT_BOOLS, ids=repr)
def test_a_predicate_that_answers_with_something_else_than_a_bool_is_refused(
    kind: Any, answer: Any
) -> None:
    window = kind(lambda row: answer)
    with pytest.raises(PredicateError) as blamed:
        list(window.extents(sequence([1], x=[7])))
    message = str(blamed.value)
    assert f"the predicate of {window} must return True or False" in message
    assert f"it returned {answer!r} for Row(x=7)" in message


@BOTH
def test_a_predicate_that_asks_for_another_column_is_told_the_nearest(kind: Any) -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'price'"):
        list(kind(lambda row: row.prize > 3).extents(sequence([1], price=[7])))


@pytest.mark.parametrize("true", [True, np.True_])
@pytest.mark.parametrize("false", [False, np.False_, None])
def test_bools_of_numpy_are_bools_and_null_is_false(true: Any, false: Any) -> None:
    window = threshold(lambda row: row.x)
    found = window.extents(sequence(range(4), x=[true, false, true, true]))
    assert [(extent.lo, extent.hi) for extent in found] == [(0, 1), (2, 4)]


def test_a_row_is_read_by_attribute_or_by_name() -> None:
    row = sequence([1], price=[7], values=[8])[0].row
    assert (row.price, row["price"], row["values"]) == (7, 7, 8)
    assert dict(row) == {"price": 7, "values": 8}
    assert len(row) == 2
    with pytest.raises(UnknownColumn, match="there is no column"):
        row["volume"]


def test_a_policy_that_raises_is_blamed_with_the_folds_that_it_saw() -> None:
    window = policy(lambda total, old: total.sum > 3, track={"s": SUM})
    with pytest.raises(PredicateError) as blamed:
        list(window.extents(sequence([1], x=[7])))
    assert "the slide policy raised AttributeError" in str(blamed.value)
    assert "namespace(s=7)" in str(blamed.value)


@pytest.mark.parametrize("answer", NOT_BOOLS, ids=repr)
def test_a_policy_that_answers_with_something_else_than_a_bool_is_refused(answer: Any) -> None:
    window = policy(lambda total, old: answer, track={"s": SUM}, every=2)
    with pytest.raises(
        PredicateError, match=r"the predicate of policy\(every 2\) must return True or False"
    ):
        list(window.extents(sequence([1], x=[7])))


def test_delta_refuses_events_that_it_has_not_placed() -> None:
    with pytest.raises(DataError, match="km is a number and never decreases"):
        list(delta("km", 5, 1).extents(sequence([1, 2], km=[7, 3])))


def test_delta_asks_for_a_column_that_is_there() -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'km'"):
        delta("kms", 5, 1).place(sequence([1], km=[7]))


def test_a_fold_skips_nulls_and_is_nothing_when_there_is_nothing_else() -> None:
    rows = [{"e": 1, "x": 2}, {"e": 2, "x": None}, {"e": 3, "x": 5}]
    assert fold(SUM, rows) == 7
    assert fold(LAST, rows) == 5
    assert fold(SUM, [{"x": None}]) is None
    assert fold(SUM, []) is None
    assert fold(COLLECT, []) == ()
    assert fold(COLLECT, rows) == (1, 2, 3)


def test_a_fold_without_columns_sees_every_event() -> None:
    assert fold(NUMBER, [{"x": None}, {"x": 1}]) == 2
    assert fold(NUMBER, []) == 0
