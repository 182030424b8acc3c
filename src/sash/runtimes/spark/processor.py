"""The stateful step of a streaming query: all keys of a bucket, once a batch and whenever time closes one.

    rows arrive at watermark m:   advance(m), insert(rows), advance(m)
    a timer expires at m:         advance(m)

Spark knows the watermark of a batch only when the next one begins, so what a batch brings is judged by the
watermark of the batches before it, and what that closes is reported first. The second advance reports what
the rows themselves settle at m: corrections, early reports, and windows that close in order of arrival.
Rows that another stateful step emitted because the watermark has moved to m are as old as that move: they
are judged by the watermark before it, and the first advance is left out.

There is one timer a bucket, at the next watermark that has something to close.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.operators.bound import BoundQuery
from sash.operators.streaming.protocol import StreamOperator
from sash.runtimes.spark.clock import Clock
from sash.runtimes.spark.columns import ORDINAL
from sash.runtimes.spark.packing import EVENTS, LATE, PAYLOAD, REPORTS, blocks_of, rows_of
from sash.runtimes.spark.state import Bucket, StateOfBuckets

if TYPE_CHECKING:
    from pyspark.sql.pandas._typing import DataFrameLike

Output = Literal["reports", "late"]


@dataclass(frozen=True)
class Stage:
    """A query as its executors know it."""

    bound: BoundQuery
    output: Output
    columns: list[str]
    """The input columns that it reads, in the order of a block."""
    block: pa.Schema
    clock: Clock
    derived: bool
    """Whether the rows come from another stateful step."""
    operator: type[StreamOperator]
    description: Mapping[str, Any]

    @property
    def schema(self) -> pa.Schema:
        """Of the answer."""
        return self.bound.output if self.output == "reports" else self.bound.late_output


class Heard:
    """What an operator says in the course of one call."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._parts: list[pa.Table] = []
        self.events = self.late = self.reports = 0

    def advance(self, bucket: Bucket, watermark: int) -> None:
        said = bucket.operator.advance(watermark)
        self._take(said.reports, said.late)

    def insert(self, bucket: Bucket, rows: pa.Table) -> None:
        self.events += rows.num_rows
        arrived = rows.select(self._stage.block.names[:-1]).rename_columns(self._stage.columns)
        late = bucket.operator.insert(arrived, rows[ORDINAL].to_numpy())
        self._take(None, late)

    def _take(self, reports: pa.Table | None, late: pa.Table) -> None:
        self.late += late.num_rows
        if reports is not None:
            self.reports += reports.num_rows
        wanted = reports if self._stage.output == "reports" else late
        if wanted is not None and wanted.num_rows:
            schema = self._stage.schema
            self._parts.append(wanted.select(schema.names).cast(schema))

    def frames(self) -> Iterator[pd.DataFrame]:
        """The answer in blocks; the counts stand with the first."""
        if not (self.events or self.late or self.reports):
            return
        counts = (self.events, self.late, self.reports)
        answer = pa.concat_tables(self._parts) if self._parts else self._stage.schema.empty_table()
        for block in blocks_of(answer):
            yield pd.DataFrame(
                {PAYLOAD: [block], **dict(zip((EVENTS, LATE, REPORTS), counts, strict=True))}
            )
            counts = (0, 0, 0)


class WindowProcessor(StatefulProcessor):
    """What `transformWithStateInPandas` runs. The names of the handlers' arguments are Spark's."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        stage = self._stage
        self._handle = handle
        self._state = StateOfBuckets(
            handle, bound=stage.bound, operator=stage.operator, description=stage.description
        )

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[DataFrameLike]:
        bucket = self._state.load(int(key[0]))
        payloads = (payload for frame in rows for payload in frame[PAYLOAD])
        arrived = rows_of(bucket.number, payloads, self._stage.block)
        now = timerValues.getCurrentWatermarkInMs()
        watermark, heard = self._stage.clock.watermark(now), Heard(self._stage)
        if not self._stage.derived:
            heard.advance(bucket, watermark)
        heard.insert(bucket, arrived)
        heard.advance(bucket, watermark)
        self._set_timer(bucket, now)
        # Before the first row goes out: whoever reads the answer may stop at any row.
        self._state.save(bucket)
        yield from heard.frames()

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[DataFrameLike]:
        bucket = self._state.load(int(key[0]))
        if bucket.timer == expiredTimerInfo.getExpiryTimeInMs():
            bucket.timer = None  # Spark removes a timer that has expired by itself
        now = timerValues.getCurrentWatermarkInMs()
        heard = Heard(self._stage)
        heard.advance(bucket, self._stage.clock.watermark(now))
        self._set_timer(bucket, now)
        self._state.save(bucket)
        yield from heard.frames()

    def _set_timer(self, bucket: Bucket, now: int) -> None:
        """The one timer of a bucket, where the operator wakes next; never in the past, which would wake it
        again and again in this very batch."""
        wakes_at = bucket.operator.wakes_at()
        timer = None if wakes_at is None else max(self._stage.clock.timer(wakes_at), now + 1)
        if timer == bucket.timer:
            return
        if bucket.timer is not None:
            self._handle.deleteTimer(bucket.timer)
        if timer is not None:
            self._handle.registerTimer(timer)
        bucket.timer = timer
