"""Windows over a topic of a real broker, to a topic of it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

import sash
from tests.kafka.windows import as_json, columns_of, expected, known, records_of, start, trades, windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def read_until(query: Any) -> dict[str, int]:
    """The offsets that a query has read, by partition."""
    (offsets,) = json.loads(query.lastProgress["sources"][0]["endOffset"]).values()
    return offsets


def test_windows_go_from_a_topic_to_a_topic_and_on_from_the_offsets_in_the_checkpoint(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    some, more = trades(120), trades(80, first=120)
    broker.create(spark, "on-trades", "on-windows")
    records = broker.stream(spark, "on-trades")
    for sent, ends in ((some, {"0": 60, "1": 60}), (more, {"0": 100, "1": 100})):
        broker.send(spark, "on-trades", as_json(sent))
        query = start(broker.address, records, "on-windows", str(tmp_path))
        query.awaitTermination()
        assert read_until(query) == ends
        assert sum(progress["numInputRows"] for progress in query.recentProgress) == len(sent)
    values = broker.received(spark, "on-windows")
    assert known(values) == expected([*some, *more])
    assert len(values) == len(known(values))


@pytest.mark.soak
def test_a_silent_partition_holds_no_window_back(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    #   partition 0   ── 10:00 ──────────────────────── 10:01 ──▶
    #   partition 1   ── 10:00, then nothing
    first, rest = trades(4), trades(200, first=4)
    broker.create(spark, "silent-trades", "silent-windows")
    broker.send(spark, "silent-trades", as_json(first), partition=1)
    broker.send(spark, "silent-trades", as_json(rest), partition=0)
    start(
        broker.address, broker.stream(spark, "silent-trades"), "silent-windows", str(tmp_path)
    ).awaitTermination()
    found = known(broker.received(spark, "silent-windows"))
    assert found == expected([*first, *rest])
    assert found


@pytest.mark.soak
def test_a_partition_that_was_behind_has_late_rows_and_not_other_windows(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """The watermark is the newest event of any partition, less the delay."""
    ahead, behind = trades(200), trades(8)
    broker.create(spark, "behind-trades")
    records = broker.stream(spark, "behind-trades")
    late: list[Any] = []
    for sent in (ahead, behind):
        broker.send(spark, "behind-trades", as_json(sent), partition=int(sent is behind))
        query = windows(columns_of(records)).start(
            lambda batch, number: None, late=lambda batch, number: late.extend(batch.collect()),
            checkpoint=tmp_path, trigger="available now",
        )  # fmt: skip
        query.awaitTermination()
    assert sorted({row["size"] for row in late}) == [row["size"] for row in behind]


@pytest.mark.soak
def test_an_elastic_query_knows_what_waits_in_a_topic(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    rows = trades(400)
    broker.create(spark, "elastic-trades", "elastic-windows")
    broker.send(spark, "elastic-trades", as_json(rows))
    records = broker.stream(spark, "elastic-trades", maxOffsetsPerTrigger="50")

    def to_kafka(reports: Any, batch: int) -> None:
        to = {"kafka.bootstrap.servers": broker.address, "topic": "elastic-windows"}
        records_of(reports).write.format("kafka").options(**to).save()

    elastic = sash.Elastic(min=1, max=2, controller="predictive")
    query = windows(columns_of(records)).start(to_kafka, checkpoint=tmp_path, elastic=elastic)
    try:
        deadline = time.monotonic() + 120
        while sum(batch.events for batch in query.metrics) < len(rows) and time.monotonic() < deadline:
            time.sleep(0.2)
        waiting = [sample.pending for sample in query.samples]
    finally:
        query.stop()
    assert max(waiting) > 0
    assert known(broker.received(spark, "elastic-windows")) == expected(rows)


@pytest.mark.soak
def test_a_broker_that_is_killed_and_comes_back_loses_no_window(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    rows = trades(400)
    broker.create(spark, "killed-trades", "killed-windows")
    broker.send(spark, "killed-trades", as_json(rows))
    records = broker.stream(spark, "killed-trades", maxOffsetsPerTrigger="50")
    query = start(broker.address, records, "killed-windows", str(tmp_path))
    while not query.recentProgress:
        time.sleep(0.05)
    broker.kill()
    revival = threading.Timer(3, broker.start)
    revival.start()
    try:
        query.awaitTermination()
    except StreamingQueryException:
        # A batch that met no broker ends the query; it goes on from its checkpoint.
        revival.join()
        start(broker.address, records, "killed-windows", str(tmp_path)).awaitTermination()
    finally:
        revival.join()
    assert known(broker.received(spark, "killed-windows")) == expected(rows)
