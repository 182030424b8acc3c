"""The formats of sources and sinks, and what each cannot do without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sash.runtimes.connector_packages import DELTA, ICEBERG, KAFKA


@dataclass(frozen=True)
class FormatNeeds:
    """What a format needs."""

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

_FILES = {name: FormatNeeds(path=True) for name in ("parquet", "csv", "json")}
_TABLES = {
    "delta": FormatNeeds(catalogued=True, package=DELTA),
    "iceberg": FormatNeeds(catalogued=True, package=ICEBERG),
}
SOURCES: Mapping[str, FormatNeeds] = {
    **_FILES,
    "rate": FormatNeeds(endless=True),
    "socket": FormatNeeds(options=("host", "port"), endless=True),
    "kafka": FormatNeeds(options=(SERVERS,), package=KAFKA),
    **_TABLES,
}
SINKS: Mapping[str, FormatNeeds] = {
    **_FILES,
    "console": FormatNeeds(),
    "memory": FormatNeeds(),
    "noop": FormatNeeds(),
    "kafka": FormatNeeds(options=(SERVERS, "topic"), package=KAFKA),
    **_TABLES,
}
PASSING = ("console", "memory", "noop")
"""Sinks that keep nothing beyond a run: without a checkpoint a run of them starts from scratch."""
