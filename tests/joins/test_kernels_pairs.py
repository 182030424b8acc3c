"""The kernels that find candidates and matches, against two loops."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st

from sash.aggregation.kernels.compiler.numba_compilation import build
from sash.aggregation.kernels.joins import pairs
from sash.aggregation.kernels.joins.pair_order import pair_order
from sash.aggregation.kernels.joins.pairs import (
    CandidateRanges,
    candidates,
    first_at_least,
    matcher,
    matches,
)
from sash.operators.joins.hash_band_or_matrix import Band, choose
from sash.runtimes.spark.joins.join_routes import JoinRoute, grid
from sash.runtimes.spark.packing.blocks import Sent
from sash.semantics.expression import Side, conjuncts, trace

numbers = st.integers(-5, 12)


@st.composite
def rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    made = sorted(draw(st.lists(st.tuples(numbers, numbers), max_size=20)))
    columns = np.array(made, np.int64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


@settings(max_examples=300, deadline=None)
@given(rows(), rows(), st.integers(0, 1), st.integers(0, 8))
def test_oracle_candidates_are_exactly_the_rows_that_are_near(
    probes: tuple[np.ndarray, np.ndarray], stored: tuple[np.ndarray, np.ndarray], reach: int, within: int
) -> None:
    ranges = candidates(*probes, *stored, reach, within)
    found = [(i, j) for i, lo, hi in zip(*ranges, strict=True) for j in range(lo, hi)]
    near = [
        (i, j)
        for i in range(len(probes[0]))
        for j in range(len(stored[0]))
        if abs(probes[0][i] - stored[0][j]) <= reach and abs(probes[1][i] - stored[1][j]) <= within
    ]
    assert sorted(found) == near
    assert ranges.comparisons == len(near)


def near(probe, i, stored, j):  # type: ignore[no-untyped-def]
    return abs(probe[0][i] - stored[0][j]) <= 1


@settings(max_examples=200, deadline=None)
@given(
    st.lists(numbers, min_size=1, max_size=12),
    st.lists(numbers, max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12),
    st.integers(1, 5), st.integers(1, 8), st.integers(0, 3),
)  # fmt: skip
def test_oracle_pairs_are_those_of_all_ranges_whatever_the_tiles_and_the_room(
    probes: list[int], stored: list[int], spans: list[tuple[int, int]], several: int, tile: int, room: int
) -> None:
    made = [(n % len(probes), *sorted(min(at, len(stored)) for at in span)) for n, span in enumerate(spans)]
    columns = np.array(made, np.int64).reshape(-1, 3).T
    ranges = CandidateRanges(*(column.copy() for column in columns))
    one, two = np.array(probes, np.int64), np.array(stored, np.int64)
    found, start = [], 0
    with mock.patch.multiple(pairs, PROBES=several, TILE=tile):
        kernel = matcher(near)
        while start < len(made):
            i, j, counts = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(2, np.int64)
            start = kernel((one,), (two,), *ranges, start, i, j, counts)
            found += list(zip(i[: counts[0]].tolist(), j[: counts[0]].tolist(), strict=True))
            room = max(2 * room, int(counts[1]))
    assert sorted(found) == sorted(
        (i, j) for i, lo, hi in made for j in range(lo, hi) if abs(probes[i] - stored[j]) <= 1
    )


def test_compiled_pairs_of_many_tiles_are_those_of_numpy() -> None:
    draw = np.random.default_rng(5)
    one, two = draw.integers(0, 20_000, 700), draw.integers(0, 20_000, 3 * pairs.TILE + 5)
    lo, hi = np.sort(draw.integers(0, len(two), (2, len(one))), axis=0)
    found = matches(build(matcher(near)), (one,), (two,), CandidateRanges(np.arange(len(one)), lo, hi))
    expected = [
        (i, int(lo[i]) + j)
        for i in range(len(one))
        for j in np.flatnonzero(np.abs(two[lo[i] : hi[i]] - one[i]) <= 1).tolist()
    ]
    assert len(expected) > 1024, "more than there is room for at first"
    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == expected


@settings(deadline=None)
@given(st.lists(numbers, max_size=40).map(sorted), numbers, st.integers(0, 40))
def test_oracle_a_search_that_gallops_finds_what_a_bisection_finds(
    values: list[int], value: int, start: int
) -> None:
    lo = min(start, len(values))
    expected = lo + int(np.searchsorted(np.array(values[lo:], np.int64), value))
    assert first_at_least(np.array(values, np.int64), value, lo, len(values)) == expected


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=300, deadline=None)
@given(finite, finite, st.floats(0, 1e9), st.sampled_from([0.0, 0.5, 1.0, -1.0, -0.25]))
def test_fractions_that_match_are_in_neighbouring_cells_and_close_by_the_finer_measure(
    left: float, right: float, width: float, share: float
) -> None:
    for other in (right, left + share * width):
        if abs(left - other) <= width:
            band = Band("x", "a", width, exact=False)
            one, two = pa.table({"x": [left]}), pa.table({"a": [other]})
            assert abs(band.cells(one, Side.LEFT)[0] - band.cells(two, Side.RIGHT)[0]) <= 1
            assert abs(band.fine(one, Side.LEFT)[0] - band.fine(two, Side.RIGHT)[0]) <= band.fine_width


BAND = choose(
    [], list(conjuncts(trace(lambda a, b: abs(a.x - b.a) <= 3, ["x"], ["a"]))),
    {Side.LEFT: pa.schema({"x": pa.int64()}), Side.RIGHT: pa.schema({"a": pa.float64()})},
)  # fmt: skip
THETA = choose([], [], {Side.LEFT: pa.schema({}), Side.RIGHT: pa.schema({})})


def met(left: Sent, right: Sent) -> list[tuple[int, int]]:
    """Which rows are in one bucket, once for each bucket."""
    one, two = (list(zip(sent.row.tolist(), sent.bucket.tolist(), strict=True)) for sent in (left, right))
    return sorted((i, j) for i, here in one for j, there in two if here == there)


@settings(deadline=None)
@given(
    st.lists(st.integers(-60, 60), max_size=30),
    st.lists(st.floats(-60, 60), max_size=30),
    st.integers(1, 9),
)
def test_ranges_over_buckets_let_every_match_meet_exactly_once(
    left: list[int], right: list[float], count: int
) -> None:
    xs, ys = pa.table({"x": pa.array(left, pa.int64())}), pa.table({"a": pa.array(right, pa.float64())})
    one = JoinRoute(BAND, Side.LEFT, count, xs.schema).spread(xs, np.arange(len(left)))
    two = JoinRoute(BAND, Side.RIGHT, count, ys.schema).spread(ys, np.arange(len(right)))
    for sent, rows in ((one, left), (two, right)):
        assert sorted(sent.row[sent.original]) == list(range(len(rows)))
    meetings = met(one, two)
    for i in range(len(left)):
        for j in range(len(right)):
            assert meetings.count((i, j)) <= 1
            if abs(left[i] - right[j]) <= 3:
                assert (i, j) in meetings


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12))
def test_in_the_join_matrix_every_two_rows_meet_exactly_once(left: int, right: int, count: int) -> None:
    none = pa.table({})
    one = JoinRoute(THETA, Side.LEFT, count, none.schema).spread(none, np.arange(left) + 5)
    two = JoinRoute(THETA, Side.RIGHT, count, none.schema).spread(none, np.arange(right) + 7)
    assert met(one, two) == [(i, j) for i in range(left) for j in range(right)]
    assert int(one.original.sum()) == left
    assert np.prod(grid(count)) == count


@settings(deadline=None)
@given(
    st.lists(st.tuples(numbers, numbers, numbers), unique=True, max_size=40),
    st.sampled_from([1, 1000, 2**40]),
)
def test_oracle_pairs_are_sorted_by_time_then_left_then_right(
    made: list[tuple[int, int, int]], apart: int
) -> None:
    columns = (np.array(made, np.int64) * apart).reshape(-1, 3).T
    assert pair_order(*columns).tolist() == np.lexsort(columns[::-1]).tolist()
