"""How an answer leaves the stateful step: as it is, where its columns are plain, and in blocks elsewhere.

    reports  n | window{id, end}        late  k | why        one row for each of the answer, with the number
             3 | {7, 10:00}                   A | "…"        of its output, and one that has only counts

    plain    c0 | c1 | c2 | c3    | c4   | c5  | output | counts
             3  | ✓  | 7  | 10:00 | null | …   | 0      | null
             …                    | A    | "…" | 1      | null
             null                                       | "12,0,1,…"

    in blocks  the rows of an output as one binary value, which a stage of Python unpacks

Outputs share columns of one type, so that a second output adds few. Rows that go through another stage of
Python are copied four times more, and its processes want memory. So there is none where Spark's way out of
the stateful step, through pandas, keeps values exact: columns of numbers, texts, times, and structs of
them, which pandas holds as Arrow made them. A list or a map would be taken apart in Python, value by value:
an output that has one travels as blocks, also beside one that is plain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, functions as F
from pyspark.sql.types import StructType

from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.blocks import (
    ANSWERED,
    COUNTS,
    NO_OUTPUT,
    OUTPUT,
    PAYLOAD,
    Unpacker,
    blocks_of,
    cut_answer,
)
from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.packing.outputs import REPORTS, OutputSchemas, OutputTables

if TYPE_CHECKING:
    import pandas as pd

Counts = dict[str, int]
COUNTS_COLUMN = "counts"


class Answers(Protocol):
    """Of one stateful step."""

    frames: bool
    """Whether Spark hands the step's rows over in pandas' frames, in and out."""

    @property
    def schemas(self) -> OutputSchemas: ...

    @property
    def struct(self) -> StructType:
        """Of the rows that the step emits."""
        ...

    def arrived(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows that Spark hands to the step, each with its columns as attributes."""
        ...

    def outgoing(self, answer: OutputTables, counts: Counts) -> Iterator[Any]:
        """What the step emits for an answer."""
        ...

    def total(self, count: str) -> Column:
        """A count, over all that was emitted."""
        ...

    def opened(self, emitted: DataFrame, output: str = REPORTS) -> DataFrame:
        """The rows of one output again."""
        ...

    @property
    def stages(self) -> tuple[str, ...]:
        """What `opened` adds, in words."""
        ...


def answers_with(schemas: OutputSchemas) -> Answers:
    """The cheapest that keeps the values of such an answer."""
    return PlainAnswers(schemas) if any(map(is_plain, schemas.values())) else PackedAnswers(schemas)


def rows_of_output(emitted: DataFrame, schemas: OutputSchemas, output: str) -> DataFrame:
    return emitted.filter(f"{OUTPUT} = {list(schemas).index(output)}")


@dataclass(frozen=True)
class PackedAnswers:
    """Any answer."""

    schemas: OutputSchemas

    frames = False
    struct = ANSWERED
    stages = ("unpack",)

    def arrived(self, rows: Iterator[Row]) -> Iterator[Row]:
        return rows

    def outgoing(self, answer: OutputTables, counts: Counts) -> Iterator[Row]:
        if not answer:
            yield Row(**{PAYLOAD: b"", OUTPUT: NO_OUTPUT, **counts})
        for output, rows in answer.items():
            for block in blocks_of(rows):
                yield Row(**{PAYLOAD: block, OUTPUT: list(self.schemas).index(output), **counts})
                counts = dict.fromkeys(counts, 0)

    def total(self, count: str) -> Column:
        return F.sum(count)

    def opened(self, emitted: DataFrame, output: str = REPORTS) -> DataFrame:
        blocks = rows_of_output(emitted, self.schemas, output) if len(self.schemas) > 1 else emitted
        return unpacked(blocks.select(PAYLOAD), self.schemas[output])


