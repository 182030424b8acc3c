"""Parquet files as record batches of a schema that all of them must have.

A file is read by pyarrow, a batch of rows at a time, so that memory is bounded by a row group and not by
the file. Types are those that Spark's own reader gives: integers and floats may be narrower in a file, and
timestamps of another precision. A column that is missing or of another type is an error, never a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType

from sash.errors import BadFile, Unsupported
from sash.runtimes.spark.compat import arrow_of, type_of
from sash.runtimes.spark.files.open_files import open_file, partition_values
from sash.runtimes.spark.packing.blocks import ROWS

PATH = "path"

_SIGNED = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}  # fmt: skip
"""What Spark reads unsigned integers as, having none."""


@dataclass(frozen=True)
class ParquetReader:
    """Paths → rows: the function of `mapInArrow` over a stream of paths."""

    schema: pa.Schema
    """Of the columns to read, as Spark would give them."""
    zone: str
    """Of the session, which every timestamp of Spark's is shown in."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column(PATH).to_pylist():
                yield from self.read(path)

    def read(self, path: str) -> Iterator[pa.RecordBatch]:
        """The rows of one file; BadFile, with its name, when it cannot be read as this schema."""
        try:
            with open_file(path) as file:
                parquet = _opened(file)
                constants = self._constants(path, parquet)
                inside = [name for name in self.schema.names if name not in constants]
                self._check_types(path, parquet, inside)
                for group in range(parquet.num_row_groups):
                    # One by one: pyarrow fetches ahead all row groups that are requested together.
                    for rows in parquet.iter_batches(
                        batch_size=ROWS, row_groups=[group], columns=inside, use_threads=False
                    ):
                        yield self._conformed(rows, constants)
        except FileNotFoundError as error:
            raise BadFile(
                f"{path}: this file was there when the stream found it and is gone now; "
                "put it back, or start with another checkpoint"
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise BadFile(f"{path}: this file cannot be read as parquet: {error}") from error

    def _constants(self, path: str, parquet: pq.ParquetFile) -> dict[str, pa.Scalar]:
        """The columns that are not in the file but in its path."""
        absent = set(self.schema.names) - set(parquet.schema_arrow.names)
        values = partition_values(path) if absent else {}
        missing = sorted(absent - set(values))
        if missing:
            raise BadFile(
                f"{path}: this file has no column {missing[0]!r}, which the stream has; its columns are "
                f"{parquet.schema_arrow.names}"
            )
        return {name: pa.scalar(values[name]).cast(self.schema.field(name).type) for name in absent}

    def _check_types(self, path: str, parquet: pq.ParquetFile, columns: list[str]) -> None:
        found = arrow_of(spark_schema(path, parquet, columns=columns), zone=self.zone)
        for name in columns:
            wanted, given = self.schema.field(name).type, found.field(name).type
            if not _fits(given, wanted):
                raise BadFile(
                    f"{path}: column {name!r} of this file is of type {given}; in the stream it is of "
                    f"type {wanted}"
                )

    def _conformed(self, rows: pa.RecordBatch, constants: dict[str, pa.Scalar]) -> pa.RecordBatch:
        columns = [
            pa.repeat(constants[field.name], rows.num_rows) if field.name in constants
            # Not checked: nanoseconds lose what a timestamp of Spark's cannot hold.
            else rows.column(field.name).cast(field.type, safe=not pa.types.is_timestamp(field.type))
            for field in self.schema
        ]  # fmt: skip
        return pa.record_batch(columns, schema=self.schema)


def first_schema(path: str) -> StructType:
    """The schema of the file that a stream begins with; its path must not hold columns."""
    try:
        with open_file(path) as file:
            parquet = _opened(file)
            return spark_schema(path, parquet, columns=parquet.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"{path}: the schema cannot be read from this file: {error}") from error


def spark_schema(path: str, parquet: pq.ParquetFile, *, columns: list[str]) -> StructType:
    """Columns of a file as Spark's own reader gives them: every one of them may hold nulls."""
    # Old timestamps: instants, which pyarrow takes for local times. Spark still writes them by default.
    leaves = (parquet.schema.column(number) for number in range(len(parquet.schema)))
    instants = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    fields = []
    for name in columns:
        if any(leaf.startswith(f"{name}.") for leaf in instants):
            raise Unsupported(
                "schema", name, f"a column without INT96 timestamps inside of structs and lists; see {path}"
            )
        type_ = pa.timestamp("us", "UTC") if name in instants else parquet.schema_arrow.field(name).type
        if pa.types.is_dictionary(type_):
            type_ = type_.value_type
        try:
            fields.append(StructField(name, type_of(_SIGNED.get(type_, type_))))
        except PySparkException as error:
            raise Unsupported(
                "schema", f"{name}: {type_}", f"of types that Spark has; see {path}"
            ) from error
    return StructType(fields).toNullable()


def _opened(file: pa.NativeFile) -> pq.ParquetFile:
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of the one type is a value of the other."""
    types = pa.types
    alike = (types.is_signed_integer, types.is_floating)
    narrower = any(same(given) and same(wanted) and given.bit_width <= wanted.bit_width for same in alike)
    return given == wanted or narrower or types.is_null(given)
