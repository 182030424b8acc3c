"""The three queries of the demo, which run together, and two of them as a pipeline file.

features    for every quote: how many, the mean price and its deviation over the last 5 and 30 seconds
sliding     the last 10 seconds of a symbol, every second
volume      the last 20,000 that a symbol has traded, whenever it has traded another 5,000
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from sash.api.together import Together

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "market"
"""Of the stream."""
DELAY = "2 seconds"
TRIGGER = "1 second"

PIPELINE = f"""\
# Two queries of the demo over the quotes that it has written, in one pass: sash run pipeline.toml
[source]
format = "parquet"
path = "quotes"

[stream]
time = "ts"
key = "symbol"
delay = "{DELAY}"

[[query]]
name = "sliding"
windows = "sliding 10 seconds every 1 second"

[query.aggregates]
n = "count()"
high = "max(price)"
low = "min(price)"
traded = "sum(size)"

[query.sink]
format = "parquet"
path = "again/sliding"

[query.late]
format = "parquet"
path = "again/late"

[[query]]
name = "volume"
windows = "delta volume 20000 every 5000"

[query.aggregates]
n = "count()"
mean = "mean(price)"

[query.sink]
format = "parquet"
path = "again/volume"

[run]
trigger = "available now"
checkpoint = "again/checkpoint"
"""


def queries(spark: SparkSession, quotes: Path) -> Together:
    """All of them, over one reading of the folder."""
    rows = sash.read_stream_parquet(quotes, spark=spark)
    stream = sash.stream(rows, time="ts", key="symbol", delay=DELAY)
    return sash.together(
        features=stream.rolling("5 seconds", "30 seconds").agg(
            n=sash.count(), mean=sash.mean("price"), deviation=sash.stddev("price")
        ),
        sliding=stream.window(sash.sliding("10 seconds", every="1 second")).agg(
            n=sash.count(), high=sash.max("price"), low=sash.min("price"), traded=sash.sum("size")
        ),
        volume=stream.window(sash.delta("volume", 20_000, 5_000)).agg(
            n=sash.count(), first=sash.first("price"), last=sash.last("price"), mean=sash.mean("price")
        ),
    )


def started(made: Together, folders: dict[str, Path], *, checkpoint: Path) -> Any:
    """The handle of the running stream. Each query writes parquet to a folder of its own."""
    return made.start(folders, checkpoint=checkpoint, trigger=TRIGGER, name=NAME)
