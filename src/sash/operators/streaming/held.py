"""The events that some window may still need, of all slots, by slot and then in the query's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.layout import Layout
from sash.semantics.event import Order

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """Columns, one entry an event."""

    rows: pa.Table
    slot: Ints
    time: Ints
    sequence: Ints
    """The order of arrival, over all slots and batches."""
    chunk: Ints
    """Which of the saved chunks the event is in."""
    told: Ints
    """A bit for each window of the query that could not place the event and has said so."""

    @classmethod
    def nothing(cls, schema: pa.Schema) -> Self:
        none = np.empty(0, np.int64)
        return cls(schema.empty_table(), none, none, none, none, none)

    def __len__(self) -> int:
        return len(self.slot)

    def take(self, indexes: Ints) -> Held:
        return Held(
            self.rows.take(pa.array(indexes)),
            *(getattr(self, name)[indexes] for name in ("slot", "time", "sequence", "chunk", "told")),
        )

    def plus(self, other: Held, order: Order) -> Held:
        """Both together, in order."""
        rows = pa.concat_tables([self.rows, other.rows]).combine_chunks()
        columns = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("slot", "time", "sequence", "chunk", "told")
        }
        both = Held(rows, **columns)
        by_time = () if order is Order.ARRIVAL else (both.time,)
        return both.take(np.lexsort((both.sequence, *by_time, both.slot)))

    def layout(self, slots: int, order: Order) -> Layout:
        offsets = np.searchsorted(self.slot, np.arange(slots + 1))
        return Layout(self.rows, self.time, offsets.astype(np.int64), order)

    def with_slots(self, slot: Ints) -> Held:
        return replace(self, slot=slot)

    def mark_told(self, positions: Ints, window: int) -> Held:
        told = self.told.copy()
        told[positions] |= 1 << window
        return replace(self, told=told)
