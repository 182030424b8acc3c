"""Count windows over arrays: every kernel gives what a fold from scratch gives, event by event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregation.kernels.compiled import compiled
from sash.aggregation.kernels.slide import Algorithm, slide
from sash.aggregators import DABALite
from sash.errors import ArgumentError, NotInvertible

from .kernel_monoids import AFFINE, BEST, TOTAL, elements, lifted, recomputed

FIFO: list[Algorithm] = ["two_stacks", "daba", "amta"]
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
    algorithm: Algorithm, name: str, values: list[int], window: int
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
    assert answers[0] == answers[1] == answers[2]


def test_differential_a_kernel_agrees_with_the_interpreted_algorithm() -> None:
    values = np.random.default_rng(3).integers(0, 10**6, 400)
    fast, columns = lifted(AFFINE, values)
    kernel = elements(fast, slide(fast, columns, 50, algorithm="daba"))
    window = DABALite(AFFINE)
    for value, expected in zip(values.tolist(), kernel, strict=True):
        window.insert(value)
        if len(window) > 50:
            window.evict()
        assert window.query() == AFFINE.lower(expected)


@pytest.mark.parametrize("algorithm", [*FIFO, "subtract_on_evict"])
def test_a_read_only_column_is_taken_and_left_as_it_is(algorithm: Algorithm) -> None:
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


# Bulk eviction


def dismantled(n: int, steps: list[int]) -> None:
    """Evict so many at a time from AMTA's forest and DABA's ring: both must hold the fold of the rest."""
    fast, columns = lifted(AFFINE, np.random.default_rng(n).integers(0, 10**6, n))
    ready, parts = fast.columns(columns), elements(fast, columns)
    capacity = 1 << (n + 1).bit_length()
    nodes, tails, folds = fast.empty(capacity), fast.empty(64), fast.empty(128)
    levels, spans = np.empty(128, np.int64), np.array([0, 0, n, 0])
    back = fast.kernel("amta_fill")(ready, nodes, tails)
    ring, scalars, borders = fast.empty(capacity), fast.empty(2), np.zeros(6, np.int64)
    fast.kernel("daba_fill")(ready, ring, scalars, borders)
    head = 0
    for k in steps:
        head += k
        if fast.kernel("amta_bulk_evict")(nodes, tails, folds, levels, spans, k):
            back = AFFINE.identity()
        front = AFFINE.identity() if spans[3] == 0 else element_at_top(fast, folds, spans)
        expected = recomputed(AFFINE, parts[head:])
        assert AFFINE.combine(front, tuple(map(int, back))) == expected
        assert tuple(fast.kernel("daba_bulk_evict")(ring, scalars, borders, k)) == expected


def element_at_top(fast: Any, folds: tuple[np.ndarray, ...], spans: np.ndarray) -> Any:
    return tuple(column.item(int(spans[3]) - 1) for column in folds)


@given(data=st.data(), n=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_oracle_bulk_eviction_leaves_the_fold_of_the_rest(data: st.DataObject, n: int) -> None:
    steps, left = [], n
    while left and len(steps) < 12:
        steps.append(data.draw(st.integers(1, left)))
        left -= steps[-1]
    dismantled(n, steps)


@pytest.mark.parametrize("k", [1, 2, 511, 512, 513, 1023, 1024])
def test_oracle_bulk_eviction_at_and_beside_block_borders(k: int) -> None:
    dismantled(1024, [k])
