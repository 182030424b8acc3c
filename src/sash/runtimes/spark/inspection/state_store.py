"""The state of a query on Spark, through Spark's own reader of state stores.

    state-metadata    which stateful operators there are, with the names of their variables
    statestore        the rows of one variable, at the last committed micro-batch

RocksDB's files are only for Spark to read. A Spark session is needed; the query is not run, and what its
operators keep is not unpickled: it is Arrow and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sash.aggregation.stores.values import unseal
from sash.errors import CorruptValue, StoreError
from sash.operators.inventory import Chunk, inventory
from sash.runtimes.spark.failures import in_words
from sash.runtimes.spark.inspection.checkpoint import Checkpoint
from sash.runtimes.spark.inspection.found import BucketSeen, StageSeen
from sash.runtimes.spark.state.operators_in_state import QUERY, TOKEN, header_in, sealed_as
from sash.runtimes.spark.streaming.light_processor import VARIABLE


def stages_of(spark: SparkSession, checkpoint: Checkpoint) -> list[StageSeen]:
    """The stateful steps of ours in a checkpoint; StoreError when there are none, or they are damaged."""
    try:
        return _stages(spark, checkpoint)
    except (PySparkException, Py4JError) as error:
        raise StoreError(f"Spark cannot read the state in {checkpoint.path}: {in_words(error)}") from error


def _stages(spark: SparkSession, checkpoint: Checkpoint) -> list[StageSeen]:
    found = spark.read.format("state-metadata").load(str(checkpoint.path)).collect()
    ours = [row.operatorId for row in found if VARIABLE in _variables(row.operatorProperties)]
    if not ours:
        names = ", ".join(sorted({row.operatorName for row in found})) or "nothing"
        raise StoreError(f"the state in {checkpoint.path} is not of a query of Sash: it is that of {names}")
    return [stage for operator in sorted(ours) for stage in _of_operator(spark, checkpoint, operator)]


def _variables(properties: str | None) -> set[str]:
    metadata = json.loads(properties) if properties else {}
    return {variable["stateName"] for variable in metadata.get("stateVariables", ())}


def _of_operator(spark: SparkSession, checkpoint: Checkpoint, operator: int) -> list[StageSeen]:
    """One stage, or one for each of the queries that share the operator."""
    reader = spark.read.format("statestore").option("operatorId", operator)
    rows = reader.option("stateVarName", VARIABLE).load(str(checkpoint.path))
    where, query = f"operator {operator}", F.col("user_map_key.query")
    if "query" not in rows.select("user_map_key.*").columns:
        return [_stage(rows, checkpoint, where)]
    names = sorted(row[0] for row in rows.select(query).distinct().collect())
    return [_stage(rows.where(query == name), checkpoint, f"{where}: {name}") for name in names]


def _stage(rows: DataFrame, checkpoint: Checkpoint, where: str) -> StageSeen:
    kept = rows.select(
        F.col("key.bucket").alias("bucket"), "partition_id", "user_map_key.number", "user_map_value.bytes"
    )
    described = {
        row.bucket: bytes(unseal(sealed_as(row.bucket), row.bytes))
        for row in kept.where(kept.number == QUERY).collect()
    }
    if not described:
        raise StoreError(f"{where} in {checkpoint.path} has not kept any state yet")
    description = json.loads(next(iter(described.values())))
    headers = kept.where(kept.number == TOKEN).collect()
    saved = {row.bucket: (row.partition_id, header_in(row.bucket, bytes(row.bytes))) for row in headers}
    if saved.keys() != described.keys():
        raise CorruptValue(
            f"the state in {checkpoint.path} has {len(saved)} headers of {len(described)} buckets"
        )
    buckets = {
        number: BucketSeen(number, partition, inventory(header, ()))
        for number, (partition, header) in saved.items()
    }
    for number, several in groupby(_chunks(kept.where(kept.number >= 0)), key=lambda pair: pair[0]):
        partition, header = saved[number]
        held = inventory(header, (chunk for _, chunk in several))
        buckets[number] = BucketSeen(number, partition, held)
    return StageSeen(where, description, tuple(buckets[number] for number in sorted(buckets)))


def _chunks(chunks: DataFrame) -> Iterator[tuple[int, Chunk]]:
    """By bucket, one partition in memory at a time."""
    for row in chunks.sortWithinPartitions("bucket", "number").toLocalIterator():
        yield row.bucket, (row.number, bytes(row.bytes))
