"""Patterns on a streaming DataFrame, as stages of Spark.

    by windows      pack ──▶ step: own windows ──▶ unpack
    two levels      pack ──▶ step: panes ──▶ pack again ──▶ step: own windows ──▶ unpack
    by an owner     pack ──▶ step: owner triggers ──▶ unpack ──round-robin──▶ compute windows
    … in parts      pack ──▶ step: owner finds windows ──▶ unpack ──▶ fold parts ──▶ put windows together

A step is `transformWithState` with a bucket for each worker. Two steps of one query see the same watermark
in the same micro-batch, so that nothing waits for another batch. Late rows are found by the first step and
pass through what follows it (see `late_relay`), so that all outputs leave the query together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, functions as F

from sash.operators.bound_query import BoundQuery
from sash.operators.engine import PanePartsOperator, WindowOperator
from sash.operators.folding.panes import Panes
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.runtimes.spark.packing.answers import PackedAnswers
from sash.runtimes.spark.packing.blocks import COUNTS, PACKED, PACKED_BUCKET, PAYLOAD, Unpacker
from sash.runtimes.spark.packing.hashed_packer import HashedPacker
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.patterns.agnostic import HandOutPlan, computed
from sash.runtimes.spark.patterns.late_relay import Repacker, computed_beside_late_rows
from sash.runtimes.spark.patterns.own_windows import FarmProcessor
from sash.runtimes.spark.patterns.owner import OwnerOperator, OwnerProcessor
from sash.runtimes.spark.patterns.stream_plan import StreamPlan, stream_plan_of, worker_buckets
from sash.runtimes.spark.patterns.window_parts import handing_of
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.stateful_step import Emitted, answers_of, counted, emitted_by
from sash.runtimes.spark.streaming.window_stage import WindowStage

BEFORE = [count for count in COUNTS if count != REPORTS]
AFTER = [count for count in COUNTS if count not in ("events", "late")]
"""What is counted by the step that events come to, and by the step that reports come from."""

Packed = Callable[[WindowStage], DataFrame]
"""The blocks of a stage's buckets, with their watermark."""


def is_chained(pattern: Pattern | None, bound: BoundQuery) -> bool:
    """Whether a query over events has one stateful step after another."""
    return pattern is not None and not owner_finds(pattern, bound) and stream_plan_of(pattern).folds


def farmed(
    stage: WindowStage, pattern: Pattern, *, partitions: int, packed: Packed,
    kept: tuple[int, ...] | None = None,
) -> Emitted:  # fmt: skip
    """The outputs of `stage`'s query, computed by the workers of a pattern; in the buckets that are `kept`,
    if they are as many."""
    stage = replace(stage, pattern=str(pattern))
    if owner_finds(pattern, stage.bound, derived=stage.derived):
        return _handed_out(stage, handing_of(pattern), packed)
    plan = stream_plan_of(pattern)
    if plan.parts is None:
        stage = window_stage(stage, plan, partitions=partitions)
        if kept is not None and len(kept) == len(stage.buckets):
            stage = replace(stage, buckets=kept)
        return answers_of(packed(stage), window_processor(stage, plan))
    return _in_two_steps(stage, plan, partitions, packed)


def _handed_out(stage: WindowStage, handing: HandOutPlan, packed: Packed) -> Emitted:
    stage = owner_stage(stage, handing)
    blocks = emitted_by(packed(stage), OwnerProcessor(stage, handing), counts=BEFORE)
    if LATE in stage.outputs:
        return computed_beside_late_rows(blocks, stage, handing)
    opened = PackedAnswers({REPORTS: handing.schema}).opened(blocks)
    reports = computed(opened, stage.bound, handing)
    return Emitted.of_reports(counted(reports, {REPORTS: F.count(F.lit(1))}), stage.description)


def _in_two_steps(stage: WindowStage, plan: StreamPlan, partitions: int, packed: Packed) -> Emitted:
    first = pane_stage(stage, plan, partitions=partitions)
    second = over_panes(stage, plan, partitions=partitions)
    panes = emitted_by(packed(first), WindowProcessor(first), counts=BEFORE)
    again = Repacker(HashedPacker(Unpacker(first.schema), second.shares, second.packer))
    sent = panes.mapInArrow(again, PACKED).select(PACKED_BUCKET, PAYLOAD)
    return answers_of(sent, window_processor(second, plan), counts=AFTER)


def owner_stage(stage: WindowStage, handing: HandOutPlan) -> WindowStage:
    """The step of owners."""
    return replace(stage, operator=OwnerOperator, answers=handing.schema)


def window_stage(stage: WindowStage, plan: StreamPlan, *, partitions: int) -> WindowStage:
    buckets = worker_buckets(plan.route.workers, partitions=partitions)
    return replace(stage, buckets=buckets, route=plan.row_route(stage.bound))


def pane_stage(stage: WindowStage, plan: StreamPlan, *, partitions: int) -> WindowStage:
    panes = Panes.of(stage.bound, objects=True)
    assert panes is not None  # others are refused
    assert plan.parts is not None
    buckets = worker_buckets(plan.route.keys * plan.parts, partitions=partitions)
    return replace(
        stage,
        buckets=buckets,
        operator=PanePartsOperator,
        answers=panes.folded.schema,
        route=plan.pane_route(panes.window),
    )


def over_panes(stage: WindowStage, plan: StreamPlan, *, partitions: int) -> WindowStage:
    """The step after that one."""
    panes = Panes.of(stage.bound, objects=True)
    assert panes is not None
    relays = stage.bound.late_output if LATE in stage.outputs else None
    stage = replace(stage, bound=panes.folded, operator=WindowOperator, outputs=(REPORTS,), relays=relays)
    return window_stage(stage, plan, partitions=partitions)


def window_processor(stage: WindowStage, plan: StreamPlan) -> WindowProcessor:
    return FarmProcessor(stage, plan.route) if plan.route.windows > 1 else WindowProcessor(stage)
