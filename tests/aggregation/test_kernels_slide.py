"""Count windows over arrays: every kernel gives what a fold from scratch gives, event by event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation.algorithms import INTERPRETED
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import AlgorithmName, slide
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.errors import ArgumentError, NotInvertible

from .kernel_monoids import AFFINE, BEST, TOTAL, elements, lifted, recomputed

FIFO: list[AlgorithmName] = ["two_stacks", "daba", "amta", "log_mta", "recalculate"]
MONOIDS = {"total": TOTAL, "affine": AFFINE, "best": BEST}


def inputs_of(monoid: Any, values: list[int]) -> list[np.ndarray]:
    """One integer a value; scores repeat, so that ties are decided by order."""
    column = np.array(values, np.int64)
    return [column] if len(monoid.columns) == 1 else [(column % 5).astype(float), column]


@pytest.mark.parametrize("algorithm", FIFO)
@pytest.mark.parametrize("name", MONOIDS)
@given(values=st.lists(st.integers(-1000, 1000), max_size=80), window=st.integers(1, 90))
@settings(max_examples=60, deadline=None)
def test_oracle_every_window_is_the_fold_of_its_elements(
    algorithm: AlgorithmName, name: str, values: list[int], window: int
) -> None:
    monoid = MONOIDS[name]
    fast, columns = lifted(monoid, *inputs_of(monoid, values))
    parts = elements(fast, columns)
    expected = [recomputed(monoid, parts[max(0, i + 1 - window) : i + 1]) for i in range(len(parts))]
    assert elements(fast, slide(fast, columns, window, algorithm=algorithm)) == expected


@given(values=st.lists(st.integers(-1000, 1000), max_size=60), window=st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_oracle_subtract_on_evict_is_the_fold_of_the_window(values: list[int], window: int) -> None:
    fast, columns = lifted(TOTAL, np.array(values, np.int64))
    (totals,) = slide(fast, columns, window, algorithm="subtract_on_evict")
    assert totals.tolist() == [sum(values[max(0, i + 1 - window) : i + 1]) for i in range(len(values))]


@pytest.mark.parametrize("window", [1, 2, 3, 64, 255, 256, 257, 3000])
def test_differential_the_kernels_agree_over_many_turns_of_the_window(window: int) -> None:
    values = np.random.default_rng(window).integers(0, 10**6, 3000)
    fast, columns = lifted(AFFINE, values)
    answers = [elements(fast, slide(fast, columns, window, algorithm=algorithm)) for algorithm in FIFO]
    assert all(answer == answers[0] for answer in answers)


def test_differential_a_kernel_agrees_with_the_interpreted_algorithm() -> None:
    values = np.random.default_rng(3).integers(0, 10**6, 400)
    fast, columns = lifted(AFFINE, values)
    kernel = elements(fast, slide(fast, columns, 50, algorithm="daba"))
    window = INTERPRETED["DABALite"](AFFINE)
    for value, expected in zip(values.tolist(), kernel, strict=True):
        window.insert(value)
        if len(window) > 50:
            window.evict()
        assert window.query() == AFFINE.lower(expected)


@pytest.mark.parametrize("algorithm", [*FIFO, "subtract_on_evict"])
def test_a_read_only_column_is_taken_and_left_as_it_is(algorithm: AlgorithmName) -> None:
    fast = compiled(TOTAL)
    column = np.arange(10)
    column.flags.writeable = False
    assert slide(fast, (column,), 3, algorithm=algorithm)[0].tolist() == [0, 1, 3, 6, 9, 12, 15, 18, 21, 24]
    assert column.tolist() == list(range(10))


def test_a_strided_column_is_taken() -> None:
    fast = compiled(TOTAL)
    assert slide(fast, (np.arange(10)[::2],), 2)[0].tolist() == [0, 2, 6, 10, 14]


def test_no_events_give_no_windows() -> None:
    fast = compiled(TOTAL)
    for algorithm in FIFO:
        assert len(slide(fast, (np.empty(0, np.int64),), 4, algorithm=algorithm)[0]) == 0


def test_subtract_on_evict_is_refused_without_an_inverse() -> None:
    fast, columns = lifted(AFFINE, np.arange(4))
    with pytest.raises(NotInvertible, match="affine declares no inverse"):
        slide(fast, columns, 2, algorithm="subtract_on_evict")


def test_a_window_of_no_events_is_refused() -> None:
    with pytest.raises(ArgumentError, match="window must be a positive number of events; got 0"):
        slide(compiled(TOTAL), (np.arange(3),), 0)


def test_an_unknown_algorithm_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="two_stacks"):
        slide(compiled(TOTAL), (np.arange(3),), 2, algorithm="three_stacks")  # type: ignore[arg-type]