@dataclass(frozen=True)
class PlainAnswers:
    """An answer with an output that has no lists and maps."""

    schemas: OutputSchemas
    counts: tuple[str, ...] = COUNTS
    """What is counted; several queries have counts of their own."""

    frames = True

    @cached_property
    def _columns(self) -> tuple[list[pa.DataType], dict[str, list[int]]]:
        """The types of all columns, and which of them the leaves of an output have."""
        types: list[pa.DataType] = []
        places: dict[str, list[int]] = {}
        for output, schema in self.schemas.items():
            free = dict(enumerate(types))
            mine = places[output] = []
            for leaf in _leaf_types(schema) if is_plain(schema) else [pa.binary()]:
                at = next((number for number, type_ in free.items() if type_ == leaf), len(types))
                if at == len(types):
                    types.append(leaf)
                free.pop(at, None)
                mine.append(at)
        return types, places

    @cached_property
    def emitted(self) -> pa.Schema:
        leaves = [pa.field(f"c{place}", type_) for place, type_ in enumerate(self._columns[0])]
        return pa.schema([*leaves, pa.field(OUTPUT, pa.int32()), pa.field(COUNTS_COLUMN, pa.string())])

    @cached_property
    def struct(self) -> StructType:
        return struct_of(self.emitted)

    @property
    def stages(self) -> tuple[str, ...]:
        return () if is_plain(self.schemas.get(REPORTS, pa.schema([]))) else ("unpack",)

    def arrived(self, rows: Iterator[pd.DataFrame]) -> Iterator[Any]:
        return (row for frame in rows for row in frame.itertuples(index=False))

    def outgoing(self, answer: OutputTables, counts: Counts) -> Iterator[pd.DataFrame]:
        import pandas as pd

        counts_row = pa.table({COUNTS_COLUMN: [",".join(str(counts[name]) for name in self.counts)]})
        for table in self.tables(answer):
            if counts_row.num_rows:
                table = pa.concat_tables([table, counts_row], promote_options="default")
                counts_row = counts_row.slice(1)
            yield table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)

    def column(self, output: str, name: str) -> str:
        """Where a column of an output is that has no structs."""
        return f"c{self._columns[1][output][self.schemas[output].get_field_index(name)]}"

    def rows_of(self, output: str, emitted: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of an output that has no structs, of rows that are all its."""
        names = self.schemas[output].names
        return pa.record_batch([emitted[self.column(output, name)] for name in names], names=names)

    def batches(self, answer: OutputTables) -> Iterator[pa.RecordBatch]:
        """The same as `tables`, for `mapInArrow`."""
        for table in self.tables(answer):
            yield from table.to_batches()

    def tables(self, answer: OutputTables) -> Iterator[pa.Table]:
        """The answer in the columns of the step; an empty table when there is none."""
        if not answer:
            yield self.emitted.empty_table()
        for output, rows in answer.items():
            if is_plain(self.schemas[output]):
                for part in cut_answer(rows):
                    leaves = [leaf for column in part for leaf in _leaves(column.combine_chunks())]
                    yield self._placed(output, leaves, part.num_rows)
            else:
                for block in blocks_of(rows):
                    yield self._placed(output, [pa.array([block], pa.binary())], 1)

    def _placed(self, output: str, leaves: Sequence[pa.Array], rows: int) -> pa.Table:
        types, places = self._columns
        mine = dict(zip(places[output], leaves, strict=True))
        columns = [
            mine[place] if place in mine else pa.nulls(rows, type_) for place, type_ in enumerate(types)
        ]
        number = pa.repeat(pa.scalar(list(self.schemas).index(output), pa.int32()), rows)
        return pa.table([*columns, number, pa.nulls(rows, pa.string())], schema=self.emitted)

    def total(self, count: str) -> Column:
        return F.sum(F.split(COUNTS_COLUMN, ",")[self.counts.index(count)].cast("long"))

    def opened(self, emitted: DataFrame, output: str = REPORTS) -> DataFrame:
        schema, places = self.schemas[output], iter(self._columns[1][output])
        rows = rows_of_output(emitted, self.schemas, output)
        if not is_plain(schema):
            return unpacked(rows.select(F.col(f"c{next(places)}").alias(PAYLOAD)), schema)
        return rows.selectExpr(
            *(f"{_rebuilt(field.type, places)} AS {quoted(field.name)}" for field in schema)
        )


def unpacked(blocks: DataFrame, schema: pa.Schema) -> DataFrame:
    return blocks.mapInArrow(Unpacker(schema), struct_of(schema))


def is_plain(schema: pa.Schema) -> bool:
    """Whether Spark takes all columns of pandas that are backed by Arrow as they are."""
    return all(_is_plain(field.type) for field in schema)


def _is_plain(type_: pa.DataType) -> bool:
    if pa.types.is_struct(type_):
        return type_.num_fields > 0 and all(_is_plain(field.type) for field in type_)
    return any(
        is_one(type_)
        for is_one in (
            pa.types.is_signed_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean,
            pa.types.is_string, pa.types.is_binary, pa.types.is_date32, pa.types.is_timestamp,
            pa.types.is_decimal128,
        )
    )  # fmt: skip


def _leaf_types(fields: pa.Schema | pa.StructType) -> Iterator[pa.DataType]:
    """A struct is whether it is there, and its fields."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield pa.bool_()
            yield from _leaf_types(field.type)
        else:
            yield field.type


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    if not pa.types.is_struct(column.type):
        yield column
        return
    yield column.is_valid()
    for field in column.flatten():
        yield from _leaves(field)


def _rebuilt(type_: pa.DataType, places: Iterator[int]) -> str:
    """In SQL, which is handed to Spark in one call; each Column takes one for every part of it."""
    leaf = f"c{next(places)}"
    if not pa.types.is_struct(type_):
        return leaf
    fields = (f"{_rebuilt(field.type, places)} AS {quoted(field.name)}" for field in type_)
    return f"IF({leaf}, struct({', '.join(fields)}), NULL)"
