"""From inputs to results in one pass: as lift, fold and lower do one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.compiler.numba_compilation import jit_disabled
from sash.aggregation.kernels.folds.range_fold import present, range_fold
from sash.aggregation.kernels.folds.range_values import range_values
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, IntegerOverflow

pytestmark = pytest.mark.skipif(jit_disabled(), reason="all of it is interpreted: there is one way only")

AGGREGATES = {
    "count": (built_in.count(), ()),
    "sum": (built_in.sum("x"), ("float",)),
    "sum of integers": (built_in.sum("x"), ("int",)),
    "max": (built_in.max("x"), ("int",)),
    "first": (built_in.first("x"), ("float",)),
    "stddev": (built_in.stddev("x"), ("float",)),
    "correlation": (built_in.correlation("x", "y"), ("float", "float")),
}


def one_by_one(
    machine: Compiled, inputs: list[Any], valid: Any, lo: Any, hi: Any, groups: Any, n: int
) -> Any:
    folds = range_fold(machine, machine.lift(inputs, valid=valid, n=n), lo, hi, groups=groups)
    return machine.lower(folds, present=present(valid, lo, hi))


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(list(AGGREGATES)), data=st.data())
def test_differential_one_pass_answers_as_three_steps_do(name: str, data: st.DataObject) -> None:
    monoid, kinds = AGGREGATES[name]
    n = data.draw(st.integers(0, 12))
    numbers = {"int": st.integers(-9, 9), "float": st.integers(-9, 9).map(float)}
    inputs = [
        np.array(
            data.draw(st.lists(numbers[kind], min_size=n, max_size=n)),
            np.int64 if kind == "int" else np.float64,
        )
        for kind in kinds
    ]
    mask = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    valid = None if mask is None else np.array(mask, np.bool_)
    cuts = data.draw(st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=8))
    lo = np.array(sorted(min(cut) for cut in cuts), np.int64)
    hi = np.array(sorted(max(cut) for cut in cuts), np.int64)
    groups = np.array([0, len(lo)])
    machine = compiled(monoid, kinds=kinds)
    found = range_values(machine, inputs, valid, lo, hi, groups=groups, n=n)
    assert found is not None
    values, known = found
    expected, expected_known = one_by_one(machine, inputs, valid, lo, hi, groups, n)
    assert known.tolist() == expected_known.tolist()
    np.testing.assert_array_equal(np.asarray(values)[known], np.asarray(expected)[known])


def test_what_raises_is_left_to_the_steps_and_a_sum_that_does_not_fit_is_refused() -> None:
    fragile = Monoid("fragile", ("x",), lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda s: 1.0 / s)
    lo, hi, groups = np.array([0]), np.array([2]), np.array([0, 1])
    zeros = compiled(fragile, kinds=("float",))
    assert range_values(zeros, [np.zeros(2)], None, lo, hi, groups=groups, n=2) is None
    assert zeros.one_pass
    large = compiled(built_in.sum("x"), kinds=("int",))
    with pytest.raises(IntegerOverflow):
        range_values(large, [np.full(2, 2**62)], None, lo, hi, groups=groups, n=2)
    with pytest.raises(ArgumentError, match="ranges"):
        range_values(large, [np.zeros(2, np.int64)], None, lo, hi + 9, groups=groups, n=2)


def test_a_step_that_is_no_machine_code_is_tried_once() -> None:
    texts = Monoid("texts", ("x",), lambda: 0.0, lambda x: x, lambda a, b: a + b, lambda s: str(s))
    machine = compiled(texts, kinds=("float",))
    lo, hi, groups = np.array([0]), np.array([1]), np.array([0, 1])
    assert range_values(machine, [np.zeros(1)], None, lo, hi, groups=groups, n=1) is None
    assert not machine.one_pass
