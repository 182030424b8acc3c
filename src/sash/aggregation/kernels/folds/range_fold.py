"""One fold per range, for all keys in one call.

    out[r]  =  x[lo[r]] ⊕ … ⊕ x[hi[r] − 1],       the identity when lo[r] = hi[r]

Ranges come in groups (one per key, or several per key when several windows share the buffer; the CSR array
`groups` has where each begins). Inside a group lo and hi never decrease; ranges may be empty, leave gaps
and repeat. It is two stacks with the stream already at hand: about 3 combines per event and one per
range, whatever the lengths. Elements that lie in no range are not read.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    combine,
    identity,
    load,
    peek,
    push,
    scratch,
    store,
)
from sash.arrays import Ints, Mask, read_only
from sash.errors import ArgumentError

if TYPE_CHECKING:
    from sash.aggregation.kernels.compiler.compiled import Compiled


def _fold_group(
    columns: Columns, lo: Ints, hi: Ints, begin: int, until: int, suffixes: Columns, out: Columns
) -> int:
    """Fold the ranges [begin, until) of one group; answers the first bad one, or −1.

    The checks are part of the loop because a pass of their own would read lo and hi from memory twice.
    """
    size = len(columns[0])
    head, middle, end, base = 0, 0, 0, 0
    back = identity()
    for r in range(begin, until):
        start, stop = lo[r], hi[r]
        if head <= start < middle and end <= stop <= size:
            # By far the most frequent case, with half of the comparisons.
            while end < stop:
                back = combine(back, load(columns, end))
                end += 1
            store(out, r, combine(peek(suffixes, start - base), back))
            head = start
            continue
        if start < head or stop < end or start > stop or stop > size:
            return r
        if start >= end:
            # Nothing is shared with the ranges before: start again, skipping the gap.
            back = identity()
            middle, end = start, start
        while end < stop:
            back = combine(back, load(columns, end))
            end += 1
        if start > middle:
            if stop - start > len(suffixes[0]):
                return r  # only when a later range ends before this one does
            base, middle = start, stop
            total = identity()
            for i in range(stop - 1, start - 1, -1):
                total = combine(load(columns, i), total)
                push(suffixes, i - base, total)
            store(out, r, total)
            back = identity()
        else:
            store(out, r, back)
        head = start
    return -1


def range_folds(
    columns: Columns, groups: Ints, lo: Ints, hi: Ints, first: int, last: int, out: Columns
) -> int:
    """Fold the ranges of groups [first, last) into out; answers the first bad range, or −1."""
    # No range is longer than its group's span, and memory that is never touched costs nothing.
    longest = 0
    for group in range(first, last):
        if groups[group] < groups[group + 1]:
            longest = max(longest, hi[groups[group + 1] - 1] - lo[groups[group]])
    suffixes = scratch(min(longest, len(columns[0])))
    for group in range(first, last):
        bad = _fold_group(columns, lo, hi, groups[group], groups[group + 1], suffixes, out)
        if bad >= 0:
            return bad
    return -1


def range_fold(
    compiled: Compiled, columns: Columns, lo: Ints, hi: Ints, *, groups: Ints, threads: int = 1
) -> Columns:
    """The folds of all ranges [lo, hi) (absolute positions in `columns`), as columns of elements.

    With `threads` > 1 the groups are shared out by number of ranges; kernels release the GIL.
    """
    columns = compiled.columns(columns)
    lo, hi, groups = checked_ranges(lo, hi, groups)
    out = compiled.empty(len(lo))
    kernel = compiled.kernel("range_folds")
    shares = _shares(groups, max(1, threads))
    if len(shares) == 1:
        bad = [kernel(columns, groups, lo, hi, 0, len(groups) - 1, out)]
    else:
        with ThreadPoolExecutor(len(shares)) as pool:
            bad = list(pool.map(lambda s: kernel(columns, groups, lo, hi, s[0], s[1], out), shares))
    if max(bad) >= 0:
        refuse_range(len(columns[0]), lo, hi, groups)
    return out


def present(valid: Mask | None, lo: Ints, hi: Ints) -> Mask:
    """Which ranges hold at least one element that is not null: those that have a value at all."""
    if valid is None:
        return hi > lo
    counts = np.concatenate(([0], np.cumsum(valid)))
    occupied: Mask = counts[hi] > counts[lo]
    return occupied


def checked_ranges(lo: Ints, hi: Ints, groups: Ints) -> tuple[Ints, Ints, Ints]:
    lo, hi, groups = (_positions(name, a) for name, a in (("lo", lo), ("hi", hi), ("groups", groups)))
    if len(lo) != len(hi):
        raise ArgumentError("hi", f"{len(hi)} ends", f"as long as lo, which has {len(lo)}")
    if len(groups) < 1 or groups[0] != 0 or groups[-1] != len(lo) or (groups[1:] < groups[:-1]).any():
        raise ArgumentError("groups", groups, f"never decreasing from 0 to the number of ranges, {len(lo)}")
    return lo, hi, groups


def refuse_range(size: int, lo: Ints, hi: Ints, groups: Ints) -> None:
    inner = np.ones(len(lo), np.bool_)
    inner[groups[:-1][groups[:-1] < len(lo)]] = False
    back = inner & ((np.diff(lo, prepend=0) < 0) | (np.diff(hi, prepend=0) < 0))
    r = int(np.flatnonzero((lo < 0) | (hi > size) | (lo > hi) | back)[0])
    expected = f"within the {size} elements, lo ≤ hi, and neither of them may decrease inside a group"
    raise ArgumentError("ranges", f"[{lo[r]}, {hi[r]}) at {r}", expected)


def _positions(name: str, array: Ints) -> Ints:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ArgumentError(
            name, f"{array.dtype} in {array.ndim} dimensions", "a one-dimensional int array"
        )
    return read_only(array.astype(np.int64, copy=False))


def _shares(groups: Ints, threads: int) -> list[tuple[int, int]]:
    count = len(groups) - 1
    if threads == 1:
        return [(0, count)]
    targets = np.linspace(0, groups[-1], min(threads, max(count, 1)) + 1)[1:-1]
    cuts = [0, *np.searchsorted(groups, targets).tolist(), count]
    return [(a, b) for a, b in pairwise(cuts) if a < b] or [(0, count)]
