"""The three queries of the demo, and the same sliding window as a pipeline file.

features    for every quote: how many, the mean price and its deviation over the last 5 and 30 seconds
sliding     the last 10 seconds of a symbol, every second, by as many tasks as the load needs
volume      the last 20,000 that a symbol has traded, whenever it has traded another 5,000
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from sash.api.window_query import WindowQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELAY = "2 seconds"
TRIGGER = "1 second"

PIPELINE = f"""\
# The sliding window of the demo over the quotes that it has written: sash run pipeline.toml
[source]
format = "parquet"
path = "quotes"

[stream]
time = "ts"
key = "symbol"
delay = "{DELAY}"

[query]
windows = "sliding 10 seconds every 1 second"

[aggregates]
n = "count()"
high = "max(price)"
low = "min(price)"
traded = "sum(size)"

[sink]
format = "parquet"
path = "again/sliding"

[late]
format = "parquet"
path = "again/late"

[run]
trigger = "available now"
checkpoint = "again/checkpoint"
"""


def queries(spark: SparkSession, quotes: Path) -> dict[str, WindowQuery]:
    """By name. Each reads the folder for itself."""
    rows = sash.read_stream_parquet(quotes, spark=spark)
    stream = sash.stream(rows, time="ts", key="symbol", delay=DELAY)
    return {
        "features": stream.rolling("5 seconds", "30 seconds").agg(
            n=sash.count(), mean=sash.mean("price"), deviation=sash.stddev("price")
        ),
        "sliding": stream.window(sash.sliding("10 seconds", every="1 second")).agg(
            n=sash.count(), high=sash.max("price"), low=sash.min("price"), traded=sash.sum("size")
        ),
        "volume": stream.window(sash.delta("volume", 20_000, 5_000)).agg(
            n=sash.count(), first=sash.first("price"), last=sash.last("price"), mean=sash.mean("price")
        ),
    }


def started(made: dict[str, WindowQuery], out: Path, *, cores: int) -> Iterator[tuple[str, Any]]:
    """The handles of the running queries, one by one. Each writes parquet to a folder of its name."""
    # Few shares of the keys: each costs a moment in every micro-batch, and here are few keys and cores.
    elastic = {"sliding": sash.Elastic(min=1, max=max(2, cores), buckets=max(8, cores))}
    for name, query in made.items():
        place = out / "checkpoints" / name
        yield (
            name,
            query.start(
                out / name, checkpoint=place, elastic=elastic.get(name), trigger=TRIGGER, name=name
            ),
        )
