"""Ranges over all keys at once, look-back ranges, and rows by key: each against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation.algorithms import RecalculatedWindow as Recalculate
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.folds.range_fold import present, range_fold
from sash.aggregation.kernels.rows.csr import rows_by_key
from sash.aggregation.kernels.windows.bound_positions import cut
from sash.errors import ArgumentError

from .kernel_monoids import AFFINE, TOTAL, elements, lifted, recomputed

Groups = list[list[tuple[int, int]]]


@st.composite
def monotone_groups(draw: st.DrawFn, n: int) -> Groups:
    """Groups of ranges over n elements: empty, repeated, overlapping, hopping, or no range at all."""
    groups: Groups = []
    for _ in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 12))
        ends = sorted(draw(st.lists(st.integers(0, n), min_size=count, max_size=count)))
        begins = sorted(draw(st.lists(st.integers(0, n), min_size=count, max_size=count)))
        groups.append([(min(lo, hi), hi) for lo, hi in zip(begins, ends, strict=True)])
    return groups


def arrays(groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lo, hi and where each group begins."""
    flat = [one for group in groups for one in group]
    offsets = np.cumsum([0, *map(len, groups)])
    return np.array([lo for lo, _ in flat], np.int64), np.array([hi for _, hi in flat], np.int64), offsets


@pytest.mark.parametrize("threads", [1, 3])
@given(data=st.data(), n=st.integers(0, 40))
@settings(max_examples=120, deadline=None)
def test_oracle_every_range_is_the_fold_of_its_elements(data: st.DataObject, n: int, threads: int) -> None:
    groups = data.draw(monotone_groups(n))
    fast, columns = lifted(AFFINE, np.random.default_rng(n).integers(0, 10**6, n))
    lo, hi, offsets = arrays(groups)
    folds = range_fold(fast, columns, lo, hi, groups=offsets, threads=threads)
    parts = elements(fast, columns)
    assert elements(fast, folds) == [recomputed(AFFINE, parts[a:b]) for group in groups for a, b in group]


def test_differential_long_ranges_agree_with_recalculation_by_an_aggregator() -> None:
    values = np.random.default_rng(8).integers(0, 10**6, 500)
    fast, columns = lifted(AFFINE, values)
    hi = np.arange(0, 501, 5)
    lo = np.maximum(hi - 120, 0)
    folds = elements(fast, range_fold(fast, columns, lo, hi, groups=np.array([0, len(lo)])))
    window, head, end = Recalculate(AFFINE), 0, 0
    for start, stop, fold in zip(lo.tolist(), hi.tolist(), folds, strict=True):
        for value in values[end:stop].tolist():
            window.insert(value)
        window.bulk_evict(start - head)
        head, end = start, stop
        assert window.fold() == fold


def test_ranges_never_read_outside_their_elements() -> None:
    #  elements   0 1 2 3 4 5 6 7 8 9
    #  ranges     [---)       [---)        hopping: 2 to 5 and 8 to 9 are in no range
    fast, columns = lifted(TOTAL, [1, 1, 99, 99, 99, 99, 1, 1, 99, 99])
    folds = range_fold(fast, columns, np.array([0, 6]), np.array([2, 8]), groups=np.array([0, 2]))
    assert folds[0].tolist() == [2, 2]


def test_several_range_lists_share_one_buffer() -> None:
    fast, columns = lifted(TOTAL, np.arange(6))
    lo, hi, groups = arrays([[(0, 2), (2, 4)], [(0, 6)], [], [(1, 5)]])
    assert range_fold(fast, columns, lo, hi, groups=groups)[0].tolist() == [1, 5, 15, 10]


def test_read_only_inputs_are_taken() -> None:
    fast, columns = lifted(TOTAL, np.arange(6))
    lo, hi, groups = arrays([[(0, 2), (1, 4)]])
    for array in (*columns, lo, hi, groups):
        array.flags.writeable = False
    assert range_fold(fast, columns, lo, hi, groups=groups)[0].tolist() == [1, 6]


@pytest.mark.parametrize(
    ("ranges", "culprit"),
    [
        ([(0, 3), (2, 7)], r"\[2, 7\) at 1"),
        ([(-1, 3)], r"\[-1, 3\) at 0"),
        ([(3, 2)], r"\[3, 2\) at 0"),
        ([(1, 3), (0, 3)], r"\[0, 3\) at 1"),
        ([(0, 5), (1, 5), (2, 3)], r"\[2, 3\) at 2"),
    ],
)
def test_ranges_that_are_not_monotone_or_not_inside_are_refused(
    ranges: list[tuple[int, int]], culprit: str
) -> None:
    fast, columns = lifted(TOTAL, np.arange(6))
    lo, hi, groups = arrays([ranges])
    with pytest.raises(ArgumentError, match=culprit):
        range_fold(fast, columns, lo, hi, groups=groups)


def test_groups_must_cover_the_ranges() -> None:
    fast, columns = lifted(TOTAL, np.arange(6))
    with pytest.raises(
        ArgumentError, match="groups must be never decreasing from 0 to the number of ranges, 1"
    ):
        range_fold(fast, columns, np.array([0]), np.array([1]), groups=np.array([0, 2]))


def test_a_range_has_a_value_only_if_it_holds_an_element_that_is_not_null() -> None:
    lo, hi = np.array([0, 1, 2, 3]), np.array([1, 3, 2, 4])
    valid = np.array([True, False, False, True])
    assert present(valid, lo, hi).tolist() == [True, False, False, True]
    assert present(None, lo, hi).tolist() == [True, True, False, True]


# Rows by key


@given(codes=st.lists(st.integers(0, 6), max_size=60), dtype=st.sampled_from([np.int8, np.int32, np.int64]))
@settings(max_examples=60, deadline=None)
def test_oracle_rows_by_key_is_a_stable_sort(codes: list[int], dtype: type) -> None:
    offsets, order = rows_by_key(np.array(codes, dtype), 7)
    assert order.tolist() == sorted(range(len(codes)), key=codes.__getitem__)
    assert offsets.tolist() == [sum(code < key for code in codes) for key in range(8)]


@pytest.mark.parametrize("bad", [-1, 2])
def test_rows_by_key_refuses_codes_that_are_no_key(bad: int) -> None:
    with pytest.raises(ArgumentError, match=f"codes must be from 0 to 1; got '{bad} at 1'"):
        rows_by_key(np.array([0, bad]), 2)


def test_the_whole_rolling_path_equals_its_definition() -> None:
    random = np.random.default_rng(9)
    codes, times = random.integers(0, 3, 200), np.sort(random.integers(0, 400, 200))
    values = random.integers(0, 100, 200)
    offsets, order = rows_by_key(codes, 3)
    own, slots = times[order], codes[order]
    lo, hi = cut(own, offsets, slots, own - 24), cut(own, offsets, slots, own, after=True)
    fast = compiled(TOTAL)
    sums = np.empty(200, np.int64)
    sums[order] = range_fold(fast, fast.lift((values[order],)), lo, hi, groups=offsets)[0]
    for row in range(200):
        inside = (codes == codes[row]) & (times > times[row] - 25) & (times <= times[row])
        assert sums[row] == values[inside].sum()
