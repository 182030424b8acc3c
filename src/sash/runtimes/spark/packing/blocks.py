"""Rows on their way through Spark: one binary block for a bucket instead of one row for an event.

    rows  =  an Arrow record batch, without its schema: both ends know the query
    block =  seal(rows)                                 versioned and checksummed, never pickled

Spark's stateful step reads rows one by one, and turns nullable integers into floats on the way; a block
passes through as it is. So do answers that are not plain, and what one stage sends to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import BinaryType, LongType, StructField, StructType, TimestampType

from sash.aggregation.stores.values import seal, unseal
from sash.arrays import Ints, Mask
from sash.operators.columns.table_bytes import batch_of
from sash.operators.columns.times import to_integers
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL, ORIGINAL, places
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

ROWS = 2**17
BYTES = 2**25
"""A block is cut when it reaches either: large enough to be cheap, small enough for a worker's memory."""

# The stateful step hands rows over as named tuples, which rename what begins with an underscore.
PACKED_BUCKET, PAYLOAD, NEWEST_AT = "bucket", "payload", "newest"
OUTPUT = "output"
"""The column with the number of the output that a row of an answer belongs to."""
NO_OUTPUT = -1
"""Of a row that has only counts."""
RELAY = -1
"""The bucket of late rows on their way through a step after the one that has found them."""
INPUT = "input"
"""The column with the number of a block's input, where there are several."""
COUNTS = ("events", "late", "reports", "forgotten", "restored", "read", "written")
"""What each progress report has: `restored` counts the operators read from the state store, `read` and
`written` the bytes from and to it."""

PACKED = StructType(
    [
        StructField(PACKED_BUCKET, LongType(), nullable=False),
        StructField(PAYLOAD, BinaryType(), nullable=False),
        StructField(NEWEST_AT, TimestampType(), nullable=False),
    ]
)
ANSWERED = StructType(
    [
        StructField(PAYLOAD, BinaryType(), nullable=False),
        StructField(OUTPUT, LongType(), nullable=False),
        *(StructField(count, LongType(), nullable=False) for count in COUNTS),
    ]
)


Packing: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Rows with their places → blocks."""


@dataclass(frozen=True)
class Arrived:
    """Rows to be sent: the columns of a block by position, and the order of arrival."""

    rows: pa.Table
    time: str
    shares: Ints
    """The places of the rows' keys; empty where rows are not sent by key."""

    @property
    def times(self) -> Ints:
        return to_integers(without_nulls(self.rows[self.time]))

    @property
    def ordinals(self) -> Ints:
        return np.asarray(self.rows[ORDINAL].to_numpy())


class Sent(NamedTuple):
    """Row `row[k]` goes to the bucket at place `bucket[k]`."""

    row: Ints
    bucket: Ints
    original: Mask | None = None
    """Where a row goes to several buckets: whether this is the one that counts it; None: not known here."""


class RowRoute(Protocol):
    """Which buckets a row goes to, where that is not simply the bucket of its key."""

    def sent(self, arrived: Arrived) -> Sent: ...


@dataclass(frozen=True)
class Packer:
    """Rows → (bucket, block, how far time has come): the function of `mapInArrow` before the shuffle.

    Rows are numbered here: Spark has no running number for streams, and a shuffle loses their order.
    """

    schema: pa.Schema
    """Of a block: see `block_schema`."""
    time: str
    buckets: tuple[int, ...]
    clock: Clock
    route: RowRoute | None = None
    share: str = BUCKET
    """The column with the place of each row's bucket."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        return map(self.packed, in_order_of_arrival(batches))

    def packed(self, table: pa.Table) -> pa.RecordBatch:
        """Rows that are numbered already."""
        shares = table[self.share].to_numpy() if self.share in table.column_names else np.empty(0, np.int64)
        schema = pa.schema([field for field in self.schema if field.name != ORIGINAL])
        table = table.select(schema.names).cast(schema)
        if self.route is None:
            sent = Sent(np.arange(len(shares)), shares)
        else:
            sent = self.route.sent(Arrived(table, self.time, shares.astype(np.int64)))
        order = np.argsort(sent.bucket, kind="stable")
        table, bucket_places = table.take(pa.array(sent.row[order])), sent.bucket[order]
        if ORIGINAL in self.schema.names:
            assert sent.original is not None
            table = table.append_column(ORIGINAL, pa.array(sent.original[order]))

        def block(share: int, lo: int, hi: int) -> tuple[int, bytes, int]:
            rows, bucket = table.slice(lo, hi - lo), self.buckets[share]
            stamp = self.clock.stamp(to_integers(rows[self.time].drop_null()))
            return bucket, block_of(bucket, rows), stamp

        return packed_blocks(bucket_places, block)

    def blocks(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The same, as one of `SeveralPackers`."""
        yield self.packed(table)


