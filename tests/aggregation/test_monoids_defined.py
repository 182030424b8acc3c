"""Monoids that users define: what becomes of them, and the errors when they are wrong."""

# ruff: noqa: N805  (the functions of a monoid have no self)
from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from sash.aggregation.define import monoid
from sash.errors import ArgumentError
from sash.semantics.monoid import fold
from sash.testing import laws
from tests.aggregation import values_of_monoids

Vwap = monoid(commutative=True)(values_of_monoids.Vwap)


@monoid(commutative=True, invertible=True, nothing=0)
class Total:
    def identity():
        return 0

    def combine(a, b):
        return a + b

    def inverse(total, oldest):
        return total - oldest


@monoid(commutative=True, idempotent=True, result=pa.list_(pa.string()))
class Words:
    def identity():
        return frozenset()

    def lift(text):
        return frozenset(text.split())

    def combine(a, b):
        return a | b

    def lower(words):
        return sorted(words)

    def encode(words):
        return "\n".join(sorted(words)).encode()

    def decode(data):
        return frozenset(data.decode().split("\n")) - {""}


ROWS = [{"price": 10.0, "size": 1.0}, {"price": 20.0, "size": 3.0}, {"price": None, "size": 5.0}]


def test_a_definition_becomes_an_aggregate_over_its_columns():
    assert fold(Vwap("price", "size"), ROWS) == 17.5
    assert Vwap.__doc__ == "Volume-weighted average price."
    vwap = Vwap("price", "size")
    assert (vwap.name, vwap.columns, vwap.commutative, vwap.columnar) == (
        "Vwap",
        ("price", "size"),
        True,
        True,
    )
    assert not vwap.invertible


def test_one_column_is_lifted_to_itself_and_an_element_lowered_to_itself():
    total = Total("x")
    assert fold(total, [{"x": 2}, {"x": 3}]) == 5
    assert fold(total, []) == 0
    assert total.invertible


def test_objects_are_elements_when_they_bring_their_codec():
    assert fold(Words("t"), [{"t": "b a"}, {"t": "a c"}]) == ["a", "b", "c"]
    assert not Words("t").columnar


def test_the_laws_take_a_definition_as_it_is():
    assert laws(Vwap, [(1.0, 2.0), (3.0, 4.0), (0.5, 8.0)]) > 0
    assert laws(Total, [1, 2, 3]) > 0
    assert laws(Words, ["a b", "", "c"]) > 0


def test_the_decorator_works_without_parentheses():
    @monoid
    class Longest:
        def identity():
            return 0

        def combine(a, b):
            return max(a, b)

    assert fold(Longest("x"), [{"x": 1}, {"x": 4}]) == 4


def test_static_methods_and_underscored_functions_are_welcome():
    @monoid()
    class Both:
        _limit = 3

        @staticmethod
        def identity():
            return 0

        @staticmethod
        def combine(a, b):
            return a + b

        def _half(x):
            return x

    assert fold(Both("x"), [{"x": 1}]) == 1


def test_a_definition_that_takes_any_number_of_columns():
    @monoid(commutative=True)
    class Filled:
        def identity():
            return 0

        def lift(*values):
            return len(values)

        def combine(a, b):
            return a + b

    assert fold(Filled("x", "y", "z"), [{"x": 1, "y": 2, "z": 3}]) == 3


def test_a_defined_monoid_survives_a_trip_to_another_process():
    copy = cloudpickle.loads(cloudpickle.dumps(Vwap("price", "size")))
    assert fold(copy, ROWS) == 17.5


def test_the_result_type_is_found_from_a_sample_event():
    assert Vwap("p", "s").result((pa.float64(), pa.int32())) == pa.float64()
    assert Total("x").result((pa.int16(),)) == pa.int64()
    assert Total("x").result((pa.timestamp("us"),)) == pa.int64()
    assert Words("t").result((pa.string(),)) == pa.list_(pa.string())


def test_a_result_type_that_a_sample_cannot_tell_is_asked_for():
    with pytest.raises(ArgumentError, match=r"^Words2\.lift\(1\) raised TypeError: .* result type\)$"):
        defined("Words2", lift=lambda x: len(x)).result((pa.int64(),))
    with pytest.raises(ArgumentError, match="there is no sample value of that type"):
        defined("Nested").result((pa.list_(pa.int64()),))
    with pytest.raises(ArgumentError, match="gave a null"):
        defined("Null", lower=lambda e: None).result((pa.int64(),))


def test_a_result_type_may_depend_on_the_columns():
    kept = defined("Kept", options={"result": lambda types: types[0]})
    assert kept.result((pa.date32(),)) == pa.date32()


def defined(name, *, without=(), options=None, **functions):
    """A monoid made from keyword functions instead of a class body."""
    body = {"identity": lambda: 0, "combine": lambda a, b: a + b, **functions}
    kept = {key: function for key, function in body.items() if key not in without}
    return monoid(**(options or {}))(type(name, (), kept))("x")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"without": ["combine"]},
            r"the functions of M must be at least .* add `combine`; got \['identity'\]",
        ),
        ({"without": ["identity"]}, r"add `identity`"),
        (
            {"combin": lambda a, b: a},
            r"a function of M must be one of .*; got 'combin'. Did you mean 'combine'\?",
        ),
        ({"zzz": lambda: 1}, r"got 'zzz'. Private functions start with an underscore"),
        ({"combine": lambda a: a}, r"M.combine must be a function of 2 parameters; got '\(a\)'"),
        (
            {"identity": lambda self: 0},
            r"M.identity must be a function of 0 parameters.*There is no `self`",
        ),
        ({"lower": lambda a, b: a}, r"M.lower must be a function of 1 parameter; got '\(a, b\)'"),
        ({"options": {"invertible": True}}, r"invertible of M must be False, or be accompanied by"),
        (
            {"inverse": lambda a, b: a - b},
            r"invertible of M must be True, because there is a function `inverse`",
        ),
        (
            {"identity": list},
            r"M.identity\(\) must be a number.*got \[\].*need encode.*nothing is ever pickled",
        ),
        ({"identity": lambda: None}, r"M.identity\(\) must be a number"),
        ({"identity": lambda: (0, (1, 2))}, r"M.identity\(\) must be .* a flat tuple"),
        ({"encode": lambda e: b""}, r"the functions of M must be with both encode and decode, or neither"),
        ({"options": {"result": "double"}}, r"result of M must be an Arrow type such as pa.float64\(\)"),
    ],
)
def test_a_wrong_definition_is_refused_where_it_is_written(wrong, message):
    with pytest.raises(ArgumentError, match=message):
        defined("M", **wrong)


@pytest.mark.parametrize("columns", [("price",), ("a", "b", "c"), ()])
def test_the_columns_have_to_match_the_parameters_of_lift(columns):
    with pytest.raises(
        ArgumentError, match=r"columns of Vwap must be 2 names, one for each of \(price, size\)"
    ):
        Vwap(*columns)


def test_columns_are_names():
    with pytest.raises(ArgumentError, match="columns of Total must be column names, as strings"):
        Total(3)
