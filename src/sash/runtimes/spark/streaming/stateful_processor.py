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

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.runtimes.spark.packing.answers import Answers, PackedAnswers
from sash.runtimes.spark.packing.blocks import ANSWER, COUNTS, INPUT, PAYLOAD, RELAY, opened
from sash.runtimes.spark.packing.outputs import LATE
from sash.runtimes.spark.state.operators_in_state import Bucket, StateOfBuckets
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.processor_for_driver import state_of
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc


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
            state, bound=stage.of_bucket, operator=stage.operator, description=stage.description
        )

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        if int(key[0]) == RELAY:
            yield from self._relayed(self.answers.arrived(rows))
            return
        bucket = self._loaded(int(key[0]))
        now = timerValues.getCurrentWatermarkInMs()
        blocks = [(getattr(row, PAYLOAD), getattr(row, INPUT, 0)) for row in self.answers.arrived(rows)]
        watermark, call = self.stage.clock.watermark(now), self._call(bucket)
        if not self.stage.derived:
            call.reach(watermark)
        call.take(blocks, milliseconds=now)
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
        return self.stage.call(self.stage, bucket)

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
    next_timer = bucket.operator.next_timer()
    return None if next_timer is None else max(stage.clock.timer(next_timer), now + 1)
