"""What `compiled` promises: types, nulls, results, and an interpreted path that gives the same answers."""

from __future__ import annotations

import math
import pickle
import warnings
from collections import namedtuple
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from sash.aggregation import built_in
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import slide
from sash.aggregation.kernels.compiler.compiled import TEMPLATES, compiled
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, IntegerOverflow, SashWarning, Unsupported

from .kernel_monoids import AFFINE, BEST, MACHINE_CODE, TOTAL, add, elements, lifted, same, zero

CACHED = "cached" if MACHINE_CODE else "interpreted"


def test_elements_are_kept_in_one_typed_column_a_field() -> None:
    assert compiled(TOTAL).dtypes == (np.int64,)
    assert compiled(BEST).dtypes == (np.bool_, np.float64, np.int64)


def test_the_kinds_of_the_inputs_widen_the_fields() -> None:
    assert compiled(TOTAL, kinds=("float",)).dtypes == (np.float64,)
    assert compiled(TOTAL, kinds=("bool",)).dtypes == (np.int64,)
    fast = compiled(TOTAL, kinds=("float",))
    assert fast.fold(fast.lift((np.array([0.5, 0.25]),)), 0, 2) == 0.75


@pytest.mark.parametrize("monoid", [TOTAL, AFFINE, BEST], ids=lambda monoid: monoid.name)
def test_functions_with_source_run_from_the_cache(monoid: Monoid) -> None:
    assert compiled(monoid).mode == CACHED


def test_a_null_lifts_to_the_identity() -> None:
    fast = compiled(AFFINE)
    columns = fast.lift((np.array([3, 4, 5]),), valid=np.array([True, False, True]))
    assert elements(fast, columns) == [AFFINE.lift(3), AFFINE.identity(), AFFINE.lift(5)]


def test_a_monoid_without_inputs_lifts_as_many_events_as_there_are() -> None:
    fast = compiled(built_in.count(), kinds=())
    assert fast.lift((), n=3)[0].tolist() == [1, 1, 1]
    with pytest.raises(ArgumentError, match="n must be the number of events"):
        fast.lift(())


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, np.bool_])
def test_every_integer_type_lifts_to_the_same_elements(dtype: type) -> None:
    fast = compiled(TOTAL)
    assert fast.lift((np.array([1, 0, 1], dtype),))[0].tolist() == [1, 0, 1]


def test_an_unsigned_value_beyond_64_signed_bits_is_an_overflow() -> None:
    with pytest.raises(IntegerOverflow, match="column x holds 9223372036854775808"):
        compiled(TOTAL).lift((np.array([2**63], np.uint64),))


def test_floats_never_become_ints_silently() -> None:
    integers = replace(TOTAL, name="integers only")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SashWarning)
        with pytest.raises(ArgumentError, match=r"must be an int; got 0\.5"):
            compiled(integers).lift((np.array([0.5]),))
    with pytest.raises(ArgumentError, match="columns must be an array of int64; got 'an array of float64'"):
        compiled(TOTAL).fold((np.array([0.5]),), 0, 1)


def test_a_fold_is_from_left_to_right_and_empty_is_the_identity() -> None:
    fast, columns = lifted(AFFINE, [3, 4, 5])
    expected = AFFINE.combine(AFFINE.combine(AFFINE.lift(3), AFFINE.lift(4)), AFFINE.lift(5))
    assert fast.fold(columns, 0, 3) == expected
    assert fast.fold(columns, 2, 2) == AFFINE.identity()
    with pytest.raises(ArgumentError, match="inside the 3 elements"):
        fast.fold(columns, 0, 4)


def none_below_two(n: int) -> float | None:
    if n < 2:
        return None
    return 1 / n


def both_ways(n: int) -> tuple[float, int] | None:
    if n < 0:
        return None
    return n / 2, n


def test_a_result_of_none_is_null() -> None:
    fast, columns = lifted(replace(TOTAL, name="reciprocal", lower=none_below_two), [1, 2, 4])
    values, valid = fast.lower(columns)
    assert valid.tolist() == [False, True, True]
    assert values[valid].tolist() == [0.5, 0.25]
    assert values.dtype == np.float64


def test_a_tuple_result_is_one_column_a_field() -> None:
    fast, columns = lifted(replace(TOTAL, name="both", lower=both_ways), [1, -2, 4])
    (halves, wholes), valid = fast.lower(columns)
    assert valid.tolist() == [True, False, True]
    assert (halves[valid].tolist(), wholes[valid].tolist()) == ([0.5, 2.0], [1, 4])


def test_a_window_without_elements_has_the_value_nothing() -> None:
    present = np.array([True, False])
    fast, columns = lifted(TOTAL, [1, 2])
    assert fast.lower(columns, present=present)[1].tolist() == [True, False]
    fast, columns = lifted(replace(TOTAL, name="zero when empty", nothing=0), [1, 2])
    values, valid = fast.lower(columns, present=present)
    assert (values.tolist(), valid.tolist()) == ([1, 0], [True, True])


def test_an_exception_of_the_users_function_reaches_the_caller() -> None:
    fast, columns = lifted(replace(TOTAL, name="inverse", lower=lambda n: 1 / n), [0])
    with pytest.raises(ZeroDivisionError):
        fast.lower(columns)


