"""The state of a query on Spark, through Spark's own reader of state stores.

    state-metadata    which stateful operators there are, with the names of their variables
    statestore        the rows of one variable, at the last committed micro-batch

RocksDB's files are only for Spark to read. A Spark session is needed; the query is not run, and what its
operators keep is not unpickled: it is Arrow and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, islice

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession, functions as F

from sash.aggregation.stores.values import unseal
from sash.errors import CorruptValue, StoreError
from sash.operators.saved_operator_contents import inventory
from sash.runtimes.spark.failures import sentence_of
from sash.runtimes.spark.inspection.checkpoint import Checkpoint
from sash.runtimes.spark.inspection.checkpoint_contents import BucketSeen, StageSeen
from sash.runtimes.spark.state.operators_in_state import QUERY, TOKEN, header_in, sealed_as
from sash.runtimes.spark.streaming.processor_for_driver import VARIABLE


def stages_in_state_store(spark: SparkSession, checkpoint: Checkpoint) -> list[StageSeen]:
    """The stateful steps of ours in a checkpoint; StoreError when there are none, or they are damaged."""
    try:
        return _stages(spark, checkpoint)
    except (PySparkException, Py4JError) as error:
        raise StoreError(
            f"Spark cannot read the state in {checkpoint.place}: {sentence_of(error)}"
        ) from error


def _stages(spark: SparkSession, checkpoint: Checkpoint) -> list[StageSeen]:
    found = spark.read.format("state-metadata").load(checkpoint.place).collect()
    ours = [row.operatorId for row in found if VARIABLE in _variables(row.operatorProperties)]
    if not ours:
        names = ", ".join(sorted({row.operatorName for row in found})) or "nothing"
        raise StoreError(
            f"the state in {checkpoint.place} is not of a query of Sash: it is that of {names}"
        )
    return [stage for operator in sorted(ours) for stage in _of_operator(spark, checkpoint, operator)]


def _variables(properties: str | None) -> set[str]:
    metadata = json.loads(properties) if properties else {}
    return {variable["stateName"] for variable in metadata.get("stateVariables", ())}


def _of_operator(spark: SparkSession, checkpoint: Checkpoint, operator: int) -> list[StageSeen]:
    """One stage, or one for each of the queries that share the operator."""
    reader = spark.read.format("statestore").option("operatorId", operator)
    rows = reader.option("stateVarName", VARIABLE).load(checkpoint.place)
    where, query = f"in Spark's state store, operator {operator}", F.col("user_map_key.query")
    if "query" not in rows.select("user_map_key.*").columns:
        return [_stage(rows, checkpoint, where)]
    names = sorted(row[0] for row in rows.select(query).distinct().collect())
    return [_stage(rows.where(query == name), checkpoint, f"{where}: {name}") for name in names]


def _stage(rows: DataFrame, checkpoint: Checkpoint, where: str) -> StageSeen:
    """In one pass: every job on a state store opens RocksDB again for each of its partitions."""
    description, buckets = None, []
    for bucket, several in groupby(_by_bucket(rows), key=lambda row: row.bucket):
        parts = groupby(several, key=lambda row: row.number >= 0)
        own = {row.number: row for _, before in islice(parts, 1) for row in before}
        if not own.keys() >= {QUERY, TOKEN}:
            raise CorruptValue(f"the state in {checkpoint.place} has no header of its bucket {bucket}")
        described = unseal(sealed_as(bucket), own[QUERY].bytes)
        description = description or json.loads(bytes(described))
        header = header_in(bucket, bytes(own[TOKEN].bytes))
        held = inventory(header, ((row.number, bytes(row.bytes)) for _, chunks in parts for row in chunks))
        buckets.append(BucketSeen(bucket, own[TOKEN].partition_id, held))
    if description is None:
        raise StoreError(f"{where} in {checkpoint.place} has not kept any state yet")
    return StageSeen(where, description, tuple(sorted(buckets, key=lambda seen: seen.number)))


def _by_bucket(rows: DataFrame) -> Iterator[Row]:
    """The entries of a bucket by number, one partition in memory at a time."""
    kept = rows.select(
        F.col("key.bucket").alias("bucket"), "partition_id", "user_map_key.number", "user_map_value.bytes"
    )
    return kept.sortWithinPartitions("bucket", "number").toLocalIterator()
