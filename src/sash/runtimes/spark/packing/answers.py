"""How an answer leaves the stateful step: as it is, where its columns are plain, and in blocks elsewhere.

    plain      n | window{id, end}  →  c0 | c1 | c2 | c3 | counts       one row for each of the answer,
               3 | {7, 10:00}          3  | ✓  | 7  | …  | null         and one that has only the counts
                                       null           …  | "12,0,1,…"

    in blocks  the answer as one binary value, which a stage of Python unpacks

Rows that go through another stage of Python are copied four times more, and its processes want memory. So
there is none where Spark's way out of the stateful step, through pandas, keeps values exact: columns of
numbers, texts, times, and structs of them, which pandas holds as Arrow made them. A list or a map would be
taken apart in Python, value by value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.blocks import ANSWERED, COUNTS, PAYLOAD, Unpacker, blocks_of, cut_answer

if TYPE_CHECKING:
    import pandas as pd

Counts = dict[str, int]
COUNTS_COLUMN = "counts"


class Answers(Protocol):
    """Of one stateful step."""

    frames: bool
    """Whether Spark hands the step's rows over in pandas' frames, in and out."""

    @property
    def struct(self) -> StructType:
        """Of the rows that the step emits."""
        ...

    def arrived(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows that Spark hands to the step, each with its columns as attributes."""
        ...

    def outgoing(self, answer: pa.Table, counts: Counts) -> Iterator[Any]:
        """What the step emits for an answer."""
        ...

    def total(self, count: str) -> Column:
        """A count, over all that was emitted."""
        ...

    def opened(self, emitted: DataFrame) -> DataFrame:
        """The answer again."""
        ...

    @property
    def stages(self) -> tuple[str, ...]:
        """What `opened` adds, in words."""
        ...


def answers_with(schema: pa.Schema) -> Answers:
    """The cheapest that keeps the values of such an answer."""
    return PlainAnswers(schema) if all(_is_plain(field.type) for field in schema) else PackedAnswers(schema)


@dataclass(frozen=True)
class PackedAnswers:
    """Any answer."""

    schema: pa.Schema

    frames = False
    struct = ANSWERED
    stages = ("unpack",)

    def arrived(self, rows: Iterator[Row]) -> Iterator[Row]:
        return rows

    def outgoing(self, answer: pa.Table, counts: Counts) -> Iterator[Row]:
        for block in blocks_of(answer):
            yield Row(**{PAYLOAD: block, **counts})
            counts = dict.fromkeys(COUNTS, 0)

    def total(self, count: str) -> Column:
        return F.sum(count)

    def opened(self, emitted: DataFrame) -> DataFrame:
        return emitted.mapInArrow(Unpacker(self.schema), struct_of(self.schema))


@dataclass(frozen=True)
class PlainAnswers:
    """An answer without lists and maps."""

    schema: pa.Schema

    frames = True
    stages = ()

    @cached_property
    def emitted(self) -> pa.Schema:
        types = [leaf for field in self.schema for leaf in _leaf_types(field.type)]
        leaves = [pa.field(f"c{place}", type_) for place, type_ in enumerate(types)]
        return pa.schema([*leaves, pa.field(COUNTS_COLUMN, pa.string())])

    @cached_property
    def struct(self) -> StructType:
        return struct_of(self.emitted)

    def arrived(self, rows: Iterator[pd.DataFrame]) -> Iterator[Any]:
        return (row for frame in rows for row in frame.itertuples(index=False))

    def outgoing(self, answer: pa.Table, counts: Counts) -> Iterator[pd.DataFrame]:
        import pandas as pd

        counts_row = pa.table({COUNTS_COLUMN: [",".join(str(counts[name]) for name in COUNTS)]})
        for rows in cut_answer(answer):
            leaves = [leaf for column in rows for leaf in _leaves(column.combine_chunks())]
            table = pa.table([*leaves, pa.nulls(rows.num_rows, pa.string())], schema=self.emitted)
            if counts_row.num_rows:
                table = pa.concat_tables([table, counts_row], promote_options="default")
                counts_row = counts_row.slice(1)
            yield table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)

    def total(self, count: str) -> Column:
        return F.sum(F.split(COUNTS_COLUMN, ",")[COUNTS.index(count)].cast("long"))

    def opened(self, emitted: DataFrame) -> DataFrame:
        places = itertools.count()
        columns = [_rebuilt(field.type, places).alias(field.name) for field in self.schema]
        return emitted.filter(F.col(COUNTS_COLUMN).isNull()).select(*columns)


def _is_plain(type_: pa.DataType) -> bool:
    """Whether Spark takes a column of pandas that is backed by Arrow as it is."""
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


def _leaf_types(type_: pa.DataType) -> Iterator[pa.DataType]:
    """A struct is whether it is there, and its fields."""
    if not pa.types.is_struct(type_):
        yield type_
        return
    yield pa.bool_()
    for field in type_:
        yield from _leaf_types(field.type)


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    if not pa.types.is_struct(column.type):
        yield column
        return
    yield column.is_valid()
    for field in column.flatten():
        yield from _leaves(field)


def _rebuilt(type_: pa.DataType, places: Iterator[int]) -> Column:
    leaf = F.col(f"c{next(places)}")
    if not pa.types.is_struct(type_):
        return leaf
    return F.when(leaf, F.struct(*(_rebuilt(field.type, places).alias(field.name) for field in type_)))
