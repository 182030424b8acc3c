"""A topic of trades, its windows, and what they must be: for the tests, and the program that is killed."""

from __future__ import annotations

import datetime as dt
import json
import random
from typing import Any

import pyarrow as pa

import sash

COLUMNS = "ts timestamp, symbol string, size bigint"
DELAY = "5 seconds"
OPENING = dt.datetime(2026, 1, 5, 10, 0, tzinfo=dt.UTC)


def trades(count: int, *, first: int = 0, seed: int = 1) -> list[dict[str, Any]]:
    """Four a second, up to a second out of order: on time wherever the stream is cut into batches."""
    choice = random.Random(seed + first)
    return [
        {
            "ts": OPENING + dt.timedelta(seconds=number / 4 - choice.uniform(0, 1)),
            "symbol": choice.choice(["SAP", "BMW", "ALV"]),
            "size": number,
        }
        for number in range(first, first + count)
    ]


def as_json(rows: list[dict[str, Any]]) -> list[str]:
    return [json.dumps({**row, "ts": row["ts"].isoformat()}) for row in rows]


def windows(data: Any) -> Any:
    stream = sash.stream(data, time="ts", key="symbol", delay=DELAY)
    return stream.window(sash.sliding("20 seconds", every="5 seconds"), flush=False).agg(
        n=sash.count(), volume=sash.sum("size")
    )


def columns_of(records: Any) -> Any:
    from pyspark.sql import functions as F

    return records.select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("row")).select("row.*")


def records_of(reports: Any) -> Any:
    from pyspark.sql import functions as F

    value = F.struct("symbol", F.col("window.id").alias("id"), "n", "volume")
    return reports.select(F.col("symbol").alias("key"), F.to_json(value).alias("value"))


def start(broker: str, records: Any, topic: str, checkpoint: str) -> Any:
    """Windows from records to a topic, until all that is there has been read."""
    return (
        records_of(windows(columns_of(records)).dataframe())
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", topic)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def start_by_sash(broker: str, records: Any, topic: str, checkpoint: str) -> Any:
    """The same with `start()`, which runs in epochs."""
    to_topic = sash.sinks.kafka(topic, servers=broker, key="symbol")
    return (
        windows(columns_of(records)).flat().start(to_topic, checkpoint=checkpoint, trigger="available now")
    )


STARTS = {"dataframe": start, "start": start_by_sash}
"""By what a query runs: Spark's own sink and state store, or epochs."""
Known = dict[tuple[str, int], tuple[int, int]]
"""What a window holds, by key and identifier."""


def expected(rows: list[dict[str, Any]]) -> Known:
    """In process, all at once."""
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("symbol", pa.string()), ("size", pa.int64())])
    reports = windows(pa.Table.from_pylist(rows, schema=schema)).collect().to_pylist()
    return {(row["symbol"], row["window"]["id"]): (row["n"], row["volume"]) for row in reports}


def known(values: list[str]) -> Known:
    """What a reader knows who drops windows that it has seen; a window that came twice must be the same."""
    found: Known = {}
    for row in map(json.loads, values):
        number = row["id"] if "id" in row else row["window_id"]
        name, holds = (row["symbol"], number), (row["n"], row["volume"])
        assert found.setdefault(name, holds) == holds, f"{name} came with {found[name]} and with {holds}"
    return found
