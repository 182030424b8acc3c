"""Windows that the clock cuts, over the elements of every key: one pass, from window to window.

    time windows         [origin + w·S, origin + w·S + W)
    cumulating ones      block ⌊w / n⌋ of length W, from its start up to step w mod n

A window without elements is skipped, together with all others up to the next element: what is computed
depends on how many windows are found, not on how far apart they lie.
"""

from __future__ import annotations

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.aggregation.kernels.state.ring_search import first_from
from sash.arrays import Ints


def clock_windows(
    times: Ints, base: Ints, mask: Ints, head: Ints, count: Ints, first: Ints, last: Ints,
    size: int, slide: int, origin: int, step: int, empty: bool,
    keys: Ints, ids: Ints, lo: Ints, hi: Ints,
) -> int:  # fmt: skip
    """The windows first[k] ≤ w ≤ last[k] of each key that hold elements (with `empty`: all), as many as the
    outputs have room for; returns how many there are. A cumulating window has a step, others 0."""
    found, room = 0, len(ids)
    for key in range(len(base)):
        if key + AHEAD < len(base):
            start, ring = base[key + AHEAD], mask[key + AHEAD]
            prefetch(times, start + (head[key + AHEAD] & ring), 0)
            prefetch(times, start + ((count[key + AHEAD] - 1) & ring), 0)
        w, begin, end = first[key], head[key], head[key]
        while w <= last[key]:
            if step == 0:
                opens = origin + w * slide
                closes = opens + size
            else:
                steps = size // step
                opens = origin + w // steps * size
                closes = opens + (w % steps + 1) * step
            begin = first_from(times, base[key], mask[key], begin, count[key], opens, False)
            if not empty:
                if begin == count[key]:
                    break
                time = times[base[key] + (begin & mask[key])]
                if time >= closes:
                    if step == 0:
                        next_w = (time - origin - size) // slide + 1
                    else:
                        offset = time - origin
                        next_w = offset // size * (size // step) + offset % size // step
                    w = max(w + 1, next_w)
                    continue
            end = first_from(times, base[key], mask[key], max(begin, end), count[key], closes, False)
            if found < room:
                keys[found], ids[found], lo[found], hi[found] = key, w, begin, end
            found += 1
            w += 1
    return found
