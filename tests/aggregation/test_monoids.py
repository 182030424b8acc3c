"""Every exported monoid, found by itself: laws, groupings, nulls, types, copies."""

from __future__ import annotations

import inspect
import math
import random
from functools import reduce

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyspark import cloudpickle

from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.errors import NotCommutative, NotInvertible, Unsupported
from sash.semantics.monoid import fold
from sash.testing import laws
from sash.testing.sameness import same, scale_of

from .every_monoid import BOUND, CALLS, UNBOUND, build, rows, slack

steady = settings(max_examples=12, deadline=None, derandomize=True)

SPECIALISED = [label for label, (monoid, _) in BOUND.items() if monoid.unbound]
ARROW = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def _takes_text(monoid: Monoid) -> bool:
    try:
        monoid.lift(*["a"] * len(monoid.columns))
    except Unsupported:
        return False
    return True


TEXT = {label: monoid for label, monoid in UNBOUND.items() if monoid.columns and _takes_text(monoid)}


@pytest.mark.parametrize("label", BOUND)
@steady
@given(data=st.data())
def test_every_typed_monoid_keeps_its_laws(label, data):
    monoid, kinds = BOUND[label]
    samples = data.draw(st.lists(rows(monoid, kinds), min_size=1, max_size=4))
    assert laws(monoid, samples, absolute=slack(monoid)) > 0


@pytest.mark.parametrize("label", SPECIALISED)
@steady
@given(data=st.data())
def test_every_unbound_monoid_keeps_its_laws_on_plain_python_values(label, data):
    unbound, kinds = BOUND[label][0].unbound, BOUND[label][1]
    samples = data.draw(st.lists(rows(unbound, kinds), min_size=1, max_size=3))
    assert laws(unbound, samples, absolute=slack(unbound)) > 0


@pytest.mark.parametrize("label", TEXT)
@steady
@given(data=st.data())
def test_every_monoid_that_takes_text_keeps_its_laws_on_text(label, data):
    monoid = TEXT[label].bind(("object",) * len(TEXT[label].columns))
    row = st.tuples(*(st.text(max_size=3) for _ in monoid.columns))
    assert laws(monoid, data.draw(st.lists(row, min_size=1, max_size=3))) > 0


@pytest.mark.parametrize("label", BOUND)
@steady
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_differential_any_grouping_gives_the_result_of_the_fold_from_the_left(label, data, seed):
    monoid, kinds = BOUND[label]
    inputs = data.draw(st.lists(rows(monoid, kinds), min_size=1, max_size=30))
    elements = [monoid.lift(*row) for row in inputs]
    grouped = _value(monoid, _grouped(monoid, elements, random.Random(seed)))
    straight = _value(monoid, reduce(monoid.combine, elements))
    scale = scale_of(*(part for row in inputs for part in row))
    assert same(straight, grouped, scale=scale, absolute=slack(monoid))


def _grouped(monoid, elements, rng):
    if len(elements) == 1:
        return elements[0]
    cut = rng.randrange(1, len(elements))
    return monoid.combine(_grouped(monoid, elements[:cut], rng), _grouped(monoid, elements[cut:], rng))


def _value(monoid, element):
    try:
        return monoid.lower(element)
    except OverflowError:
        return "overflow"


@pytest.mark.parametrize("label", SPECIALISED)
@steady
@given(data=st.data())
def test_differential_bound_and_unbound_forms_agree(label, data):
    bound, kinds = BOUND[label]
    inputs = data.draw(st.lists(rows(bound, kinds), min_size=1, max_size=8))
    results = [
        _value(form, reduce(form.combine, [form.lift(*row) for row in inputs]))
        for form in (bound, bound.unbound)
    ]
    assert same(*results, relative=1e-12)


@pytest.mark.parametrize("label", UNBOUND)
def test_events_with_a_null_in_any_input_column_are_skipped(label):
    monoid = UNBOUND[label]
    if not monoid.columns:
        return
    full = [dict.fromkeys(monoid.columns, value) for value in (3, 1, 2)]
    holes = [{**full[0], column: None} for column in monoid.columns]
    assert fold(monoid, [holes[0], *full, *holes]) == fold(monoid, full)
    assert fold(monoid, holes) == monoid.nothing == fold(monoid, [])


def test_only_counts_and_lists_have_a_value_when_nothing_is_there():
    with_value = {label: m.nothing for label, m in UNBOUND.items() if m.nothing is not None}
    empty_lists = [
        "collect", "first-2-True", "first-3", "frequent_items", "histogram-4", "last-2-True", "last-3",
        "skyline-min", "skyline-('max', 'min')", "top_k",
    ]  # fmt: skip
    zeros = ["count", "count-all", "count_distinct", "distinct"]
    assert with_value == {
        **dict.fromkeys(zeros, 0),
        **{label: [] for label in empty_lists},
        "histogram-(-2, 0, 0.5, 100)": (0, 0, 0),
    }


@pytest.mark.parametrize("label", BOUND)
def test_a_compiled_loop_can_lower_the_identity_of_every_columnar_monoid(label):
    monoid, _ = BOUND[label]
    if monoid.columnar:
        monoid.lower(monoid.identity())


