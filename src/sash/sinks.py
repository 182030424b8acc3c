"""Where the outputs of a streaming query go: `q.start(sinks.folder("reports"), late=sinks.kafka(…), …)`.

A path alone means `folder(path)`; a function of a DataFrame and its batch number is a sink too. A folder, a
table or a database contains a retried batch exactly once; a topic gets its messages again, with the batch
number in their header.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from sash.errors import ArgumentError

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import BatchSink

__all__ = ["folder", "jdbc", "kafka", "redis", "table"]


def folder(path: str | PathLike[str], *, format: str = "parquet", **options: str) -> BatchSink:
    """Files in a folder for each batch, published by a manifest; `sash.published(path)` reads them, with
    the batch number in the column `batch`. The rows must not have a column of that name."""
    from sash.runtimes.spark.sinks.folder import FolderSink

    for name in ("key", "keys"):
        if name in options:
            raise ArgumentError(
                name, options[name], "left out for a folder",
                message=f"{name} must be left out for a folder, which keeps the rows of all batches",
                hint="sash.sinks.jdbc, table and redis replace rows by key. In a folder, the newest row of "
                "each key is the one with the greatest batch in sash.published(…).",
            )  # fmt: skip
    return FolderSink(fspath(path), format, options)


def table(
    name: str, *, writer: str, format: str = "delta", keys: Sequence[str] | None = None, **options: str
) -> BatchSink:
    """A Delta or Iceberg table of a catalog. `writer` identifies the query among all that write to the
    table, and must stay the same after a restart. With `keys` (the key columns and `window.id`, for
    instance) a row replaces the one with the same keys, so that the table has the newest revision of each
    window. The rows of `.latest` replace those with the same key of the query; `keys=()` keeps them all."""
    from sash.runtimes.spark.sinks.tables import TableSink

    return TableSink(writer, name, format=format, options=options, keys=_columns(keys))


def kafka(topic: str, *, servers: str, key: str | Sequence[str] = (), **options: str) -> BatchSink:
    """A Kafka topic. Each row is a JSON message, with the columns `key` as its key."""
    from sash.runtimes.spark.sinks.kafka import KafkaSink

    return KafkaSink(topic, servers, (key,) if isinstance(key, str) else tuple(key), options)


def jdbc(url: str, table: str, *, keys: Sequence[str] | None = None, **options: str) -> BatchSink:
    """A database table. A row replaces the one with the same `keys` (the key columns and window_id, for
    instance); without keys, a retried batch replaces the rows it wrote before. The rows of `.latest`
    replace those with the same key of the query; `keys=()` keeps them all. Options are those of Spark's
    JDBC writer, such as user, password, driver and createTableColumnTypes."""
    from sash.runtimes.spark.sinks.jdbc import JdbcSink

    return JdbcSink(url, table, _columns(keys), options)


def redis(url: str, prefix: str, *, key: str | Sequence[str] | None = None) -> BatchSink:
    """Keys on a Redis server: each row is stored as JSON under `prefix` and the values of its columns `key`
    (several as JSON), and replaces the row before it. For the rows of `.latest`, by the key of
    the query where it is left out. A null key is stored as `null`, and the text 'null' as `\\null`."""
    from sash.runtimes.spark.sinks.redis import RedisSink

    return RedisSink(url, prefix, _columns(key))


def _columns(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (given,) if isinstance(given, str) else tuple(given)
