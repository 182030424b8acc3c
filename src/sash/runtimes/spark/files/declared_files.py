"""Files of which only the columns are known: to check and explain a pipeline without Spark.

A session takes many times as long to start as both together. What is planned is what `sash.spark_session()`
would run on this machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pyarrow as pa
from pyspark.sql.types import StructType

from sash.errors import ArgumentError, MissingDependency
from sash.operators.bound_query import BoundQuery
from sash.runtimes.ddl import parse
from sash.runtimes.spark.compat import arrow_of, state_store_failure, struct_of
from sash.runtimes.spark.files.parquet_files import first_schema
from sash.runtimes.spark.files.parquet_stream import FileSource
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.streaming.epochs_or_state_store import why_state_store
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from sash.runtimes.spark.streaming.upstream_watermark import Upstream

_HIDDEN = ("_", ".")
"""How the names of files begin that Spark does not read."""
_ZONE = "UTC"
"""Of a session that `sash.spark_session()` starts."""


@dataclass(frozen=True)
class DeclaredFiles:
    """What `sash.stream` takes in place of the stream itself."""

    schema: pa.Schema
    parquet: bool = True
    """Whether Python reads them, and not Spark."""

    @classmethod
    def of(cls, path: str, schema: str) -> DeclaredFiles | None:
        """The parquet files of a folder on this machine, as Python reads them; None where only Spark knows
        what their columns are."""
        try:
            struct = struct_of(parse(schema)) if schema else _of_first_file(Path(path))
        except ArgumentError:  # a type, or a way to write it, that is Spark's
            return None
        return None if struct is None else cls(arrow_of(struct.toNullable(), zone=_ZONE))

    @classmethod
    def read_by_spark(cls, path: str, schema: str, *, nested: bool) -> DeclaredFiles | None:
        """Files with a schema, as Spark reads them. `nested`: whether their format has lists."""
        place = Path(path)
        found = cls.of(path, schema) if schema and (place.is_file() or _inside(place) is not None) else None
        if found is None or len({name.lower() for name in found.schema.names}) < len(found.schema):
            return None
        if not nested and any(
            pa.types.is_list(each) or pa.types.is_binary(each) for each in found.schema.types
        ):
            return None
        return replace(found, parquet=False)

    def source(self) -> DeclaredSource:
        nothing = cast(Any, None)
        if self.parquet:
            return DeclaredFileSource(nothing, files=nothing, declared=self.schema)
        return DeclaredSource(nothing, declared=self.schema)


def _of_first_file(folder: Path) -> Any:
    """As `read_stream_parquet` finds it."""
    inside = _inside(folder)
    return first_schema(min(inside).as_uri()) if inside else None


def _inside(folder: Path) -> list[Path] | None:
    """The files of a folder. None where there are folders inside, which may be values of columns."""
    if not folder.is_dir():
        return None
    inside = [each for each in folder.iterdir() if each.name[0] not in _HIDDEN]
    return None if any(each.is_dir() for each in inside) else inside


@dataclass(frozen=True)
class DeclaredSource(StreamingSource):
    """Without a DataFrame: everything but rows."""

    declared: pa.Schema = field(kw_only=True)

    @property
    def schema(self) -> pa.Schema:
        return self.declared

    @property
    def spark_schema(self) -> StructType:
        return struct_of(self.declared)

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


@dataclass(frozen=True)
class DeclaredFileSource(DeclaredSource, FileSource):
    """The same for files that Python reads."""
