"""Where the outputs of a streaming query go: `q.start(sinks.folder("reports"), late=sinks.kafka(…), …)`.

A path alone means `folder(path)`; a function of a DataFrame and its batch number is a sink too. A folder, a
table or a database contains a retried batch exactly once; a topic gets its messages again, with the batch
number in their header.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import BatchSink

__all__ = ["folder", "jdbc", "kafka", "redis", "table"]


def folder(path: str | PathLike[str], *, format: str = "parquet", **options: str) -> BatchSink:
    """Files in a folder for each batch, published by a manifest; `sash.published(path)` reads them, with
    the batch number in the column `batch`. The rows must not have a column of that name."""
    from sash.runtimes.spark.sinks.folder import FolderSink

    return FolderSink(fspath(path), format, options)


def table(
    name: str, *, writer: str, format: str = "delta", keys: Sequence[str] = (), **options: str
) -> BatchSink:
    """A Delta or Iceberg table of a catalog. `writer` identifies the query among all that write to the
    table, and must stay the same after a restart. With `keys` (the key columns and `window.id`, for
    instance) a row replaces the one with the same keys, so that the table has the newest revision of each
    window."""
    from sash.runtimes.spark.sinks.tables import TableSink

    return TableSink(writer, name, format=format, options=options, keys=tuple(keys))


def kafka(topic: str, *, servers: str, key: str | Sequence[str] = (), **options: str) -> BatchSink:
    """A Kafka topic. Each row is a JSON message, with the columns `key` as its key."""
    from sash.runtimes.spark.sinks.kafka import KafkaSink

    return KafkaSink(topic, servers, (key,) if isinstance(key, str) else tuple(key), options)


def jdbc(url: str, table: str, *, keys: Sequence[str] = (), **options: str) -> BatchSink:
    """A database table. A row replaces the one with the same `keys` (the key columns and window_id, for
    instance); without keys, a retried batch replaces the rows it wrote before. Options are those of Spark's
    JDBC writer, such as user, password, driver and createTableColumnTypes."""
    from sash.runtimes.spark.sinks.jdbc import JdbcSink

    return JdbcSink(url, table, tuple(keys), options)


def redis(url: str, prefix: str, *, key: str | Sequence[str] = ()) -> BatchSink:
    """Keys on a Redis server: each row is stored as JSON under `prefix` and the values of its columns `key`
    (several as JSON), and replaces the row before it. For the rows of `.latest`. A null key is stored as
    `null`, and the text 'null' as `\\null`."""
    from sash.runtimes.spark.sinks.redis import RedisSink

    return RedisSink(url, prefix, (key,) if isinstance(key, str) else tuple(key))
