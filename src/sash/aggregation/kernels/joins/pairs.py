"""Pairs of rows from two sets of columns: first which could match, then which do.

    candidates    for each probe i the ranges [lo, hi) of stored rows j with
                  |code_i − code_j| ≤ reach   and   |τ_i − τ_j| ≤ within
    matches       those (i, j) of the ranges for which a predicate holds

Both sides are sorted by (code, time). A code is a group of equal keys and a cell of a band in one
number; a join without either has one code for all rows. The ranges of a probe are contiguous, so that
the inner loop of `matches` runs over plain columns without a branch, which is what lets LLVM vectorise
it: rows are compared exhaustively, as in ScaleJoin (Gulisano, Nikolakopoulos, Papatriantafilou, Tsigas,
2021), several at a time.

>>> ranges = candidates(np.array([5]), np.array([30]), np.array([4, 5, 7]), np.array([10, 31, 30]), 1, 5)
>>> [part.tolist() for part in ranges]
[[0], [1], [2]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import Kernel, kernel_of
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.arrays import Array, Ints

PROBES, TILE = 2**8, 2**14
"""So many ranges are compared together, in tiles of so many stored rows: both stay in a core's cache."""
RARE = 2**12
"""There is room at first for one match in so many comparisons."""


class CandidateRanges(NamedTuple):
    """Stored rows lo[k] ≤ j < hi[k] are candidates of probe[k]."""

    probe: Ints
    lo: Ints
    hi: Ints

    @property
    def comparisons(self) -> int:
        return int((self.hi - self.lo).sum())


def candidates(
    probe_codes: Ints, probe_times: Ints, codes: Ints, times: Ints, reach: int, within: int,
    span: tuple[int, int] | None = None,
) -> CandidateRanges:  # fmt: skip
    """The ranges of all probes that have a candidate. Times and `within` must stay below 2⁶²; `span` is the
    least and the greatest of `times`, where they are known."""
    most = len(probe_codes) * (2 * reach + 1)
    out = [np.empty(most, np.int64) for _ in range(3)]
    if len(codes):
        inputs = tuple(map(read_only, (probe_codes, probe_times, codes, times)))
        least, greatest = (int(times.min()), int(times.max())) if span is None else span
        most = kernel_of(candidate_ranges)(*inputs, reach, within, least, greatest, *out)
    else:
        most = 0
    return CandidateRanges(*(column[:most] for column in out))


def candidate_ranges(
    probe_codes: Ints, probe_times: Ints, codes: Ints, times: Ints, reach: int, within: int,
    oldest: int, newest: int, probe: Ints, lo: Ints, hi: Ints,
) -> int:  # fmt: skip
    """Fill probe, lo and hi; answers how many ranges there are."""
    count, start, end = 0, 0, len(codes)
    for i in range(len(probe_codes)):
        earliest, latest = probe_times[i] - within, probe_times[i] + within
        if earliest > newest or latest < oldest:
            continue
        # Probes are sorted by code, so that no range begins before the one of the probe before.
        start = first_at_least(codes, probe_codes[i] - reach, start, end)
        last = probe_codes[i] + reach
        if earliest <= oldest and newest <= latest:
            stop = first_at_least(codes, last + 1, start, end)
            if stop > start:
                probe[count], lo[count], hi[count] = i, start, stop
                count += 1
            continue
        at = start
        while at < end and codes[at] <= last:
            run_end = first_at_least(codes, codes[at] + 1, at, end)
            left = first_at_least(times, earliest, at, run_end)
            right = first_at_least(times, latest + 1, left, run_end)
            if right > left:
                probe[count], lo[count], hi[count] = i, left, right
                count += 1
            at = run_end
    return count


def first_at_least(ordered: Ints, value: int, lo: int, hi: int) -> int:
    """The first position in [lo, hi) whose value is at least `value`, else hi; cheap when it is near lo."""
    step, above = 1, lo
    while above < hi and ordered[above] < value:
        lo = above + 1
        above += step
        step *= 2
    hi = min(above, hi)
    while lo < hi:
        middle = (lo + hi) // 2
        if ordered[middle] < value:
            lo = middle + 1
        else:
            hi = middle
    return lo


def matches(
    kernel: Kernel, probe_columns: Columns, columns: Columns, ranges: CandidateRanges
) -> tuple[Ints, Ints]:
    """The pairs (i, j) that hold, in some order; `kernel` is built from a `matcher`."""
    inputs = (
        tuple(map(read_only, probe_columns)), tuple(map(read_only, columns)), *map(read_only, ranges)
    )  # fmt: skip
    # Room that is not used costs nothing; where there is too little, comparisons are made again.
    parts, start, room = [], 0, min(max(ranges.comparisons // RARE, 2**10), 2**20)
    while start < len(ranges.probe):
        found, counts = (np.empty(room, np.int64), np.empty(room, np.int64)), np.zeros(2, np.int64)
        start = kernel(*inputs, start, *found, counts)
        parts.append([column[: counts[0]] for column in found])
        room = max(2 * room, int(counts[1]))
    i, j = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else (ranges.probe,) * 2
    return i, j


def matcher(holds: Callable[..., Any]) -> Callable[..., Any]:
    """The template of `matches` for one predicate `holds(probe, i, stored, j)` over two sets of columns."""

    def match_ranges(
        probe_columns: Columns, columns: Columns, probe: Ints, lo: Ints, hi: Ints, start: int,
        found_i: Ints, found_j: Ints, counts: Ints,
    ) -> int:  # fmt: skip
        """Fill found_i and found_j from range `start` on; answers with the first range of the `PROBES` that
        have no room any more. `counts` gets the number of pairs, and how many those have."""
        # The caller brings the room: a kernel that allocates takes twice as long to compile.
        count = 0
        for first in range(start, len(probe), PROBES):
            last, before, all_hits = min(first + PROBES, len(probe)), count, 0
            begin, end, length = lo[first], hi[first], 0
            for k in range(first, last):
                begin, end, length = min(begin, lo[k]), max(end, hi[k]), length + hi[k] - lo[k]
            # Long ranges are visited in tiles, each by all of these probes; short ones lie in few tiles.
            tiles = (end - begin) // TILE + 1
            tile = TILE if 16 * tiles * (last - first) < length else max(end - begin, 1)
            for at in range(begin, end, tile):
                for k in range(first, last):
                    i, low, high, hits = probe[k], max(lo[k], at), min(hi[k], at + tile), 0
                    for j in range(low, high):
                        hits += holds(probe_columns, i, columns, j)
                    all_hits += hits
                    if hits == 0 or before + all_hits > len(found_i):
                        continue
                    for j in range(low, high):
                        if holds(probe_columns, i, columns, j):
                            found_i[count], found_j[count] = i, j
                            count += 1
            if before + all_hits > len(found_i):
                counts[0], counts[1] = before, all_hits
                return first
        counts[0] = count
        return len(probe)

    return match_ranges


def read_only(column: Array) -> Array:
    """A column as kernels take it: Numba would compile a second version for one that can be written to."""
    if column.flags.c_contiguous and not column.flags.writeable:
        return column
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view
