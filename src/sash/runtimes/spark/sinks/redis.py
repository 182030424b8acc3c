"""Keys of a Redis server as a sink: each row takes the place of the one before it.

    <prefix><key>  →  the row, as JSON

A batch that is executed again writes the same values, so that nothing has to be known of it. For rows that
have one owner: those of `.latest`, or windows of which the newest is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sash.aggregation.stores.redis_package import redis_package
from sash.errors import UnknownColumn
from sash.runtimes.spark.sinks.protocol import Reads
from sash.runtimes.spark.sinks.wrapped_sinks import messages

GROUP = 1_000
"""Rows in one command: large enough to hide the round trip, small enough to bound memory."""
TIMEOUT = 10.0
"""Seconds that a server may take for a group before the task fails, and Spark tries it again."""


@dataclass(frozen=True)
class RedisSink:
    """Tasks write, each over a connection of its own."""

    url: str = field(repr=False)  # it may hold a password
    prefix: str
    keys: tuple[str, ...] | None = None
    """None: those of the query where this is `.latest`, otherwise none."""

    reads = Reads.ONCE
    adds = ()

    @property
    def identity(self) -> tuple[str, ...]:
        return "redis", self.url, self.prefix

    def of_latest(self, keys: tuple[str, ...]) -> RedisSink:
        return replace(self, keys=keys) if self.keys is None else self

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        keys = self.keys or ()
        for key in keys:
            if key not in rows.columns:
                raise UnknownColumn("key", key, rows.columns)
        messages(rows, keys).foreachPartition(self._put)

    def _put(self, rows: Iterable[Any]) -> None:
        redis = redis_package("a Redis sink")
        pairs = ((f"{self.prefix}{_name(row)}", row["value"]) for row in rows)
        timeouts = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
        with redis.Redis.from_url(self.url, **timeouts) as client:
            while group := dict(islice(pairs, GROUP)):
                client.mset(group)


def _name(row: Any) -> str:
    """Empty for a stream without a key. A null is `null`, as in JSON. The text null has a backslash before
    it, and a text of backslashes and null one more, so that no two keys share an entry."""
    if "key" not in row:
        return ""
    if row["key"] is None:
        return "null"
    text = str(row["key"])
    return "\\" + text if text.lstrip("\\") == "null" else text
