"""The formats of sources and sinks, and what each cannot do without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """What a format needs to be told."""

    path: bool = False
    """Whether it is a folder of files."""
    catalogued: bool = False
    """Whether it is a table: by path, or by its name in a catalog."""
    options: tuple[str, ...] = ()
    endless: bool = False
    """Whether it has no end that a run could come to, nor a past that it could be read from again."""
    package: str = ""
    """What has to be added to Spark, which does not come with it."""

    @property
    def place(self) -> bool:
        return self.path or self.catalogued


SERVERS = "kafka.bootstrap.servers"
KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"
DELTA = "io.delta:delta-spark_2.13"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"

_FILES = {name: Format(path=True) for name in ("parquet", "csv", "json")}
_TABLES = {
    "delta": Format(catalogued=True, package=DELTA),
    "iceberg": Format(catalogued=True, package=ICEBERG),
}
SOURCES: Mapping[str, Format] = {
    **_FILES,
    "rate": Format(endless=True),
    "socket": Format(options=("host", "port"), endless=True),
    "kafka": Format(options=(SERVERS,), package=KAFKA),
    **_TABLES,
}
SINKS: Mapping[str, Format] = {
    **_FILES,
    "console": Format(),
    "memory": Format(),
    "noop": Format(),
    "kafka": Format(options=(SERVERS, "topic"), package=KAFKA),
    **_TABLES,
}
PASSING = ("console", "memory", "noop")
"""Sinks that keep nothing beyond a run: without a checkpoint a run of them begins anew."""