@pytest.mark.parametrize("label", BOUND)
@steady
@given(data=st.data())
def test_typed_elements_are_flat_and_of_one_type_per_field(label, data):
    monoid, kinds = BOUND[label]
    if not monoid.columnar:
        return
    inputs = data.draw(st.lists(rows(monoid, kinds), min_size=2, max_size=4))
    elements = [monoid.lift(*row) for row in inputs]
    elements += [monoid.identity(), reduce(monoid.combine, elements)]
    types = {tuple(map(type, e)) if isinstance(e, tuple) else type(e) for e in elements}
    assert len(types) == 1
    assert set(types.pop() if isinstance(elements[0], tuple) else types) <= {int, float, bool}


@pytest.mark.parametrize("label", BOUND)
@steady
@given(data=st.data())
def test_values_fit_the_arrow_type_that_the_monoid_announces(label, data):
    monoid, kinds = BOUND[label]
    announced = monoid.result(tuple(ARROW[kind] for kind in kinds))
    inputs = data.draw(st.lists(rows(monoid, kinds), min_size=1, max_size=4))
    value = _value(monoid, reduce(monoid.combine, [monoid.lift(*row) for row in inputs]))
    if value != "overflow":
        assert pa.scalar(value, announced).type == announced
        assert pa.scalar(monoid.nothing, announced).type == announced


@pytest.mark.parametrize("label", BOUND)
def test_every_monoid_survives_a_trip_to_another_process(label):
    monoid, kinds = BOUND[label]
    copy = cloudpickle.loads(cloudpickle.dumps(monoid))
    sample = {"int": 1, "float": 1.0, "bool": True}
    row = [sample[kind] for kind in kinds]
    assert copy.lower(copy.lift(*row)) == monoid.lower(monoid.lift(*row))
    assert copy.name == monoid.name


@pytest.mark.parametrize("name", built_in.__all__)
def test_every_exported_monoid_shows_itself_in_a_doctest(name):
    assert ">>>" in inspect.getdoc(getattr(built_in, name))


@pytest.mark.parametrize("label", UNBOUND)
def test_every_monoid_can_be_a_dictionary_key(label):
    assert {UNBOUND[label]: 1}[UNBOUND[label]] == 1


@pytest.mark.parametrize("label", BOUND)
def test_the_same_columnar_aggregate_is_an_equal_monoid_so_that_it_is_compiled_once(label):
    monoid, kinds = BOUND[label]
    if monoid.columnar and monoid.name != "count":
        name, options = CALLS[label.rsplit("(", 1)[0]]
        again = build(name, **options).bind(kinds)
        assert again == monoid
        assert hash(again) == hash(monoid)


def test_aggregates_of_other_kinds_are_other_monoids():
    variants = [
        built_in.sum("x").bind(("int",)),
        built_in.sum("x").bind(("float",)),
        built_in.sum("y").bind(("int",)),
    ]
    assert len(set(variants)) == 3


def test_the_algebra_that_is_declared():
    declared = {
        label: (m.commutative, m.invertible, m.idempotent) for label, (m, _) in BOUND.items() if m.columnar
    }
    order_aware = {"argmin", "argmax", "first", "last", "longest_increasing_run", "increase", "rate"}
    for label, (commutative, invertible, idempotent) in declared.items():
        name = BOUND[label][0].name
        by_events = name == "ewm" and len(BOUND[label][0].columns) == 1
        assert commutative is not (name in order_aware or by_events), label
        sums = ("sum(int)", "mean(int)", "avg(int)")
        assert invertible is (name in {"count", "histogram"} or label in sums), label
        assert idempotent is (name in {"min", "max", "range", "argmin", "argmax", "first", "last"}), label


def test_a_float_sum_offers_nothing_to_subtract_with():
    with pytest.raises(NotInvertible, match=r"subtract_on_evict .* sum declares no inverse"):
        built_in.sum("x").bind(("float",)).require_inverse("subtract_on_evict")


def test_a_last_value_may_not_be_reordered():
    with pytest.raises(NotCommutative, match="last is not declared commutative"):
        built_in.last("x").require_commutative("shuffling")


def test_binding_again_starts_from_the_unbound_monoid():
    rebound = built_in.sum("x").bind(("int",)).bind(("float",))
    assert rebound.inverse is None
    assert rebound.plain is None
    assert built_in.max("x").bind(("int",)).bind(("object",)).identity() is None


@pytest.mark.parametrize("name", ["sum", "mean", "min", "first", "distinct"])
def test_a_column_is_given_by_its_name(name):
    with pytest.raises(ValueError, match=r"column must be the name of a column; got 3"):
        getattr(built_in, name)(3)


def test_nan_is_the_largest_value_everywhere():
    rows = [{"x": x, "i": i} for i, x in enumerate([1.0, math.nan, math.inf, -math.inf])]
    assert math.isnan(fold(built_in.max("x"), rows))
    assert fold(built_in.min("x"), rows) == -math.inf
    assert fold(built_in.argmax("i", "x"), rows) == 1
    assert math.isnan(fold(built_in.quantile("x", 1.0), rows))
    assert fold(built_in.quantile("x", 0.75), rows) == math.inf
    assert same(fold(built_in.top_k("x", 2), rows), [math.nan, math.inf])
    assert fold(built_in.longest_increasing_run("x"), rows) == 2
