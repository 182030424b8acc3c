"""The stateful step of a streaming query: all keys of a bucket, once a batch and whenever time closes one.

    rows arrive at watermark m:   advance(m), insert(rows), advance(m)
    a timer expires at m:         advance(m)

Spark knows the watermark of a batch only when the next one begins, so what a batch brings is judged by the
watermark of the batches before it, and what that closes is reported first. The second advance reports what
the rows themselves settle at m: corrections, early reports, and windows that close in order of arrival.
Rows that another stateful step emitted because the watermark has moved to m are as old as that move: the
first advance is left out, so that they are judged by the last watermark of their bucket.

There is one timer per bucket, at the next watermark that has something to close.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from operator import attrgetter
from typing import Any, Self

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.operators.engine import LatestOperator, WindowOperator
from sash.runtimes.spark.packing.answers import Answers, Counts, PackedAnswers
from sash.runtimes.spark.packing.blocks import ANSWER, COUNTS, PAYLOAD, RELAY, opened, rows_of
from sash.runtimes.spark.packing.columns import ORDINAL
from sash.runtimes.spark.packing.outputs import LATE
from sash.runtimes.spark.packing.pane_blocks import NEWEST, ArrivedPanes, SharedPanes
from sash.runtimes.spark.state.operators_in_state import Bucket, StateOfBuckets
from sash.runtimes.spark.streaming.light_processor import state_of
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc


class BucketCall:
    """What the operator of a bucket emits in the course of one call."""

    def __init__(self, stage: WindowStage, bucket: Bucket) -> None:
        self._stage, self._bucket = stage, bucket
        self._parts: dict[str, list[pa.Table]] = {output: [] for output in stage.schemas}
        self._counts = dict.fromkeys(COUNTS, 0)

    def reach(self, watermark: int) -> None:
        """Time passes while the batch goes on. Where it has one answer for each key, that is computed at
        its end."""
        if isinstance(self._bucket.operator, LatestOperator):
            self._bucket.operator.judge_by(watermark)
        else:
            self.advance(watermark)

    def advance(self, watermark: int) -> None:
        answer = self._bucket.operator.advance(watermark)
        self._take("reports", answer.reports)
        self._take("late", answer.late)
        self._counts["forgotten"] += answer.forgotten

    def insert(self, rows: pa.Table) -> None:
        arrived = rows.drop_columns(ORDINAL).rename_columns(self._stage.columns)
        self._counts["events"] += self._originals(arrived).num_rows
        late = self._bucket.operator.insert(arrived, rows[ORDINAL].to_numpy())
        self._take("late", self._originals(late))

    def insert_panes(self, shared: SharedPanes, arrived: ArrivedPanes, query: int = 0) -> None:
        """Events that were folded before they came; `query` is the number of this one among those that
        share them."""
        operator, panes = self._bucket.operator, arrived.rows
        assert isinstance(operator, WindowOperator), "no other one takes panes"
        self._counts["events"] += arrived.events
        operator.insert_panes(shared.keys(panes), panes[NEWEST].to_numpy(), shared.elements(panes, query))

    def _originals(self, rows: pa.Table) -> pa.Table:
        """Those that are counted here: all, unless some are copies of what another bucket counts."""
        return rows

    def _take(self, output: str, part: pa.Table) -> None:
        self._counts[output] += part.num_rows
        self._keep(output, part)

    def _keep(self, output: str, part: pa.Table) -> None:
        """For the sink of this output, if it has one."""
        if output in self._parts and part.num_rows:
            schema = self._stage.schemas[output]
            self._parts[output].append(part.select(schema.names).cast(schema))

    def answer(self) -> tuple[dict[str, pa.Table], Counts]:
        """The rows of each output that has some, and the counts."""
        bucket = self._bucket
        state = {"restored": int(bucket.restored), "read": bucket.chunks.read, "written": bucket.written}
        tables = {output: pa.concat_tables(parts) for output, parts in self._parts.items() if parts}
        return tables, self._counts | state

    def outgoing(self, answers: Answers) -> Iterator[Any]:
        """The answer and its counts, unless both are empty."""
        tables, counts = self.answer()
        if any(counts.values()):
            yield from answers.outgoing(tables, counts)


class WindowProcessor(StatefulProcessor):
    """What a `LightProcessor` carries. The names of the handlers' arguments are Spark's."""

    def __init__(self, stage: WindowStage) -> None:
        self.stage = stage
        self.answers: Answers = PackedAnswers(stage.schemas)

    def answering(self, answers: Answers) -> Self:
        """The same, with answers that leave it in another way."""
        other = copy(self)
        other.answers = answers
        return other

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.begin(handle, state_of(handle))

    def begin(self, handle: StatefulProcessorHandle, state: MapState) -> None:
        """With the state variable that is declared already."""
        freeze_gc()
        stage = self.stage
        self._handle = handle
        self._state = StateOfBuckets(
            state, bound=stage.bound, operator=stage.operator, description=stage.description
        )

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        if int(key[0]) == RELAY:
            yield from self._relayed(self.answers.arrived(rows))
            return
        bucket = self._loaded(int(key[0]))
        now = timerValues.getCurrentWatermarkInMs()
        arrived = self._arrived(bucket, self.answers.arrived(rows), now)
        watermark, call = self.stage.clock.watermark(now), self._call(bucket)
        if not self.stage.derived:
            call.reach(watermark)
        self._insert(call, arrived)
        call.advance(watermark)
        self._set_timer(bucket, now)
        # Before the first row goes out: whoever reads the answer may stop at any row.
        self._state.save(bucket)
        yield from call.outgoing(self.answers)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        bucket = self._loaded(int(key[0]))
        if bucket.timer == expiredTimerInfo.getExpiryTimeInMs():
            bucket.timer = None  # Spark removes a timer that has expired by itself
        now = timerValues.getCurrentWatermarkInMs()
        call = self._call(bucket)
        call.advance(self.stage.clock.watermark(now))
        self._set_timer(bucket, now)
        self._state.save(bucket)
        yield from call.outgoing(self.answers)

    def _relayed(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Late rows that another step has found, and counted."""
        schema = self.stage.schemas[LATE]
        late = pa.Table.from_batches(opened(ANSWER, row.payload, schema) for row in rows)
        return self.answers.outgoing({LATE: late}, dict.fromkeys(COUNTS, 0))

    def _loaded(self, number: int) -> Bucket:
        return self._state.load(number)

    def _call(self, bucket: Bucket) -> BucketCall:
        return BucketCall(self.stage, bucket)

    def _arrived(self, bucket: Bucket, rows: Iterator[Any], now: int) -> Any:
        """What `_insert` takes, in a batch that Spark's watermark `now` judges."""
        payloads: Iterable[bytes] = map(attrgetter(PAYLOAD), rows)
        panes = None
        if self.stage.panes is not None:
            payloads, panes = self.stage.panes.arrived(bucket.number, payloads, milliseconds=now)
        return rows_of(bucket.number, payloads, self.stage.block), panes

    def _insert(self, call: BucketCall, arrived: Any) -> None:
        rows, panes = arrived
        call.insert(rows)
        if panes is not None and self.stage.panes is not None:
            call.insert_panes(self.stage.panes, panes)

    def _set_timer(self, bucket: Bucket, now: int) -> None:
        """The one timer of a bucket."""
        timer = timer_of(self.stage, bucket, now)
        if timer == bucket.timer:
            return
        if bucket.timer is not None:
            self._handle.deleteTimer(bucket.timer)
        if timer is not None:
            self._handle.registerTimer(timer)
        bucket.timer = timer


def timer_of(stage: WindowStage, bucket: Bucket, now: int) -> int | None:
    """Where the operator wakes next, in Spark's time; never in the past, which would wake it again and
    again in this very batch."""
    wakes_at = bucket.operator.wakes_at()
    return None if wakes_at is None else max(stage.clock.timer(wakes_at), now + 1)
