"""What was reported of the windows that may still change: for queries that correct themselves.

The content of a window is known by a fingerprint (see `content_fingerprint`). Which of them are
due: `due_reports`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from sash.arrays import Ints


@dataclass(frozen=True)
class ReportedWindows:
    """By slot, then by identifier: the last report of each window."""

    slot: Ints
    id: Ints
    start: Ints
    end: Ints
    closes_at: Ints
    content: Ints
    size: Ints
    revision: Ints
    closed: Ints

    @classmethod
    def blank(cls) -> ReportedWindows:
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))

    def __len__(self) -> int:
        return len(self.slot)

    def take(self, indexes: Ints) -> ReportedWindows:
        return ReportedWindows(*(getattr(self, field.name)[indexes] for field in fields(self)))

    def table(self) -> pa.Table:
        return pa.table({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def of_table(cls, table: pa.Table) -> ReportedWindows:
        return cls(*(table[field.name].to_numpy() for field in fields(cls)))

    def plus(self, other: ReportedWindows) -> ReportedWindows:
        return in_order(joined(self, other)) if len(self) else other

    def without(self, settled: int) -> ReportedWindows:
        """What can still change once events are final up to `settled`."""
        return self.take(np.flatnonzero(self.closes_at > settled)) if len(self) else self

    def without_slots(self, slots: Ints) -> ReportedWindows:
        return self.take(np.flatnonzero(~np.isin(self.slot, slots))) if len(slots) else self


def joined(*parts: ReportedWindows) -> ReportedWindows:
    return ReportedWindows(
        *(np.concatenate([getattr(one, f.name) for one in parts]) for f in fields(ReportedWindows))
    )


def in_order(reported: ReportedWindows) -> ReportedWindows:
    return reported.take(np.lexsort((reported.id, reported.slot)))
