"""Rows of look-backs, batch after batch, from the operator and from the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sash.aggregation import built_in
from sash.operators.bound_query import BoundRolling
from sash.operators.engine import LatestOperator
from sash.semantics.durations import Duration, Unit
from sash.semantics.look_back_rows import FeatureEvaluation, FeatureRow
from sash.semantics.query import Query
from sash.semantics.reference import Batch
from sash.semantics.window import Window
from sash.semantics.windows import lifetime, slide_by_tuple
from tests.runtimes.operator_runtime import Runtime, Shown, lates, unplaced
from tests.runtimes.tables import table_of

AGGREGATES = {
    "n": built_in.count(),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "held": built_in.collect("e"),
}


def look_backs(*lengths: int) -> tuple[Window, ...]:
    """As `.rolling` and `.latest` name them; 0 is the one without end."""
    return tuple(
        slide_by_tuple(length, 1).named(str(length)) if length else lifetime() for length in lengths
    )


any_look_backs = st.lists(st.integers(0, 30), min_size=1, max_size=3, unique=True)


def ticks(length: int) -> Duration:
    return Duration(length, Unit.TICKS)


class FeatureRuntime(Runtime):
    """Of a query whose rows are those of `semantics.look_back_rows`."""

    columns: tuple[str, ...]
    """What tells a row apart, besides its features."""

    def __init__(
        self, bound: BoundRolling, *, columns: tuple[str, ...], elastic: bool = False, **options: Any
    ) -> None:
        super().__init__(bound, **options)
        self.rolling, self.columns, self.elastic = bound, columns, elastic

    def execute(self, batch: Batch) -> tuple[list[Shown], list[Shown]]:
        """As a runtime does that knows the watermark of a batch, or as an elastic query does."""
        if not self.elastic:
            return super().execute(batch)
        latest = isinstance(self.operator, LatestOperator)
        if latest:
            self.operator.judge_by(self.now)
        parts = [] if latest else [self.operator.advance(self.now)]
        rows = table_of(list(batch.arrivals), self.types).select(self.bound.columns)
        late = self.operator.insert(rows, np.arange(rows.num_rows))
        parts += [] if latest else [self.operator.advance(self.now)]
        self.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        if batch.watermark is not None:
            self.watermark.advance_to(batch.watermark)
        answers = [*parts, self.operator.advance(self.now)]
        reports = pa.concat_tables([answer.reports for answer in answers])
        return self.shown(reports), unplaced(pa.concat_tables([late, *(one.late for one in answers)]))

    def shown(self, reports: pa.Table) -> list[Shown]:
        names = [*self.columns, *(field.name for field in self.rolling.features)]
        return sorted((tuple(row[name] for name in names) for row in reports.to_pylist()), key=repr)


def require_rows(
    runtime: FeatureRuntime, oracle: FeatureEvaluation, stream: Sequence[Batch], place: Any
) -> None:
    """Batch after batch, and at the end. `place` has the columns of a row of the reference."""
    assert runtime.rolling.query is oracle.query or runtime.rolling.query == oracle.query

    def expected(rows: Sequence[FeatureRow]) -> list[Shown]:
        return sorted(((*place(row), *in_order(oracle.query, row.values)) for row in rows), key=repr)

    for number, batch in enumerate(stream):
        rows, late = len(oracle.rows), len(oracle.late)
        oracle.take(batch)
        emitted, misfits = runtime.step(batch)
        assert emitted == expected(oracle.rows[rows:]), f"batch {number}"
        assert misfits == lates(oracle.late[late:]), f"batch {number}"
    rows = len(oracle.rows)
    oracle.report(flush=True)
    emitted, _ = runtime.flush()
    assert emitted == expected(oracle.rows[rows:]), "flush"
    runtime.close()


def in_order(query: Query, values: Mapping[tuple[str, str], Any]) -> list[Any]:
    return [values[name, window.label] for window in query.windows for name in query.aggregates]
