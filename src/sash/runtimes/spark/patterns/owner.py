"""The owner of a bucket of keys on a stream: it triggers windows, and others compute them.

The owner holds events and knows the watermark, so that it decides which windows close, which are corrected
and which events are late. It emits batches of windows with their events (see `agnostic`), not values.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.engine.operator import HandOut
from sash.operators.engine.state_layout import StatePlan
from sash.runtimes.spark.patterns.agnostic import HandOutPlan, WholeWindows
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.window_stage import WindowStage


class OwnerOperator(WindowOperator):
    """A bucket of keys whose windows are always handed out, whole or in parts, and which holds whole rows
    for that."""

    handing: HandOutPlan = WholeWindows(1)
    hand_out: HandOut | None = handing.dealer(0)

    @property
    def answers(self) -> pa.Schema:
        return self.handing.schema

    @staticmethod
    def plan_of(bound: BoundQuery) -> StatePlan:
        # Whole rows, of the columns that are read.
        read = pa.schema([bound.schema.field(name) for name in bound.columns])
        return StatePlan(replace(bound, schema=read), rows=True)

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        answer = super().advance(watermark, flush=flush)
        return answer if answer.handed is None else replace(answer, reports=answer.handed, handed=None)


class OwnerProcessor(WindowProcessor):
    """The stateful step of owners."""

    def __init__(self, stage: WindowStage, handing: HandOutPlan) -> None:
        super().__init__(stage)
        self._handing = handing

    def _loaded(self, number: int) -> Bucket:
        bucket = super()._loaded(number)
        assert isinstance(bucket.operator, OwnerOperator)
        bucket.operator.handing = self._handing
        bucket.operator.hand_out = self._handing.dealer(number)
        return bucket
