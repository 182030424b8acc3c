"""Both sides of a streaming join on their way to the operators of buckets, without Spark's engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.join_operator import JoinOperator
from sash.runtimes.spark.joins.join_routes import bucket_count
from sash.runtimes.spark.joins.streaming_join import JoinBucketCall, JoinStage
from sash.runtimes.spark.packing.blocks import PACKED_BUCKET, PAYLOAD
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.semantics.expression import Side
from sash.semantics.join import How, JoinBatch

from .streams import TRACED, Numbers, arrivals, bound, expected, numbers_in, numbers_of, table_of

BUCKETS = (5, 2, 9, 4)


def packed(stage: JoinStage, side: Side, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """The blocks of one side as the stateful step gets them, each with its bucket."""
    by_position = table.rename_columns(places(table.column_names))
    for blocks in stage.packer(side)(by_position.to_batches()):
        for row in blocks.select([PACKED_BUCKET, PAYLOAD]).to_pylist():
            yield row[PACKED_BUCKET], (row[PAYLOAD], int(side is Side.RIGHT))


def joined(join: BoundJoin, tables: dict[Side, pa.Table]) -> tuple[list[Numbers], int, int]:
    """The pairs of all buckets, in order; how many rows were counted, and how many as late."""
    buckets = BUCKETS[: bucket_count(join.strategy, join.kept, partitions=len(BUCKETS))]
    stage = JoinStage(join, ("reports",), buckets, Clock.of(ticks=True), derived=False)
    arrived: dict[int, list[Any]] = defaultdict(list)
    for side in Side:
        for bucket, row in packed(stage, side, tables[side]):
            arrived[bucket].append(row)
    pairs, events, late = [], 0, 0
    for number, rows in arrived.items():
        bucket = SimpleNamespace(number=number, operator=JoinOperator(join))
        call = JoinBucketCall(stage, bucket)  # type: ignore[arg-type]
        call.insert(stage.arrived(number, rows))
        pairs += numbers_in(bucket.operator.advance(0, flush=True))
        events, late = events + call._counts["events"], late + call._counts["late"]
    return sorted(pairs, key=str), events, late


@pytest.mark.parametrize("where", ["a band", "a band of fractions", "an equality", "theta"])
@given(
    data=st.data(), within=st.integers(0, 12), keys=st.booleans(),
    how=st.sampled_from(["inner", "left", "right", "full"]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_oracle_every_pair_is_found_in_one_bucket_and_every_row_is_counted_once(
    where: str, data: st.DataObject, within: int, keys: bool, how: How
) -> None:
    join = bound(TRACED[where], within=within, keys=keys, how=how)
    batch = JoinBatch(*(data.draw(arrivals(side, keys=keys, nulls=True)) for side in Side))
    tables = {side: table_of(side, batch.arrivals(side)) for side in Side}
    pairs, events, late = joined(join, tables)
    assert pairs == sorted(numbers_of(expected(join, [batch])), key=str)
    assert events == sum(table.num_rows for table in tables.values())
    assert late == sum(table["t"].null_count for table in tables.values())
