"""The condition of an aggregate: three truths, from a function or from text."""

from __future__ import annotations

import pickle

import pytest

from sash.errors import ArgumentError, PredicateError
from sash.semantics.condition import condition


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda row: row.x > 1, "x > 1"),
        (lambda row: (row.x > 1) & (row.k == "a"), "x > 1 and k == 'a'"),
        (lambda row: (row.x > 1) | row.flag, "x > 1 or flag"),
        (lambda row: (0 < row.x) & (row.x <= 9), "0 < x <= 9"),  # noqa: SIM300
        (lambda row: (row.k == "a") | (row.k == "b"), "k in ('a', 'b')"),
        (lambda row: (row.k != "a") & (row.k != "b"), "k not in ['a', 'b']"),
        (lambda row: abs(row.x - row.y) * 2 >= -3, "abs(x - y) * 2 >= -3"),
        (lambda row: row.x == None, "x is None"),  # noqa: E711
        (lambda row: row.x != None, "x is not None"),  # noqa: E711
    ],
)
def test_a_function_and_its_text_are_the_same_condition(function, text):
    made = condition(function)
    assert made == condition(text)
    assert hash(made) == hash(condition(text))
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("text", "row", "true"),
    [
        ("x > 1", {"x": 2}, True),
        ("x > 1", {"x": None}, False),
        ("x != 1", {"x": None}, False),
        ("x > 1 or y > 1", {"x": None, "y": 2}, True),
        ("x > 1 or y > 1", {"x": None, "y": 1}, False),
        ("(x > 1 and y > 1) == False", {"x": None, "y": 1}, True),
        ("(x > 1 and y > 1) == False", {"x": None, "y": 2}, False),
        ("x + 1 > y", {"x": None, "y": 0}, False),
        ("x / y > 1", {"x": None, "y": 0}, False),
        ("x is None", {"x": None}, True),
        ("x is not None", {"x": None}, False),
        ("x + y is None", {"x": None, "y": 1}, True),
        ("flag", {"flag": True}, True),
        ("flag", {"flag": None}, False),
        ("k in ('a', 'b')", {"k": "b"}, True),
        ("k not in ('a', 'b')", {"k": None}, False),
    ],
)
def test_a_null_is_neither_true_nor_false_and_does_not_count(text, row, true):
    assert condition(text).holds(row) is true


def test_a_condition_is_shown_as_it_would_be_written():
    assert str(condition(lambda row: (row["a b"] > 1) & (abs(row.x) % 3 == 0))) == (
        "(row['a b'] > 1) & ((abs(x) % 3) == 0)"
    )
    assert condition("x > 1 or y == k").columns == ("x", "y", "k")
    assert condition(None) is None


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (5, r"where must be a condition such as lambda row: .*; got 5"),
        (lambda row: row.x > 1 and row.y > 1, r"it uses `and`.*Write & and \|"),
        (lambda row: row.x is None, r"a null is tested for with `== None`"),
        (lambda row: (row.x is None) | (row.y > 1), r"a null is tested for with `== None`"),
        (lambda row: row.x.startswith("a"), r"cannot become a condition on columns"),
        (lambda row: row.x == [1], r"\[1\] is no single value"),
        (lambda row: True, r"the same for all rows"),
        ("1 < 2", r"the same for all rows"),
        ("x >", r"cannot be read: invalid syntax"),
        ("not x", r"'not x' has no meaning.*`x == False` for not x"),
        ("not x > 1", r"`x <= 1` for not x > 1"),
        ("x is null", r"Write `x is None` for IS NULL\."),
        ("x IS NOT NULL", r"Write `x is not None` for IS NOT NULL\."),
        ("x = 3", r"Write `==` for =\."),
        ("x <> 3", r"Write `!=` for <>\."),
        ("x > 1 AND y > 1", r"Write `and`, `or` and `in`, in small letters\."),
        ("x BETWEEN 1 AND 2", r"Write `1 <= x <= 2` for BETWEEN"),
        ("f(x) > 1", r"'f\(x\)' has no meaning"),
        ("x in y", r"'x in y' has no meaning"),
        ("x is 3", r"'x is 3' has no meaning"),
        ("__import__('os')", r"has no meaning"),
    ],
)
def test_what_is_no_condition_over_columns_is_refused(where, message):
    with pytest.raises(ArgumentError, match=message):
        condition(where)


def test_a_condition_that_cannot_be_computed_names_the_row():
    with pytest.raises(PredicateError, match=r"where=\(x / y\) > 1 raised ZeroDivisionError.*'y': 0"):
        condition("x / y > 1").holds({"x": 1, "y": 0, "z": 5})
    with pytest.raises(PredicateError, match="must return True or False; it returned 3"):
        condition("x").holds({"x": 3})
