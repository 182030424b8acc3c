"""Where values lie among the elements of a key, which are sorted by them (see `rings`)."""

from __future__ import annotations

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.arrays import Ints, Numbers


def cut_rings(
    values: Numbers, base: Ints, mask: Ints, head: Ints, count: Ints,
    which: Ints, bounds: Numbers, after: bool, since: Ints, cuts: Ints,
) -> None:  # fmt: skip
    """For each bound: the first ordinal of key `which` whose value is not below it (`after`: above it). It
    is looked for from `since` on, if that is given: a search from far away touches many cold places. And
    from the last cut on, while bounds of one key grow, as those of triggers do."""
    for index in range(len(bounds)):
        if index + AHEAD < len(bounds):
            key = which[index + AHEAD]
            lo = head[key] if len(since) == 0 else max(head[key], since[index + AHEAD])
            prefetch(values, base[key] + (lo & mask[key]), 0)
            prefetch(values, base[key] + ((count[key] - 1) & mask[key]), 0)
        key = which[index]
        lo = head[key] if len(since) == 0 else max(head[key], since[index])
        if index > 0 and which[index - 1] == key and bounds[index - 1] <= bounds[index]:
            lo = max(lo, cuts[index - 1])
        cuts[index] = first_from(values, base[key], mask[key], lo, count[key], bounds[index], after)


def first_from(values: Numbers, base: int, mask: int, lo: int, hi: int, bound: float, after: bool) -> int:
    """The first ordinal from lo on whose value is not below the bound (`after`: above it), or hi. Windows
    mostly begin and end near one of the two, and what lies between is cold: steps from both get larger."""
    step = 1
    while lo + step <= hi:
        right = hi - step
        if _below(values[base + (right & mask)], bound, after):
            lo = right + 1
            break
        hi, left = right, lo + step - 1
        if left >= hi:
            break
        if not _below(values[base + (left & mask)], bound, after):
            hi = left
            break
        lo = left + 1
        step *= 2
    while lo < hi:
        middle = (lo + hi) >> 1
        if _below(values[base + (middle & mask)], bound, after):
            lo = middle + 1
        else:
            hi = middle
    return lo


def _below(value: float, bound: float, after: bool) -> bool:
    return value < bound or (after and value == bound)
