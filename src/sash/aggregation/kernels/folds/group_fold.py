"""One fold per group, in one pass over elements that stand in any order.

    out[g]  =  x[i] ⊕ x[j] ⊕ …   for all i < j < … with codes[i] = g,      the identity for an empty group

Groups are dense codes 0 … n − 1. Elements of a group are combined in the order in which they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sash.aggregation.kernels.compiler.template_words import Columns, combine, identity, load, store
from sash.arrays import Ints
from sash.errors import ArgumentError

if TYPE_CHECKING:
    from sash.aggregation.kernels.compiler.compiled import Compiled


def group_folds(columns: Columns, codes: Ints, out: Columns) -> int:
    """Fold into out; answers the first element with a bad code, or −1."""
    groups = len(out[0])
    for group in range(groups):
        store(out, group, identity())
    for i in range(len(codes)):
        group = codes[i]
        if group < 0 or group >= groups:
            return i
        store(out, group, combine(load(out, group), load(columns, i)))
    return -1


def group_fold(compiled: Compiled, columns: Columns, codes: Ints, *, groups: int) -> Columns:
    """The folds of all groups, as columns of elements."""
    columns = compiled.columns(columns)
    ready = np.ascontiguousarray(codes, np.int64).view()
    ready.flags.writeable = False
    if len(ready) != len(columns[0]):
        raise ArgumentError("codes", f"{len(ready)} codes", f"one for each of {len(columns[0])} elements")
    out = compiled.empty(groups)
    bad = compiled.kernel("group_folds")(columns, ready, out)
    if bad >= 0:
        raise ArgumentError("codes", f"{codes[bad]} at {bad}", f"from 0 to {groups - 1}")
    return out
