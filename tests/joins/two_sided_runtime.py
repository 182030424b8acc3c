"""What a runtime does with the operator of a join: window joins and as-of joins alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from sash.errors import SashWarning
from sash.operators.joins.two_sided import TwoSidedOperator
from sash.semantics.expression import Side
from sash.semantics.join import JoinBatch
from sash.semantics.watermark import Watermark
from tests.joins.streams import table_of

Emitted = TypeVar("Emitted")
"""A row of the answer, in numbers."""
Operator = TypeVar("Operator", bound=TwoSidedOperator)


class TwoSidedRuntime(Generic[Operator, Emitted]):
    """Feeds batches, follows both watermarks, and keeps the operator as bytes in between."""

    def __init__(
        self, operator: Operator, numbers_in: Callable[[pa.Table], list[Emitted]], *, restart: bool
    ) -> None:
        self.operator, self.numbers_in, self.restart = operator, numbers_in, restart
        join: Any = operator.bound
        self.marks = {side: Watermark(delay=join.join.delay(side).length) for side in Side}
        self.chunks: dict[int, bytes] = {}
        self.written: list[int] = []
        """Bytes of header and chunks, by batch."""
        self.late: list[tuple[str, Any, str]] = []
        self.now = -(2**60)

    def step(self, batch: JoinBatch) -> list[Emitted]:
        for side in Side:
            rows = table_of(side, batch.arrivals(side))
            late = self.operator.insert(side, rows, np.arange(rows.num_rows))
            self.late += [(side.value, row["e"], row["late_reason"]) for row in late.to_pylist()]
            self.marks[side].observe(a.time for a in batch.arrivals(side) if a.time is not None)
        known = [mark.value for mark in self.marks.values() if mark.value is not None]
        if len(known) == len(self.marks):
            self.now = max(self.now, min(known))
        emitted = self.numbers_in(self.operator.advance(self.now))
        self.pause()
        return emitted

    def flush(self) -> list[Emitted]:
        return self.numbers_in(self.operator.advance(self.now, flush=True))

    def pause(self) -> None:
        saved = self.operator.save()
        self.chunks |= saved.written
        self.written.append(len(saved.header) + sum(map(len, saved.written.values())))
        for number in saved.dropped:
            del self.chunks[number]
        self.operator.resume(saved.header, self.chunks)
        if self.restart:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SashWarning)
                self.operator = self.operator.load(self.operator.bound, saved.header, self.chunks)