def packed_blocks(shares: Ints, block: Callable[[int, int, int], tuple[int, bytes, int]]) -> pa.RecordBatch:
    """The blocks of rows that are sorted by the place of their bucket: `block(place, lo, hi)` returns the
    number of the bucket, its block, and how far time has come."""
    cuts = np.flatnonzero(np.diff(shares, prepend=-1))
    every = [
        block(int(shares[lo]), int(lo), int(hi))
        for lo, hi in zip(cuts, np.append(cuts[1:], len(shares)), strict=True)
    ]
    numbers, blocks, stamps = zip(*every, strict=True) if every else ((), (), ())
    types = (pa.int64(), pa.binary(), pa.timestamp("us", "UTC"))
    columns = zip((numbers, blocks, stamps), types, strict=True)
    return pa.record_batch([pa.array(values, type_) for values, type_ in columns], names=PACKED.names)


class BlockPacker(Protocol):
    """What makes blocks of rows that are numbered already."""

    def blocks(self, table: pa.Table) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class SeveralPackers:
    """The same for several kinds of buckets: a row goes to one of each."""

    packers: tuple[BlockPacker, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        every = (packer.blocks(rows) for rows in in_order_of_arrival(batches) for packer in self.packers)
        return (blocks for some in every for blocks in some)


def in_order_of_arrival(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of a task with the order of their arrival."""
    task = TaskContext.get()
    arrived = 0 if task is None else task.partitionId() << 40
    for table in gathered(batches):
        ordinals = np.arange(arrived, arrived + table.num_rows)
        arrived += table.num_rows
        yield table.append_column(ORDINAL, pa.array(ordinals))


@dataclass(frozen=True)
class Unpacker:
    """Blocks of answers → rows: the function of `mapInArrow` after the stateful step."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for batch in batches:
            for payload in batch.column(PAYLOAD):
                sealed = payload.as_buffer()
                rows = opened(ANSWER, sealed, self.schema) if sealed.size else None
                if rows is not None and rows.num_rows:
                    yield rows


ANSWER = b"answer"


def block_schema(schema: pa.Schema, *, originals: bool = False) -> pa.Schema:
    """Of the rows on their way to a bucket: the columns by position, the order of arrival, and which are
    originals, where rows are copied."""
    fields = [field.with_name(place) for field, place in zip(schema, places(schema.names), strict=True)]
    marks = [pa.field(ORIGINAL, pa.bool_())] if originals else []
    return pa.schema([*fields, pa.field(ORDINAL, pa.int64()), *marks])


def without_nulls(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """An event without a time is in no window, but is reported as late: it goes where time 0 goes."""
    return times.fill_null(pa.scalar(0, times.type)) if times.null_count else times


def rows_of(bucket: int, payloads: Iterable[bytes | pa.Buffer], schema: pa.Schema) -> pa.Table:
    """The rows that arrived for a bucket, in order: a shuffle mixes blocks, but not what is in them."""
    every = (opened(_name(bucket), payload, schema) for payload in payloads)
    blocks = [rows for rows in every if rows.num_rows]
    blocks.sort(key=lambda rows: rows.column(ORDINAL)[0].as_py())
    return pa.Table.from_batches(blocks, schema=schema)


def block_of(bucket: int, rows: pa.Table) -> bytes:
    return block(_name(bucket), rows)


def blocks_of(answer: pa.Table) -> Iterator[bytes]:
    return (block(ANSWER, rows) for rows in cut_answer(answer))


def cut_answer(answer: pa.Table) -> Iterator[pa.Table]:
    """Parts that are large enough and not too large; one that is empty when the answer is."""
    rows = min(ROWS, max(1, answer.num_rows * BYTES // max(answer.nbytes, 1)))
    return (answer.slice(start, rows) for start in range(0, max(answer.num_rows, 1), rows))


def block(name: bytes, rows: pa.Table) -> bytes:
    """Rows as one sealed record batch."""
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    return seal(name, batch.serialize())


def opened(name: bytes, payload: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a block; CorruptValue unless it is the one of this name."""
    return batch_of(unseal(name, payload), schema)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's small batches, put together until a block is worth cutting."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _name(bucket: int) -> bytes:
    return b"bucket %d" % bucket
