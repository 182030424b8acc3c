"""A count window slides over an array: insert, evict when it is over-full, query, for every event.

    out[i]  =  x[i − W + 1] ⊕ … ⊕ x[i]          (fewer at the start)

>>> import numpy as np
>>> from sash.aggregation.kernels.compiler.compiled import compiled
>>> from sash.aggregation.monoid import Monoid
>>> total = compiled(Monoid("total", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s))
>>> slide(total, (np.array([1, 2, 3, 4]),), 2)[0].tolist()
[1, 3, 5, 7]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.arrays import Array, Ints
from sash.errors import ArgumentError

AlgorithmName = Literal["two_stacks", "daba", "amta", "log_mta", "fiba", "subtract_on_evict", "recalculate"]


def slide(
    compiled: Compiled, columns: Sequence[Array], window: int, *, algorithm: AlgorithmName = "two_stacks"
) -> Columns:
    """The fold of the last `window` elements after each of them, oldest first, as columns of elements.

    The algorithms agree on every value; they differ in cost (see their modules). `subtract_on_evict` needs
    a monoid that declares an inverse.
    """
    if algorithm not in get_args(AlgorithmName):
        raise ArgumentError("algorithm", algorithm, f"one of {list(get_args(AlgorithmName))}")
    if algorithm == "subtract_on_evict":
        compiled.monoid.require_inverse("subtract_on_evict")
    ready = compiled.columns(columns)
    if algorithm == "fiba":
        return slide_by_time(compiled, ready, np.arange(len(ready[0])), window)
    out = compiled.empty(len(ready[0]))
    compiled.kernel(algorithm)(ready, _window(window, len(ready[0])), out)
    return out


def slide_by_time(compiled: Compiled, columns: Sequence[Array], times: Ints, window: int) -> Columns:
    """The fold, in time order, of the `window` latest elements after each arrival; times in any order."""
    ready = compiled.columns(columns)
    view = np.ascontiguousarray(times, np.int64).view()
    view.flags.writeable = False
    if view.shape != ready[0].shape:
        raise ArgumentError("times", f"{view.shape} times", f"one per element, {len(ready[0])}")
    out = compiled.empty(len(ready[0]))
    compiled.kernel("fiba")(ready, view, _window(window, len(ready[0])), out)
    return out


def _window(window: int, n: int) -> int:
    if window < 1:
        raise ArgumentError("window", window, "a positive number of events")
    # A window that never fills costs no memory beyond what there is to fill it.
    return min(int(window), max(n, 1))
