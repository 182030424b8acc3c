"""How answers leave the step of an epoch: rows as they are, each in the struct of its output.

    output | rows_0 {k, window, n}  | rows_1 {k, why}
    0      | {A, …, 3}              | null
    1      | null                   | {B, "behind the watermark"}

Arrow carries them to Spark, so that lists and maps need no stage that unpacks them. Where there is one
output, rows are its own, without a struct: to open it would take longer than a small batch gains elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.answers import rows_of_output
from sash.runtimes.spark.packing.blocks import OUTPUT, cut_answer
from sash.runtimes.spark.packing.outputs import OutputSchemas, OutputTables


@dataclass(frozen=True)
class EpochAnswers:
    """Of the outputs of a query."""

    schemas: OutputSchemas

    @property
    def marked(self) -> bool:
        """Whether each row has the number of its output."""
        return len(self.schemas) > 1

    @cached_property
    def emitted(self) -> pa.Schema:
        if not self.marked:
            (only,) = self.schemas.values()
            return only
        rows = [pa.field(self._rows(output), pa.struct(list(one))) for output, one in self.schemas.items()]
        return pa.schema([pa.field(OUTPUT, pa.int64()), *rows])

    @cached_property
    def struct(self) -> StructType:
        return struct_of(self.emitted)

    def _rows(self, output: str) -> str:
        return f"rows_{list(self.schemas).index(output)}"

    def column(self, output: str, name: str) -> str:
        """What Spark calls a column of an output, where there are several."""
        return f"{self._rows(output)}.{name}"

    def rows_of(self, output: str, emitted: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of an output, of rows that are all its."""
        return pa.RecordBatch.from_struct_array(emitted[self._rows(output)])

    def batches(self, tables: OutputTables) -> Iterator[pa.RecordBatch]:
        """The rows of each output."""
        for output, table in tables.items():
            for part in cut_answer(table):
                yield self._batch(list(self.schemas).index(output), part)

    def _batch(self, number: int, part: pa.Table) -> pa.RecordBatch:
        schema = self.emitted
        (rows,) = part.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=part.schema)]
        if not self.marked:
            return rows.cast(schema)
        columns = [pa.nulls(part.num_rows, field.type) for field in schema]
        columns[0] = pa.array([number] * part.num_rows, pa.int64())
        columns[1 + number] = rows.to_struct_array().cast(schema[1 + number].type)
        return pa.record_batch(columns, schema=schema)

    def opened(self, emitted: DataFrame, output: str) -> DataFrame:
        """The rows of one output again."""
        if not self.marked:
            return emitted.select("*")  # a function may unpersist its rows, and these are kept for others
        mine = rows_of_output(emitted, self.schemas, output)
        return mine.select(f"{self._rows(output)}.*")
