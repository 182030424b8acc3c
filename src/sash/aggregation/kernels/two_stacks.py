"""Two stacks lite over a count window, as a kernel template.

    value of event i  =  x[i − W + 1] ⊕ … ⊕ x[i]          (fewer at the start)

The window is cut at `boundary`. Before it every position has its suffix fold up to the boundary, so that
an eviction is a step to the right; after it one running fold takes the insertions. When the front is used
up, the suffix folds of the whole window are computed at once: 3 combines an event amortised, O(W) worst.
(A queue made of two stacks is folklore; its lite form is in Tangwongsan, Hirzel, Schneider, VLDB J. 2021.)
"""

from __future__ import annotations

from sash.aggregation.kernels.vocabulary import Columns, combine, identity, load, scratch, store


def two_stacks(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    suffixes = scratch(window)
    back = identity()
    head = 0
    boundary = 0
    # Positions are kept relative to the last flip: a small window then stays inside the cache.
    base = 0
    for i in range(len(out[0])):
        back = combine(back, load(columns, i))
        if i - head == window:
            if head == boundary:
                base = head + 1
                total = identity()
                for j in range(i, head, -1):
                    total = combine(load(columns, j), total)
                    store(suffixes, j - base, total)
                boundary = i + 1
                back = identity()
            head += 1
        if head < boundary:
            store(out, i, combine(load(suffixes, head - base), back))
        else:
            store(out, i, back)
