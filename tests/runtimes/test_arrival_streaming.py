"""Look-backs that are answered on arrival, on Spark: with their batch, after restarts, and elastic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.operators.bound_query import BoundRolling
from sash.semantics.look_back_rows import ArrivalEvaluation
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch
from tests.operators.features import AGGREGATES, any_look_backs, in_order, look_backs, ticks
from tests.runtimes.micro_batches import Delivered, DryStream, read_batches, write_batches
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import TYPES, cut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@settings(max_examples=40, deadline=None)
@given(lengths=any_look_backs, delay=st.integers(0, 20), stream=cut(), forgetful=st.booleans())
def test_oracle_a_micro_batch_answers_for_its_own_events(
    lengths: list[int], delay: int, stream: list[list[Arrival]], forgetful: bool
) -> None:
    query = Query(
        look_backs(*lengths), AGGREGATES, delay=ticks(delay), emit=Emit(When.ARRIVAL), flush=False
    )
    bound = BoundRolling(query, table_of([], TYPES).schema, "t", ("k",))
    dry, oracle = DryStream(bound, forgetful=forgetful), ArrivalEvaluation(query)
    names = ["k", "t", "revision", *(field.name for field in bound.features)]
    for arrivals in stream:
        before = len(oracle.rows)
        oracle.take(Batch(tuple(arrivals)))
        emitted = [tuple(row[name] for name in names) for row in dry.batch(table_of(arrivals, TYPES))]
        assert sorted(emitted, key=repr) == sorted(
            (
                (row.key, row.time, row.revision, *in_order(query, row.values))
                for row in oracle.rows[before:]
            ),
            key=repr,
        )
    assert dry.batch(None) == []


TIMES = [[5, 9, 30], [12, 31, 11], [], [29, 2, 60], [61, 45, 59]]
"""Batches; with a delay of 20 the 2 is too late."""


def batches() -> list[pa.Table]:
    schema = pa.schema([("id", pa.int64()), ("t", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
    made, number = [], 0
    for times in TIMES:
        rows = []
        for time in times:
            rows.append({"id": number, "t": time, "k": "ab"[number % 2], "x": number})
            number += 1
        made.append(pa.Table.from_pylist(rows, schema=schema))
    return made


def query_over(data: Any, emit: Any) -> Any:
    stream = sash.stream(data, time="t", key="k", delay=20)
    return stream.rolling(10, 40, emit=emit).agg(n=sash.count(), s=sash.sum("x"))


@pytest.mark.spark
@pytest.mark.parametrize("elastic", [None, sash.Elastic(max=2, buckets=4)], ids=["fixed", "elastic"])
def test_a_row_comes_with_its_batch_and_is_corrected_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, elastic: sash.Elastic | None
) -> None:
    folder, checkpoint = tmp_path / "input", tmp_path / "checkpoint"
    folder.mkdir()
    tables = batches()
    emitted: list[tuple[int, dict[str, Any]]] = []
    for first, some in ((0, tables[:2]), (2, tables[2:])):  # the query is stopped and goes on
        write_batches(folder, some, first=first)
        query = query_over(read_batches(spark, folder, tables[0].schema), "arrival")
        ran = Delivered(query, checkpoint=checkpoint, elastic=elastic)
        emitted += [(row["id"], row) for _, rows in ran.tables["sink"] for row in rows.to_pylist()]
        assert len(ran.progress) == len(some), "no batch without data, for which others would wait"
    arrived = [identity for identity, row in emitted if row["revision"] == 0]
    assert sorted(arrived) == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    last = dict(emitted)
    on_time = pa.concat_tables(tables)
    on_time = on_time.filter(pc.not_equal(on_time["id"], 7))
    once = {row["id"]: row for row in query_over(on_time, "close").collect().to_pylist()}
    assert {identity: row | {"revision": None} for identity, row in last.items()} == {
        identity: row | {"revision": None} for identity, row in once.items()
    }
    assert max(row["revision"] for _, row in emitted) >= 1
