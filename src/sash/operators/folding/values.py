"""What is computed over windows: a row for each (aggregates), or what a function over it answers with.

An *evaluator* is who computes it. `evaluated` does so here and now; a parallel pattern is another evaluator
with the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.csr import is_sorted
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.columns.layout import Layout
from sash.operators.folding.fold_ranges import fold_ranges
from sash.operators.folding.whole_windows import whole_windows
from sash.operators.step_counter import counted
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window


@dataclass(frozen=True)
class Values:
    """Result rows, and for each the index of the window that it belongs to."""

    owners: Ints
    columns: pa.Table
    in_order: bool = False
    """Whether it is known that window i has just row i."""

    def is_one_each(self, windows: int) -> bool:
        """Whether window i of so many has just row i."""
        if self.in_order:
            return True
        return len(self.owners) == windows and bool((self.owners == np.arange(windows)).all())

    def owned_by(self, windows: Ints) -> Values:
        """The same rows, when window i of this part is window windows[i] of the whole."""
        return replace(self, owners=windows[self.owners], in_order=False)


Evaluator: TypeAlias = Callable[[BoundQuery, Window, Layout, Ranges], Values]


def evaluated(bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> Values:
    """The values of all windows, one after the other."""
    return values_over(bound, layout.rows, ranges)


def values_over(bound: BoundQuery, rows: pa.Table, ranges: Ranges) -> Values:
    if isinstance(bound, BoundWhole):
        return values_of_whole(bound, rows, ranges)
    columns = {
        name: fold_ranges(monoid, rows, ranges, bound.result_type(monoid))
        for name, monoid in counted(bound.aggregates.items())
    }
    return one_each(columns, len(ranges))


def values_of_whole(bound: BoundWhole, rows: pa.Table, ranges: Ranges) -> Values:
    """What a function over whole windows answers with."""
    return Values(*whole_windows(bound.computation, rows, ranges))


def one_each(columns: dict[str, pa.Array], windows: int) -> Values:
    """One value of each aggregate for each window."""
    return Values(np.arange(windows), pa.table(columns), in_order=True)


def in_order(parts: Iterable[Values]) -> Values:
    """The collector: all rows by window, those of one window as they stood."""
    gathered = list(parts)
    owners = np.concatenate([part.owners for part in gathered])
    table = pa.concat_tables([part.columns for part in gathered])
    if is_sorted(owners):
        return Values(owners, table)
    order = np.argsort(owners, kind="stable")
    return Values(owners[order], table.take(pa.array(order)))
