"""A folder of parquet files as a stream, read by Python instead of by Spark.

    paths of new files ──mapInArrow──▶ read with pyarrow → bucket = hash(keys) mod B → pack

Spark finds the files, remembers which it has seen, and cuts them into micro-batches, exactly as for
`spark.readStream.parquet`: each file once, also after a restart. But what it streams are their names. Rows
never pass through the JVM on their way to the packer: a whole query takes about a fifth less time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import StructType

from sash.errors import ArgumentError, did_you_mean
from sash.operators.bound_query import BoundQuery
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.spark.compat import arrow_of, struct_of
from sash.runtimes.spark.files.open_files import located, partition_values
from sash.runtimes.spark.files.parquet_files import PATH, ParquetReader, first_schema
from sash.runtimes.spark.packing.hashed_packer import HashedPacker
from sash.runtimes.spark.packing.row_packing import RowPacking
from sash.runtimes.spark.session import require_session
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

if TYPE_CHECKING:
    from sash.runtimes.spark.streaming.streaming_source import PackedStage

FORMAT, FILE_SCHEMA = "binaryFile", "path string, modificationTime timestamp, length long, content binary"
"""Spark's source of files as they are. Their content is not read unless it is selected."""

LISTING = ("pathGlobFilter", "recursiveFileLookup", "basePath")
OPTIONS = (
    *LISTING, "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "maxFileAge", "fileNameOnly",
    "maxCachedFiles", "discardCachedInputRatio", "cleanSource", "sourceArchiveDir",
)  # fmt: skip
"""What Spark's file source understands; it ignores what it does not know, which nobody wants."""


@dataclass(frozen=True)
class ParquetStream:
    """A stream of parquet files. `sash.stream` takes it; `dataframe()` is for everything else."""

    paths: DataFrame
    """The files, one row each."""
    spark_schema: StructType
    zone: str

    @property
    def schema(self) -> pa.Schema:
        return arrow_of(self.spark_schema, zone=self.zone)

    def dataframe(self) -> DataFrame:
        """The rows as an ordinary streaming DataFrame."""
        return self.paths.mapInArrow(ParquetReader(self.schema, self.zone), self.spark_schema)

    def source(self) -> FileSource:
        return FileSource(self.dataframe(), files=self)


@dataclass(frozen=True)
class FileSource(StreamingSource):
    """A stream of rows that knows the paths they come from: files are read and packed in one stage."""

    files: ParquetStream = field(kw_only=True)

    rows_in_spark = False

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        return ["read the files of each batch with pyarrow", *super().stages(bound, plan)]

    @property
    def origin(self) -> Any:
        return self.files

    def arriving(self, stage: PackedStage) -> DataFrame:
        return self.files.paths

    def packing(self, stage: PackedStage) -> RowPacking:
        reader = ParquetReader(
            pa.schema([self.schema.field(name) for name in stage.columns]), self.files.zone
        )
        return RowPacking((), HashedPacker(reader, stage.shares, stage.packer))


def read_stream_parquet(
    path: str | PathLike[str],
    *,
    schema: str | StructType | pa.Schema | None = None,
    spark: SparkSession | None = None,
    **options: str | int | float | bool,
) -> ParquetStream:
    """The parquet files of a folder as a stream, read by Python: queries take about a fifth less time.

    path:    a folder, or a pattern; on this machine or where both Spark and pyarrow can read.
    schema:  of all files; of the first one when not given. A partitioned folder (day=…/) needs it.
    spark:   the session; the active one when not given.
    options: of Spark's file source, such as maxFilesPerTrigger=10 or cleanSource="delete".

    Several files of a micro-batch are read in parallel, one file is not.
    """
    path = fspath(path)
    for name in options:
        if name not in OPTIONS:
            raise ArgumentError(
                name, options[name], f"one of the options {', '.join(OPTIONS)}",
                hint=did_you_mean(name, OPTIONS),
            )  # fmt: skip
    session = require_session(spark)
    located(path)
    declared = _first_schema(session, path, options) if schema is None else _declared(schema)
    reader = session.readStream.schema(FILE_SCHEMA).format(FORMAT)
    return ParquetStream(
        reader.options(**options).load(path).select(PATH),
        declared,
        session.conf.get("spark.sql.session.timeZone") or "UTC",
    )


def _declared(schema: Any) -> StructType:
    if isinstance(schema, pa.Schema):
        schema = struct_of(schema)
    elif isinstance(schema, str):
        schema = StructType.fromDDL(schema)
    if not isinstance(schema, StructType):
        raise ArgumentError("schema", schema, "DDL such as 'ts timestamp, x double', or a schema")
    return schema.toNullable()


def _first_schema(spark: SparkSession, path: str, options: dict[str, Any]) -> StructType:
    """Of the file that is first by name, among those that Spark finds now."""
    listing = {name: options[name] for name in LISTING if name in options}
    files = spark.read.format(FORMAT).options(**listing).load(path)
    first = files.agg(F.min(PATH)).collect()[0][0]
    if first is None:
        raise ArgumentError(
            "schema", None, f"given, because there is no file yet in {path!r} to read it from"
        )
    folders = sorted(partition_values(first).keys() - partition_values(f"{path}/").keys())
    if folders:
        raise ArgumentError(
            "schema", None, f"given for a partitioned folder, with the columns {folders} and their types",
        )  # fmt: skip
    return first_schema(first)
