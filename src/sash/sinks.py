"""Where the outputs of a streaming query go: `q.start(sinks.folder("reports"), late=sinks.kafka(…), …)`.

A path alone is `folder(path)`; a function of a DataFrame and the number of its batch is a sink too. A batch
that is executed again is in a folder, a table or a database once; in a topic its messages come again, with
the number of the batch in their header.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import BatchSink

__all__ = ["folder", "jdbc", "kafka", "redis", "table"]


def folder(path: str | PathLike[str], *, format: str = "parquet", **options: str) -> BatchSink:
    """Files in a folder for each batch, published by a manifest; `sash.published(path)` reads them.
    Its column `batch` has the number of the batch; rows must have no other one of this name."""
    from sash.runtimes.spark.sinks.folder import FolderSink

    return FolderSink(fspath(path), format, options)


def table(
    name: str, *, writer: str, format: str = "delta", keys: Sequence[str] = (), **options: str
) -> BatchSink:
    """A Delta or Iceberg table of a catalog. `writer` distinguishes the queries that write to it, and must
    stay the same after a restart. With `keys` (key columns and `window.id`, for instance) a row takes the
    place of the one with the same keys, so that the table has the newest revision of each window."""
    from sash.runtimes.spark.sinks.tables import TableSink

    return TableSink(writer, name, format=format, options=options, keys=tuple(keys))


def kafka(topic: str, *, servers: str, key: str | Sequence[str] = (), **options: str) -> BatchSink:
    """A topic. Each row is a message in JSON, with the columns `key` as its key."""
    from sash.runtimes.spark.sinks.kafka import KafkaSink

    return KafkaSink(topic, servers, (key,) if isinstance(key, str) else tuple(key), options)


def jdbc(url: str, table: str, *, keys: Sequence[str] = (), **options: str) -> BatchSink:
    """A table of a database. A row takes the place of the one with the same `keys` (key columns and
    window_id, for instance); without keys, the rows of a batch that of the same batch."""
    from sash.runtimes.spark.sinks.jdbc import JdbcSink

    return JdbcSink(url, table, tuple(keys), options)


def redis(url: str, prefix: str, *, key: str | Sequence[str] = ()) -> BatchSink:
    """Keys of a Redis server: each row in JSON under `prefix` and its columns `key` (several as JSON),
    where it takes the place of the one before it. For the rows of `.latest`. A null key is named `null`,
    and the text null `\\null`."""
    from sash.runtimes.spark.sinks.redis import RedisSink

    return RedisSink(url, prefix, (key,) if isinstance(key, str) else tuple(key))
