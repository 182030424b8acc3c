"""The pane-level query on a stream: which events are late is decided here, the others leave as panes.

    insert    judge by the watermark; what is on time is folded by key and pane
    advance   the panes of the batch leave: a pane of three batches leaves in three parts

A part is a row of the query over panes (`Panes.folded`), at the time of its newest event: that one is on
time, so the part is, and a step that knows no other watermark accepts it. To that step parts are events, so
that it corrects windows, reports them early or when they are empty as it does over events. Nothing is kept
here between two batches but how far time has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from sash.aggregation.stores.kept_facts import require_times
from sash.aggregation.stores.values import reading, seal_json, unseal_json
from sash.arrays import Ints, Mask
from sash.operators.answer import Answer
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import from_integers
from sash.operators.engine.lateness import are_on_time, judged
from sash.operators.folding.panes import Panes, group_by
from sash.operators.late_rows import no_late_rows
from sash.operators.protocol import Saved
from sash.semantics.watermark import Watermark

HEADER = b"pane level"


class PanePartsOperator:
    """A bucket of keys, or of parts of keys. See `protocol.StreamOperator`."""

    memory = 0

    def __init__(self, bound: BoundQuery) -> None:
        panes = Panes.of(bound, objects=True)
        assert panes is not None, "only for queries that fold panes"
        self.bound, self.panes = bound, panes
        self.clock = Watermark(allowed_lateness=bound.query.allowed_lateness.length)
        self._folded: list[pa.Table] = []

    @classmethod
    def load(
        cls, bound: BoundQuery, header: bytes | None, chunks: Mapping[int, bytes], *,
        name: str | None = None,
    ) -> Self:  # fmt: skip
        operator = cls(bound)
        if header is not None:
            operator.resume(header, chunks)
        return operator

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        with reading("the state of panes"):
            facts = unseal_json(HEADER, header)
            require_times(facts, "watermark")
            self.clock.value = facts["watermark"]
        self._folded = []

    def save(self) -> Saved:
        return Saved(seal_json(HEADER, {"watermark": self.clock.value, "keys": 0}))

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        rows, times, late = judged(self.bound, rows, self._on_time, none=self._no_late)
        if len(times):
            self._folded.append(self._parts(rows, times))
        return late

    def _on_time(self, rows: pa.Table, times: Ints) -> Mask:
        if self.clock.value is None:
            return np.ones(len(times), np.bool_)
        return are_on_time(self.bound.query, times, self.clock.value)

    def _parts(self, rows: pa.Table, times: Ints) -> pa.Table:
        keys, schema = rows.select(list(self.bound.keys)), self.panes.folded.schema
        codes, chosen = group_by(key_codes(rows, list(self.bound.keys)), self.panes.starts(times))
        newest = times[chosen]
        np.maximum.at(newest, codes, times)
        time = from_integers(newest, schema.field(self.bound.time).type)
        folds = self.panes.fold_events(rows, codes, groups=len(chosen))
        return pa.table([*keys.take(pa.array(chosen)).columns, time, *folds], schema=schema)

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        self.clock.advance_to(watermark)
        parts, self._folded = [self.panes.folded.schema.empty_table(), *self._folded], []
        return Answer(pa.concat_tables(parts), self._no_late)

    @cached_property
    def _no_late(self) -> pa.Table:
        return no_late_rows(self.bound)

    def next_timer(self) -> None:
        return None
