"""Subtract on evict over a count window, as a kernel template: total ← inverse(total ⊕ new, oldest).

Two combines an event and no memory beyond the input, for monoids that declare an inverse. Floating-point
sums must not come here (the error of each subtraction stays in the total for ever); the wrapper's caller
decides that, the algebra only says that an inverse exists.
"""

from __future__ import annotations

from sash.aggregation.kernels.vocabulary import Columns, combine, identity, inverse, load, store


def subtract_on_evict(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    total = identity()
    for i in range(len(out[0])):
        total = combine(total, load(columns, i))
        if i >= window:
            total = inverse(total, load(columns, i - window))
        store(out, i, total)
