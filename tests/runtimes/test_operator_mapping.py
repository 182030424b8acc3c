"""f_μ of a user on Spark: which task computes a bucket, in batch, on fixed and on elastic streams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext

import sash
from sash.errors import ArgumentError, Unsupported
from sash.operators import Input, Join, Stateful
from sash.operators.elastic.instance_of_share import balanced
from sash.runtimes.spark.packing.balanced_bucket_ids import (
    BUCKETS_PER_PARTITION,
    bucket_ids_on,
    partition_of,
)
from sash.runtimes.spark.stateful.operator_stages import buckets_of_operator
from tests.runtimes.micro_batches import Ran, stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READINGS = Input(pa.schema([("t", pa.int64()), ("k", pa.int64())]), time="t")
PARTITIONS = 3


def last(shares: int, instances: Sequence[int], **known: Any) -> np.ndarray[Any, Any]:
    """The first half of the shares on the first instance, the others on the last."""
    return np.where(np.arange(shares) < shares // 2, instances[0], instances[-1])


def where(mapping: Any = last) -> Stateful:
    """The task that computes each window of each key."""

    def task(windows: Any) -> dict[str, Any]:
        context = TaskContext.get()
        return {"k": windows.key, "task": -1 if context is None else context.partitionId()}

    schema = pa.schema([("k", pa.int64()), ("task", pa.int64())])
    return Stateful(
        advance=10, size=10, inputs=READINGS, keys="k", output=task, schema=schema, mapping=mapping
    )


def readings(first: int) -> pa.Table:
    times = range(first, first + 200)
    return pa.table({"t": list(times), "k": [n % 40 for n in times]}, schema=READINGS.schema)


@pytest.fixture
def three(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    # Adaptive execution merges small partitions, and with them their tasks.
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    return session


@pytest.mark.parametrize("wanted", [(0, 0, 0), (4, 2, 2, 0, 4), ()])
def test_bucket_numbers_fall_on_the_partitions_that_are_wanted(wanted: tuple[int, ...]) -> None:
    numbers = bucket_ids_on(wanted, partitions=5)
    assert tuple(partition_of(number, 5) for number in numbers) == wanted
    assert len(set(numbers)) == len(numbers)


def test_the_buckets_of_an_operator_lie_where_its_mapping_has_them() -> None:
    buckets = buckets_of_operator(where(), partitions=PARTITIONS)
    half = PARTITIONS * BUCKETS_PER_PARTITION // 2
    assert [partition_of(bucket, PARTITIONS) for bucket in buckets] == [0] * half + [2] * half
    evenly = buckets_of_operator(where(mapping=balanced), partitions=PARTITIONS)
    assert [partition_of(bucket, PARTITIONS) for bucket in evenly] == [0, 1, 2] * BUCKETS_PER_PARTITION


def test_a_mapping_to_a_task_that_is_not_there_is_refused() -> None:
    def beyond(shares: int, instances: Sequence[int], **known: Any) -> Any:
        return [len(instances)] * shares

    with pytest.raises(ArgumentError, match="mapping must be one of the instances"):
        buckets_of_operator(where(beyond), partitions=PARTITIONS)


@pytest.mark.spark
def test_tasks_of_static_and_streaming_frames_are_those_of_the_mapping(three: SparkSession) -> None:
    static = sash.operate(where(), three.createDataFrame(readings(0))).collect().to_pylist()
    streamed = Ran(sash.operate(where(), stream_batches(three, [readings(0)])).dataframe()).rows
    for rows in (static, streamed):
        tasks = {row["k"]: row["task"] for row in rows}
        assert set(tasks.values()) == {0, PARTITIONS - 1}
    assert {row["k"]: row["task"] for row in static} == {row["k"]: row["task"] for row in streamed}


@pytest.mark.spark
def test_an_elastic_stream_asks_the_mapping_in_every_batch(spark: SparkSession, tmp_path: Path) -> None:
    calls: list[tuple[int, int, bool, bool]] = []

    def noted(shares: int, instances: Sequence[int], *, before: Any = None, load: Any = None) -> Any:
        calls.append((shares, len(instances), before is not None, load is not None))
        return last(shares, instances)

    emitted: list[list[dict[str, Any]]] = []
    degrees = (3, 1, 2)
    handle = sash.operate(where(noted), stream_batches(spark, [readings(0), readings(200), readings(400)]))
    handle.start(
        lambda rows, batch: emitted.append(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, trigger="available now",
        elastic=sash.Elastic(max=3, controller=lambda samples: degrees[len(samples)], buckets=6),
    ).awaitTermination()  # fmt: skip
    assert calls == [(6, 3, False, False), (6, 1, True, True), (6, 2, True, True)]
    assert [{row["task"] for row in rows} for rows in emitted] == [{0, 2}, {0}, {0, 1}]


@pytest.mark.spark
def test_the_mapping_of_a_join_is_for_elastic_streams(spark: SparkSession, tmp_path: Path) -> None:
    calls: list[int] = []

    def noted(shares: int, instances: Sequence[int], **known: Any) -> Any:
        calls.append(shares)
        return last(shares, instances)

    join = Join(within=3, inputs=READINGS, where=lambda a, b: a.k == b.k, mapping=noted)
    with pytest.raises(Unsupported, match="mapping must be left out of a join on Spark without elastic"):
        sash.operate(join, spark.createDataFrame(readings(0))).collect()
    stream = sash.operate(join, stream_batches(spark, [readings(0)]))
    with pytest.raises(Unsupported, match="grid over Spark's partitions"):
        stream.dataframe()
    pairs: list[dict[str, Any]] = []
    stream.start(
        lambda rows, batch: pairs.extend(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, trigger="available now", elastic=sash.Elastic(max=2, buckets=4),
    ).awaitTermination()  # fmt: skip
    expected = [row for row in join.over(readings(0)).to_pylist() if row["time"] <= 199]
    assert sorted(map(str, pairs)) == sorted(map(str, expected)) != []
    assert calls