# What cannot be compiled is interpreted, with one warning


def joined_digits(a: int, b: int) -> int:
    return int(f"{a}{b}") if b else a


def spelled(n: int) -> str:
    return {1: "one", 2: "two"}[n]


def test_a_combine_that_does_not_compile_is_interpreted_with_one_warning_that_says_why() -> None:
    digits = Monoid("digits", ("x",), zero, same, joined_digits, same)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fast, columns = lifted(digits, [1, 2, 3, 4])
        assert slide(fast, columns, 3)[0].tolist() == [1, 12, 123, 234]
        assert slide(fast, columns, 2, algorithm="amta")[0].tolist() == [1, 12, 23, 34]
    assert fast.mode == "interpreted"
    assert len(caught) == (1 if MACHINE_CODE else 0)
    for warning in caught:
        assert warning.category is SashWarning
        assert "monoid 'digits': combine cannot be compiled" in str(warning.message)


def test_a_lower_that_does_not_compile_leaves_the_folds_compiled() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fast, columns = lifted(replace(TOTAL, name="spelled", lower=spelled), [1, 2])
        values, _ = fast.lower(columns)
        fast.lower(columns)
    assert values.tolist() == ["one", "two"]
    assert fast.mode == CACHED
    assert len(caught) == (1 if MACHINE_CODE else 0)
    assert all("monoid 'spelled': lower cannot be compiled" in str(warning.message) for warning in caught)


def test_elements_that_are_not_numbers_are_interpreted() -> None:
    words = Monoid("words", ("x",), str, str, lambda a, b: a + b, same)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fast, columns = lifted(words, np.array([1, 2, 3]))
        assert slide(fast, columns, 2, algorithm="daba")[0].tolist() == ["1", "12", "23"]
    assert fast.dtypes == (np.dtype(object),)
    assert len(caught) == (1 if MACHINE_CODE else 0)


Pair = namedtuple("Pair", "low high")


def test_named_tuples_keep_their_names_where_they_are_interpreted() -> None:
    widest = Monoid(
        "widest",
        ("x",),
        lambda: Pair(math.inf, -math.inf),
        lambda x: Pair(x, x),
        lambda a, b: Pair(min(a.low, b.low), max(a.high, b.high)),
        lambda e: e.high - e.low,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fast = compiled(widest)
        values, _ = fast.lower(slide(fast, fast.lift((np.array([1.0, 5.0, 2.0]),)), 2))
    assert values.tolist() == [0.0, 4.0, 3.0]
    assert len(caught) == (1 if MACHINE_CODE else 0)


def test_functions_without_source_are_compiled_in_memory() -> None:
    world: dict[str, Any] = {}
    exec("def plus(a, b):\n    return a + b\n", world)
    fast, columns = lifted(replace(TOTAL, name="no file", combine=world["plus"]), [1, 2, 3])
    assert fast.fold(columns, 0, 3) == 6
    assert fast.mode == ("in memory" if MACHINE_CODE else "interpreted")


def test_a_function_of_python_itself_is_compiled_as_it_is() -> None:
    biggest = compiled(Monoid("biggest", ("x",), lambda: -(2**63), lambda x: x, max, lambda m: m))
    assert biggest.fold((np.array([3, 9, 2]),), 0, 3) == 9
    assert biggest.mode == ("in memory" if MACHINE_CODE else "interpreted")


def test_a_cache_that_cannot_be_written_costs_only_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "file").write_text("a file, not a directory")
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    fast, columns = lifted(replace(TOTAL, name="no cache", combine=lambda a, b: a + 1 * b), [1, 2, 3])
    assert fast.fold(columns, 0, 3) == 6
    assert fast.mode == ("in memory" if MACHINE_CODE else "interpreted")


def test_a_relative_cache_directory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.aggregation.kernels.compiler import module_cache

    monkeypatch.setenv("SASH_CACHE_DIR", "cache")
    with pytest.raises(ArgumentError, match="SASH_CACHE_DIR must be an absolute path"):
        module_cache.directory()


# Arguments


def test_objects_as_elements_are_refused() -> None:
    with pytest.raises(Unsupported, match="collect"):
        compiled(built_in.collect("x"))


def test_an_unknown_kernel_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="two_stacks"):
        compiled(TOTAL).kernel("three_stacks")


def test_columns_must_fit_the_elements() -> None:
    fast = compiled(AFFINE)
    with pytest.raises(ArgumentError, match="columns"):
        fast.fold((np.arange(3),), 0, 3)
    with pytest.raises(ArgumentError, match="all of the same length"):
        fast.fold((np.arange(3), np.arange(4)), 0, 3)


def test_a_monoid_is_compiled_once_in_a_process() -> None:
    assert compiled(TOTAL) is compiled(replace(TOTAL))


def test_every_template_says_what_it_expects() -> None:
    assert all(template.__doc__ for template in TEMPLATES.values())


def test_it_can_be_pickled() -> None:
    again = cloudpickle.loads(cloudpickle.dumps(compiled(AFFINE)))
    assert elements(again, again.lift((np.array([5]),))) == [AFFINE.lift(5)]
    assert pickle.loads(pickle.dumps(compiled(TOTAL))).monoid.combine(1, 2) == add(1, 2)
