"""The window operator for queries that fold panes: what it keeps and does depends on what is new.

    insert     judge by the watermark, fold the rest by key and pane
    advance    report the windows that close between two watermarks, let the panes before the head go

Its answers are those of `WindowOperator`, which holds events. This one holds panes, and of a long past
only coarse cells (see `past`): what a batch reads, writes and computes grows with what it brings and
reports, and with the logarithm of the window.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.operators.answer import Answer, late_rows, reports
from sash.operators.bound import BoundQuery
from sash.operators.clock_windows import clock_mapping, clock_ranges, occupied
from sash.operators.panes import ClockWindow, Panes, clock_windows, group_by
from sash.operators.streaming.cells import Boundaries, Grid, loose
from sash.operators.streaming.keyring import Keyring
from sash.operators.streaming.loose import Loose
from sash.operators.streaming.own import Own, only_own
from sash.operators.streaming.pane_rows import PaneRows
from sash.operators.streaming.past import Past, decoded, encoded
from sash.operators.streaming.protocol import Saved
from sash.operators.times import to_integers
from sash.semantics.watermark import Lateness
from sash.semantics.windows import TimeWindow

Ints = NDArray[np.int64]

HEADER = b"header of panes"
LAYOUT = 1
"""Goes up with every change of what a header or a chunk holds."""


class PanedOperator:
    """A bucket of keys. See `protocol.StreamOperator`."""

    def __init__(self, bound: BoundQuery) -> None:
        panes = Panes.of(bound)
        assert panes is not None, "only for queries that fold panes"
        self.bound, self.panes, self.windows = bound, panes, self._windows_of(bound, panes)
        self.own: Own | None = None
        self.watermark: int | None = None
        self.keyring = Keyring(bound.keys)
        longest = max(window.size for window in self.windows)
        self.grid = Grid.over(longest, pane=panes.length, origin=panes.origin)
        self.loose = Loose(panes)
        self.past = Past(panes, self.grid, self.keyring)

    @staticmethod
    def _windows_of(bound: BoundQuery, panes: Panes) -> tuple[ClockWindow, ...]:
        """The windows that this operator closes."""
        return clock_windows(bound)

    @property
    def answers(self) -> pa.Schema:
        """Of what is told of windows: reports."""
        return self.bound.output

    @staticmethod
    def suits(bound: BoundQuery) -> bool:
        """Corrections need to know what was in a window, and empty windows which keys there were."""
        return not bound.query.corrects and not bound.query.empty and Panes.of(bound) is not None

    def attach(self, chunks: Mapping[int, bytes]) -> None:
        self.past.store = chunks

    # Events arrive

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        late = [self._late(rows.slice(0, 0), "")]
        if rows[self.bound.time].null_count:
            known = pc.is_valid(rows[self.bound.time])
            late.append(self._late(rows.filter(pc.invert(known)), "time is null"))
            rows = rows.filter(known)
        times = to_integers(rows[self.bound.time])
        if self.watermark is not None and len(times) and times.min() < self.watermark:
            on_time = times >= self.watermark
            late.append(self._late(rows.filter(pa.array(~on_time)), Lateness.TOO_LATE.value))
            rows, times = rows.filter(pa.array(on_time)), times[on_time]
        if len(times):
            self.loose.add(self._panes_of(rows, times))
        return pa.concat_tables(late)

    def _panes_of(self, rows: pa.Table, times: Ints) -> PaneRows:
        starts, slots = self.panes.starts(times), self.keyring.slots_of(rows)
        codes, chosen = group_by(slots, starts)
        elements = self.panes.fold_events(rows, codes, groups=len(chosen))
        start = starts[chosen]
        table = pa.table(elements, schema=pa.schema(self.panes.parts))
        return PaneRows(slots[chosen], start, start + self.panes.length, table)

    def _late(self, rows: pa.Table, reason: str) -> pa.Table:
        return late_rows(self.bound, rows, reason)

    # Time passes

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        before = self.watermark
        self.watermark = watermark if before is None else max(before, watermark)
        said = [self.answers.empty_table()]
        rows = [row for row in (*self.past.rows(), self.loose.rows) if len(row)]
        none_late = self._late(
            pa.schema([self.bound.schema.field(c) for c in self.bound.columns]).empty_table(), ""
        )
        if not rows:
            return Answer(said[0], none_late)
        newest = max(int(row.end.max()) for row in rows) - 1
        closing = [self._closing(window, before, newest if flush else None) for window in self.windows]
        if any(closing):
            if before is not None:
                self.past.refine(
                    [_starts(w, ids) for w, ids in zip(self.windows, closing, strict=True) if ids]
                )
            said += self._reports(closing)
            self._let_go()
        return Answer(pa.concat_tables(said), none_late)

    def _closing(self, window: ClockWindow, before: int | None, newest: int | None) -> range:
        """The identifiers of the windows that close now; or, up to the `newest` pane, of all of them."""
        assert self.watermark is not None
        # Before the first watermark nothing has closed, however old it is.
        first = -(2**62) if before is None else window.mapping(before).start
        stop = window.mapping(self.watermark).start if newest is None else window.mapping(newest).stop
        return range(first, max(first, stop))

    def _reports(self, closing: list[range]) -> list[pa.Table]:
        assert self.keyring.table is not None
        ends = [
            window.extent(ids.stop - 1).stop
            for window, ids in zip(self.windows, closing, strict=True)
            if ids
        ]
        recent = self.loose.rows.where(self.loose.rows.start < max(ends))
        layout = PaneRows.joined([*self.past.rows(), recent]).layout(len(self.keyring))
        said = []
        for window, ids in zip(self.windows, closing, strict=True):
            ranges = clock_ranges(window, layout, *occupied(window, layout, within=ids))
            ranges = only_own(self.own, self.keyring.table, ranges)
            said.append(reports(self.panes.folded, window, layout, ranges, keys=self.keyring.table))
        return said

    def _let_go(self) -> None:
        assert self.watermark is not None
        head = min(window.extent(window.mapping(self.watermark).start).start for window in self.windows)
        self.past.let_go(head)
        self.loose.keep(self.loose.rows.end > head)
        if self.grid.levels:
            frontier = self.grid.floor(self.watermark)
            if self.past.frontier is None or frontier > self.past.frontier:
                settled = self.loose.rows.start < frontier
                self.past.settle(self.loose.rows.where(settled), frontier)
                self.loose.keep(~settled)
        self._forget_idle_keys()

    def _forget_idle_keys(self) -> None:
        """Once most keys have nothing left: to number the others anew costs as much as to look at them."""
        busy = np.unique(np.concatenate([rows.slot for rows in (*self.past.rows(), self.loose.rows)]))
        if 2 * len(busy) >= len(self.keyring):
            return
        new = np.full(len(self.keyring), -1)
        new[busy] = np.arange(len(busy))
        self.keyring.keep(busy)
        self.loose.rows = self.loose.rows.with_slots(new)
        self.past.loaded = {cell: rows.with_slots(new) for cell, rows in self.past.loaded.items()}

    def wakes_at(self) -> int | None:
        rows = [row for row in (*self.past.rows(), self.loose.rows) if len(row)]
        if not rows:
            return None
        slot, start, end = (
            np.concatenate([getattr(row, name) for row in rows]) for name in ("slot", "start", "end")
        )
        upcoming = []
        for window in self.windows:
            first, _ = clock_mapping(window, start)
            _, last = clock_mapping(window, end - self.panes.length)
            if self.watermark is not None:
                first = np.maximum(first, window.mapping(self.watermark).start)
            if self.own is not None:
                first = self.own.following(self.keyring.table, slot, first)
            held = first[first <= last]
            if len(held):
                upcoming.append(window.extent(int(held.min())).stop)
        return min(upcoming, default=None)

    # Between two batches

    def save(self) -> Saved:
        written = dict(self.past.written)
        for number, rows in self.loose.unsaved():
            written[loose(number)] = encoded(loose(number), rows, self.keyring, self.panes)
        dropped = self.past.dropped | {loose(number) for number in self.loose.is_saved()}
        self.past.written, self.past.dropped = {}, set()
        facts = {
            "layout": LAYOUT,
            "watermark": self.watermark,
            "head": self.past.head,
            "frontier": self.past.frontier,
            "chunks": self.loose.count,
            "tiers": sorted(self.loose.tiers.items()),
        }
        return Saved(seal(HEADER, json.dumps(facts).encode()), written, frozenset(dropped))

    @classmethod
    def load(cls, bound: BoundQuery, header: bytes | None, chunks: Mapping[int, bytes]) -> Self:
        operator = cls(bound)
        operator.attach(chunks)
        if header is None:
            return operator
        facts = json.loads(bytes(unseal(HEADER, header)))
        if facts["layout"] != LAYOUT:
            raise CorruptValue(
                f"the state was saved by another version of Sash, in layout {facts['layout']}; this one "
                f"reads layout {LAYOUT}: start the query anew, or go on with the version that saved it"
            )
        operator.watermark, operator.loose.count = facts["watermark"], facts["chunks"]
        operator.past.resume(facts["head"], facts["frontier"])
        for number, tier in facts["tiers"]:
            data = chunks.get(loose(number))
            if data is None:
                raise CorruptValue(f"the state lacks chunk {number} of {[n for n, _ in facts['tiers']]}")
            rows = decoded(loose(number), data, operator.keyring, operator.panes, operator.panes.length)
            operator.loose.load(number, tier, rows.where(operator._is_loose(rows)))
        return operator

    def _is_loose(self, rows: PaneRows) -> NDArray[np.bool_]:
        """A chunk is not written again when some of its panes have settled or are needed no more."""
        least = [bound for bound in (self.past.head, self.past.frontier) if bound is not None]
        chosen: NDArray[np.bool_] = rows.start >= max(least, default=-(2**62))
        return chosen


def _starts(window: ClockWindow, ids: range) -> Boundaries:
    step = window.slide if isinstance(window, TimeWindow) else window.size
    return Boundaries(window.extent(ids[0]).start, window.extent(ids[-1]).start, step)
