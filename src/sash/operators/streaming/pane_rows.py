"""Panes of all keys of a bucket, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.layout import Layout
from sash.operators.panes import Panes, group_by
from sash.semantics.event import Order

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PaneRows:
    """One row for a key and a stretch of time: a pane, or a coarser cell."""

    slot: Ints
    start: Ints
    end: Ints
    elements: pa.Table

    @classmethod
    def nothing(cls, panes: Panes) -> PaneRows:
        none = np.empty(0, np.int64)
        return cls(none, none, none, pa.schema(panes.parts).empty_table())

    @classmethod
    def joined(cls, parts: Sequence[PaneRows]) -> PaneRows:
        slot, start, end = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("slot", "start", "end")
        )
        return cls(slot, start, end, pa.concat_tables([part.elements for part in parts]))

    def __len__(self) -> int:
        return len(self.slot)

    def take(self, indexes: Ints) -> PaneRows:
        elements = self.elements.take(pa.array(indexes))
        return PaneRows(self.slot[indexes], self.start[indexes], self.end[indexes], elements)

    def where(self, chosen: NDArray[np.bool_]) -> PaneRows:
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def folded(self, panes: Panes, starts: Ints, length: int) -> PaneRows:
        """One row for each key and start; every row belongs to the start of the same position."""
        codes, rows = group_by(self.slot, starts)
        parts = panes.fold_panes(self.elements, codes, groups=len(rows))
        start = starts[rows]
        return PaneRows(
            self.slot[rows], start, start + length, pa.table(parts, schema=pa.schema(panes.parts))
        )

    def with_slots(self, new: Ints) -> PaneRows:
        return PaneRows(new[self.slot], self.start, self.end, self.elements)

    def layout(self, slots: int) -> Layout:
        """By slot, then by time."""
        ordered = self.take(np.lexsort((self.start, self.slot)))
        offsets = np.searchsorted(ordered.slot, np.arange(slots + 1)).astype(np.int64)
        return Layout(ordered.elements.combine_chunks(), ordered.start, offsets, Order.EVENT_TIME)
