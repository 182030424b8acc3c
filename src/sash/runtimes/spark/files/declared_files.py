"""A stream of parquet files of which only the columns are known: to check and explain it without Spark.

A session takes many times as long to start as both together. What is planned is what `sash.spark_session()`
would run on this machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

import pyarrow as pa

from sash.errors import ArgumentError, MissingDependency
from sash.operators.bound_query import BoundQuery
from sash.runtimes.ddl import parse
from sash.runtimes.spark.compat import arrow_of, state_store_failure, struct_of
from sash.runtimes.spark.files.parquet_files import first_schema
from sash.runtimes.spark.files.parquet_stream import FileSource
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.streaming.runtime_choice import why_state_store
from sash.runtimes.spark.streaming.upstream_watermark import Upstream

_HIDDEN = ("_", ".")
"""How the names of files begin that Spark does not read."""
_ZONE = "UTC"
"""Of a session that `sash.spark_session()` starts."""


@dataclass(frozen=True)
class DeclaredFiles:
    """What `sash.stream` takes in place of the stream itself."""

    schema: pa.Schema

    @classmethod
    def of(cls, path: str, schema: str) -> DeclaredFiles | None:
        """The files of a folder on this machine; None where only Spark knows what their columns are."""
        try:
            struct = struct_of(parse(schema)) if schema else _of_first_file(Path(path))
        except ArgumentError:  # a type, or a way to write it, that is Spark's
            return None
        return None if struct is None else cls(arrow_of(struct.toNullable(), zone=_ZONE))

    def source(self) -> DeclaredSource:
        nothing = cast(Any, None)
        return DeclaredSource(nothing, files=nothing, declared=self.schema)


def _of_first_file(folder: Path) -> Any:
    """As `read_stream_parquet` finds it. Folders inside may be values of columns, which Spark knows."""
    inside = (
        [] if not folder.is_dir() else [each for each in folder.iterdir() if each.name[0] not in _HIDDEN]
    )
    if not inside or any(each.is_dir() for each in inside):
        return None
    return first_schema(min(inside).as_uri())


@dataclass(frozen=True)
class DeclaredSource(FileSource):
    """Without a DataFrame: everything but rows."""

    declared: pa.Schema = field(kw_only=True)

    @property
    def schema(self) -> pa.Schema:
        return self.declared

    @property
    def upstream(self) -> Upstream:
        return Upstream((), derived=False)

    @property
    def slots(self) -> int:
        return os.cpu_count() or 1

    @property
    def partitions(self) -> int:
        return self.slots

    def why_session(self) -> None:
        """There is none."""

    def require_possible(self, bound: BoundQuery) -> None:
        """What a start would refuse before it reads any row."""
        failure = state_store_failure()
        if failure and why_state_store(self, bound) is not None:
            raise MissingDependency(f"windows over a stream need the package protobuf ({failure})")
        stage = self.stage(bound, (REPORTS,), None)
        if self.idle is not None:
            self.require_clock(self.idle, self.upstream, ticks=stage.ticks)

    def emitted(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a query over declared files is not run")
