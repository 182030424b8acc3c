"""Where look-backs begin and end among elements of their keys (see `rings`). They are folded by
`look_back_and_range_folds`."""

from __future__ import annotations

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.aggregation.kernels.state.ring_search import first_from
from sash.arrays import Ints


def cut_look_backs(
    times: Ints, base: Ints, mask: Ints, head: Ints, count: Ints,
    which: Ints, ordinals: Ints, sizes: Ints, since: Ints, lo: Ints, hi: Ints,
) -> None:  # fmt: skip
    """For each element of key `which`, at τ: where (τ − size, τ] begins for each size, and where all of
    them end. `since` are ordinals for each size and key that are not after those. Elements of one key come
    in their order, so that each search goes on from the one before it."""
    each = len(sizes)
    for index in range(len(which)):
        if index + AHEAD < len(which):
            key = which[index + AHEAD]
            for window in range(each):
                prefetch(times, base[key] + (max(head[key], since[window, key]) & mask[key]), 0)
        key, at = which[index], ordinals[index]
        goes_on = index > 0 and which[index - 1] == key and ordinals[index - 1] <= at
        first, ring = base[key], mask[key]
        time = times[first + (at & ring)]
        end = max(at + 1, hi[(index - 1) * each]) if goes_on else at + 1
        if end < count[key] and times[first + (end & ring)] == time:
            end = first_from(times, first, ring, end, count[key], time, True)
        for window in range(each):
            begin = max(head[key], since[window, key])
            if goes_on:
                begin = max(begin, lo[(index - 1) * each + window])
            bound = time - sizes[window]
            if begin <= at and times[first + (begin & ring)] <= bound:
                begin = first_from(times, first, ring, begin + 1, at + 1, bound, True)
            lo[index * each + window], hi[index * each + window] = begin, end
