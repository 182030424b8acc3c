"""The stateful step of several queries: all keys of a bucket, for each query that the bucket serves.

Every query has an operator of its own, with its own state and clock. They share the rows, which are opened
once, and the timers of the bucket: one for each time at which any of them has something to close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.runtimes.spark.packing.answers import Answers, PlainAnswers
from sash.runtimes.spark.packing.blocks import PAYLOAD
from sash.runtimes.spark.state.operators_in_state import TOKEN, Bucket, StateOfBuckets
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.stateful_processor import timer_of
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc
from sash.runtimes.spark.together.shared_rows import SharedRows
from sash.runtimes.spark.together.stage import TogetherStage, output_of


class NamedState:
    """What `StateOfBuckets` uses of a MapState, for one of the queries."""

    def __init__(self, state: MapState, name: str) -> None:
        self._state, self._name = state, name

    def getValue(self, key: tuple[int]) -> Any:
        return self._state.getValue((self._name, *key))

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        self._state.updateValue((self._name, *key), value)

    def removeKey(self, key: tuple[int]) -> None:
        self._state.removeKey((self._name, *key))

    def clear(self) -> None:
        """Remove all of it. Buckets that have nothing under the name are left after one look."""
        if self.getValue((TOKEN,)) is not None:
            for key in list(self.keys()):
                self.removeKey(key)

    def keys(self) -> Iterator[tuple[int]]:
        every = self._state.keys()
        return ((number,) for name, number in every if name == self._name)


@dataclass(frozen=True)
class _Turn:
    """One query of a bucket in the course of one call."""

    name: str
    stage: WindowStage
    state: StateOfBuckets
    bucket: Bucket
    call: BucketCall


class TogetherProcessor:
    """What a `LightProcessor` carries. The names of the handlers' arguments are Spark's."""

    def __init__(self, stage: TogetherStage) -> None:
        self.stage = stage
        self.answers: Answers = PlainAnswers(stage.schemas, stage.counts)

    def begin(self, handle: StatefulProcessorHandle, state: MapState) -> None:
        freeze_gc()
        self._handle = handle
        self._states = {
            query.name: StateOfBuckets(
                cast(MapState, NamedState(state, query.state)),
                bound=self.stage.stages[query.name].of_bucket,
                operator=self.stage.stages[query.name].operator,
                description=self.stage.stages[query.name].description,
            )
            for query in self.stage.queries
        }

        self._gone = [NamedState(state, name) for name in self.stage.gone]

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        number, now = int(key[0]), timerValues.getCurrentWatermarkInMs()
        payloads = map(attrgetter(PAYLOAD), self.answers.arrived(rows))
        arrived = SharedRows.of(self.stage, number, payloads, now)

        def work(turn: _Turn) -> None:
            watermark = turn.stage.clock.watermark(now)
            if not turn.stage.derived:
                turn.call.reach(watermark)
            arrived.into(turn.name, turn.call)
            turn.call.advance(watermark)

        return self._worked(number, now, work)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        now = timerValues.getCurrentWatermarkInMs()

        def work(turn: _Turn) -> None:
            turn.call.advance(turn.stage.clock.watermark(now))

        # Spark removes a timer that has expired by itself.
        return self._worked(int(key[0]), now, work, expired=expiredTimerInfo.getExpiryTimeInMs())

    def _worked(
        self, number: int, now: int, work: Callable[[_Turn], None], *, expired: int | None = None
    ) -> Iterator[Any]:
        turns = [self._turn(query.name, number) for query in self.stage.of_bucket(number)]
        before = {turn.bucket.timer for turn in turns} - {None, expired}
        for turn in turns:
            work(turn)
            turn.bucket.timer = timer_of(turn.stage, turn.bucket, now)
        after = {turn.bucket.timer for turn in turns} - {None}
        for timer in before - after:
            self._handle.deleteTimer(cast(int, timer))
        for timer in after - before:
            self._handle.registerTimer(cast(int, timer))
        # Before the first row goes out: whoever reads the answer may stop at any row.
        for turn in turns:
            turn.state.save(turn.bucket)
        for gone in self._gone:
            gone.clear()
        yield from self._emitted(turns)

    def _turn(self, name: str, number: int) -> _Turn:
        stage, state = self.stage.stages[name], self._states[name]
        bucket = state.load(number)
        return _Turn(name, stage, state, bucket, BucketCall(stage, bucket))

    def _emitted(self, turns: list[_Turn]) -> Iterator[Any]:
        answer: dict[str, pa.Table] = {}
        counts = dict.fromkeys(self.stage.counts, 0)
        for turn in turns:
            tables, counted = turn.call.answer()
            answer |= {output_of(turn.name, output): table for output, table in tables.items()}
            counts |= {f"{turn.name} {count}": value for count, value in counted.items()}
        if any(counts.values()):
            yield from self.answers.outgoing(answer, counts)
